// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The host compute engine's sparse attention over shared key-value rows: plain numbers in, no acl types, no I/O. One
// row of 512 channels is a token's key and value for all query heads. A query token sees rows of two streams of its
// sequence: the original tokens and a compressed stream; of each either an interval of positions or a list of them.
//
// The three parts come in this order: `SparseProblem` is what is known before lengths are (they live on the device),
// `SparseSequence` the lengths and places of one sequence, known when the call runs, `SparseOperands` the addresses.
//
// Promises, bit for bit: a query token's result depends only on its q row, the rows that it sees, and their positions
// or places in its list. It does not depend on the thread count, on other tokens or sequences (so any run of query
// tokens may be computed by itself), or on how rows are stored. Not a byte is read outside the rows that some token
// sees, and a row that a token does not see cannot influence it even if it holds NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/attention.h"
#include "formats/packed_row.h"

namespace acl_attn::engine {

inline constexpr int32_t kSparseDim = 512;         // channels of a query, a row, and the output
inline constexpr int32_t kPackedRowBytes = formats::kPackedRow.bytes;

// How a row is stored. Packed: 64 bf16 (channels 448 .. 511), 448 one-byte codes (channels 0 .. 447), 7 E8M0 scales,
// one for 64 codes, 57 unused bytes; it stands for bf16 numbers.
enum class SparseRows : uint8_t { f16, bf16, packed_e4m3, packed_hif8 };

// Where the rows of one stream lie. Strides are in elements, which are bytes where rows are packed; a row's own
// elements lie side by side. Row t of a sequence, contiguous: SparseStream::offset + t * row_stride. Paged:
// block_table[table_offset + t / block_size] * block_stride + (t % block_size) * row_stride.
struct SparsePool {
    bool present = false;
    int64_t row_stride = 0;
    int64_t block_stride = 0;
    int32_t block_size = 0;   // rows a block; 0: not paged
    int64_t block_count = 0;  // legal table entries are 0 .. block_count - 1
    // Entries of each query token's list; 0: no lists, tokens see intervals. See SparseOperands::ori_indices.
    int64_t topk = 0;
    bool has_topk_length = false;
    // At most so many rows of the stream are seen by one token of any sequence, as far as is known (an interval's
    // extent, or topk). It only bounds the workspace of calls with few query tokens.
    int64_t max_seen = 0;
};

struct SparseProblem {
    Dtype dtype = Dtype::bf16;             // of query and output: f16 or bf16
    SparseRows rows = SparseRows::bf16;    // that type, or packed beside bf16
    int32_t heads = 0;                     // 1 to 128
    float scale = 1.0f;
    RowLayout query, out, lse;             // elements, see attention.h
    SparsePool ori, cmp;
    int64_t cmp_ratio = 1;                 // original tokens that a compressed row stands for
    bool has_sink = false;
    bool wants_lse = false;
    int64_t max_sequences = 0;             // a run may have fewer
    int64_t max_tokens = 0;                // query tokens of all sequences, padding not counted
};

// A sequence's share of one stream.
struct SparseStream {
    int64_t len = 0;           // rows 0 .. len - 1 exist
    int64_t offset = 0;        // of row 0; 0 when paged
    int64_t table_offset = 0;  // paged: the first entry of the sequence's row in the block table
};

// Every cmp row is visible to every token, whatever the ratio.
inline constexpr int64_t kAllCompressed = kOpenLast;

struct SparseSequence {
    int64_t q_len = 0;         // query tokens that count
    int64_t q_offset = 0;      // elements, of token 0, head 0
    int64_t out_offset = 0;
    int64_t lse_offset = 0;
    int64_t pad_after = 0;     // output tokens after token q_len - 1 that belong to the sequence: written as 0, LSE 0
    int64_t list_row = 0;      // number of token 0's list among all lists (and of its top-k length)
    SparseStream ori, cmp;
    // Without original lists token i sees original rows j with i + first <= j <= i + last.
    Band ori_band;
    // Token i sees the first count(i) = clamp(floor((i + cmp_shift) / ratio), 0, cmp.len) compressed rows; with lists
    // the rows that its list names among them. kAllCompressed: count(i) = cmp.len.
    int64_t cmp_shift = kAllCompressed;
};

// What one core is to compute, where the caller has shared the work out: merged rows (query token * heads + head) of a
// sequence, and of the columns that they see, in `blocks` parts of about one size, those from block_begin on. `copies`
// cores from `core` on take part, each with its share of the heads.
struct SparseShare {
    int64_t sequence = 0;
    int64_t row_begin = 0;
    int64_t row_end = 0;
    int64_t block_begin = 0;
    int64_t block_end = 1;
    int64_t blocks = 1;
    int32_t core = 0;
    int32_t copies = 1;
};

// In order: by sequence, row, and block. What a row sees is in them once.
using SparseShares = std::vector<SparseShare>;

// A token's list of row numbers of its sequence: entry e of list r is indices[r * topk + e]. Of it the first
// n = min(topk, visible, topk_length[r]) entries are looked at, `visible` being count(i) for compressed lists and
// ori.len for original ones. -1 ends the list; an entry that exists but is not visible is passed over; an entry that
// occurs twice counts twice. An entry looked at that is below -1 or not below `len` is a fault.
struct SparseOperands {
    const void* query = nullptr;
    const void* ori = nullptr;
    const void* cmp = nullptr;
    const int32_t* ori_block_table = nullptr;
    const int32_t* cmp_block_table = nullptr;
    const int32_t* ori_indices = nullptr;
    const int32_t* cmp_indices = nullptr;
    const int32_t* ori_topk_length = nullptr;
    const int32_t* cmp_topk_length = nullptr;
    const float* sinks = nullptr;  // [heads], logits: in the denominator and the LSE, never in a row that sees nothing
    void* out = nullptr;
    float* lse = nullptr;          // natural logarithm, sink included; 0 where nothing is seen
    const MemoryRanges* ranges = nullptr;  // all of the above, for targets that watch accesses; the host does not
    const SparseShares* shares = nullptr;  // null: run() shares the work out, as it does where cores() is 0
};

// The first number in the operands' integer tensors that leads nowhere. Only what is looked at is judged: blocks that
// hold a row which some token sees, and list entries as SparseOperands says.
struct SparseFault {
    enum class Kind : uint8_t {
        none,
        ori_block_table,  // value: no block; index: its place in the sequence's row of the table
        cmp_block_table,
        ori_index,        // value: no row of the sequence; index: its place in the token's list
        cmp_index,
        ori_topk_length,  // value: below 0
        cmp_topk_length,
    };
    Kind kind = Kind::none;
    int64_t sequence = 0;
    int64_t token = 0;  // inside the sequence; -1 for block tables
    int64_t index = 0;
    int64_t value = 0;
    int64_t limit = 0;  // legal values are 0 .. limit - 1 (and -1 in lists); of lengths: the list's topk + 1
    // The computation itself failed (nothing a caller can do about); `failure` says how, if there was memory for it.
    bool failed = false;
    std::string failure = {};

    bool found() const { return kind != Kind::none; }
};

// Immutable and thread-safe: several runs with different operands and workspaces may overlap.
class SparseAttention {
public:
    // Throws std::invalid_argument if a number is not legal; the message says which.
    static std::unique_ptr<const SparseAttention> plan(const SparseProblem& problem);
    virtual ~SparseAttention() = default;

    // Depends on threads, tiles and max_sequences; only if max_tokens is too small to give every thread work also on
    // how many rows a token may see.
    virtual size_t workspace_bytes() const = 0;
    // SparseOperands::shares are for so many at most. 0: they are not looked at; threads take blocks as they come.
    virtual int32_t cores() const { return 0; }
    // `count` sequences, which keep to the problem's bounds: the caller has checked. Computes on the calling thread and
    // the pool, allocates nothing, and returns when done. On a fault nothing was computed.
    virtual SparseFault run(const SparseOperands& operands, const SparseSequence* sequences, int64_t count,
                            void* workspace) const noexcept = 0;
    virtual std::string describe() const = 0;
};

}  // namespace acl_attn::engine
