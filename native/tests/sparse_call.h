// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// For the C++ tests of the sparse operators: calls of any scenario, on buffers that are exactly as large as their
// tensors say.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "sparse_arguments.h"

namespace sparse_call {

struct Scenario {
    bool is_quantised = false;
    bool is_packed_q = true;
    char kv = 'P';  // paged; B: BSND, T: TND
    bool has_cmp = true, is_listed = true;
    int64_t heads = 64, block_size = 16, topk = 512, ratio = 4;
    std::vector<int64_t> q{2, 1}, ori{40, 21};  // lengths
    aclDataType type = ACL_BF16;                // of q and unquantised rows

    int64_t batch() const { return static_cast<int64_t>(q.size()); }
};

inline Scenario window() {
    Scenario s;
    s.has_cmp = s.is_listed = false;
    s.ratio = 1;
    return s;
}
inline Scenario dense() {
    Scenario s;
    s.is_listed = false;
    s.ratio = 128;
    s.ori = {400, 131};
    return s;
}
inline Scenario selected() { return {}; }
inline Scenario quantised(Scenario s) {
    s.is_quantised = true;
    return s;
}
inline Scenario unpacked(Scenario s) {
    s.is_packed_q = false;
    s.kv = 'B';
    s.q = {2, 2};
    return s;
}
inline Scenario packed(Scenario s) {
    s.kv = 'T';
    return s;
}

// The buffers of a scenario and the calls on them. Rows hold small numbers; everything that nothing may read is poison.
class Prepared {
public:
    explicit Prepared(const Scenario& scenario) : s(scenario) {
        a.is_quantised = s.is_quantised;
        a.layout_q = s.is_packed_q ? "TND" : "BSND";
        a.layout_kv = s.kv == 'P' ? (s.is_quantised ? "PA_ND" : "PA_BBND") : s.kv == 'T' ? "TND" : "BSND";
        a.cmp_ratio = s.ratio;
        a.cmp_mask_mode = s.has_cmp || s.is_quantised ? 3 : 0;
        a.has_cmp = s.has_cmp;
        a.cmp_topk = s.is_listed ? s.topk : 0;
        a.heads = s.heads;
        a.batch = s.batch();
        for (const int64_t tokens : s.ori) cmp_len.push_back(s.has_cmp ? tokens / s.ratio : 0);
        make_queries();
        make_rows(s.ori, a.ori_kv, a.ori_block_table, a.cu_seqlens_ori_kv, ori_rows);
        if (s.has_cmp) make_rows(cmp_len, a.cmp_kv, a.cmp_block_table, a.cu_seqlens_cmp_kv, cmp_rows);
        a.max_ori = *std::max_element(s.ori.begin(), s.ori.end());
        a.max_cmp = *std::max_element(cmp_len.begin(), cmp_len.end());
        if (s.kv == 'P' || s.is_quantised) {
            a.seqused_ori_kv = ints(s.ori);
            if (s.has_cmp && !s.is_quantised) a.seqused_cmp_kv = ints(cmp_len);
        } else if (s.kv == 'B') {
            a.seqused_ori_kv = ints(s.ori);
            if (s.has_cmp) a.seqused_cmp_kv = ints(cmp_len);
        }
        if (s.has_cmp && !s.is_quantised) {
            std::vector<int64_t> residual;
            for (const int64_t tokens : s.ori) residual.push_back(tokens % s.ratio);
            a.cmp_residual_kv = ints(residual);
        }
        if (s.is_listed) make_lists();
        std::vector<float> sinks(static_cast<size_t>(s.heads), 0.25f);
        a.sinks = tensor({s.heads}, ACL_FLOAT, floats(sinks));
        words.assign(1024, -1);
        a.metadata = objects.tensor({1024}, ACL_INT32, words.data());
    }

    aclnnStatus make_metadata() { return call_metadata(a); }

    // Buffers as large as they are used, each by itself, so that a sanitizer sees the first byte beyond.
    void* exactly(size_t bytes) {
        blocks_.push_back(std::make_unique<char[]>(bytes));
        return blocks_.back().get();
    }
    T tensor(const Dims& dims, aclDataType type, void* data) { return objects.tensor(dims, type, data); }
    T blank(const Dims& dims, aclDataType type) {
        size_t elements = 1;
        for (const int64_t dim : dims) elements *= static_cast<size_t>(dim);
        return objects.tensor(dims, type, exactly(elements * aclDataTypeSize(type)));
    }
    int32_t* int_data(const std::vector<int64_t>& values) {
        auto* data = static_cast<int32_t*>(exactly(values.size() * sizeof(int32_t)));
        for (size_t i = 0; i < values.size(); ++i) data[i] = static_cast<int32_t>(values[i]);
        return data;
    }
    T ints(const std::vector<int64_t>& values, Dims dims = {}) {
        if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
        return objects.tensor(dims, ACL_INT32, int_data(values));
    }
    static std::vector<int64_t> running(const std::vector<int64_t>& lengths) {
        std::vector<int64_t> totals{0};
        for (const int64_t length : lengths) totals.push_back(totals.back() + length);
        return totals;
    }

    Scenario s;
    Objects objects;
    Arguments a;
    std::vector<int64_t> cmp_len;
    std::vector<int32_t> words;
    uint16_t* q_data = nullptr;
    uint16_t* out_data = nullptr;
    float* lse_data = nullptr;
    int64_t rows = 0;  // of q
    int32_t* list_data = nullptr;
    struct Rows {
        char* data = nullptr;
        int32_t* table = nullptr;
        int64_t columns = 0, axis = 0;
        int64_t row_bytes = 0;
    } ori_rows, cmp_rows;

private:
    void* floats(const std::vector<float>& values) {
        void* data = exactly(values.size() * sizeof(float));
        std::memcpy(data, values.data(), values.size() * sizeof(float));
        return data;
    }

    // Codes of numbers between 1/8 and 1, of both signs.
    uint16_t small(size_t i) const {
        const uint32_t bits = static_cast<uint32_t>(i * 2654435761u);
        const uint32_t magnitude = s.type == ACL_BF16 ? 0x3e00 + bits % 0x180 : 0x3000 + bits % 0xc00;
        return static_cast<uint16_t>(magnitude | (bits >> 16 & 0x8000));
    }

    void make_queries() {
        const std::vector<int64_t> totals = running(s.q);
        a.max_q = *std::max_element(s.q.begin(), s.q.end());
        rows = s.is_packed_q ? totals.back() : s.batch() * a.max_q;
        const Dims dims = s.is_packed_q ? Dims{rows, s.heads, 512} : Dims{s.batch(), a.max_q, s.heads, 512};
        const size_t elements = static_cast<size_t>(rows * s.heads * 512);
        q_data = static_cast<uint16_t*>(exactly(elements * 2));
        for (size_t i = 0; i < elements; ++i) q_data[i] = small(i);
        out_data = static_cast<uint16_t*>(exactly(elements * 2));
        lse_data = static_cast<float*>(exactly(static_cast<size_t>(rows * s.heads) * 4));
        a.q = tensor(dims, s.type, q_data);
        a.attn_out = tensor(dims, s.type, out_data);
        a.softmax_lse =
            tensor(s.is_packed_q ? Dims{1, rows, s.heads} : Dims{s.batch(), 1, a.max_q, s.heads}, ACL_FLOAT, lse_data);
        if (s.is_packed_q) a.cu_seqlens_q = ints(totals);
    }

    void make_rows(const std::vector<int64_t>& lengths, T& kv, T& table, T& totals_tensor, Rows& made) {
        const int64_t width = s.is_quantised ? 640 : 512;
        const aclDataType type = s.is_quantised ? ACL_FLOAT8_E4M3FN : s.type;
        const int64_t longest = std::max<int64_t>(1, *std::max_element(lengths.begin(), lengths.end()));
        made.row_bytes = s.is_quantised ? 640 : 1024;
        Dims dims;
        int64_t rows_in_all = 0;
        if (s.kv == 'P') {
            made.columns = (longest + s.block_size - 1) / s.block_size;
            made.axis = s.block_size;
            rows_in_all = s.batch() * made.columns * s.block_size;
            dims = {s.batch() * made.columns, s.block_size, 1, width};
            // Descending, so that neighbours in a sequence are none in memory.
            std::vector<int64_t> entries;
            for (int64_t i = s.batch() * made.columns; i > 0; --i) entries.push_back(i - 1);
            made.table = int_data(entries);
            table = tensor({s.batch(), made.columns}, ACL_INT32, made.table);
        } else if (s.kv == 'T') {
            const std::vector<int64_t> totals = running(lengths);
            rows_in_all = totals.back();
            dims = {rows_in_all, 1, width};
            totals_tensor = ints(totals);
        } else {
            made.axis = longest;
            rows_in_all = s.batch() * longest;
            dims = {s.batch(), longest, 1, width};
        }
        made.data = static_cast<char*>(exactly(static_cast<size_t>(rows_in_all * made.row_bytes)));
        for (int64_t row = 0; row < rows_in_all; ++row) fill_row(made.data + row * made.row_bytes, row);
        kv = tensor(dims, type, made.data);
    }

    void fill_row(char* row, int64_t number) const {
        const size_t seed = static_cast<size_t>(number) * 977;
        if (!s.is_quantised) {
            auto* to = reinterpret_cast<uint16_t*>(row);
            for (size_t i = 0; i < 512; ++i) to[i] = small(seed + i);
            return;
        }
        auto* rope = reinterpret_cast<uint16_t*>(row);
        for (size_t i = 0; i < 64; ++i) rope[i] = small(seed + i);
        for (size_t i = 0; i < 448; ++i) row[128 + i] = static_cast<char>(0x20 + (seed + i) % 0x20);
        for (size_t i = 0; i < 7; ++i) row[576 + i] = 127;
        std::memset(row + 583, 0xff, 57);
    }

    // Every row of q lists what it sees, last one first.
    void make_lists() {
        std::vector<int64_t> entries;
        for (int64_t b = 0; b < s.batch(); ++b) {
            const int64_t stored = s.is_packed_q ? s.q[static_cast<size_t>(b)] : a.max_q;
            for (int64_t i = 0; i < stored; ++i) {
                const int64_t position = s.ori[static_cast<size_t>(b)] - s.q[static_cast<size_t>(b)] + i;
                const int64_t seen = std::clamp<int64_t>((position + 1) / s.ratio, 0, cmp_len[static_cast<size_t>(b)]);
                for (int64_t k = 0; k < s.topk; ++k) entries.push_back(k < seen ? seen - 1 - k : -1);
            }
        }
        list_data = int_data(entries);
        a.cmp_sparse_indices = tensor(
            s.is_packed_q ? Dims{rows, 1, s.topk} : Dims{s.batch(), a.max_q, 1, s.topk}, ACL_INT32, list_data);
    }

    std::vector<std::unique_ptr<char[]>> blocks_;
};

}  // namespace sparse_call
