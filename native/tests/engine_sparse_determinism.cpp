// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse engine's promises, bit for bit: a token's result does not depend on threads, on other tokens and
// sequences, on storage, or on rows that it does not see.
#include "engine_sparse_problem.h"

using namespace engine_test;

namespace {

using Sequences = std::vector<SparseSequenceSpec>;

std::vector<SparseSpec> specs() {
    SparseSpec window;
    window.heads = 5;
    window.sequences = Sequences{{1, 700}, {150, 400}, {9, 140}, {3, 1}};
    SparseSpec dense = window;
    dense.has_cmp = true;
    SparseSpec lists = dense;
    lists.cmp_topk = 70;
    SparseSpec both = lists;
    both.ori_topk = 33;
    both.heads = 7;
    SparseSpec fp16 = lists;
    fp16.dtype = Dtype::f16;
    fp16.rows = SparseRows::f16;
    SparseSpec packed = lists;
    packed.rows = SparseRows::packed_e4m3;
    packed.ori_block = packed.cmp_block = 32;
    SparseSpec packed_window = window;
    packed_window.rows = SparseRows::packed_hif8;
    SparseSpec cut = dense;  // both streams longer than a part
    cut.heads = 64;
    cut.left = -1;
    cut.ratio = 1;
    cut.sequences = Sequences{{3, 2500}};
    std::vector<SparseSpec> all = {window, dense, lists, both, fp16, packed, packed_window, cut};
    // More heads than few, which are computed in another way.
    for (const SparseSpec& few : {lists, both, fp16, packed_window}) {
        all.push_back(few);
        all.back().heads = 20;
    }
    return all;
}

Result on_threads(int threads, const SparseSpec& spec, const SparseData& data) {
    expect(set_thread_count(threads), "a thread count");
    const Result result = run_sparse(spec, data);
    set_thread_count(0);
    return result;
}

void threads() {
    for (const SparseSpec& spec : specs()) {
        const SparseData data = make_sparse_data(spec, 1);
        const Result one = on_threads(1, spec, data);
        for (const int count : {2, 5, 16}) {
            expect(is_same(one, on_threads(count, spec, data)), spec.name() + ": thread count");
        }
    }
}

// Tokens [begin, end) of sequence n by themselves, with the streams up to where that part ends.
void part(const SparseSpec& spec, const SparseData& data, const Result& whole, size_t n, int64_t begin, int64_t end) {
    SparseSpec alone = spec;
    const SparseSequenceSpec& s = spec.sequences[n];
    const int64_t shift = s.q_len - end;
    SparseData one;
    one.sinks = data.sinks;
    one.sequences = {data.sequences[n]};
    SparseLogical& d = one.sequences[0];
    const auto slice = [&](auto& numbers, int64_t each) {
        if (numbers.empty()) return;
        numbers = {numbers.begin() + begin * each, numbers.begin() + end * each};
    };
    alone.sequences = Sequences{{end - begin, s.ori_len - shift}};
    slice(d.q, spec.heads * kDim);
    slice(d.ori_list, spec.ori_topk);
    slice(d.cmp_list, spec.cmp_topk);
    slice(d.ori_length, 1);
    slice(d.cmp_length, 1);
    d.ori.resize(static_cast<size_t>(alone.sequences[0].ori_len * spec.row_bytes()));
    d.cmp.resize(static_cast<size_t>(alone.cmp_len(0) * spec.row_bytes()));
    const Result got = run_sparse(alone, one, 5);
    int64_t first = begin;
    for (size_t i = 0; i < n; i++) first += spec.sequences[i].q_len;
    Result want;
    const int64_t row = spec.heads * kDim;
    want.out.assign(whole.out.begin() + first * row, whole.out.begin() + (first + end - begin) * row);
    want.lse.assign(whole.lse.begin() + first * spec.heads, whole.lse.begin() + (first + end - begin) * spec.heads);
    expect(is_same(got, want), spec.name() + ": tokens " + std::to_string(begin) + " to " + std::to_string(end) +
                                   " of sequence " + std::to_string(n) + " alone");
}

// As ranks of context parallelism do, and each decode step after a prefill.
void parts() {
    for (const SparseSpec& spec : specs()) {
        if (spec.ori_topk > 0) continue;  // its lists may name any original row
        SparseData data = make_sparse_data(spec, 2);
        // A rank's compressed stream ends with its tokens: entries behind that do not exist there.
        for (size_t n = 0; n < spec.sequences.size(); n++) {
            for (int64_t i = 0; i < spec.sequences[n].q_len; i++) {
                for (int64_t e = 0; e < spec.cmp_topk; e++) {
                    int32_t& row = data.sequences[n].cmp_list[static_cast<size_t>(i * spec.cmp_topk + e)];
                    if (row >= visible_cmp(spec, n, i)) row = 0;
                }
            }
        }
        const Result whole = run_sparse(spec, data);
        for (size_t n = 0; n < spec.sequences.size(); n++) {
            const int64_t q_len = spec.sequences[n].q_len;
            if (q_len > spec.sequences[n].ori_len) continue;
            part(spec, data, whole, n, 0, q_len);
            part(spec, data, whole, n, q_len - 1, q_len);
            if (q_len == 1) continue;
            part(spec, data, whole, n, 0, q_len / 2);
            part(spec, data, whole, n, q_len / 2, q_len);
            part(spec, data, whole, n, 1, 2);
        }
    }
}

void storage() {
    for (SparseSpec spec : specs()) {
        const SparseData data = make_sparse_data(spec, 3);
        spec.ori_block = spec.cmp_block = 0;
        const Result contiguous = run_sparse(spec, data);
        for (const int32_t block : {1, 16, 100}) {
            spec.ori_block = block;
            spec.cmp_block = 2 * block;
            expect(is_same(contiguous, run_sparse(spec, data, 77)), spec.name() + ": paging");
        }
    }
}

// The invisible neighbours of what is seen, in the same tiles and blocks.
void unseen_rows() {
    for (const SparseSpec& spec : specs()) {
        const SparseData data = make_sparse_data(spec, 4);
        SparseLaid laid(spec, data);
        expect(!laid.run().found(), "no fault");
        const Result clean = laid.collect();
        const uint16_t infinity = spec.dtype == Dtype::f16 ? 0x7c00 : 0x7f80;
        for (size_t n = 0; n < spec.sequences.size(); n++) {
            const SparseSequenceSpec& s = spec.sequences[n];
            const int64_t last = s.q_len / 2;  // tokens up to here must not notice rows that only later ones see
            SparseLaid poisoned(spec, data);
            std::vector<bool> ori(static_cast<size_t>(s.ori_len)), cmp(static_cast<size_t>(spec.cmp_len(n)));
            for (int64_t i = 0; i <= last; i++) {
                for (const uint8_t* row : seen_rows(spec, data, n, i)) {
                    const auto mark = [&](const std::vector<uint8_t>& pool, std::vector<bool>& seen) {
                        const ptrdiff_t at = row - pool.data();
                        if (at >= 0 && at < static_cast<ptrdiff_t>(pool.size())) {
                            seen[static_cast<size_t>(at / spec.row_bytes())] = true;
                        }
                    };
                    mark(data.sequences[n].ori, ori);
                    mark(data.sequences[n].cmp, cmp);
                }
            }
            const auto poison = [&](bool is_ori, const std::vector<bool>& seen) {
                for (size_t t = 0; t < seen.size(); t++) {
                    if (seen[t]) continue;
                    uint8_t* row = poisoned.row(n, is_ori, static_cast<int64_t>(t));
                    std::memset(row, 0xff, static_cast<size_t>(spec.row_bytes()));
                    for (int64_t d = 0; d < kDim && !spec.packed(); d++) {
                        const uint16_t code = d % 3 == 0 ? infinity : 0xffff;
                        std::memcpy(row + 2 * d, &code, 2);
                    }
                }
            };
            poison(true, ori);
            poison(false, cmp);
            expect(!poisoned.run().found(), "no fault");
            const SparseSequence& place = poisoned.sequences[n];
            const size_t from = static_cast<size_t>(place.q_offset);
            const size_t count = static_cast<size_t>((last + 1) * spec.heads * kDim);
            expect(std::memcmp(poisoned.out.data() + from, laid.out.data() + from, count * 2) == 0,
                   spec.name() + ": rows that only other tokens see");
            for (int64_t i = 0; i <= last; i++) {
                for (int64_t h = 0; h < spec.heads; h++) {
                    expect(poisoned.lse_of(place, i, h) == laid.lse_of(place, i, h), spec.name() + ": unseen, LSE");
                }
            }
        }
    }
}

// Values that the plain product cannot take, seen before and after a cut.
void exceptional_rows(int32_t heads) {
    SparseSpec spec;
    spec.heads = heads;
    spec.left = -1;
    spec.has_sink = false;
    spec.sequences = Sequences{{4, 2300}};
    SparseData data = make_sparse_data(spec, 5);
    const auto set = [&](int64_t row, float x) {
        const uint16_t code = encode(Dtype::bf16, x);
        std::memcpy(data.sequences[0].ori.data() + row * spec.row_bytes() + 2 * 9, &code, 2);
    };
    for (uint16_t& code : data.sequences[0].q) code = 0;  // all rows weigh the same
    for (int64_t row = 0; row < 2300; row++) set(row, row % 2 == 0 ? 3e38f : -3e38f);
    const Result huge = run_sparse(spec, data);
    check_sparse(spec, data, huge);
    for (int64_t row = 0; row < 2300; row++) set(row, 3e35f);  // each part's sum is finite, but not the parts'
    check_sparse(spec, data, run_sparse(spec, data));
    for (int64_t row = 0; row < 2300; row++) set(row, 1e-37f);
    const Result tiny = run_sparse(spec, data);
    expect(std::fabs(decode(Dtype::bf16, tiny.out[9]) - 1e-37f) < 1e-39f, "tiny values");
}

}  // namespace

int main() {
    for_each_target([](int) {
        threads();
        parts();
        storage();
        unseen_rows();
        for (const int32_t heads : {2, 8, 12}) exceptional_rows(heads);
    });
    return finish("engine_sparse_determinism");
}
