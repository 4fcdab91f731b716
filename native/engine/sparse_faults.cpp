// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse_faults.h"

#include <algorithm>

namespace acl_attn::engine {
namespace {

using Kind = SparseFault::Kind;

// What a stream's faults are about.
struct Stream {
    const SparsePool& pool;
    const SparseStream& place;
    const int32_t* table;
    bool is_compressed;
    int64_t sequence;

    SparseFault fault(Kind ori, Kind cmp, int64_t token, int64_t index, int64_t value, int64_t limit) const {
        return {is_compressed ? cmp : ori, sequence, token, index, value, limit};
    }

    SparseFault check_block(int64_t column) const {
        const int32_t entry = table[place.table_offset + column];
        if (entry >= 0 && entry < pool.block_count) return {};
        return fault(Kind::ori_block_table, Kind::cmp_block_table, -1, column, entry, pool.block_count);
    }

    SparseFault check_rows(SparseRange rows) const {
        if (pool.block_size == 0 || rows.begin >= rows.end) return {};
        for (int64_t column = rows.begin / pool.block_size; column <= (rows.end - 1) / pool.block_size; column++) {
            const SparseFault found = check_block(column);
            if (found.found()) return found;
        }
        return {};
    }

    SparseFault check_list(const SparseList& list, int64_t token) const {
        for (int64_t i = 0; i < list.looked_at && list.entries[i] != -1; i++) {
            const int32_t row = list.entries[i];
            if (row < 0 || row >= place.len) {
                return fault(Kind::ori_index, Kind::cmp_index, token, i, row, place.len);
            }
            if (pool.block_size == 0 || row >= list.visible) continue;
            const SparseFault found = check_block(row / pool.block_size);
            if (found.found()) return found;
        }
        return {};
    }
};

// The rows that some token of the sequence sees by its interval: both ends grow with the token.
SparseRange all_columns(const SparseProblem& p, const SparseSequence& s, bool is_compressed) {
    if (is_compressed) return {0, visible_compressed(p, s, s.q_len - 1)};
    const geometry::Columns seen = geometry::columns_between(s.ori_band, 0, s.q_len - 1, s.ori.len);
    return {seen.begin, seen.end};
}

SparseFault check_stream(const SparseProblem& p, const SparseOperands& o, const SparseSequence& s, int64_t sequence,
                         bool is_compressed) {
    const SparsePool& pool = is_compressed ? p.cmp : p.ori;
    if (!pool.present) return {};
    const Stream stream{pool, is_compressed ? s.cmp : s.ori, is_compressed ? o.cmp_block_table : o.ori_block_table,
                        is_compressed, sequence};
    if (pool.topk == 0) return stream.check_rows(all_columns(p, s, is_compressed));
    const int32_t* lengths = is_compressed ? o.cmp_topk_length : o.ori_topk_length;
    for (int64_t token = 0; token < s.q_len; token++) {
        if (pool.has_topk_length && lengths[s.list_row + token] < 0) {
            return stream.fault(Kind::ori_topk_length, Kind::cmp_topk_length, token, 0, lengths[s.list_row + token],
                                pool.topk + 1);
        }
        const SparseFault found = stream.check_list(list_of(p, o, s, token, is_compressed), token);
        if (found.found()) return found;
    }
    return {};
}

}  // namespace

SparseList list_of(const SparseProblem& p, const SparseOperands& o, const SparseSequence& s, int64_t token,
                   bool is_compressed) {
    const SparsePool& pool = is_compressed ? p.cmp : p.ori;
    const int64_t row = s.list_row + token;
    SparseList list;
    list.entries = (is_compressed ? o.cmp_indices : o.ori_indices) + row * pool.topk;
    list.visible = is_compressed ? visible_compressed(p, s, token) : s.ori.len;
    list.looked_at = std::min(pool.topk, list.visible);
    if (pool.has_topk_length) {
        const int32_t length = (is_compressed ? o.cmp_topk_length : o.ori_topk_length)[row];
        list.looked_at = std::clamp<int64_t>(length, 0, list.looked_at);
    }
    return list;
}

int64_t count_rows(const SparseList& list) {
    int64_t count = 0;
    for (int64_t i = 0; i < list.looked_at && list.entries[i] >= 0; i++) count += list.entries[i] < list.visible;
    return count;
}

SparseFault find_fault(const SparseProblem& p, const SparseOperands& o, const SparseSequence* sequences,
                       int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (sequences[i].q_len == 0) continue;
        for (const bool is_compressed : {false, true}) {
            const SparseFault found = check_stream(p, o, sequences[i], i, is_compressed);
            if (found.found()) return found;
        }
    }
    return {};
}

}  // namespace acl_attn::engine
