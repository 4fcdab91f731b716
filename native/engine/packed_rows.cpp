// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/packed_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/attention.h"
#include "engine/packed_rows_kernels.h"
#include "engine/thread_pool.h"
#include "formats/float8.h"

namespace acl_attn::engine {
namespace {

constexpr int64_t kChunkRows = 64;      // that a thread takes at a time
constexpr int64_t kWorthAThread = 256;  // rows: starting a thread's work costs about as much as some

// Up to 15 HIFLOAT8 keeps 3 bits of mantissa, which E4M3 has everywhere.
constexpr float kFullHiFloat8 = 15.0f;

// Code times scale has to be a finite bf16 number. With 3 bits of mantissa the last such number is 1.875 * 2^127; a
// format with fewer bits would round it up to infinity, but no power of two.
constexpr float kLimit = 0x1.ep127f, kLimitOfFewBits = 0x1p127f;

const PackedRowKernels& kernels_in_use() {
#ifdef ACL_ATTN_X86
    const char* name = target_name(target_in_use());
    for (const PackedRowKernels* small : {&kPackedRowsPortable, &kPackedRowsAvx2}) {
        if (std::strcmp(name, small->name) == 0) return *small;
    }
    return kPackedRowsAvx512;  // which all larger targets have
#else
    return kPackedRowsPortable;
#endif
}

int index_of(Dtype codes) { return codes == Dtype::hif8 ? 1 : 0; }

// body(row, byte of its slot) for every row, in chunks shared among threads; a row without slot has -1.
template <class Body>
struct Shared {
    const PackedRows& rows;
    const Body& body;
    std::atomic<int64_t> next{0};

    static void work(void* context, int) {
        Shared& shared = *static_cast<Shared*>(context);
        const PackedRows& rows = shared.rows;
        while (true) {
            const int64_t begin = shared.next.fetch_add(kChunkRows, std::memory_order_relaxed);
            if (begin >= rows.count) return;
            for (int64_t i = begin; i < std::min(begin + kChunkRows, rows.count); i++) {
                const int64_t slot = rows.slots == nullptr ? i : rows.slots[i];
                shared.body(i, slot < 0 ? -1
                                        : slot / rows.block_size * rows.block_stride +
                                              slot % rows.block_size * rows.layout.bytes);
            }
        }
    }
};

template <class Body>
void for_rows(const PackedRows& rows, const Body& body) {
    Shared<Body> shared{rows, body};
    const int64_t useful = (rows.count + kWorthAThread - 1) / kWorthAThread;
    run_on_threads(static_cast<int>(std::clamp<int64_t>(useful, 1, thread_count())), Shared<Body>::work, &shared);
}

}  // namespace

float packed_full_scale(Dtype codes) { return codes == Dtype::hif8 ? kFullHiFloat8 : formats::kLargestE4m3; }

int64_t pack_rows(const PackedRows& rows, const void* from, float full_scale, void* pool) noexcept {
    const auto pack = kernels_in_use().pack[static_cast<int>(rows.dtype)][index_of(rows.codes)];
    const float limit = rows.codes == Dtype::hif8 && full_scale > kFullHiFloat8 ? kLimitOfFewBits : kLimit;
    std::atomic<int64_t> first_bad{rows.count};
    for_rows(rows, [&](int64_t i, int64_t at) {
        if (at < 0) return;
        const void* own = static_cast<const char*>(from) + i * rows.stride;
        if (pack(rows.layout, own, full_scale, limit, static_cast<uint8_t*>(pool) + at)) return;
        int64_t known = first_bad.load();
        while (i < known && !first_bad.compare_exchange_weak(known, i)) {
        }
    });
    return first_bad < rows.count ? first_bad.load() : -1;
}

void unpack_rows(const PackedRows& rows, const void* pool, void* to) noexcept {
    const auto unpack = kernels_in_use().unpack[static_cast<int>(rows.dtype)][index_of(rows.codes)];
    const size_t bytes = static_cast<size_t>(bytes_of(rows.dtype, rows.layout.scaled + formats::kPackedRope));
    for_rows(rows, [&](int64_t i, int64_t at) {
        void* own = static_cast<char*>(to) + i * rows.stride;
        if (at < 0) {
            std::memset(own, 0, bytes);
        } else {
            unpack(rows.layout, static_cast<const uint8_t*>(pool) + at, own);
        }
    });
}

}  // namespace acl_attn::engine
