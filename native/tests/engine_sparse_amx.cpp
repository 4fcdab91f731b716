// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse kernel for AMX with its registers emulated, on any processor, as engine_amx does for prefill.
#include "engine/amx_rows-inl.h"
#include "engine/amx_shared_rows-inl.h"
#include "engine/kernels-inl.h"
#include "engine/sparse_blocks.h"
#include "engine/sparse_workspace.h"
#include "engine_sparse_problem.h"
#include "engine_sparse_reference.h"

#if defined(__AMX_TILE__)
#error "expected a build for the baseline, where the registers are emulated"
#endif

using namespace engine_test;

namespace {

constexpr Kernels kEmulated =
    make_kernels<AmxOperand<2>, AmxOperand<1>, AmxSharedOperand>("amx emulated", &kFullQuantPortable);

// All heads of `tokens` query tokens at a time.
Result run_emulated(const SparseSpec& spec, const SparseData& data, int64_t tokens) {
    SparseLaid laid(spec, data);
    SparseBounds bounds;
    bounds.block_rows = kMaxBlockRows;
    Arena counter;
    divide_scratch(counter, laid.problem, bounds, kEmulated);
    std::vector<char> memory(counter.used() + Arena::kAlignment, '\xff');
    Arena arena = Arena::aligned(memory.data());
    const SparseScratch scratch = divide_scratch(arena, laid.problem, bounds, kEmulated);
    std::fill_n(scratch.tile.zeros, kMaxDim, 0.0f);
    for (size_t n = 0; n < laid.sequences.size(); n++) {
        const SparseSequence& s = laid.sequences[n];
        for (int64_t i = 0; i < s.q_len; i += tokens) {
            const SparsePlace place = {static_cast<int64_t>(n), i, std::min(i + tokens, s.q_len), 0, spec.heads};
            const SparseBlock block = block_at(laid.problem, laid.operands, s, place);
            kEmulated.sparse[static_cast<int>(spec.dtype)](block, scratch);
        }
    }
    return laid.collect();
}

void check(const SparseSpec& spec) {
    const SparseData data = make_sparse_data(spec, 21);
    const Result one = run_emulated(spec, data, 1);
    check_sparse(spec, data, one);
    expect(is_same(one, run_emulated(spec, data, 5)), spec.name() + ": five tokens at a time");
}

}  // namespace

int main() {
    for (const int32_t heads : {5, 40}) {
        for (const int64_t topk : {0, 60}) {
            for (const SparseRows rows : {SparseRows::bf16, SparseRows::packed_e4m3, SparseRows::packed_hif8}) {
                SparseSpec spec;
                spec.heads = heads;
                spec.rows = rows;
                spec.has_cmp = true;
                spec.cmp_topk = topk;
                spec.sequences = std::vector<SparseSequenceSpec>{{7, 200}, {1, 300}};
                check(spec);
            }
        }
    }
    return finish("engine_sparse_amx");
}
