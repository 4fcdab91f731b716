// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Flags between the pipes of a core, between cores, and what a kernel can ask about where it runs.
#pragma once

#include "ascendc/tensor.h"

#define ASCEND_IS_AIC (::AscendC::detail::Unit::current().role() == ::acl_attn::sim::Role::cube)
#define ASCEND_IS_AIV (::AscendC::detail::Unit::current().role() == ::acl_attn::sim::Role::vector)

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {

template <HardEvent event>
inline void SetFlag(int32_t eventID) {
    constexpr detail::EventPipes pipes = detail::event_pipes(event);
    detail::Unit::current().set_flag(pipes.source, pipes.target, static_cast<int>(event), eventID, pipes.name);
}

template <HardEvent event>
inline void WaitFlag(int32_t eventID) {
    constexpr detail::EventPipes pipes = detail::event_pipes(event);
    detail::Unit::current().wait_flag(pipes.source, pipes.target, static_cast<int>(event), eventID, pipes.name);
}

template <pipe_t pipe>
inline void PipeBarrier() {
    static_assert(pipe != PIPE_S, "PipeBarrier: expected a pipe with a queue or PIPE_ALL, got PIPE_S");
    if constexpr (pipe == PIPE_ALL) detail::Unit::current().barrier_all();
    else detail::Unit::current().barrier(detail::pipe_of(pipe));
}

// Modes: 0 all cube or all vector cores of the launch; 1 the two vector cores of a core; 2 cube core and both of its
// vector cores; 4 (dav-3510) cube core and one of them.
template <uint8_t modeId, pipe_t pipe>
inline void CrossCoreSetFlag(uint16_t flagId) {
    static_assert(modeId <= 2 || (modeId == 4 && detail::kIs3510), "modeId: expected 0, 1, 2, or 4 on dav-3510");
    static_assert(pipe != PIPE_ALL, "pipe: expected one pipe, got PIPE_ALL");
    detail::Unit::current().cross_set(modeId, detail::pipe_of(pipe), flagId);
}

template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
inline void CrossCoreWaitFlag(uint16_t flagId) {
    static_assert(modeId <= 2 || (modeId == 4 && detail::kIs3510), "modeId: expected 0, 1, 2, or 4 on dav-3510");
    static_assert(pipe != PIPE_ALL, "pipe: expected one pipe, got PIPE_ALL");
    detail::Unit::current().cross_wait(modeId, detail::pipe_of(pipe), flagId);
}

template <bool isAIVOnly = true>
inline void SyncAll() {
    detail::Unit::current().sync_all(isAIVOnly);
}

inline void InitSocState() { detail::Unit::current().init_soc_state(); }

// Scalar stores to global memory reach other cores after this.
template <class T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_OUT>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {
    detail::Unit::current().cache_clean("DataCacheCleanAndInvalid");
}

inline int64_t GetBlockNum() { return detail::Unit::current().blocks(); }
inline int64_t GetSubBlockIdx() { return detail::Unit::current().sub_block(); }
inline int64_t GetTaskRatio() { return ASCEND_IS_AIV ? acl_attn::sim::kVectorCores : 1; }
inline int64_t GetBlockIdx() {
    const detail::Unit& unit = detail::Unit::current();
    return ASCEND_IS_AIV ? unit.core() * acl_attn::sim::kVectorCores + unit.sub_block() : unit.core();
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
