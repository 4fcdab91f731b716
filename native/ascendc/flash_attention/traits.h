// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Tile sizes of an instantiation, and where its buffers lie. One place for all sizes, held against the chip's memories.
#pragma once

#include "ascendc/flash_attention/schemes.h"
#include "ascendc/flash_attention/steps.h"
#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class A, class B>
constexpr bool kIsSame = false;
template <class A>
constexpr bool kIsSame<A, A> = true;

template <class T>
constexpr bool kIsHifloat8 = false;
#if __NPU_ARCH__ == 3510
template <>
inline constexpr bool kIsHifloat8<hifloat8_t> = true;
#endif

template <bool kFirst, class A, class B>
struct ChooseType {
    using Type = A;
};
template <class A, class B>
struct ChooseType<false, A, B> {
    using Type = B;
};
template <bool kFirst, class A, class B>
using Choose = typename ChooseType<kFirst, A, B>::Type;

// `kSize`: the tile sizes, which the launch plans with too. `Kv`: the type that keys and values are stored in; if it is
// not `Element`, vector cores make Element of it before the cube sees it. `kSchemeOf`: of quantised queries, whose
// Element has 8 bits.
template <class ElementT, class KvT, TileSize kSize, Scheme kSchemeOf = Scheme::none>
struct Traits {
    using Element = ElementT;
    using Kv = KvT;
    static constexpr Scheme kScheme = kSchemeOf;
    static constexpr bool kIsQuantised = kScheme != Scheme::none;
    static constexpr bool kIsInteger = kIsSame<ElementT, int8_t>;
    static_assert(sizeof(Element) == (kIsQuantised ? 1 : 2), "half or bfloat16_t, or 8 bits");
    using Product = Choose<kIsInteger, int32_t, float>;  // what the cube makes of two Elements
    // What the cube hands over of them for scores: the per-tensor scheme has its scores in fp16.
    using Score = Choose<kScheme == Scheme::per_tensor, half, Product>;
    using Out = Choose<kIsQuantised, bfloat16_t, Element>;  // of results, where OutType does not say otherwise
    static constexpr float kLargestWeight = kIsInteger ? 127.0f : kIsHifloat8<Element> ? 32768.0f : 448.0f;
    using Bias = Choose<kIsQuantised, half, Element>;
    using Rope = Choose<kIsQuantised, bfloat16_t, Element>;
    using Params = FlashAttentionParams;
    using Item = ascendc::Item;
    static constexpr bool kIsSparse = false;
    static constexpr ScaleType kSinkType = kIsSame<Out, half> ? ScaleType::f16 : ScaleType::bf16;
    static constexpr int32_t kLead = 1;  // steps that vector cores make keys ahead
    static constexpr float kEmptyLse = __builtin_huge_valf();  // of a row that has seen no key

    // The part of the parameters that all kernels of attention have.
    __aicore__ static inline const FlashAttentionParams& Rows(const Params& params) { return params; }

    static constexpr int32_t kRows = rows_of(kSize);
    static constexpr int32_t kKeys = kKeysOfStep;
    static constexpr int32_t kDim = dim_of(kSize);
    static constexpr int32_t kDimV = dim_v_of(kSize);
    static constexpr bool kValueIsKey = value_is_key(kSize);
    static constexpr bool kDequantises = !kIsSame<ElementT, KvT>;
    static_assert(!(kDequantises && kValueIsKey), "quantised keys have values of their own");
    static constexpr int32_t kVectorRows = kRows / kVectorCores;
    static constexpr int32_t kChunk = 128;  // columns of an operand in L0
    // Rope channels that are no further Elements of a row have tiles of their own.
    static constexpr bool kHasOwnRope = kScheme == Scheme::mla;
    static constexpr bool kHasRopeScores = has_rope_scores(kScheme, kIsInteger);
    static constexpr int32_t kRopeDim = kHasOwnRope ? kMaxQuantisedRope : 0;
    static_assert(kRopeDim * sizeof(Rope) <= kChunk * sizeof(Element), "a slot of L0 holds ropes");
    static_assert(kRows % 32 == 0 && kKeys == 128 && kVectorRows <= 64, "tiles fit one row statistic and L0");

    // --- L1
    static constexpr int32_t kProductSlots = __NPU_ARCH__ == 2201 || kDimV > 128 ? 1 : 2;  // in UB
    static constexpr int32_t kProbSlots = kProductSlots;  // signals.h: the order that one needs, the other can do with
    static constexpr int32_t kValueSlots = kValueIsKey ? 0 : kDimV <= 128 ? 2 : 1;
    static constexpr int32_t kKeySlots = kSize == TileSize::shared ? 3 : 2;
    static constexpr uint32_t kProbBytes = kRows * kKeys * sizeof(Element);
    static constexpr uint32_t kQueryBytes = kRows * kDim * sizeof(Element);
    static constexpr uint32_t kKeyBytes = kKeys * kDim * sizeof(Element);
    static constexpr uint32_t kValueBytes = kKeys * kDimV * sizeof(Element);
    static constexpr uint32_t kL1Probs = 0;  // first: on 3510 both kinds of core must know where
    static constexpr uint32_t kL1Query = kL1Probs + kProbSlots * kProbBytes;
    static constexpr uint32_t kL1Keys = kL1Query + kQueryBytes;
    static constexpr uint32_t kL1Values = kL1Keys + kKeySlots * kKeyBytes;
    static constexpr uint32_t kQueryRopeBytes = kRows * kRopeDim * sizeof(Rope);
    static constexpr uint32_t kKeyRopeBytes = kKeys * kRopeDim * sizeof(Rope);
    static constexpr uint32_t kL1QueryRope = kL1Values + kValueSlots * kValueBytes;
    static constexpr uint32_t kL1KeyRope = kL1QueryRope + kQueryRopeBytes;
    static_assert(kL1KeyRope + kKeySlots * kKeyRopeBytes <= kL1Bytes, "L1 is full");

    // --- L0: two slots each
    static constexpr uint32_t kL0aSlot = kRows * kChunk * sizeof(Element);
    static constexpr uint32_t kL0bSlot = kKeys * kChunk * sizeof(Element);
    static constexpr uint32_t kL0cSlot = kRows * kChunk * sizeof(float);
    static_assert(2 * kL0aSlot <= kL0aBytes && 2 * kL0bSlot <= kL0bBytes && 2 * kL0cSlot <= kL0cBytes, "L0 is full");

    // --- UB. On 3510 the cube writes scores and products here; on 2201 vector cores fetch them from GM.
    static constexpr int32_t kScoreSlots = __NPU_ARCH__ == 2201 ? 1 : 2;
    // On 2201 products are fetched in chunks of columns, with two buffers where there are several.
    static constexpr int32_t kProductBuffers = __NPU_ARCH__ == 2201 && kDimV > kChunk ? 2 : kProductSlots;
    static constexpr int32_t kProductColumns = __NPU_ARCH__ == 2201 ? kChunk : kDimV;  // of a buffer
    static constexpr uint32_t kScoreBytes = kVectorRows * kKeys * sizeof(Score);
    static constexpr bool kHasOwnLogits = sizeof(Score) < sizeof(float);  // otherwise they take the scores' place
    static constexpr uint32_t kProductBytes = kVectorRows * kProductColumns * sizeof(float);
    static constexpr uint32_t kOutBytes = kVectorRows * kDimV * sizeof(float);
    static constexpr uint32_t kScratchBytes =
        kVectorRows *
        (kKeys * sizeof(float) > kDimV * sizeof(Out) ? kKeys * sizeof(float) : kDimV * sizeof(Out));
    static constexpr uint32_t kAuxBytes = kVectorRows * kKeys * (sizeof(Bias) + 1);  // bias and mask of a step
    static constexpr uint32_t kStatisticBytes = 64 * sizeof(float);
    static constexpr int32_t kStatistics = kIsQuantised ? 15 : 12;
    static constexpr uint32_t kUbScores = 0;  // first, and products: the cube knows these two addresses
    static constexpr uint32_t kUbLogits = kUbScores + kScoreSlots * kScoreBytes;
    static constexpr uint32_t kUbProducts = kUbLogits + (kHasOwnLogits ? kVectorRows * kKeys * sizeof(float) : 0);
    static constexpr uint32_t kUbOut = kUbProducts + kProductBuffers * kProductBytes;
    static constexpr uint32_t kUbScratch = kUbOut + kOutBytes;
    static constexpr uint32_t kUbProbs = kUbScratch + kScratchBytes;
    static constexpr uint32_t kUbStatistics = kUbProbs + kVectorRows * kKeys * sizeof(Element);
    static constexpr uint32_t kUbBroadcast = kUbStatistics + kStatistics * kStatisticBytes;
    static constexpr uint32_t kUbRopeScores = kUbBroadcast + 64 * kBlockBytes;  // which the cube knows as well
    static constexpr uint32_t kUbAux = kUbRopeScores + (kHasRopeScores ? kScoreSlots * kScoreBytes : 0);
    static constexpr uint32_t kUbEnd = kUbAux + kAuxBytes;
    static_assert(kUbEnd <= kUbBytes, "UB is full");

    // --- GM of one core. On 2201, two slots each: scores, probabilities, products
    static constexpr uint32_t kGmScoreBytes = kRows * kKeys * sizeof(Score);
    static constexpr uint32_t kGmProbBytes = kRows * kKeys * sizeof(Element);
    static constexpr uint32_t kGmProductBytes = kRows * kDimV * sizeof(float);
    static constexpr uint32_t kGmScores = 0;
    static constexpr uint32_t kGmProbs = kGmScores + 2 * kGmScoreBytes;
    static constexpr uint32_t kGmProducts = kGmProbs + 2 * kGmProbBytes;
    static constexpr uint32_t kGmKeys = kGmProducts + 2 * kGmProductBytes;  // dequantised, three slots each
    static constexpr uint32_t kGmValues = kGmKeys + (kDequantises ? kStepsAlive * kKeyBytes : 0);
    static constexpr uint32_t kGmEnd = kGmValues + (kDequantises ? kStepsAlive * kValueBytes : 0);
    static_assert(kGmEnd <= core_bytes(kSize, kDequantises), "the launch sets enough aside");
    static constexpr uint32_t kGmRopeScores = core_bytes(kSize, kDequantises);
    static_assert(!kHasRopeScores || 2 * kGmScoreBytes == rope_score_bytes(kSize), "and for these");
    static_assert(kGmScoreBytes % kGmAlignment == 0 && kGmProbBytes % kGmAlignment == 0 &&
                      kGmProductBytes % kGmAlignment == 0 && kGmRopeScores % kGmAlignment == 0,
                  "Fixpipe writes aligned rows at full speed only");
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
