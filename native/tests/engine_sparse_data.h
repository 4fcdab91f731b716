// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse problems as logical data: sequences, rows in their stored form, and lists.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/sparse.h"
#include "engine_reference.h"
#include "formats/e8m0.h"
#include "formats/float8.h"
#include "formats/hifloat8.h"

namespace engine_test {

namespace fmt = acl_attn::formats;

inline constexpr int64_t kDim = kSparseDim;

struct SparseSequenceSpec {
    int64_t q_len = 1;
    int64_t ori_len = 0;
    int64_t pad_after = 0;
    int64_t extra_cmp = 0;  // compressed rows beyond ori_len / ratio: they exist, and nobody may see them
};

struct SparseSpec {
    Dtype dtype = Dtype::bf16;
    SparseRows rows = SparseRows::bf16;
    int32_t heads = 4;
    float scale = 0.0441942f;
    int64_t ratio = 4;
    bool has_cmp = false;
    bool all_cmp = false;                // no causal rule
    int64_t left = 127, right = 0;       // of the window; -1: open
    int64_t ori_topk = 0, cmp_topk = 0;
    bool has_topk_length = false;
    bool has_sink = true;
    int32_t ori_block = 0, cmp_block = 0;  // rows a block; 0: contiguous
    std::vector<SparseSequenceSpec> sequences;

    bool packed() const { return rows == SparseRows::packed_e4m3 || rows == SparseRows::packed_hif8; }
    int64_t row_bytes() const { return packed() ? kPackedRowBytes : 2 * kDim; }
    int64_t cmp_len(size_t n) const {
        return has_cmp ? sequences[n].ori_len / ratio + sequences[n].extra_cmp : 0;
    }
    std::string name() const {
        const auto text = [](auto number) { return std::to_string(number); };
        std::string s = "sparse rows " + text(static_cast<int>(rows)) + " h" + text(heads) + " cmp " + text(has_cmp) +
                        " ratio " + text(ratio) + " topk " + text(ori_topk) + "," + text(cmp_topk) + " blocks " +
                        text(ori_block) + "," + text(cmp_block) + " window " + text(left) + "," + text(right);
        for (const auto& q : sequences) s += " " + text(q.q_len) + "x" + text(q.ori_len);
        return s;
    }
};

// One sequence's numbers.
struct SparseLogical {
    std::vector<uint16_t> q;             // [token][head][channel]
    std::vector<uint8_t> ori, cmp;       // [row][row_bytes]
    std::vector<int32_t> ori_list, cmp_list;      // [token][topk]
    std::vector<int32_t> ori_length, cmp_length;  // [token]
};

struct SparseData {
    std::vector<SparseLogical> sequences;
    std::vector<float> sinks;
};

inline int64_t position(const SparseSequenceSpec& s, int64_t token) { return s.ori_len - s.q_len + token; }

inline int64_t visible_cmp(const SparseSpec& spec, size_t n, int64_t token) {
    if (spec.all_cmp) return spec.cmp_len(n);
    const int64_t stands_for = position(spec.sequences[n], token) + 1;
    return std::min(stands_for <= 0 ? 0 : stands_for / spec.ratio, spec.cmp_len(n));
}

// A row of random numbers in its stored form.
inline void fill_row(const SparseSpec& spec, Random& random, uint8_t* to) {
    if (!spec.packed()) {
        for (int64_t d = 0; d < kDim; d++) {
            const uint16_t code = encode(spec.dtype, static_cast<float>(random.normal()));
            std::memcpy(to + 2 * d, &code, 2);
        }
        return;
    }
    for (int64_t d = 0; d < 64; d++) {
        const uint16_t code = encode(Dtype::bf16, static_cast<float>(random.normal()));
        std::memcpy(to + 2 * d, &code, 2);
    }
    for (int64_t t = 0; t < 7; t++) {
        const int exponent = static_cast<int>(random.below(5)) - 4;
        to[576 + t] = static_cast<uint8_t>(127 + exponent);
        for (int64_t d = 0; d < 64; d++) {
            const float x = static_cast<float>(random.normal() * std::exp2(-exponent));
            to[128 + 64 * t + d] =
                spec.rows == SparseRows::packed_hif8 ? fmt::encode_hifloat8(x) : fmt::encode_e4m3(x);
        }
    }
    for (int64_t i = 583; i < 640; i++) to[i] = 0xff;
}

// Channel d of a stored row, as the specification says.
inline double read_row(const SparseSpec& spec, const uint8_t* row, int64_t d) {
    uint16_t code;
    if (!spec.packed()) {
        std::memcpy(&code, row + 2 * d, 2);
        return decode(spec.dtype, code);
    }
    if (d >= 448) {
        std::memcpy(&code, row + 2 * (d - 448), 2);
        return decode(Dtype::bf16, code);
    }
    const uint8_t byte = row[128 + d];
    const float x = spec.rows == SparseRows::packed_hif8 ? fmt::decode_hifloat8(byte) : fmt::decode_e4m3(byte);
    return decode(Dtype::bf16, encode(Dtype::bf16, x * fmt::decode_e8m0(row[576 + d / 64])));
}

// Lists that a top-k could have made, in random order, and some invisible entries among them.
inline std::vector<int32_t> make_list(Random& random, int64_t topk, int64_t visible, int64_t len) {
    std::vector<int32_t> all(static_cast<size_t>(visible));
    for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<int32_t>(i);
    for (size_t i = all.size(); i > 1; i--) {
        std::swap(all[i - 1], all[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
    }
    std::vector<int32_t> list(static_cast<size_t>(topk), -1);
    const int64_t used = std::min(topk, visible);
    for (int64_t i = 0; i < used; i++) list[static_cast<size_t>(i)] = all[static_cast<size_t>(i)];
    if (used > 2 && random.below(2) == 0) list[static_cast<size_t>(random.below(used))] = list[0];  // twice
    if (used > 2 && visible < len && random.below(2) == 0) {
        list[static_cast<size_t>(random.below(used))] = static_cast<int32_t>(visible + random.below(len - visible));
    }
    if (used > 2 && random.below(3) == 0) list[static_cast<size_t>(random.below(used))] = -1;
    for (int64_t i = used; i < topk; i++) {
        if (i > used) list[static_cast<size_t>(i)] = static_cast<int32_t>(random.bits());  // beyond what is looked at
    }
    return list;
}

inline SparseData make_sparse_data(const SparseSpec& spec, uint64_t seed) {
    SparseData data;
    Random random(seed);
    for (int32_t h = 0; h < spec.heads; h++) data.sinks.push_back(static_cast<float>(random.normal() * 2));
    for (size_t n = 0; n < spec.sequences.size(); n++) {
        const SparseSequenceSpec& s = spec.sequences[n];
        SparseLogical one;
        one.q.resize(static_cast<size_t>(s.q_len * spec.heads * kDim));
        for (uint16_t& x : one.q) x = encode(spec.dtype, static_cast<float>(random.normal()));
        const auto fill = [&](std::vector<uint8_t>& rows, int64_t len) {
            rows.resize(static_cast<size_t>(len * spec.row_bytes()));
            for (int64_t t = 0; t < len; t++) fill_row(spec, random, rows.data() + t * spec.row_bytes());
        };
        fill(one.ori, s.ori_len);
        fill(one.cmp, spec.cmp_len(n));
        for (int64_t i = 0; i < s.q_len; i++) {
            const auto append = [&](std::vector<int32_t>& lists, std::vector<int32_t>& lengths, int64_t topk,
                                    int64_t visible, int64_t len) {
                if (topk == 0) return;
                const std::vector<int32_t> list = make_list(random, topk, visible, len);
                lists.insert(lists.end(), list.begin(), list.end());
                lengths.push_back(static_cast<int32_t>(random.below(topk + 2)));
            };
            append(one.ori_list, one.ori_length, spec.ori_topk, s.ori_len, s.ori_len);
            append(one.cmp_list, one.cmp_length, spec.cmp_topk, visible_cmp(spec, n, i), spec.cmp_len(n));
        }
        data.sequences.push_back(std::move(one));
    }
    return data;
}

// Tokens that see one row each, and no sink, so that the row is the result: every code with every scale that makes it
// finite; sequence n has scale n.
inline SparseSpec every_packed_number(SparseRows rows, int32_t heads = 1) {
    SparseSpec spec;
    spec.rows = rows;
    spec.heads = heads;
    spec.has_sink = false;
    spec.sequences = std::vector<SparseSequenceSpec>(255, {1, 1});
    return spec;
}

inline SparseData make_every_packed_number(const SparseSpec& spec) {
    SparseData data = make_sparse_data(spec, 8);
    for (size_t scale = 0; scale < data.sequences.size(); scale++) {
        SparseLogical& d = data.sequences[scale];
        std::fill(d.q.begin(), d.q.end(), uint16_t{0});
        std::memset(d.ori.data() + 576, static_cast<int>(scale), 7);
        for (size_t i = 0; i < 448; i++) {
            d.ori[128 + i] = static_cast<uint8_t>(i);
            if (!std::isfinite(read_row(spec, d.ori.data(), static_cast<int64_t>(i)))) d.ori[128 + i] = 0;
        }
    }
    return data;
}

}  // namespace engine_test
