// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Problems made of logical data that can be laid out in several ways, and their run.
#pragma once

#include <algorithm>
#include <utility>

#include "engine_guarded.h"
#include "engine_support.h"

namespace engine_test {

enum class Storage { contiguous, paged_tokens, paged_heads, paged_chunks };  // where K and V lie

struct SequenceSpec {
    int64_t q_len, kv_len;
    Band band = {};
};

using Sequences = std::vector<SequenceSpec>;

struct Spec {
    Dtype dtype = Dtype::f16;
    int32_t heads = 1, kv_heads = 1, dim = 16, dim_v = 16;
    float scale = 0;  // 0: 1 / sqrt(dim)
    Sequences sequences;
    bool has_mask = false;
    Storage storage = Storage::contiguous;
    int32_t block_size = 16;
    bool heads_outside = false;  // query and output [head][token] instead of [token][head]
    int64_t pad_before = 0, pad_after = 0;

    float used_scale() const { return scale != 0 ? scale : 1.0f / std::sqrt(static_cast<float>(dim)); }
    std::string name() const {
        std::string s = std::string(dtype == Dtype::f16 ? "fp16" : "bf16") + " h" + std::to_string(heads) + ":" +
                        std::to_string(kv_heads) + " d" + std::to_string(dim) + "/" + std::to_string(dim_v);
        for (const SequenceSpec& q : sequences) s += " " + std::to_string(q.q_len) + "x" + std::to_string(q.kv_len);
        if (has_mask) s += " mask";
        return s + " storage " + std::to_string(static_cast<int>(storage));
    }
};

// One sequence's numbers, [token][head][channel], and its mask, [row][column].
struct Logical {
    std::vector<uint16_t> q, k, v;
    std::vector<uint8_t> mask;
};

inline std::vector<Logical> make_logical(const Spec& spec, uint64_t seed) {
    std::vector<Logical> all;
    for (size_t i = 0; i < spec.sequences.size(); i++) {
        const SequenceSpec& s = spec.sequences[i];
        Random random(seed + 1000 * i + static_cast<uint64_t>(s.q_len * 31 + s.kv_len));
        Logical one;
        const auto fill = [&](std::vector<uint16_t>& to, int64_t n) {
            to.resize(static_cast<size_t>(n));
            for (uint16_t& x : to) x = encode(spec.dtype, static_cast<float>(random.normal()));
        };
        fill(one.q, s.q_len * spec.heads * spec.dim);
        fill(one.k, s.kv_len * spec.kv_heads * spec.dim);
        fill(one.v, s.kv_len * spec.kv_heads * spec.dim_v);
        one.mask.resize(static_cast<size_t>(s.q_len * s.kv_len));
        for (uint8_t& m : one.mask) m = random.below(3) == 0 ? static_cast<uint8_t>(1 + random.below(255)) : 0;
        all.push_back(std::move(one));
    }
    return all;
}

// Results in logical order: [sequence][token][head][channel] and [sequence][token][head].
struct Result {
    std::vector<uint16_t> out;
    std::vector<float> lse;
    bool operator==(const Result& o) const {
        return out == o.out && lse == o.lse;  // no LSE here is NaN
    }
};

constexpr uint16_t kPoison = 0xffff;  // NaN in both formats

// Logical data laid out in guarded arrays of the exact size, NaN wherever no length reaches.
struct Laid {
    Problem problem;
    Operands operands;
    Guarded<uint16_t> q, k, v, out;
    Guarded<float> lse;
    Guarded<uint8_t> mask;
    Guarded<int32_t> table;
    const void* key_member = nullptr;
    const void* value_member = nullptr;

    Laid(const Spec& spec, const std::vector<Logical>& data, uint64_t seed = 1);
    Laid(const Laid&) = delete;
    Result collect(const Spec& spec) const;
    MemoryRanges ranges() const;
};

inline MemoryRanges Laid::ranges() const {
    return {{q.data(), q.size() * sizeof(uint16_t), "query", false},
            {k.data(), k.size() * sizeof(uint16_t), "key", false},
            {v.data(), v.size() * sizeof(uint16_t), "value", false},
            {mask.data(), mask.size(), "mask", false},
            {table.data(), table.size() * sizeof(int32_t), "block table", false},
            {out.data(), out.size() * sizeof(uint16_t), "out", true},
            {lse.data(), lse.size() * sizeof(float), "lse", true}};
}

struct CacheLayout : KvLayout {
    int64_t head_stride = 0;
};

inline CacheLayout cache_layout(const Spec& spec, int32_t dim) {
    CacheLayout l;
    const int64_t bs = spec.block_size, heads = spec.kv_heads;
    l.chunk = dim;
    if (spec.storage == Storage::contiguous) {
        l.token_stride = heads * dim;
        l.head_stride = dim;
    } else if (spec.storage == Storage::paged_tokens) {
        l.token_stride = heads * dim;
        l.head_stride = dim;
        l.block_stride = bs * heads * dim + 8;
    } else if (spec.storage == Storage::paged_heads) {
        l.token_stride = dim;
        l.head_stride = bs * dim;
        l.block_stride = heads * bs * dim + 24;
    } else {
        l.chunk = 16;
        l.token_stride = 16;
        l.chunk_stride = bs * 16;
        l.head_stride = (dim + 15) / 16 * bs * 16;
        l.block_stride = heads * l.head_stride;
    }
    return l;
}

inline Laid::Laid(const Spec& spec, const std::vector<Logical>& data, uint64_t seed) {
    Random random(seed);
    Problem& p = problem;
    p.dtype = p.kv_dtype = p.out_dtype = spec.dtype;
    p.heads = spec.heads;
    p.kv_heads = spec.kv_heads;
    p.dim = spec.dim;
    p.dim_v = spec.dim_v;
    p.scale = spec.used_scale();
    p.wants_lse = true;
    int64_t rows = 0, keys = 0, mask_size = 0, max_kv = 0, blocks_a_row = 0;
    for (const SequenceSpec& s : spec.sequences) {
        rows += spec.pad_before + s.q_len + spec.pad_after;
        keys += s.kv_len;
        max_kv = std::max(max_kv, s.kv_len);
        mask_size += s.q_len;
        blocks_a_row = std::max(blocks_a_row, (s.kv_len + spec.block_size - 1) / spec.block_size);
    }
    const bool outside = spec.heads_outside;
    p.query = outside ? RowLayout{spec.dim, rows * spec.dim} : RowLayout{spec.heads * spec.dim, spec.dim};
    p.out = outside ? RowLayout{spec.dim_v, rows * spec.dim_v} : RowLayout{spec.heads * spec.dim_v, spec.dim_v};
    p.lse = outside ? RowLayout{1, rows} : RowLayout{spec.heads, 1};
    q.assign(static_cast<size_t>(rows * spec.heads * spec.dim), kPoison);
    out.assign(static_cast<size_t>(rows * spec.heads * spec.dim_v), 0xabcd);
    lse.assign(static_cast<size_t>(rows * spec.heads), -12345.0f);

    const CacheLayout key_layout = cache_layout(spec, spec.dim), value_layout = cache_layout(spec, spec.dim_v);
    p.key = key_layout;
    p.value = value_layout;
    const bool paged = spec.storage != Storage::contiguous;
    const int64_t spare = 3;
    const int64_t columns = blocks_a_row + 2;
    std::vector<int32_t> free_blocks;
    if (paged) {
        p.block_size = spec.block_size;
        p.block_count = blocks_a_row * static_cast<int64_t>(spec.sequences.size()) + spare;
        for (int32_t b = 0; b < p.block_count; b++) free_blocks.push_back(b);
        for (size_t b = free_blocks.size(); b > 1; b--) {
            std::swap(free_blocks[b - 1], free_blocks[static_cast<size_t>(random.below(static_cast<int64_t>(b)))]);
        }
        k.assign(static_cast<size_t>(p.block_count * p.key.block_stride), kPoison);
        v.assign(static_cast<size_t>(p.block_count * p.value.block_stride), kPoison);
        table.assign(static_cast<size_t>(columns) * spec.sequences.size(), -1);
    } else {
        k.assign(static_cast<size_t>(keys * spec.kv_heads * spec.dim), kPoison);
        v.assign(static_cast<size_t>(keys * spec.kv_heads * spec.dim_v), kPoison);
    }
    if (spec.has_mask) {
        p.has_mask = true;
        p.mask_row_stride = max_kv;
        mask.assign(static_cast<size_t>(mask_size * max_kv), 0);
    }

    int64_t row = 0, key = 0, mask_row = 0;
    for (size_t i = 0; i < spec.sequences.size(); i++) {
        const SequenceSpec& from = spec.sequences[i];
        const Logical& d = data[i];
        Sequence s;
        s.q_len = from.q_len;
        s.kv_len = from.kv_len;
        s.band = from.band;
        s.pad_before = spec.pad_before;
        s.pad_after = spec.pad_after;
        row += spec.pad_before;
        s.q_offset = row * p.query.token_stride;
        s.out_offset = row * p.out.token_stride;
        s.lse_offset = row * p.lse.token_stride;
        for (int64_t t = 0; t < s.q_len; t++) {
            for (int64_t h = 0; h < spec.heads; h++) {
                for (int64_t c = 0; c < spec.dim; c++) {
                    q[static_cast<size_t>(s.q_offset + t * p.query.token_stride + h * p.query.head_stride + c)] =
                        d.q[static_cast<size_t>((t * spec.heads + h) * spec.dim + c)];
                }
            }
        }
        row += s.q_len + spec.pad_after;
        s.key_head_stride = key_layout.head_stride;
        s.value_head_stride = value_layout.head_stride;
        if (paged) {
            s.table_offset = static_cast<int64_t>(i) * columns;
            for (int64_t b = 0; b * spec.block_size < s.kv_len; b++) {
                table[static_cast<size_t>(s.table_offset + b)] = free_blocks.back();
                free_blocks.pop_back();
            }
        } else {
            s.key_offset = key * p.key.token_stride;
            s.value_offset = key * p.value.token_stride;
            key += s.kv_len;
        }
        const auto put = [&](Guarded<uint16_t>& to, const CacheLayout& l, int64_t offset, int64_t dim,
                             const std::vector<uint16_t>& source) {
            for (int64_t t = 0; t < s.kv_len; t++) {
                int64_t at = offset + t * l.token_stride;
                if (paged) {
                    at = table[static_cast<size_t>(s.table_offset + t / spec.block_size)] * l.block_stride +
                         t % spec.block_size * l.token_stride;
                }
                for (int64_t h = 0; h < spec.kv_heads; h++) {
                    for (int64_t c = 0; c < dim; c++) {
                        to[static_cast<size_t>(at + h * l.head_stride + c / l.chunk * l.chunk_stride + c % l.chunk)] =
                            source[static_cast<size_t>((t * spec.kv_heads + h) * dim + c)];
                    }
                }
            }
        };
        put(k, key_layout, s.key_offset, spec.dim, d.k);
        put(v, value_layout, s.value_offset, spec.dim_v, d.v);
        if (spec.has_mask) {
            s.mask_offset = mask_row * max_kv;
            for (int64_t t = 0; t < s.q_len; t++) {
                for (int64_t j = 0; j < s.kv_len; j++) {
                    mask[static_cast<size_t>((mask_row + t) * max_kv + j)] =
                        d.mask[static_cast<size_t>(t * s.kv_len + j)];
                }
            }
            mask_row += s.q_len;
        }
        p.sequences.push_back(s);
    }
    key_member = k.data();
    value_member = v.data();
    operands.query = q.data();
    operands.key = &key_member;
    operands.value = &value_member;
    operands.mask = mask.data();
    operands.block_table = table.data();
    operands.out = out.data();
    operands.lse = lse.data();
}

inline Result Laid::collect(const Spec& spec) const {
    Result r;
    for (const Sequence& s : problem.sequences) {
        for (int64_t t = 0; t < s.q_len; t++) {
            for (int64_t h = 0; h < spec.heads; h++) {
                const int64_t at = s.out_offset + t * problem.out.token_stride + h * problem.out.head_stride;
                for (int64_t c = 0; c < spec.dim_v; c++) r.out.push_back(out[static_cast<size_t>(at + c)]);
                r.lse.push_back(lse[static_cast<size_t>(s.lse_offset + t * problem.lse.token_stride +
                                                        h * problem.lse.head_stride)]);
            }
        }
    }
    return r;
}

// Runs in a workspace of exactly the size asked for, at an odd address, filled with NaN.
inline Fault run_in_place(Laid& laid) {
    const auto plan = Attention::plan(laid.problem);
    std::vector<unsigned char> memory(plan->workspace_bytes() + 4, 0xff);
    return plan->run(laid.operands, memory.data() + 4);
}

inline Result run(const Spec& spec, const std::vector<Logical>& data, uint64_t seed = 1) {
    Laid laid(spec, data, seed);
    const Fault fault = run_in_place(laid);
    expect(!fault.found, "no fault in " + spec.name());
    return laid.collect(spec);
}

}  // namespace engine_test
