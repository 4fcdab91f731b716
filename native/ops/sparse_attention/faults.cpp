// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/faults.h"

namespace acl_attn::ops::sparse {
namespace {

using Kind = engine::SparseFault::Kind;

// "[1][5]" of an unpacked tensor of one entry a query row, "[13]" of a packed one.
std::string row_of(const Planned& planned, const std::vector<engine::SparseSequence>& sequences,
                   const engine::SparseFault& fault) {
    if (planned.layout_q != Layout::tnd) return text("[", fault.sequence, "][", fault.token, "]");
    return text("[", sequences[static_cast<size_t>(fault.sequence)].list_row + fault.token, "]");
}

Finding bad_block(const Planned& planned, Input table, const engine::SparseFault& fault) {
    return invalid(text(input_name(planned.op, table), "[", fault.sequence, "][", fault.index, "]"),
                   text("a block id in 0..", fault.limit - 1), text(fault.value),
                   "every entry of a visible row must name a block; nothing was computed");
}

}  // namespace

Finding finding_of(const Planned& planned, const std::vector<engine::SparseSequence>& sequences,
                   const engine::SparseFault& fault) {
    const bool is_mla = planned.op == Operator::sparse_flash_mla;
    const char* block_rule = is_mla ? "SMLA-074" : "KVQ-050";
    const char* index_rule = is_mla ? "SMLA-073" : "KVQ-050";
    const auto bad_index = [&](Input indices) {
        return invalid(
            text(input_name(planned.op, indices), row_of(planned, sequences, fault), "[0][", fault.index, "]"),
            text("a row of the sequence in 0..", fault.limit - 1, ", or -1 behind the last"), text(fault.value),
            "nothing was computed");
    };
    const auto bad_length = [&](Input length) {
        return invalid(text(input_name(planned.op, length), row_of(planned, sequences, fault), "[0]"),
                       text("0 to ", fault.limit - 1, ", the entries of a list"), text(fault.value),
                       "nothing was computed");
    };
    switch (fault.kind) {
        case Kind::ori_block_table: return named(bad_block(planned, kOriBlockTable, fault), block_rule);
        case Kind::cmp_block_table: return named(bad_block(planned, kCmpBlockTable, fault), block_rule);
        case Kind::ori_index: return named(bad_index(kOriSparseIndices), index_rule);
        case Kind::cmp_index: return named(bad_index(kCmpSparseIndices), index_rule);
        case Kind::ori_topk_length: return named(bad_length(kOriTopkLength), index_rule);
        case Kind::cmp_topk_length: return named(bad_length(kCmpTopkLength), index_rule);
        case Kind::none: break;
    }
    return {};
}

}  // namespace acl_attn::ops::sparse
