// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse engine on every instruction set: against the obvious computation, and the faults that it must name.
#include <limits>
#include <stdexcept>

#include "engine_sparse_problem.h"

using namespace engine_test;

namespace {

using Sequences = std::vector<SparseSequenceSpec>;

// The data and the obvious computation take longer than the engine: once for all instruction sets.
void check(const SparseSpec& spec) {
    const SparseData data = make_sparse_data(spec, 11);
    const Exact want = sparse_reference(spec, data);
    for_each_target([&](int) { check_sparse(spec, want, run_sparse(spec, data)); });
}

// Calls body with the rows' formats and all ways to store the two streams.
template <class Body>
void for_each_storage(SparseSpec spec, Body body) {
    for (const SparseRows rows :
         {SparseRows::f16, SparseRows::bf16, SparseRows::packed_e4m3, SparseRows::packed_hif8}) {
        spec.rows = rows;
        spec.dtype = rows == SparseRows::f16 ? Dtype::f16 : Dtype::bf16;
        for (const int32_t block : {0, 16, 7}) {
            spec.ori_block = block;
            spec.cmp_block = block == 16 ? 48 : block;
            body(spec);
        }
    }
}

// Few heads and more of them are computed in different ways.
constexpr int32_t kFewAndMore[] = {4, 12};

void scenarios(int32_t heads) {
    SparseSpec base;
    base.heads = heads;
    base.sequences = Sequences{{3, 40}, {1, 700}, {20, 300}, {5, 3}, {0, 9}, {4, 0}};
    for_each_storage(base, [](SparseSpec spec) {
        check(spec);  // window alone
        spec.has_cmp = true;
        check(spec);  // dense prefix
        spec.cmp_topk = 32;
        check(spec);  // lists, shorter and longer than what is visible
        spec.cmp_topk = 300;
        spec.has_topk_length = true;
        check(spec);
        spec.ori_topk = 40;
        spec.all_cmp = true;
        check(spec);  // lists for both
        spec.has_cmp = false;
        spec.cmp_topk = 0;
        check(spec);  // of the original rows alone
    });
}

void heads() {
    for (const int32_t heads : {1, 2, 3, 5, 6, 7, 8, 9, 17, 32, 64, 128}) {
        for (const int64_t topk : {0, 50}) {
            SparseSpec spec;
            spec.heads = heads;
            spec.has_cmp = true;
            spec.cmp_topk = topk;
            spec.has_sink = heads != 7;
            spec.sequences = Sequences{{1, 260}, {9, 100}};
            check(spec);
        }
    }
}

void windows(int32_t heads) {
    const int64_t windows[][2] = {{-1, -1}, {-1, 0}, {0, 0}, {2, 1}, {300, 5}, {127, -1}};
    for (const auto& window : windows) {
        SparseSpec spec;
        spec.heads = heads;
        spec.dtype = heads > 4 ? Dtype::bf16 : Dtype::f16;
        spec.rows = heads > 4 ? SparseRows::bf16 : SparseRows::f16;
        spec.left = window[0];
        spec.right = window[1];
        spec.sequences = Sequences{{70, 90}, {2, 600}, {30, 12}};
        check(spec);
    }
}

void ratios(int32_t heads) {
    for (const int64_t ratio : {1, 3, 4, 128}) {
        SparseSpec spec;
        spec.heads = heads;
        spec.has_cmp = true;
        spec.ratio = ratio;
        spec.sequences = Sequences{{10, 270, 0, 3}, {3, 128}, {200, 131}, {12, 18}};
        check(spec);
    }
}

// Streams that are cut, by few and by many query tokens.
void long_streams(int32_t heads) {
    for (const int64_t topk : {0, 2500}) {
        SparseSpec spec;
        spec.heads = heads;
        spec.left = -1;
        spec.has_cmp = true;
        spec.ratio = 2;
        spec.cmp_topk = topk;
        spec.sequences = Sequences{{1, 5200}};
        check(spec);
        spec.sequences = Sequences{{7, 5200}, {40, 2100}};
        check(spec);
    }
}

// Unpacked as the specification says, by few heads and by many.
void packed_numbers(int32_t heads) {
    for (const SparseRows rows : {SparseRows::packed_e4m3, SparseRows::packed_hif8}) {
        const SparseSpec spec = every_packed_number(rows, heads);
        const SparseData data = make_every_packed_number(spec);
        const Result got = run_sparse(spec, data);
        for (size_t scale = 0; scale < 255; scale++) {
            for (int64_t i = 0; i < kDim; i++) {
                const uint16_t code = got.out[scale * static_cast<size_t>(heads) * kDim + static_cast<size_t>(i)];
                const double want = read_row(spec, data.sequences[scale].ori.data(), i);
                if (decode(Dtype::bf16, code) == want) continue;
                fail("packed rows " + std::to_string(static_cast<int>(rows)) + ": scale code " + std::to_string(scale) +
                     ", channel " + std::to_string(i));
            }
        }
    }
}

void padding() {
    SparseSpec spec;
    spec.sequences = Sequences{{2, 20, 3}, {0, 7, 2}, {0, 0, 1}, {3, 9, 0}};
    const SparseData data = make_sparse_data(spec, 3);
    SparseLaid laid(spec, data);
    expect(!laid.run().found(), "no fault");
    check_sparse(spec, data, laid.collect());
    expect(is_padding_zero(laid), "padding is 0, its LSE too");
}

void expect_fault(SparseLaid& laid, SparseFault want, const char* what) {
    const SparseFault got = laid.run();
    expect(got.kind == want.kind && got.sequence == want.sequence && got.token == want.token &&
               got.index == want.index && got.value == want.value && got.limit == want.limit,
           std::string(what) + ": the bad number is named");
    for (size_t i = 0; i < laid.out.size(); i++) expect(laid.out[i] == SparseLaid::kUnwritten, "nothing was computed");
}

void faults() {
    using Kind = SparseFault::Kind;
    SparseSpec spec;
    spec.has_cmp = true;
    spec.ori_block = spec.cmp_block = 16;
    spec.sequences = Sequences{{2, 40}, {3, 900}, {4, 30}};
    const SparseData dense = make_sparse_data(spec, 4);
    constexpr int32_t kLowest = std::numeric_limits<int32_t>::min(), kHighest = std::numeric_limits<int32_t>::max();
    for (const int32_t bad : {-1, kLowest, kHighest}) {
        SparseLaid laid(spec, dense);
        const SparseStream& ori = laid.sequences[1].ori;
        laid.ori_table[static_cast<size_t>(ori.table_offset)] = bad;  // left of the window
        expect(!laid.run().found(), "a block that nobody sees is no fault");
        laid.ori_table[static_cast<size_t>(ori.table_offset + 50)] = bad;
        SparseLaid again(spec, dense);
        again.ori_table[static_cast<size_t>(ori.table_offset + 50)] = bad;
        expect_fault(again, {Kind::ori_block_table, 1, -1, 50, bad, again.problem.ori.block_count}, "ori table");
        SparseLaid cmp(spec, dense);
        cmp.cmp_table[static_cast<size_t>(cmp.sequences[1].cmp.table_offset + 14)] = bad;
        expect_fault(cmp, {Kind::cmp_block_table, 1, -1, 14, bad, cmp.problem.cmp.block_count}, "cmp table");
    }
    spec.cmp_topk = 6;
    SparseData lists = make_sparse_data(spec, 5);
    for (int64_t i = 0; i < 4; i++) {  // 6, 7, 7, 7 of 7 rows are visible
        for (int32_t e = 0; e < 6; e++) lists.sequences[2].cmp_list[static_cast<size_t>(i * 6 + e)] = e;
    }
    for (const int32_t bad : {7, -2, kLowest, kHighest}) {
        for (int64_t token = 0; token < 4; token++) {
            for (int64_t e = 0; e < 6; e++) {
                SparseData broken = lists;
                broken.sequences[2].cmp_list[static_cast<size_t>(token * 6 + e)] = bad;
                SparseLaid laid(spec, broken);
                expect_fault(laid, {Kind::cmp_index, 2, token, e, bad, 7}, "cmp index");
                if (e == 0) continue;
                broken.sequences[2].cmp_list[static_cast<size_t>(token * 6 + e - 1)] = -1;
                SparseLaid ended(spec, broken);
                expect(!ended.run().found(), "an entry after the list's end is no fault");
            }
        }
    }
    SparseLaid laid(spec, lists);
    laid.cmp_table[static_cast<size_t>(laid.sequences[2].cmp.table_offset)] = 1 << 20;
    const int64_t blocks = laid.problem.cmp.block_count;
    expect_fault(laid, {Kind::cmp_block_table, 2, -1, 0, 1 << 20, blocks}, "a listed row's block");
    spec.ori_topk = 5;
    spec.has_topk_length = true;
    SparseData lengths = make_sparse_data(spec, 6);
    lengths.sequences[1].ori_length[2] = -3;
    SparseLaid ori(spec, lengths);
    expect_fault(ori, {Kind::ori_topk_length, 1, 2, 0, -3, 6}, "top-k length");
}

void refusals() {
    const auto refuses = [](auto change) {
        SparseProblem p;
        p.heads = 4;
        change(p);
        try {
            SparseAttention::plan(p);
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    expect(!refuses([](SparseProblem&) {}), "a legal problem");
    expect(refuses([](SparseProblem& p) { p.heads = 0; }), "no heads");
    expect(refuses([](SparseProblem& p) { p.heads = 129; }), "too many heads");
    expect(refuses([](SparseProblem& p) { p.dtype = Dtype::f32; }), "fp32 queries");
    expect(refuses([](SparseProblem& p) { p.rows = SparseRows::f16; }), "mixed types");
    expect(refuses([](SparseProblem& p) { p.cmp_ratio = 0; }), "ratio 0");
    expect(refuses([](SparseProblem& p) { p.ori.topk = -1; }), "negative top-k");
}

}  // namespace

int main() {
    refusals();
    heads();
    for (const int32_t count : kFewAndMore) {
        scenarios(count);
        windows(count);
        ratios(count);
        long_streams(count);
        for_each_target([&](int) { packed_numbers(count); });
    }
    for_each_target([](int) {
        padding();
        faults();
    });
    return finish("engine_sparse");
}
