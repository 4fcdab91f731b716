// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/other_rows.h"

#include <iterator>

namespace acl_attn::ops::sparse {
namespace {

constexpr Late kMlaLate[] = {
    {"SMLA-070", "cuSeqlensQ", "running totals from 0 to the tokens stored, never falling, and cuSeqlensOriKv, -CmpKv"},
    {"SMLA-071", "sequsedOriKv", "0 to the tokens stored, and sequsedQ, sequsedCmpKv"},
    {"SMLA-072", "cmpResidualKv", "0 or more, less than cmpRatio"},
    {"SMLA-073", "cmpSparseIndices",
     "rows of the sequence, -1 behind the last, and oriSparseIndices; topk lengths of 0 or more"},
    {"SMLA-074", "oriBlockTable", "blocks of the pool wherever a visible row lies, and cmpBlockTable"},
    {"SMLA-075", "metadata", "what aclnnSparseFlashMlaMetadata wrote for this call"},
};

constexpr Absent kMlaAbsent[] = {
    {"SMLA-045", "q", "more than one head (of the vendor's documents)",
     "the products take one; so does every profile here"},
    {"SMLA-046", "q", "a power of two of heads on every product (of the vendor's documents)",
     "the Ascend950 takes any number up to 128 (SMLA-043); older products are held to it by SMLA-044"},
    {"SMLA-057", "cmpMaskMode", "3 with cmpKv, and both masks 0 with oriSparseIndices (of the vendor's documents)",
     "the Ascend950 takes other masks; older products are held to it by SMLA-050 and SMLA-051"},
    {"SMLA-090", "device", "an Ascend950, A2 or A3", "there are profiles of no other product"},
};

constexpr Late kMlaMetadataLate[] = {
    {"SMLA-M40", "cuSeqlensQ", "running totals from 0, never falling, and cuSeqlensOriKv, -CmpKv"},
    {"SMLA-M41", "sequsedOriKv", "0 to the tokens stored, and sequsedQ, sequsedCmpKv"},
    {"SMLA-M42", "cmpResidualKv", "0 or more, less than cmpRatio"},
    {"HOST-V-52", "cuSeqlensQ", "at most 67108864 query tokens in all"},
    {"SMLA-M43", "oriTopkLength", "0 or more for each row, and cmpTopkLength"},
};

constexpr Absent kMlaMetadataAbsent[] = {
    {"SMLA-M50", "batchSize", "1 or more; exact maxima with TND; oriTopk 0 (of the vendor's documents)",
     "the products' code takes other numbers; that metadata is another call's is found by SMLA-075"},
};

constexpr Late kQuantLate[] = {
    {"KVQ-045", "sequsedKv", "0 to the tokens that the block tables have room for"},
    {"KVQ-050", "cuSeqlensQ",
     "running totals from 0 to the tokens of q, never falling; blocks of the pools and rows of the sequence in tables "
     "and lists"},
    {"HOST-V-51", "metadata", "what aclnnKvQuantSparseAttnSharedkvMetadata wrote for this call"},
};

constexpr Absent kQuantAbsent[] = {
    {"KVQ-046", "q", "contiguous, and cmpSparseIndices (of the vendor's documents)",
     "the products copy what is not; here HOST-C-55 says what may have gaps"},
};

constexpr Late kQuantMetadataLate[] = {
    {"KVQ-050", "cuSeqLensQ", "running totals from 0, never falling; sequsedKv of 0 or more"},
    {"HOST-V-52", "cuSeqLensQ", "at most 67108864 query tokens in all"},
};

constexpr Absent kQuantMetadataAbsent[] = {
    {"KVQ-M10", "sequsedKv", "as many sequences as cuSeqLensQ has", "the products do not compare them"},
};

template <size_t L, size_t A>
constexpr OtherRows rows_of(const Late (&late)[L], const Absent (&absent)[A]) {
    return {late, L, absent, A};
}

constexpr OtherRows kMla = rows_of(kMlaLate, kMlaAbsent);
constexpr OtherRows kMlaMetadata = rows_of(kMlaMetadataLate, kMlaMetadataAbsent);
constexpr OtherRows kQuant = rows_of(kQuantLate, kQuantAbsent);
constexpr OtherRows kQuantMetadata = rows_of(kQuantMetadataLate, kQuantMetadataAbsent);

}  // namespace

const OtherRows& other_rows(Operator op, bool of_metadata) {
    if (op == Operator::sparse_flash_mla) return of_metadata ? kMlaMetadata : kMla;
    return of_metadata ? kQuantMetadata : kQuant;
}

}  // namespace acl_attn::ops::sparse
