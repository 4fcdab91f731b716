// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse problems in memory, stored in several ways, and their run.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine_guarded.h"
#include "engine_sparse_reference.h"

namespace engine_test {

// A problem in memory: unused rows and list entries hold poison, and arrays end where memory ends.
class SparseLaid {
public:
    SparseProblem problem;
    std::vector<SparseSequence> sequences;
    SparseOperands operands;
    Guarded<uint16_t> q, out;
    Guarded<float> lse, sinks;
    Guarded<uint8_t> ori, cmp;
    Guarded<int32_t> ori_table, cmp_table, ori_lists, cmp_lists, ori_lengths, cmp_lengths;

    MemoryRanges ranges() const {
        MemoryRanges all;
        const auto add = [&](const auto& array, const char* name, bool is_written = false) {
            all.push_back({array.data(), array.size() * sizeof array[0], name, is_written});
        };
        add(q, "query"), add(ori, "original rows"), add(cmp, "compressed rows"), add(sinks, "sinks");
        add(ori_table, "block table"), add(cmp_table, "block table of compressed rows");
        add(ori_lists, "list"), add(cmp_lists, "list of compressed rows");
        add(ori_lengths, "lengths"), add(cmp_lengths, "lengths of compressed rows");
        add(out, "out", true), add(lse, "lse", true);
        return all;
    }
    static constexpr uint16_t kUnwritten = 0x4242;

    SparseLaid(const SparseSpec& spec, const SparseData& data, uint64_t seed = 1) : spec_(spec) {
        Random random(seed);
        SparseProblem& p = problem;
        p.dtype = spec.dtype;
        p.rows = spec.rows;
        p.heads = spec.heads;
        p.scale = spec.scale;
        p.query = p.out = {spec.heads * kDim, kDim};
        p.cmp_ratio = spec.ratio;
        p.has_sink = spec.has_sink;
        p.wants_lse = true;
        p.ori.present = true;
        p.cmp.present = spec.has_cmp;
        p.ori.topk = spec.ori_topk;
        p.cmp.topk = spec.cmp_topk;
        p.ori.has_topk_length = spec.has_topk_length && spec.ori_topk > 0;
        p.cmp.has_topk_length = spec.has_topk_length && spec.cmp_topk > 0;
        p.max_sequences = static_cast<int64_t>(spec.sequences.size());
        int64_t tokens = 0, lists = 0;
        for (size_t n = 0; n < spec.sequences.size(); n++) {
            const SparseSequenceSpec& s = spec.sequences[n];
            SparseSequence place;
            place.q_len = s.q_len;
            place.pad_after = s.pad_after;
            place.q_offset = place.out_offset = tokens * p.query.token_stride;
            place.lse_offset = tokens;
            place.list_row = lists;
            place.ori.len = s.ori_len;
            place.cmp.len = spec.cmp_len(n);
            const int64_t shift = s.ori_len - s.q_len;
            if (spec.left >= 0) place.ori_band.first = shift - spec.left;
            if (spec.right >= 0) place.ori_band.last = shift + spec.right;
            if (!spec.all_cmp) place.cmp_shift = shift + 1;
            sequences.push_back(place);
            tokens += s.q_len + s.pad_after;
            lists += s.q_len;
            p.max_tokens += s.q_len;
            p.ori.max_seen = std::max(p.ori.max_seen, spec.ori_topk > 0 ? spec.ori_topk : s.ori_len);
            p.cmp.max_seen = std::max(p.cmp.max_seen, spec.cmp_topk > 0 ? spec.cmp_topk : place.cmp.len);
        }
        p.lse = {1, tokens};
        place_pool(p.ori, spec.ori_block, data, true, random, ori, ori_table);
        place_pool(p.cmp, spec.cmp_block, data, false, random, cmp, cmp_table);
        q.assign(static_cast<size_t>(tokens * spec.heads * kDim), 0x7fff);
        out.assign(q.size(), kUnwritten);
        lse.assign(static_cast<size_t>(tokens * spec.heads), -1.0f);
        sinks.assign(data.sinks.size(), 0);
        std::copy(data.sinks.begin(), data.sinks.end(), sinks.data());
        place_lists(ori_lists, ori_lengths, data, spec.ori_topk, true);
        place_lists(cmp_lists, cmp_lengths, data, spec.cmp_topk, false);
        for (size_t n = 0; n < sequences.size(); n++) {
            const auto& from = data.sequences[n].q;
            std::copy(from.begin(), from.end(), q.data() + sequences[n].q_offset);
        }
        operands = {q.data(),         ori.data(),       cmp.data(),         ori_table.data(),   cmp_table.data(),
                    ori_lists.data(), cmp_lists.data(), ori_lengths.data(), cmp_lengths.data(), sinks.data(),
                    out.data(),       lse.data()};
    }

    // The workspace is no larger than the plan says, and dirty.
    SparseFault run() {
        const auto plan = SparseAttention::plan(problem);
        Guarded<uint8_t> workspace;
        workspace.assign(plan->workspace_bytes(), 0xa5);
        return plan->run(operands, sequences.data(), static_cast<int64_t>(sequences.size()), workspace.data());
    }

    Result collect() const {
        Result r;
        for (const SparseSequence& s : sequences) {
            const uint16_t* from = out.data() + s.out_offset;
            r.out.insert(r.out.end(), from, from + s.q_len * problem.out.token_stride);
            for (int64_t i = 0; i < s.q_len; i++) {
                for (int64_t h = 0; h < problem.heads; h++) r.lse.push_back(lse_of(s, i, h));
            }
        }
        return r;
    }

    float lse_of(const SparseSequence& s, int64_t token, int64_t head) const {
        const RowLayout& l = problem.lse;
        return lse[static_cast<size_t>(s.lse_offset + token * l.token_stride + head * l.head_stride)];
    }

    // The first byte of a row.
    uint8_t* row(size_t sequence, bool is_ori, int64_t t) {
        const SparseStream& s = is_ori ? sequences[sequence].ori : sequences[sequence].cmp;
        const SparsePool& pool = is_ori ? problem.ori : problem.cmp;
        int64_t at = s.offset + t * pool.row_stride;
        if (pool.block_size > 0) {
            const int32_t* table = (is_ori ? ori_table : cmp_table).data() + s.table_offset;
            at = table[t / pool.block_size] * pool.block_stride + t % pool.block_size * pool.row_stride;
        }
        return (is_ori ? ori : cmp).data() + at * (spec_.packed() ? 1 : 2);
    }

private:
    void place_pool(SparsePool& pool, int32_t block_size, const SparseData& data, bool is_ori, Random& random,
                    Guarded<uint8_t>& memory, Guarded<int32_t>& table) {
        const int64_t element = spec_.packed() ? 1 : 2;
        const int64_t row_elements = spec_.row_bytes() / element;
        pool.row_stride = row_elements + (block_size > 0 ? 0 : 16);
        pool.block_size = block_size;
        std::vector<int32_t> blocks;
        int64_t rows = 0, columns = 0;
        const auto len = [&](const SparseSequence& s) { return is_ori ? s.ori.len : s.cmp.len; };
        for (SparseSequence& s : sequences) {
            SparseStream& stream = is_ori ? s.ori : s.cmp;
            if (block_size == 0) {
                stream.offset = rows * pool.row_stride;
                rows += len(s) + 1;
            } else {
                stream.table_offset = columns;
                columns += (len(s) + block_size - 1) / block_size + 1;  // one column more, never to be read
            }
        }
        if (block_size > 0) {
            pool.block_count = columns;
            pool.block_stride = block_size * pool.row_stride + 48;
            for (int64_t i = 0; i < columns; i++) blocks.push_back(static_cast<int32_t>(i));
            for (size_t i = blocks.size(); i > 1; i--) {
                std::swap(blocks[i - 1], blocks[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
            }
            table.assign(static_cast<size_t>(columns), -77);
        }
        const int64_t size = block_size > 0 ? columns * pool.block_stride : rows * pool.row_stride;
        memory.assign(static_cast<size_t>(size * element), 0xff);  // NaN in every format
        for (size_t n = 0; n < sequences.size(); n++) {
            const auto& from = is_ori ? data.sequences[n].ori : data.sequences[n].cmp;
            const SparseStream& stream = is_ori ? sequences[n].ori : sequences[n].cmp;
            for (int64_t t = 0; t < stream.len; t++) {
                if (block_size > 0 && t % block_size == 0) {
                    const size_t column = static_cast<size_t>(stream.table_offset + t / block_size);
                    table[column] = blocks[column];
                }
                const size_t bytes = static_cast<size_t>(spec_.row_bytes());
                std::memcpy(row(n, is_ori, t), from.data() + static_cast<size_t>(t) * bytes, bytes);
            }
        }
    }

    void place_lists(Guarded<int32_t>& lists, Guarded<int32_t>& lengths, const SparseData& data, int64_t topk,
                     bool is_ori) {
        std::vector<int32_t> all, all_lengths;
        for (const SparseLogical& d : data.sequences) {
            const auto& from = is_ori ? d.ori_list : d.cmp_list;
            const auto& from_lengths = is_ori ? d.ori_length : d.cmp_length;
            all.insert(all.end(), from.begin(), from.end());
            all_lengths.insert(all_lengths.end(), from_lengths.begin(), from_lengths.end());
        }
        if (topk == 0) return;
        lists.assign(all.size(), 0);
        lengths.assign(all_lengths.size(), 0);
        std::copy(all.begin(), all.end(), lists.data());
        std::copy(all_lengths.begin(), all_lengths.end(), lengths.data());
    }

    const SparseSpec spec_;
};

// Output and LSE of the tokens behind a sequence's own.
inline bool is_padding_zero(const SparseLaid& laid) {
    for (const SparseSequence& s : laid.sequences) {
        for (int64_t t = s.q_len; t < s.q_len + s.pad_after; t++) {
            const uint16_t* row = laid.out.data() + s.out_offset + t * laid.problem.out.token_stride;
            if (std::any_of(row, row + laid.problem.heads * kDim, [](uint16_t x) { return x != 0; })) return false;
            for (int64_t h = 0; h < laid.problem.heads; h++) {
                if (laid.lse_of(s, t, h) != 0.0f) return false;
            }
        }
    }
    return true;
}

inline bool is_same(const Result& a, const Result& b) {
    return a.out == b.out && a.lse.size() == b.lse.size() &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

inline Result run_sparse(const SparseSpec& spec, const SparseData& data, uint64_t seed = 1) {
    SparseLaid laid(spec, data, seed);
    expect(!laid.run().found(), spec.name() + ": no fault");
    return laid.collect();
}

inline void check_sparse(const SparseSpec& spec, const Exact& want, const Result& got) {
    Spec like;
    like.dtype = spec.dtype;
    const Error e = compare(like, got, want);
    const double limit = std::max(rms_limit(spec.dtype), 1.25 * e.ideal);
    if (e.shape && e.rms <= limit && e.lse <= kLseLimit) return;
    char text[200];
    std::snprintf(text, sizeof text, " [%s]: rms %.6f (rounding alone %.6f), worst %.4f, lse %.2e, shape %s",
                  target_name(target_in_use()), e.rms, e.ideal, e.worst, e.lse, e.shape ? "ok" : "wrong");
    fail(spec.name() + text);
}

inline void check_sparse(const SparseSpec& spec, const SparseData& data, const Result& got) {
    check_sparse(spec, sparse_reference(spec, data), got);
}

}  // namespace engine_test
