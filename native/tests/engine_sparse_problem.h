// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse problems made of logical data that can be stored in several ways, their run, and the obvious computation.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/sparse.h"
#include "engine_guarded.h"
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

// The rows that a token sees, in order.
inline std::vector<const uint8_t*> seen_rows(const SparseSpec& spec, const SparseData& data, size_t n, int64_t i) {
    std::vector<const uint8_t*> rows;
    const SparseSequenceSpec& s = spec.sequences[n];
    const SparseLogical& d = data.sequences[n];
    const auto add = [&](const std::vector<uint8_t>& pool, int64_t t) {
        rows.push_back(pool.data() + t * spec.row_bytes());
    };
    const auto walk = [&](const std::vector<uint8_t>& pool, const std::vector<int32_t>& lists,
                          const std::vector<int32_t>& lengths, int64_t topk, int64_t visible) {
        int64_t looked_at = std::min(topk, visible);
        if (spec.has_topk_length) looked_at = std::min<int64_t>(looked_at, lengths[static_cast<size_t>(i)]);
        for (int64_t e = 0; e < looked_at; e++) {
            const int32_t row = lists[static_cast<size_t>(i * topk + e)];
            if (row < 0) break;
            if (row < visible) add(pool, row);
        }
    };
    const int64_t p = position(s, i);
    if (spec.ori_topk > 0) {
        walk(d.ori, d.ori_list, d.ori_length, spec.ori_topk, s.ori_len);
    } else {
        for (int64_t j = 0; j < s.ori_len; j++) {
            if ((spec.left < 0 || j >= p - spec.left) && (spec.right < 0 || j <= p + spec.right)) add(d.ori, j);
        }
    }
    if (spec.cmp_topk > 0) {
        walk(d.cmp, d.cmp_list, d.cmp_length, spec.cmp_topk, visible_cmp(spec, n, i));
    } else {
        for (int64_t j = 0; j < visible_cmp(spec, n, i); j++) add(d.cmp, j);
    }
    return rows;
}

inline Exact sparse_reference(const SparseSpec& spec, const SparseData& data) {
    Exact r;
    for (size_t n = 0; n < spec.sequences.size(); n++) {
        for (int64_t i = 0; i < spec.sequences[n].q_len; i++) {
            const std::vector<const uint8_t*> rows = seen_rows(spec, data, n, i);
            std::vector<std::vector<double>> wide;
            for (const uint8_t* row : rows) {
                wide.emplace_back();
                for (int64_t d = 0; d < kDim; d++) wide.back().push_back(read_row(spec, row, d));
            }
            for (int64_t h = 0; h < spec.heads; h++) {
                const uint16_t* q = data.sequences[n].q.data() + (i * spec.heads + h) * kDim;
                std::vector<double> score;
                double top = spec.has_sink ? data.sinks[static_cast<size_t>(h)] : -INFINITY;
                std::vector<double> query;
                for (int64_t d = 0; d < kDim; d++) query.push_back(decode(spec.dtype, q[d]));
                for (const auto& x : wide) {
                    double dot = 0;
                    for (size_t d = 0; d < x.size(); d++) dot += query[d] * x[d];
                    score.push_back(dot * spec.scale);
                    top = std::max(top, score.back());
                }
                std::vector<double> out(static_cast<size_t>(kDim), 0.0);
                double sum = spec.has_sink ? std::exp(data.sinks[static_cast<size_t>(h)] - top) : 0.0;
                for (size_t k = 0; k < wide.size(); k++) {
                    const double weight = std::exp(score[k] - top);
                    sum += weight;
                    for (size_t d = 0; d < out.size(); d++) out[d] += weight * wide[k][d];
                }
                for (const double x : out) r.out.push_back(rows.empty() ? 0.0 : x / sum);
                r.lse.push_back(rows.empty() ? 0.0 : top + std::log(sum));
            }
        }
    }
    return r;
}

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

inline bool is_same(const Result& a, const Result& b) {
    return a.out == b.out && a.lse.size() == b.lse.size() &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

inline Result run_sparse(const SparseSpec& spec, const SparseData& data, uint64_t seed = 1) {
    SparseLaid laid(spec, data, seed);
    expect(!laid.run().found(), spec.name() + ": no fault");
    return laid.collect();
}

inline void check_sparse(const SparseSpec& spec, const SparseData& data, const Result& got) {
    Spec like;
    like.dtype = spec.dtype;
    const Error e = compare(like, got, sparse_reference(spec, data));
    const double limit = std::max(rms_limit(spec.dtype), 1.25 * e.ideal);
    if (e.shape && e.rms <= limit && e.lse <= kLseLimit) return;
    char text[200];
    std::snprintf(text, sizeof text, " [%s]: rms %.6f (rounding alone %.6f), worst %.4f, lse %.2e, shape %s",
                  target_name(target_in_use()), e.rms, e.ideal, e.worst, e.lse, e.shape ? "ok" : "wrong");
    fail(spec.name() + text);
}

}  // namespace engine_test
