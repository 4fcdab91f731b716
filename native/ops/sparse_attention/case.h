// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One call of either operator, understood: what the rules ask about and what the plan is made of. Making one cannot
// fail; numbers that the call leaves open are -1, and rules that need them come after those that refuse such calls.
#pragma once

#include <cstdint>

#include "ops/profile.h"
#include "ops/rule.h"
#include "ops/sparse_attention/call.h"
#include "ops/sparse_attention/layouts.h"

namespace acl_attn::ops::sparse {

// Extent of an axis, counted from the last one if negative; -1 without such an axis.
int64_t extent(const meta::Tensor* tensor, int axis);

// A stream of rows, oriKv or cmpKv.
struct Rows {
    const meta::Tensor* tensor = nullptr;  // null: absent
    const meta::Tensor* table = nullptr;
    const meta::Tensor* indices = nullptr;
    const meta::Tensor* topk_length = nullptr;
    Input name = kOriKv;
    Input table_name = kOriBlockTable;
    Input indices_name = kOriSparseIndices;

    int64_t heads() const { return extent(tensor, -2); }
    int64_t dim() const { return extent(tensor, -1); }
    int64_t topk() const { return indices == nullptr ? 0 : extent(indices, -1); }
};

struct Case {
    explicit Case(const Call& call);

    const Call& call;
    // Optional inputs that are there: absent ones are null pointers or have 0 as first dimension.
    const meta::Tensor* in[kInputCount] = {};
    const meta::Tensor* q = nullptr;
    const meta::Tensor* out = nullptr;
    const meta::Tensor* lse = nullptr;  // null: not asked for

    Layout layout_q = Layout::unknown;
    Layout layout_kv = Layout::unknown;
    int64_t batch = -1;   // sequences
    int64_t tokens = -1;  // query rows that q stores, of all sequences
    int64_t heads = -1;
    Rows ori, cmp;
    int64_t row_dim = 512;  // elements of a stored row

    Operator op() const { return call.op; }
    bool is_quantised() const { return call.op == Operator::kv_quant_sparse_attn_sharedkv; }
    bool is_packed_q() const { return layout_q == Layout::tnd; }
    bool is_paged() const { return layout_kv == Layout::paged; }
    bool has_cmp() const { return cmp.tensor != nullptr; }
    const char* name(Input input) const { return input_name(call.op, input); }

    // How far the call makes sense.
    Known known() const;

    // Tokens that every sequence has room for in an unpacked or paged stream.
    int64_t room(const Rows& rows) const;
};

}  // namespace acl_attn::ops::sparse
