// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The cube core's half of the kernel: scores S = Q K^T, and products O_t = P V, a step at a time.
#pragma once

#include "ascendc/flash_attention/rows.h"
#include "ascendc/flash_attention/signals.h"
#include "ascendc/flash_attention/traits.h"
#include "ascendc/tile/shared/cube.h"
#include "ascendc/tile/shared/events.h"
#include "geometry/merged_rows.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class Traits>
class CubeSide {
    using Element = typename Traits::Element;
    using Item = typename Traits::Item;
    using Product = typename Traits::Product;
    using Rope = typename Traits::Rope;
    using Tile = AscendC::LocalTensor<Element>;

public:
    __aicore__ inline CubeSide(const FlashAttentionParams& params, int64_t core)
        : params_(params), memory_(params.core_memory + static_cast<uint64_t>(core * params.core_stride)) {
        query_.Prime();
        keys_.Prime();
        if constexpr (!Traits::kValueIsKey) values_.Prime();
        if constexpr (__NPU_ARCH__ == 2201) probs_.Prime();
        operands_.Prime();
        results_.Prime();
    }

    __aicore__ inline void Finish() {
        query_.Drain();
        keys_.Drain();
        if constexpr (!Traits::kValueIsKey) values_.Drain();
        if constexpr (__NPU_ARCH__ == 2201) probs_.Drain();
        operands_.Drain();
        results_.Drain();
    }

    __aicore__ inline void Scores(const Step& step, const Item& item) {
        if (step.keys == 0) return;
        if (step.is_first) {
            query_.WaitFree(0);
            LoadQuery(item);
            query_.SetReady(0);
        }
        keys_.WaitFree(KeySlot(step));
        LoadKeys(step, item);
        keys_.SetReady(KeySlot(step));
        if (step.is_first) query_.WaitReady(0);
        keys_.WaitReady(KeySlot(step));

        results_.WaitFree(result_);
        const bool has_more = params_.rope_dim > 0 && !Traits::kHasOwnRope;
        const int32_t columns = has_more ? RopeColumn() + params_.rope_dim : params_.dim;
        const Tile query = L1<Element>(Traits::kL1Query, Traits::kRows * Traits::kDim);
        for (int32_t column = 0; column < columns; column += Traits::kChunk) {
            const int32_t count = Min(Traits::kChunk, columns - column);
            operands_.WaitFree(operand_);
            L1ToL0A(Left<Element>(), query, item.rows, column, count, Traits::kRows);
            L1ToL0B(Right<Element>(), KeyTile(step), step.keys, column, count, Traits::kKeys);
            Multiply<Product, Element>(item.rows, step.keys, count, column == 0);
        }
        if constexpr (Traits::kHasOwnRope) {
            if (params_.rope_dim > 0) MultiplyRopes(step, item);
        }
        if constexpr (!Traits::kValueIsKey) keys_.SetFree(KeySlot(step));
        if (step.is_last) query_.SetFree(0);
        if (Traits::kHasRopeScores && params_.rope_dim > 0) {
            HandOverScores<float>(Traits::kGmRopeScores, Traits::kUbRopeScores, step, item);
        } else {
            HandOverScores<Product>(Traits::kGmScores, Traits::kUbScores, step, item);
        }
        ScoresReady::template SetByCube<PIPE_FIX>();
    }

    __aicore__ inline void Products(const Step& step, const Item& item) {
        if (step.keys == 0) return;
        if constexpr (!Traits::kValueIsKey) {
            values_.WaitFree(ValueSlot(step));
            LoadValues(step, item);
            values_.SetReady(ValueSlot(step));
        }
        TakeProbs(step, item);
        if constexpr (!Traits::kValueIsKey) values_.WaitReady(ValueSlot(step));
        const uint32_t slot = static_cast<uint32_t>(step.slot);
        for (int32_t column = 0; column < params_.dim_v; column += Traits::kChunk) {
            const int32_t count = Min(Traits::kChunk, params_.dim_v - column);
            results_.WaitFree(result_);
            operands_.WaitFree(operand_);
            L1ToL0A(Left<Element>(), ProbTile(step), item.rows, 0, step.keys, Traits::kRows);
            L1ToL0BTransposed(Right<Element>(), ValueTile(step), step.keys, column, count, Traits::kKeys);
            Multiply<Product, Element>(item.rows, RoundUp(count, kTransposedColumns<Element>), step.keys, true);
            const uint32_t offset = static_cast<uint32_t>(column) * sizeof(Product);
            HandOver<Product>(Traits::kGmProducts + slot * Traits::kGmProductBytes + offset,
                     Traits::kUbProducts + (slot % Traits::kProductSlots) * Traits::kProductBytes + offset, item.rows,
                     count, Traits::kDimV);
        }
        if constexpr (__NPU_ARCH__ == 2201) probs_.SetFree(0);
        if constexpr (Traits::kValueIsKey) {
            keys_.SetFree(KeySlot(step));
        } else {
            values_.SetFree(ValueSlot(step));
        }
        ProductsReady::template SetByCube<PIPE_FIX>();
    }

private:
    __aicore__ inline int32_t KeySlot(const Step& step) const {
        return Traits::kKeySlots == kStepsAlive ? step.key_slot : step.slot;
    }
    __aicore__ inline Tile KeyTile(const Step& step) const {
        return L1<Element>(Traits::kL1Keys + static_cast<uint32_t>(KeySlot(step)) * Traits::kKeyBytes,
                           Traits::kKeys * Traits::kDim);
    }
    __aicore__ inline int32_t ValueSlot(const Step& step) const { return step.slot % kValueSlots; }
    __aicore__ inline Tile ValueTile(const Step& step) const {
        if constexpr (Traits::kValueIsKey) {
            return KeyTile(step);
        } else {
            return L1<Element>(Traits::kL1Values + static_cast<uint32_t>(ValueSlot(step)) * Traits::kValueBytes,
                               Traits::kKeys * Traits::kDimV);
        }
    }
    __aicore__ inline Tile ProbTile(const Step& step) const {
        const uint32_t slot = static_cast<uint32_t>(step.slot % Traits::kProbSlots);
        return L1<Element>(Traits::kL1Probs + slot * Traits::kProbBytes, Traits::kRows * Traits::kKeys);
    }
    __aicore__ inline AscendC::LocalTensor<Rope> QueryRopeTile() const {
        return L1<Rope>(Traits::kL1QueryRope, Traits::kRows * Traits::kRopeDim);
    }
    __aicore__ inline AscendC::LocalTensor<Rope> KeyRopeTile(const Step& step) const {
        return L1<Rope>(Traits::kL1KeyRope + static_cast<uint32_t>(KeySlot(step)) * Traits::kKeyRopeBytes,
                        Traits::kKeys * Traits::kRopeDim);
    }
    template <class T>
    __aicore__ inline AscendC::LocalTensor<T> Left() const {
        return L0a<T>(static_cast<uint32_t>(operand_) * Traits::kL0aSlot, Traits::kL0aSlot / sizeof(T));
    }
    template <class T>
    __aicore__ inline AscendC::LocalTensor<T> Right() const {
        return L0b<T>(static_cast<uint32_t>(operand_) * Traits::kL0bSlot, Traits::kL0bSlot / sizeof(T));
    }
    template <class T>
    __aicore__ inline AscendC::LocalTensor<T> Result() const {
        return L0c<T>(static_cast<uint32_t>(result_) * Traits::kL0cSlot, Traits::kRows * Traits::kChunk);
    }

    // Of the operands just loaded. They are free again when the product is done.
    template <class To, class From>
    __aicore__ inline void Multiply(int32_t m, int32_t n, int32_t k, bool starts) {
        operands_.SetReady(operand_);
        operands_.WaitReady(operand_);
        MmadTile(Result<To>(), Left<From>(), Right<From>(), m, n, k, starts);
        operands_.SetFree(operand_);
        operand_ = 1 - operand_;
    }

    // Ropes of another type: their products join those in L0C, or, beside integers, begin a tile of their own.
    __aicore__ inline void MultiplyRopes(const Step& step, const Item& item) {
        if constexpr (Traits::kHasRopeScores) {
            HandOverScores<Product>(Traits::kGmScores, Traits::kUbScores, step, item);
            results_.WaitFree(result_);
        }
        operands_.WaitFree(operand_);
        L1ToL0A(Left<Rope>(), QueryRopeTile(), item.rows, 0, params_.rope_dim, Traits::kRows);
        L1ToL0B(Right<Rope>(), KeyRopeTile(step), step.keys, 0, params_.rope_dim, Traits::kKeys);
        Multiply<float, Rope>(item.rows, step.keys, params_.rope_dim, Traits::kHasRopeScores);
    }

    template <class T>
    __aicore__ inline void HandOverScores(uint32_t gm_offset, uint32_t ub_address, const Step& step,
                                          const Item& item) {
        const uint32_t slot = static_cast<uint32_t>(step.slot);
        HandOver<T>(gm_offset + slot * Traits::kGmScoreBytes,
                    ub_address + (slot % Traits::kScoreSlots) * Traits::kScoreBytes, item.rows, step.keys,
                    Traits::kKeys);
    }

    // The result goes to the core's part of GM, or to UB, whichever the chip can.
    template <class T>
    __aicore__ inline void HandOver([[maybe_unused]] uint32_t gm_offset, [[maybe_unused]] uint32_t ub_address,
                                    int32_t m, int32_t n, int32_t ld) {
        results_.SetReady(result_);
        results_.WaitReady(result_);
#if __NPU_ARCH__ == 2201
        L0cToGm(Gm<T>(memory_ + gm_offset), Result<T>(), m, n, ld);
#else
        L0cToUb(Ub<T>(ub_address, static_cast<uint32_t>(Traits::kVectorRows * ld)), Result<T>(), m, n, ld);
#endif
        results_.SetFree(result_);
        result_ = 1 - result_;
    }

    // The probabilities of the step are in L1 afterwards, and MTE1 may read them.
    __aicore__ inline void TakeProbs([[maybe_unused]] const Step& step, [[maybe_unused]] const Item& item) {
#if __NPU_ARCH__ == 2201
        ProbsReady::template WaitInCube<PIPE_MTE2>();
        probs_.WaitFree(0);
        const uint64_t address = memory_ + Traits::kGmProbs + static_cast<uint64_t>(step.slot) * Traits::kGmProbBytes;
        GmToL1Nz(ProbTile(step), Gm<Element>(address), item.rows, RoundUp(step.keys, kPerBlock<Element>),
                 Traits::kKeys, 0, Traits::kRows);
        probs_.SetReady(0);
        probs_.WaitReady(0);
#else
        ProbsReady::template WaitInCube<PIPE_MTE1>();
#endif
    }

    // Rope channels follow at the next fractal. The columns between are 0 in queries and keys: loading filled them.
    __aicore__ inline int32_t RopeColumn() const { return RoundUp(params_.dim, kPerBlock<Element>); }

    template <class T>
    __aicore__ inline void LoadQueryColumns(const AscendC::LocalTensor<T>& tile, const Item& item, uint64_t tensor,
                                            int64_t origin, int64_t token_stride, int64_t head_stride,
                                            int32_t columns) {
        const int64_t group = params_.group;
        const int64_t stride = geometry::run_stride(group, token_stride, head_stride);
        for (int32_t row = 0; row < item.rows;) {
            const geometry::RowRun run = geometry::row_run(item.row_begin + row, item.rows - row, group);
            const int64_t at =
                origin + run.token * token_stride + (item.kv_head * group + run.head) * head_stride;
            GmToL1Nz(tile, Gm<T>(tensor + static_cast<uint64_t>(at * static_cast<int64_t>(sizeof(T)))),
                     static_cast<int32_t>(run.count), columns, stride, row, Traits::kRows);
            row += static_cast<int32_t>(run.count);
        }
    }

    __aicore__ inline void LoadQuery(const Item& item) {
        const Tile tile = L1<Element>(Traits::kL1Query, Traits::kRows * Traits::kDim);
        LoadQueryColumns(tile, item, params_.query, item.sequence[kSeqQueryOffset], params_.query_token_stride,
                         params_.query_head_stride, params_.dim);
        if (params_.rope_dim == 0) return;
        if constexpr (Traits::kHasOwnRope) {
            LoadQueryRope(QueryRopeTile(), item);
        } else {
            LoadQueryRope(tile[RopeColumn() * Traits::kRows], item);
        }
    }

    template <class T>
    __aicore__ inline void LoadQueryRope(const AscendC::LocalTensor<T>& tile, const Item& item) {
        LoadQueryColumns(tile, item, params_.query_rope, item.sequence[kSeqQueryRopeOffset],
                         params_.query_rope_token_stride, params_.query_rope_head_stride, params_.rope_dim);
    }

    template <class T>
    __aicore__ inline void LoadKeyColumns(const AscendC::LocalTensor<T>& tile, const KvParams& kv, KvWords words,
                                          const Step& step, const Item& item) {
        for (int32_t key = 0; key < step.keys;) {
            const KeyRun run = KeyRunAt(params_, kv, words, item, step.key + key, step.keys - key,
                                        2 * static_cast<int32_t>(sizeof(T)));
            const AscendC::GlobalTensor<T> from = Gm<T>(run.address);
            if (run.chunk_stride > 0) {
                GroupsToL1Nz(tile, from, run.count, kv.columns, run.chunk_stride, key, Traits::kKeys);
            } else {
                GmToL1Nz(tile, from, run.count, kv.columns, run.stride, key, Traits::kKeys);
            }
            key += run.count;
        }
    }

    // A step of sparse attention: rows that lie where the cube can load them, or that vector cores have brought
    // together.
    __aicore__ inline void LoadRows(const Step& step, const Item& item) {
        const Tile tile = KeyTile(step);
        if (item.IsGathered(step.range)) {
            KeysReady::template WaitInCube<PIPE_MTE2>();
            LoadDequantised(tile, Traits::kGmKeys, Traits::kKeyBytes, step, Traits::kDim, Traits::kDim);
            return;
        }
        for (int32_t key = 0; key < step.keys;) {
            const KeyRun run = item.RunAt(step.range, step.key + key, step.keys - key);
            GmToL1Nz(tile, Gm<Element>(run.address), run.count, Traits::kDim, run.stride, key, Traits::kKeys);
            key += run.count;
        }
    }

    // What vector cores have left in the core's part of GM: rows of the step's keys, `ld` elements apart.
    __aicore__ inline void LoadDequantised(const Tile& tile, uint32_t gm_offset, uint32_t slot_bytes, const Step& step,
                                           int32_t columns, int32_t ld) {
        const uint64_t address = memory_ + gm_offset + static_cast<uint64_t>(step.key_slot) * slot_bytes;
        GmToL1Nz(tile, Gm<Element>(address), step.keys, columns, ld, 0, Traits::kKeys);
    }

    __aicore__ inline void LoadKeys(const Step& step, const Item& item) {
        if constexpr (Traits::kIsSparse) {
            LoadRows(step, item);
        } else if constexpr (Traits::kDequantises) {
            KeysReady::template WaitInCube<PIPE_MTE2>();
            LoadDequantised(KeyTile(step), Traits::kGmKeys, Traits::kKeyBytes, step, params_.dim, Traits::kDim);
        } else {
            LoadKeyColumns(KeyTile(step), params_.key, kKeyWords, step, item);
            if (params_.rope_dim == 0) return;
            if constexpr (Traits::kHasOwnRope) {
                LoadKeyColumns(KeyRopeTile(step), params_.key_rope, kRopeWords, step, item);
            } else {
                LoadKeyColumns(KeyTile(step)[RopeColumn() * Traits::kKeys], params_.key_rope, kRopeWords, step, item);
            }
        }
    }

    __aicore__ inline void LoadValues(const Step& step, const Item& item) {
        if constexpr (Traits::kDequantises) {
            LoadDequantised(ValueTile(step), Traits::kGmValues, Traits::kValueBytes, step, params_.dim_v,
                            Traits::kDimV);
        } else {
            LoadKeyColumns(ValueTile(step), params_.value, kValueWords, step, item);
        }
    }

    static constexpr int32_t kValueSlots = Traits::kValueIsKey ? 1 : Traits::kValueSlots;

    const FlashAttentionParams& params_;
    const uint64_t memory_;
    int32_t operand_ = 0;
    int32_t result_ = 0;
    EventRing<AscendC::HardEvent::MTE2_MTE1, AscendC::HardEvent::MTE1_MTE2, 0, 1> query_;
    EventRing<AscendC::HardEvent::MTE2_MTE1, AscendC::HardEvent::MTE1_MTE2, 1, Traits::kKeySlots> keys_;
    EventRing<AscendC::HardEvent::MTE2_MTE1, AscendC::HardEvent::MTE1_MTE2, 3, kValueSlots> values_;
    EventRing<AscendC::HardEvent::MTE2_MTE1, AscendC::HardEvent::MTE1_MTE2, 5, 1> probs_;
    EventRing<AscendC::HardEvent::MTE1_M, AscendC::HardEvent::M_MTE1, 0, 2> operands_;  // one slot of L0A and of L0B
    EventRing<AscendC::HardEvent::M_FIX, AscendC::HardEvent::FIX_M, 0, 2> results_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
