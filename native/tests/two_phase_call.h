// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// For the C++ tests of the operator: the 50 arguments by name, and handles that are destroyed at the end of a scope.
#pragma once

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl_attn/acl_attn.h"
#include "acl_attn/max_workspace.h"
#include "acl_attn/rules.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v5.h"
#include "check.h"

namespace two_phase {

inline void expect(bool ok, const std::string& what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    check_that(ok, what.c_str(), file, line);
}

using Dims = std::vector<int64_t>;

// Arguments of phase one with the values that a caller passes who does not care.
struct Arguments {
    const aclTensor* query = nullptr;
    const aclTensorList* key = nullptr;
    const aclTensorList* value = nullptr;
    const aclTensor* pse_shift = nullptr;
    const aclTensor* atten_mask = nullptr;
    const aclIntArray* actual_seq_lengths = nullptr;
    const aclIntArray* actual_seq_lengths_kv = nullptr;
    const aclTensor* deq_scale1 = nullptr;
    const aclTensor* quant_scale1 = nullptr;
    const aclTensor* deq_scale2 = nullptr;
    const aclTensor* quant_scale2 = nullptr;
    const aclTensor* quant_offset2 = nullptr;
    const aclTensor* antiquant_scale = nullptr;
    const aclTensor* antiquant_offset = nullptr;
    const aclTensor* block_table = nullptr;
    const aclTensor* query_padding_size = nullptr;
    const aclTensor* kv_padding_size = nullptr;
    const aclTensor* key_antiquant_scale = nullptr;
    const aclTensor* key_antiquant_offset = nullptr;
    const aclTensor* value_antiquant_scale = nullptr;
    const aclTensor* value_antiquant_offset = nullptr;
    const aclTensor* key_shared_prefix = nullptr;
    const aclTensor* value_shared_prefix = nullptr;
    const aclIntArray* actual_shared_prefix_len = nullptr;
    const aclTensor* query_rope = nullptr;
    const aclTensor* key_rope = nullptr;
    const aclTensor* key_rope_antiquant_scale = nullptr;
    const aclTensor* dequant_scale_query = nullptr;
    const aclTensor* learnable_sink = nullptr;
    const aclIntArray* q_start_idx = nullptr;
    const aclIntArray* kv_start_idx = nullptr;
    int64_t num_heads = 1;
    double scale_value = 1.0;
    int64_t pre_tokens = INT_MAX;
    int64_t next_tokens = INT_MAX;
    std::string input_layout = "BSH";
    int64_t num_key_value_heads = 0;
    int64_t sparse_mode = 0;
    int64_t inner_precise = 1;
    int64_t block_size = 0;
    int64_t antiquant_mode = 0;
    bool softmax_lse_flag = false;
    int64_t key_antiquant_mode = 0;
    int64_t value_antiquant_mode = 0;
    int64_t query_quant_mode = 0;
    int64_t pse_type = 0;
    const aclTensor* attention_out = nullptr;
    const aclTensor* softmax_lse = nullptr;

    aclnnStatus phase_one(uint64_t* workspace_size, aclOpExecutor** executor) const {
        return ask(aclnnFusedInferAttentionScoreV5GetWorkspaceSize, workspace_size, executor);
    }
    aclnnStatus largest(uint64_t* workspace_size, aclOpExecutor** executor) const {
        return ask(aclnnFusedInferAttentionScoreV5GetMaxWorkspaceSize, workspace_size, executor);
    }
    aclnnStatus check(const aclAttnCheckOptions* options, aclAttnReport** report) const {
        return ask(aclAttnCheckFusedInferAttentionScore, options, report);
    }

private:
    // Of functions whose last two parameters differ.
    template <class Function, class Last, class VeryLast>
    aclnnStatus ask(Function&& function, Last* last, VeryLast** very_last) const {
        std::string layout = input_layout;
        return function(
            query, key, value, pse_shift, atten_mask, actual_seq_lengths, actual_seq_lengths_kv, deq_scale1,
            quant_scale1, deq_scale2, quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table,
            query_padding_size, kv_padding_size, key_antiquant_scale, key_antiquant_offset, value_antiquant_scale,
            value_antiquant_offset, key_shared_prefix, value_shared_prefix, actual_shared_prefix_len, query_rope,
            key_rope, key_rope_antiquant_scale, dequant_scale_query, learnable_sink, q_start_idx, kv_start_idx,
            num_heads, scale_value, pre_tokens, next_tokens, layout.data(), num_key_value_heads, sparse_mode,
            inner_precise, block_size, antiquant_mode, softmax_lse_flag, key_antiquant_mode, value_antiquant_mode,
            query_quant_mode, pse_type, attention_out, softmax_lse, last, very_last);
    }
};

// Makes objects and destroys them at the end of its life.
class Objects {
public:
    Objects() = default;
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;
    ~Objects() { destroy_all(); }

    void destroy_all() {
        for (const aclTensorList* list : lists_) aclDestroyTensorList(list);
        for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
        for (const aclIntArray* array : arrays_) aclDestroyIntArray(array);
        lists_.clear(), tensors_.clear(), arrays_.clear();
    }

    const aclTensor* tensor(const Dims& dims, aclDataType type, const void* data) {
        return kept(make(dims, type, data, nullptr, 0, dims));
    }
    // `storage`: elements of the buffer.
    const aclTensor* strided(const Dims& dims, const Dims& strides, int64_t offset, int64_t storage, aclDataType type,
                             const void* data) {
        return kept(make(dims, type, data, strides.data(), offset, {storage}));
    }
    // Takes it over.
    const aclTensor* keep(const aclTensor* made) { return kept(made); }
    // Takes the members over. Null if the library refuses the list.
    const aclTensorList* list(const std::vector<const aclTensor*>& members) {
        const aclTensorList* made = aclCreateTensorList(members.data(), members.size());
        if (made == nullptr) return nullptr;
        for (const aclTensor* member : members) {
            for (size_t i = 0; i < tensors_.size(); ++i) {
                if (tensors_[i] == member) tensors_.erase(tensors_.begin() + static_cast<int64_t>(i--));
            }
        }
        lists_.push_back(made);
        return made;
    }
    const aclIntArray* ints(const std::vector<int64_t>& values) {
        const aclIntArray* made = aclCreateIntArray(values.data(), values.size());
        if (made != nullptr) arrays_.push_back(made);
        return made;
    }

private:
    static const aclTensor* make(const Dims& dims, aclDataType type, const void* data, const int64_t* strides,
                                 int64_t offset, const Dims& storage) {
        return aclCreateTensor(dims.data(), dims.size(), type, strides, offset, ACL_FORMAT_ND, storage.data(),
                               storage.size(), const_cast<void*>(data));
    }
    const aclTensor* kept(const aclTensor* made) {
        if (made != nullptr) tensors_.push_back(made);
        return made;
    }

    std::vector<const aclTensor*> tensors_;
    std::vector<const aclTensorList*> lists_;
    std::vector<const aclIntArray*> arrays_;
};

inline std::string recent_message() {
    const char* message = aclGetRecentErrMsg();
    return message == nullptr ? std::string{} : message;
}

// Plans, runs on the calling thread's default stream and waits.
inline aclnnStatus call(const Arguments& arguments) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (const aclnnStatus status = arguments.phase_one(&size, &executor)) return status;
    std::vector<uint64_t> workspace(size / sizeof(uint64_t) + 8);
    if (const aclnnStatus status = aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, nullptr)) {
        return status;
    }
    return aclrtSynchronizeStream(nullptr);
}

// Of all kinds.
inline int64_t live_objects() {
    int64_t count = 0;
    for (int kind = 0; kind < ACL_ATTN_OBJECT_KIND_COUNT; ++kind) {
        count += aclAttnGetLiveObjects(static_cast<aclAttnObjectKind>(kind));
    }
    return count;
}

}  // namespace two_phase
