// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/describe.h"

#include <algorithm>

namespace acl_attn::ops::fia {
namespace {

const char* mode_text(const Facts& f) {
    switch (f.sparse_mode) {
        case geometry::SparseMode::window:
            return f.problem.has_mask ? "mask, and window from the first column" : "none";
        case geometry::SparseMode::all: return "mask";
        case geometry::SparseMode::causal_top: return "causal, first row at the first column";
        case geometry::SparseMode::causal: return "causal, last row at the last column";
        case geometry::SparseMode::band: return "window, last row at the last column";
    }
    return "";
}

std::string storage_text(const Facts& f) {
    switch (f.storage) {
        case Storage::dense: return "one tensor";
        case Storage::list: return text(f.members, " tensors, one a sequence");
        case Storage::paged:
            return text("paged cache of rank ", f.cache_rank, ", ", f.problem.block_count, " blocks of ",
                        f.problem.block_size, " tokens");
    }
    return "";
}

std::string row_text(const engine::Sequence& s, int64_t row) {
    const geometry::Columns seen = geometry::visible_columns(s.band, row, s.kv_len);
    if (seen.begin == seen.end) return text("row ", row, " sees no key");
    return text("row ", row, " sees keys ", seen.begin, "..", seen.end - 1);
}

std::string sequence_text(size_t b, const engine::Sequence& s) {
    std::string out = text("sequence ", b, ": ", s.q_len, " rows, ", s.kv_len, " keys");
    if (s.q_len > 0) out += "; " + row_text(s, 0);
    if (s.q_len > 1) out += ", " + row_text(s, s.q_len - 1);
    if (s.pad_after > 0) out += text("; ", s.pad_after, " padding rows");
    return out + "\n";
}

}  // namespace

Facts facts_of(const Case& c, const engine::Problem& problem) {
    return {problem, c.layout->name, c.storage, c.key->size(), static_cast<int>(c.cache), c.sparse_mode()};
}

std::string describe(const Facts& f) {
    constexpr size_t most = 16;
    const engine::Problem& p = f.problem;
    std::string out =
        text(p.sequences.size(), " sequences, layout ", f.layout, ", ",
             p.dtype == engine::Dtype::bf16 ? "BF16" : "FLOAT16", "\n", p.heads, " query heads on ", p.kv_heads,
             " key/value heads, head dim ", p.dim, " (value ", p.dim_v, "), scale ", std::to_string(p.scale), "\n",
             "key/value: ", storage_text(f), "\n", "masking: ", mode_text(f), "\n");
    for (size_t b = 0; b < std::min(p.sequences.size(), most); ++b) out += sequence_text(b, p.sequences[b]);
    if (p.sequences.size() > most) out += text("... and ", p.sequences.size() - most, " more sequences\n");
    return out;
}

}  // namespace acl_attn::ops::fia
