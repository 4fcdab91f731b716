// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Enumerations and constants of the kernel API, with the vendor's names. Of the values only those are the vendor's that
// a kernel can see.
#pragma once

#include <cstdint>

#include "ascendc/platform.h"

enum pipe_t {
    PIPE_S = 0,
    PIPE_V = 1,
    PIPE_M = 2,
    PIPE_MTE1 = 3,
    PIPE_MTE2 = 4,
    PIPE_MTE3 = 5,
    PIPE_ALL = 6,
    PIPE_FIX = 10,
};

enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

enum QuantMode_t {
    NoQuant,
    F322F16,
    F322BF16,
    DEQF16,
    VDEQF16,
    QF322B8_PRE,
    VQF322B8_PRE,
    REQ8,
    VREQ8,
#if __NPU_ARCH__ == 3510
    QF322FP8_PRE,
    QF322HIF8_PRE,
    QF322F16_PRE,
    QF322BF16_PRE,
    QF322F32_PRE,
#endif
};

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {

enum class TPosition : uint8_t { GM, A1, B1, C1, A2, B2, CO1, CO2, VECIN, VECOUT, VECCALC, TSCM, C2, C2PIPE2GM };

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF };

enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE2_M,
    M_MTE2,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_FIX,
    FIX_MTE2,
    FIX_S,
    M_S,
    FIX_MTE3,
    MTE1_FIX,
    FIX_MTE1,
};

enum class RoundMode : uint8_t {
    CAST_NONE,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
#if __NPU_ARCH__ == 3510
    CAST_HYBRID,
#endif
    UNKNOWN = 0xff,
};

enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class ReduceType : uint8_t { MAX, MIN, SUM };
enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };

constexpr uint64_t MASK_PLACEHOLDER = 0;

namespace detail {

struct EventPipes {
    acl_attn::sim::Pipe source;
    acl_attn::sim::Pipe target;
    const char* name;
};

constexpr EventPipes event_pipes(HardEvent event) {
    using P = acl_attn::sim::Pipe;
    switch (event) {
        case HardEvent::MTE2_MTE1: return {P::mte2, P::mte1, "MTE2_MTE1"};
        case HardEvent::MTE1_MTE2: return {P::mte1, P::mte2, "MTE1_MTE2"};
        case HardEvent::MTE1_M: return {P::mte1, P::m, "MTE1_M"};
        case HardEvent::M_MTE1: return {P::m, P::mte1, "M_MTE1"};
        case HardEvent::MTE2_V: return {P::mte2, P::v, "MTE2_V"};
        case HardEvent::V_MTE2: return {P::v, P::mte2, "V_MTE2"};
        case HardEvent::MTE3_V: return {P::mte3, P::v, "MTE3_V"};
        case HardEvent::V_MTE3: return {P::v, P::mte3, "V_MTE3"};
        case HardEvent::V_V: return {P::v, P::v, "V_V"};
        case HardEvent::MTE3_MTE1: return {P::mte3, P::mte1, "MTE3_MTE1"};
        case HardEvent::MTE1_MTE3: return {P::mte1, P::mte3, "MTE1_MTE3"};
        case HardEvent::MTE2_M: return {P::mte2, P::m, "MTE2_M"};
        case HardEvent::M_MTE2: return {P::m, P::mte2, "M_MTE2"};
        case HardEvent::M_FIX: return {P::m, P::fix, "M_FIX"};
        case HardEvent::FIX_M: return {P::fix, P::m, "FIX_M"};
        case HardEvent::MTE3_MTE2: return {P::mte3, P::mte2, "MTE3_MTE2"};
        case HardEvent::MTE2_MTE3: return {P::mte2, P::mte3, "MTE2_MTE3"};
        case HardEvent::S_V: return {P::s, P::v, "S_V"};
        case HardEvent::V_S: return {P::v, P::s, "V_S"};
        case HardEvent::S_MTE2: return {P::s, P::mte2, "S_MTE2"};
        case HardEvent::MTE2_S: return {P::mte2, P::s, "MTE2_S"};
        case HardEvent::S_MTE3: return {P::s, P::mte3, "S_MTE3"};
        case HardEvent::MTE3_S: return {P::mte3, P::s, "MTE3_S"};
        case HardEvent::MTE2_FIX: return {P::mte2, P::fix, "MTE2_FIX"};
        case HardEvent::FIX_MTE2: return {P::fix, P::mte2, "FIX_MTE2"};
        case HardEvent::FIX_S: return {P::fix, P::s, "FIX_S"};
        case HardEvent::M_S: return {P::m, P::s, "M_S"};
        case HardEvent::FIX_MTE3: return {P::fix, P::mte3, "FIX_MTE3"};
        case HardEvent::MTE1_FIX: return {P::mte1, P::fix, "MTE1_FIX"};
        case HardEvent::FIX_MTE1: return {P::fix, P::mte1, "FIX_MTE1"};
    }
    return {P::s, P::s, ""};
}

constexpr acl_attn::sim::Pipe pipe_of(pipe_t pipe) {
    using P = acl_attn::sim::Pipe;
    switch (pipe) {
        case PIPE_V: return P::v;
        case PIPE_M: return P::m;
        case PIPE_MTE1: return P::mte1;
        case PIPE_MTE2: return P::mte2;
        case PIPE_MTE3: return P::mte3;
        case PIPE_FIX: return P::fix;
        default: return P::s;
    }
}

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
