// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The host compute engine's attention: plain numbers in, no acl types, no I/O. `Problem` is the geometry that phase one
// knows, `Operands` the addresses that phase two knows. All strides and offsets are in elements.
//
// Promises, bit for bit: the result of a query row depends only on its own sequence (its q row, the keys and values it
// sees and their positions), never on the thread count, on other sequences, or on how K and V are stored. Not a byte is
// read outside the rows that lengths and the block table make reachable, and a key that a row does not see cannot
// influence that row even if it holds NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/full_quant.h"
#include "engine/kinds.h"
#include "engine/memory_range.h"
#include "geometry/band.h"

namespace acl_attn::engine {

using geometry::Band;
using geometry::kOpenFirst;
using geometry::kOpenLast;

// Where a sequence's rows of query, output or LSE lie: element (token, head, d) = offset + token * token_stride +
// head * head_stride + d.
struct RowLayout {
    int64_t token_stride = 0;
    int64_t head_stride = 0;
};

// Where a sequence's K or V lies. Contiguous: element (t, head, d) = offset + t * token_stride + head * head_stride +
// channel(d). Paged: t is split into block_table[t / block_size] * block_stride + (t % block_size) * token_stride.
// channel(d) = (d / chunk) * chunk_stride + d % chunk; caches that keep a token's channels together have chunk == dim.
// head_stride is the sequence's own: head-major list members of unequal length differ in it.
struct KvLayout {
    int64_t token_stride = 0;
    int64_t block_stride = 0;
    int64_t chunk_stride = 0;
    int32_t chunk = 0;
};

// Where the scales (and offsets, laid out alike) of stored keys or values lie. The one of own token t, KV head h,
// channel d is at origin + h * head_stride + t * token_stride + (d / group) * group_stride; paged:
// block_table[t / block_size] * block_stride + (t % block_size) * token_stride instead of origin and t * token_stride.
// A stride of 0 shares the value.
struct ScaleLayout {
    Dtype dtype = Dtype::f32;  // f16, bf16, f32 or e8m0
    bool paged = false;
    int64_t head_stride = 0;
    int64_t token_stride = 0;
    int64_t block_stride = 0;
    int64_t group_stride = 0;
    int32_t group = 1;  // channels that share a value
};

// A stored number x stands for (x + offset) * scale, in fp32.
struct Dequant {
    bool has_scale = false;
    bool has_offset = false;
    ScaleLayout layout;
};

// The output y = x * scale + offset, rounded and saturated to out_dtype; rows without a visible key stay raw zeros.
struct PostQuant {
    bool present = false;
    bool has_offset = false;
    Dtype scale_dtype = Dtype::f32;  // f32 or bf16, of the offset too
    int64_t channel_stride = 0;      // 0: one scale; 1: that of head h, channel d is number h * dim_v + d
};

struct Sequence {
    int64_t q_len = 0;
    int64_t kv_len = 0;
    int64_t q_offset = 0;    // of token 0, head 0
    int64_t out_offset = 0;
    int64_t lse_offset = 0;
    int64_t pad_before = 0;  // output rows before token 0 and after token q_len - 1 that belong to the sequence:
    int64_t pad_after = 0;   // written as 0, their LSE as +inf
    int32_t kv_member = 0;   // which of Operands::key / value
    int64_t key_offset = 0;  // of token 0, head 0; 0 when paged
    int64_t value_offset = 0;
    int64_t key_head_stride = 0;
    int64_t value_head_stride = 0;
    int64_t table_offset = 0;  // paged: first entry of the sequence's row in the block table
    Band band;
    int64_t mask_offset = 0;   // of row 0, column 0
    int64_t bias_offset = 0;   // of head 0, row 0, column 0
    int64_t query_rope_offset = 0;
    int64_t key_rope_offset = 0;  // 0 when paged
    int64_t key_rope_head_stride = 0;
    int64_t key_scale_offset = 0;  // origins of the ScaleLayouts, for the sequence's own tokens and for the prefix
    int64_t value_scale_offset = 0;
    int64_t prefix_key_scale_offset = 0;
    int64_t prefix_value_scale_offset = 0;
    int64_t query_scale_offset = 0;  // full_quant.h: of token 0, head 0
};

struct Problem {
    Dtype dtype = Dtype::f16;      // of the query, f16 or bf16; another with full_quant
    Dtype kv_dtype = Dtype::f16;   // of keys and values: dtype, or a stored type with key_dequant and value_dequant
    Dtype out_dtype = Dtype::f16;  // dtype, or i8, f8_e4m3, hif8 with post_quant
    int32_t heads = 0;
    int32_t kv_heads = 0;
    int32_t dim = 0;    // of query and key
    int32_t dim_v = 0;  // of value and output
    float scale = 1.0f;
    RowLayout query, out, lse;
    KvLayout key, value;
    int32_t block_size = 0;   // tokens a block; 0: not paged
    int64_t block_count = 0;  // physical blocks: legal table entries are 0 .. block_count - 1
    bool has_mask = false;    // byte mask, non-zero = hidden, row stride below, shared by all heads
    int64_t mask_row_stride = 0;
    bool wants_lse = false;

    // Further channels kept in tensors of their own: a score is scale * (q . k + query_rope . key_rope).
    int32_t rope_dim = 0;  // 0: none
    RowLayout query_rope;
    KvLayout key_rope;
    bool value_is_key = false;  // V is the first dim_v channels of K, and Operands::value is not used

    BiasKind bias = BiasKind::none;
    int64_t bias_head_stride = 0;
    int64_t bias_row_stride = 0;  // 0: one row for all
    int64_t bias_distance = 0;

    // One more logit for each head: in the denominator and the LSE, never in a row that sees no key.
    bool has_sink = false;

    // Keys 0 .. prefix_len - 1 of every sequence are those of the prefix, contiguous from offset 0; the sequence's own
    // follow. kv_len counts both; band, mask and bias count columns from the prefix on.
    int64_t prefix_len = 0;
    KvLayout prefix_key, prefix_value;
    int64_t prefix_key_head_stride = 0;
    int64_t prefix_value_head_stride = 0;

    Dequant key_dequant, value_dequant;
    PostQuant post_quant;
    FullQuant full_quant;

    std::vector<Sequence> sequences;
};

struct Operands {
    const void* query = nullptr;
    const void* const* key = nullptr;    // [members]
    const void* const* value = nullptr;  // [members]
    const uint8_t* mask = nullptr;
    const int32_t* block_table = nullptr;
    void* out = nullptr;
    float* lse = nullptr;

    const void* query_rope = nullptr;
    const void* key_rope = nullptr;
    const void* bias = nullptr;
    const float* slopes = nullptr;  // [heads]
    const void* sink = nullptr;     // [heads], of the query's dtype
    const void* prefix_key = nullptr;
    const void* prefix_value = nullptr;
    const void* key_scale = nullptr;
    const void* key_offset = nullptr;
    const void* value_scale = nullptr;
    const void* value_offset = nullptr;
    const void* out_scale = nullptr;
    const void* out_offset = nullptr;

    const void* query_scale = nullptr;   // full_quant.h
    const void* deq_scale1 = nullptr;    // [1]: fp32 or a scale word
    const void* quant_scale1 = nullptr;  // [1] fp32; null: 1
    const void* deq_scale2 = nullptr;    // [1]: fp32 or a scale word

    const MemoryRanges* ranges = nullptr;  // all of the above, for targets that watch accesses; the host does not
};

// Why a run did not compute: a block table entry, inside the range that lengths make reachable, that names no block
// (`found`); or what the target that ran it says (`failed`), which the host engine never does.
struct Fault {
    bool found = false;
    int64_t sequence = 0;
    int64_t column = 0;
    int32_t value = 0;
    bool failed = false;
    std::string failure;
};

// The feature that a problem asks for and this engine lacks, in words ("a learnable sink"); empty if it lacks none. Ask
// before plan(), which throws std::invalid_argument then: what is not served is refused, never ignored.
std::string unsupported(const Problem& problem);

// An immutable schedule of one problem. Thread-safe: several runs with different operands and workspaces may overlap.
class Attention {
public:
    static std::unique_ptr<const Attention> plan(Problem problem);
    virtual ~Attention() = default;

    virtual size_t workspace_bytes() const = 0;
    // Computes on the calling thread and the pool; returns when done. On a fault nothing was computed.
    virtual Fault run(const Operands& operands, void* workspace) const noexcept = 0;
    virtual std::string describe() const = 0;
};

// --- The instruction sets this build contains, best last. Index 0 is "portable" and always usable.
int target_count();
const char* target_name(int index);      // "portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"
bool target_usable(int index);           // processor and operating system
int target_in_use();                     // forced, else ACL_ATTN_CPU, else the best usable
bool force_target(int index);            // -1: back to automatic. False if not usable. Plans made later use it.
std::string cpu_features();              // space-separated, as detected

// --- Threads that one run may use, the calling one included.
int thread_count();                      // forced, else ACL_ATTN_NUM_THREADS, else the processors this process may use
bool set_thread_count(int count);        // 0: back to automatic. False if negative or absurd (> 1024).

}  // namespace acl_attn::engine
