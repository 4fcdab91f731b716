// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The catalogue of acl_attn/rules.h: all operators' tables one after the other.
#include <cstring>

#include "acl_attn/rules.h"
#include "ops/fused_infer_attention_score/catalogue.h"
#include "ops/kv_quant_sparse_attn_sharedkv/rules.h"
#include "ops/sparse_attention/other_rows.h"
#include "ops/sparse_flash_mla/rules.h"
#include "runtime/api.h"

namespace {

using namespace acl_attn;
using ops::Tier;
namespace fia = ops::fia;
namespace sparse = ops::sparse;
using sparse::Operator;

const char* stage_name(Tier tier) {
    switch (tier) {
        case Tier::front: return "front";
        case Tier::parser:
        case Tier::features: return "parser";
        case Tier::single: return "single";
        case Tier::existence: return "existence";
        case Tier::cross: return "cross";
        case Tier::consistency: return "consistency";
    }
    return "";
}

// The group is the beginning of an id, "MASK-C-06"; the first one that fits.
const char* group_name(const char* id) {
    static constexpr const char* kGroups[][2] = {
        {"API-", "FrontLayer"},      {"COM-", "Common"},          {"MASK-", "AttentionMask"}, {"ASL-", "ActualSeqLen"},
        {"PSE-", "PSE"},             {"DQN-", "Dequant"},         {"DQA-", "Antiquant"},      {"DQF-", "FullQuant"},
        {"PQ-", "PostQuant"},        {"PA-", "PagedAttention"},   {"LP-", "LeftPadding"},     {"PFX-", "SharedPrefix"},
        {"ROPE-", "Rope"},           {"SINK-", "LearnableSink"},  {"LSE-", "SoftmaxLSE"},     {"TPL-", "Template"},
        {"SMLA-M", "SparseFlashMlaMetadata"}, {"SMLA-", "SparseFlashMla"},
        {"KVQ-M", "KvQuantSparseAttnSharedkvMetadata"}, {"KVQ-", "KvQuantSparseAttnSharedkv"},
        {"HOST-", "HostTarget"},
    };
    for (const auto& [prefix, name] : kGroups) {
        if (std::strncmp(id, prefix, std::strlen(prefix)) == 0) return name;
    }
    return "";
}

// The degree is the letter in an id's middle, or else, for "SMLA-M01", what the stage compares: the front layer asks
// whether things are there.
const char* degree_name(const char* id, Tier tier) {
    const char* letter = std::strchr(id, '-');
    switch (letter == nullptr ? '\0' : letter[1]) {
        case 'S': return "single";
        case 'E': return "existence";
        case 'C': return "consistency";
        case 'X': return "cross";
        default: return tier == Tier::front ? "existence" : stage_name(tier);
    }
}

// An operator's rules as the interface has them.
template <class Case>
aclAttnRule rule_of(const char* op, const ops::Rule<Case>& rule, aclnnStatus status) {
    return {op,
            rule.id,
            group_name(rule.id),
            degree_name(rule.id, rule.tier),
            stage_name(rule.tier),
            rule.parameter,
            rule.text,
            nullptr,
            rule.scope.profiles,
            rule.scope.revisions,
            status};
}

aclAttnRule rule_of(const char* op, const ops::Absent& row, Tier tier) {
    return {op,       row.id,     group_name(row.id), degree_name(row.id, tier), "", row.parameter,
            row.text, row.reason, 0,                  0,                         0};
}

// One that is looked at when a call runs.
aclAttnRule rule_of(const char* op, const sparse::Late& row) {
    return {op,
            row.id,
            group_name(row.id),
            "consistency",
            "run",
            row.parameter,
            row.text,
            nullptr,
            ops::kEverywhere.profiles,
            ops::kEverywhere.revisions,
            ACLNN_ERR_PARAM_INVALID};
}

constexpr char kFia[] = "fused_infer_attention_score";
constexpr char kMla[] = "sparse_flash_mla";
constexpr char kMlaMetadata[] = "sparse_flash_mla_metadata";
constexpr char kKvq[] = "kv_quant_sparse_attn_sharedkv";
constexpr char kKvqMetadata[] = "kv_quant_sparse_attn_sharedkv_metadata";

size_t fia_count() { return fia::rule_count() + fia::kAbsentCount; }
aclAttnRule fia_at(size_t index) {
    const size_t rules = fia::rule_count();
    if (index >= rules) return rule_of(kFia, fia::kAbsent[index - rules], Tier::single);
    return rule_of(kFia, fia::rule_at(index), fia::documented_status(fia::rule_at(index)));
}

template <const auto& kCatalogue, Operator kOp, bool kOfMetadata>
size_t sparse_count() {
    const sparse::OtherRows& others = sparse::other_rows(kOp, kOfMetadata);
    return sparse::rule_count(kCatalogue) + others.late_count + others.absent_count;
}

// Ids of rules that no table has do not say what these compare: values with one another, or several parameters.
template <const auto& kCatalogue, Operator kOp, bool kOfMetadata, const auto& kName>
aclAttnRule sparse_at(size_t index) {
    const size_t rules = sparse::rule_count(kCatalogue);
    if (index < rules) {
        const auto& rule = sparse::rule_at(kCatalogue, index);
        return rule_of(kName, rule, sparse::documented_status(rule));
    }
    const sparse::OtherRows& others = sparse::other_rows(kOp, kOfMetadata);
    const size_t other = index - rules;
    if (other < others.late_count) return rule_of(kName, others.late[other]);
    return rule_of(kName, others.absent[other - others.late_count], Tier::cross);
}

// One entry an operator.
constexpr struct {
    size_t (*count)();
    aclAttnRule (*at)(size_t index);
} kCatalogues[] = {
    {fia_count, fia_at},
    {sparse_count<sparse::mla::kCatalogue, Operator::sparse_flash_mla, false>,
     sparse_at<sparse::mla::kCatalogue, Operator::sparse_flash_mla, false, kMla>},
    {sparse_count<sparse::mla::kMetadataCatalogue, Operator::sparse_flash_mla, true>,
     sparse_at<sparse::mla::kMetadataCatalogue, Operator::sparse_flash_mla, true, kMlaMetadata>},
    {sparse_count<sparse::kvq::kCatalogue, Operator::kv_quant_sparse_attn_sharedkv, false>,
     sparse_at<sparse::kvq::kCatalogue, Operator::kv_quant_sparse_attn_sharedkv, false, kKvq>},
    {sparse_count<sparse::kvq::kMetadataCatalogue, Operator::kv_quant_sparse_attn_sharedkv, true>,
     sparse_at<sparse::kvq::kMetadataCatalogue, Operator::kv_quant_sparse_attn_sharedkv, true, kKvqMetadata>},
};

}  // namespace

extern "C" {

int32_t aclAttnGetRuleCount(void) {
    size_t count = 0;
    for (const auto& catalogue : kCatalogues) count += catalogue.count();
    return static_cast<int32_t>(count);
}

aclError aclAttnGetRule(int32_t index, aclAttnRule* rule) {
    return runtime::entry("aclAttnGetRule", [&]() -> aclError {
        if (rule == nullptr) return runtime::null_result("rule");
        if (index < 0 || index >= aclAttnGetRuleCount()) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        text("index: expected 0 to ", aclAttnGetRuleCount() - 1, ", got ", index));
        }
        size_t at = static_cast<size_t>(index);
        for (const auto& catalogue : kCatalogues) {
            if (at < catalogue.count()) {
                *rule = catalogue.at(at);
                break;
            }
            at -= catalogue.count();
        }
        return ACL_SUCCESS;
    });
}

}  // extern "C"
