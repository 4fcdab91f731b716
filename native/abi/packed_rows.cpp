// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "acl_attn/packed_rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/packed_rows.h"
#include "formats/float8.h"
#include "meta/api.h"

namespace {

using namespace acl_attn;
using engine::Dtype;
using formats::PackedRowLayout;

aclnnStatus refuse(std::string message) { return fail(ACLNN_ERR_PARAM_INVALID, std::move(message)); }

const PackedRowLayout* layout_of(aclAttnRowKind kind) {
    switch (kind) {
        case ACL_ATTN_ROW_640_E8M0: return &formats::kPackedRow;
        case ACL_ATTN_ROW_640_BF16: return &formats::kPackedRowBf16Scales;
        case ACL_ATTN_ROW_608_BF16: return &formats::kPackedRow608;
        case ACL_ATTN_ROW_584_E8M0: return &formats::kPackedRow584;
        case ACL_ATTN_ROW_656_FLOAT: return &formats::kPackedRow656;
    }
    return nullptr;
}

// Everything between the first and the last byte that a call may touch.
struct Extent {
    uintptr_t begin, end;
};

// Where a program's memory ends that begins at `address`: systems hand out addresses of more bits only to programs that
// ask for them, and no 64-bit processor of today has more than 57.
constexpr uintptr_t end_of_memory(uintptr_t address) {
    constexpr uintptr_t usual = uintptr_t{1} << 48;
    return address < usual ? usual : uintptr_t{1} << 57;
}

// `rows` rows, each `step` behind the one before; false if the address space has no room for that.
bool extent_of(const void* address, int64_t rows, int64_t step, int64_t bytes, Extent* extent) {
    int64_t size;
    extent->begin = reinterpret_cast<uintptr_t>(address);
    if (rows == 0) {
        extent->end = extent->begin;
        return true;
    }
    return !__builtin_mul_overflow(rows - 1, step, &size) && !__builtin_add_overflow(size, bytes, &size) &&
           !__builtin_add_overflow(extent->begin, static_cast<uintptr_t>(size), &extent->end) &&
           extent->end <= end_of_memory(extent->begin);
}

aclnnStatus check_slots(const engine::PackedRows& rows, int64_t slot_count, bool is_written) {
    if (rows.slots == nullptr) {
        if (rows.count <= slot_count) return ACLNN_SUCCESS;
        return refuse(text("count: expected at most ", slot_count, ", the pool's slots, got ", rows.count));
    }
    bool ascends = true;
    for (int64_t i = 0; i < rows.count; i++) {
        if (rows.slots[i] < -1 || rows.slots[i] >= slot_count) {
            return refuse(text("slots[", i, "]: expected -1 to ", slot_count - 1, ", got ", rows.slots[i]));
        }
        ascends = ascends && (i == 0 || rows.slots[i] > rows.slots[i - 1]);
    }
    if (!is_written || ascends) return ACLNN_SUCCESS;
    std::vector<int64_t> sorted(rows.slots, rows.slots + rows.count);
    std::sort(sorted.begin(), sorted.end());
    const auto used = std::upper_bound(sorted.begin(), sorted.end(), int64_t{-1});
    const auto twice = std::adjacent_find(used, sorted.end());
    if (twice == sorted.end()) return ACLNN_SUCCESS;
    const int64_t* const end = rows.slots + rows.count;
    const int64_t* const first = std::find(rows.slots, end, *twice);
    return refuse(text("slots[", std::find(first + 1, end, *twice) - rows.slots,
                       "]: expected slots that occur once, got ", *twice, ", which slots[", first - rows.slots,
                       "] is too"));
}

// What both functions have in common.
aclnnStatus prepare(const void* values, aclDataType values_type, int64_t values_stride, int64_t count,
                    const int64_t* slots, const aclAttnRowPool* pool, bool is_written, engine::PackedRows* rows) {
    if (pool == nullptr) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, "pool: expected the address of an aclAttnRowPool, got null");
    }
    const PackedRowLayout* layout = layout_of(pool->kind);
    if (layout == nullptr) {
        return refuse(text("pool->kind: expected an aclAttnRowKind, 0 to 4, got ", static_cast<int>(pool->kind)));
    }
    const bool has_choice = layout->bytes == formats::kPackedRow.bytes;
    if (pool->codes != ACL_FLOAT8_E4M3FN && !(has_choice && pool->codes == ACL_HIFLOAT8)) {
        return refuse(text("pool->codes: expected ACL_FLOAT8_E4M3FN", has_choice ? " or ACL_HIFLOAT8" : "",
                           " for rows of ", layout->bytes, " bytes, got ", static_cast<int>(pool->codes)));
    }
    if (values_type != ACL_FLOAT && values_type != ACL_FLOAT16 && values_type != ACL_BF16) {
        return refuse(text("valuesType: expected ACL_FLOAT, ACL_FLOAT16 or ACL_BF16, got ",
                           static_cast<int>(values_type)));
    }
    if (count < 0) return refuse(text("count: expected 0 or more, got ", count));
    const int64_t channels = layout->scaled + formats::kPackedRope;
    if (values_stride < channels) {
        return refuse(text("valuesStride: expected at least ", channels, ", a row, got ", values_stride));
    }
    if (pool->blockCount < 0) return refuse(text("pool->blockCount: expected 0 or more, got ", pool->blockCount));
    if (pool->blockSize < 1) return refuse(text("pool->blockSize: expected 1 or more, got ", pool->blockSize));
    rows->layout = *layout;
    rows->codes = pool->codes == ACL_HIFLOAT8 ? Dtype::hif8 : Dtype::f8_e4m3;
    rows->dtype = values_type == ACL_FLOAT ? Dtype::f32 : values_type == ACL_BF16 ? Dtype::bf16 : Dtype::f16;
    rows->count = count;
    rows->block_size = pool->blockSize;
    rows->block_stride = pool->blockStride;
    rows->slots = slots;
    int64_t block_bytes, slot_count;
    Extent numbers, packed;
    const int64_t size = engine::bits_of(rows->dtype) / 8;
    if (__builtin_mul_overflow(pool->blockSize, layout->bytes, &block_bytes)) {
        return refuse(text("pool->blockSize: expected a pool that fits into memory, got ", pool->blockSize));
    }
    if (pool->blockCount > 1 && pool->blockStride < block_bytes) {
        return refuse(text("pool->blockStride: expected at least ", block_bytes,
                           " bytes, so that blocks do not overlap, got ", pool->blockStride));
    }
    if (__builtin_mul_overflow(pool->blockSize, pool->blockCount, &slot_count) ||
        !extent_of(pool->address, pool->blockCount, pool->blockStride, block_bytes, &packed)) {
        return refuse(text("pool->blockCount: expected a pool that fits into memory, got ", pool->blockCount,
                           " blocks"));
    }
    if (__builtin_mul_overflow(values_stride, size, &rows->stride) ||
        !extent_of(values, count, rows->stride, channels * size, &numbers)) {
        return refuse(text("count: expected numbers that fit into memory, got ", count, " rows"));
    }
    if (count > 0 && values == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "values: expected an address, got null");
    if (reinterpret_cast<uintptr_t>(values) % static_cast<uintptr_t>(size) != 0) {
        return refuse(text("values: expected an address that is a multiple of ", size, ", got ", values));
    }
    if (slot_count > 0 && pool->address == nullptr) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, "pool->address: expected an address, got null");
    }
    if (numbers.begin < packed.end && packed.begin < numbers.end) {
        return refuse("values: expected memory apart from the pool's, got memory that overlaps it");
    }
    return check_slots(*rows, slot_count, is_written);
}

aclnnStatus check_full_scale(double full_scale, const engine::PackedRows& rows, float* result) {
    const double largest = rows.codes == Dtype::hif8 ? 0x1p15 : double{formats::kLargestE4m3};
    if (full_scale == 0) {
        *result = engine::packed_full_scale(rows.codes);
        return ACLNN_SUCCESS;
    }
    if (!(full_scale >= 1 && full_scale <= largest)) {
        return refuse(text("fullScale: expected 0, or 1 to ", static_cast<int64_t>(largest),
                           ", the format's largest number, got ", std::to_string(full_scale)));
    }
    *result = static_cast<float>(full_scale);
    return ACLNN_SUCCESS;
}

// The channel of the first number of a row that is not finite.
int64_t bad_channel(const engine::PackedRows& rows, const void* row) {
    for (int64_t c = 0;; c++) {
        if (rows.dtype == Dtype::f32) {
            if (!std::isfinite(static_cast<const float*>(row)[c])) return c;
        } else {
            const uint32_t exponent = rows.dtype == Dtype::bf16 ? 0x7f80 : 0x7c00;
            if ((static_cast<const uint16_t*>(row)[c] & exponent) == exponent) return c;
        }
    }
}

}  // namespace

extern "C" {

aclnnStatus aclAttnPackRows(const void* values, aclDataType valuesType, int64_t valuesStride, int64_t count,
                            const int64_t* slots, double fullScale, const aclAttnRowPool* pool) {
    return meta::entry("aclAttnPackRows", [&]() -> aclnnStatus {
        engine::PackedRows rows;
        float full_scale = 0.0f;
        aclnnStatus status = prepare(values, valuesType, valuesStride, count, slots, pool, true, &rows);
        if (status == ACLNN_SUCCESS) status = check_full_scale(fullScale, rows, &full_scale);
        if (status != ACLNN_SUCCESS) return status;
        const int64_t bad = engine::pack_rows(rows, values, full_scale, pool->address);
        if (bad < 0) return ACLNN_SUCCESS;
        const int64_t channel = bad_channel(rows, static_cast<const char*>(values) + bad * rows.stride);
        return refuse(text("values[", bad, "][", channel, "]: expected finite numbers, got infinity or NaN"));
    });
}

aclnnStatus aclAttnUnpackRows(const aclAttnRowPool* pool, const int64_t* slots, int64_t count, void* values,
                              aclDataType valuesType, int64_t valuesStride) {
    return meta::entry("aclAttnUnpackRows", [&]() -> aclnnStatus {
        engine::PackedRows rows;
        const aclnnStatus status = prepare(values, valuesType, valuesStride, count, slots, pool, false, &rows);
        if (status == ACLNN_SUCCESS) engine::unpack_rows(rows, pool->address, values);
        return status;
    });
}

}  // extern "C"
