// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The metadata operator's rules, KVQ-M. A device checks them while it runs; here they are looked at before.
#include <iterator>

#include "ops/kv_quant_sparse_attn_sharedkv/rules.h"
#include "ops/sparse_attention/rules_metadata.h"
#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_attention/visibility.h"

namespace acl_attn::ops::sparse::kvq {
namespace {

using Case = MetadataCase;

Finding cores_given(const Case& c) {
    if (c.device.cores.cube > 0 && c.device.cores.vector > 0) return {};
    return invalid("device", "cube and vector cores", text(c.device.cores.cube, " and ", c.device.cores.vector));
}

Finding sizes_in_range(const Case& c) {
    if (c.call.batch_size < 0) return invalid("batchSize", "0 or more", text(c.call.batch_size));
    if (c.call.max_seqlen_q >= 0 && c.call.max_seqlen_q <= INT32_MAX) return {};
    return invalid("maxSeqlenQ", "0 to 2147483647", text(c.call.max_seqlen_q));
}

Finding heads_of_product(const Case& c) {
    if (c.call.num_heads_q == 64 || c.call.num_heads_q == 128) return {};
    return invalid("numHeadsQ", "64 or 128", text(c.call.num_heads_q));
}

Finding mask_known(const Case& c) {
    if (is_one_of<int64_t>(c.call.ori_mask_mode, {kNoMask, kCausalMask, kBandMask})) return {};
    return invalid("oriMaskMode", "0, 3 or 4", text(c.call.ori_mask_mode));
}

Finding window_in_range(const Case& c) {
    return c.call.ori_win_left >= 0 ? Finding{} : invalid("oriWinLeft", "0 or more", text(c.call.ori_win_left));
}

Finding layouts_known(const Case& c) {
    if (c.layout_q == Layout::unknown) return invalid("layoutQ", "BSND or TND", c.call.layout_q);
    if (c.layout_kv == Layout::unknown) return invalid("layoutKv", "PA_ND, BSND or TND", c.call.layout_kv);
    if (c.is_paged() || c.layout_q == c.layout_kv) return {};
    return invalid("layoutKv", text(layout_name(c.call.op, c.layout_q), ", as layoutQ, or PA_ND"), c.call.layout_kv);
}

Finding lengths_given(const Case& c) {
    if (c.is_packed_q()) {
        if (Finding finding = is_required(c, kCuSeqlensQ, "with layoutQ TND")) return finding;
    }
    return is_required(c, kSequsedOriKv, "");
}

Finding compression_of_product(const Case& c) {
    if (!c.call.has_cmp_kv) return {};
    if (c.call.cmp_ratio != 4 && c.call.cmp_ratio != 128) {
        return invalid("cmpRatio", "4 or 128 with hasCmpKv", text(c.call.cmp_ratio));
    }
    if (is_one_of<int64_t>(c.call.cmp_topk, {0, 512, 1024})) return {};
    return invalid("cmpTopK", "0, 512 or 1024 with hasCmpKv", text(c.call.cmp_topk));
}

Finding compression_in_range(const Case& c) {
    if (!c.call.has_cmp_kv) return {};
    if (c.call.cmp_ratio < 1 || c.call.cmp_ratio > INT32_MAX) {
        return invalid("cmpRatio", "1 or more with hasCmpKv", text(c.call.cmp_ratio));
    }
    if (c.call.cmp_topk >= 0 && c.call.cmp_topk <= INT32_MAX) return {};
    return invalid("cmpTopK", "0 or more with hasCmpKv", text(c.call.cmp_topk));
}

// The products do not look at what has no influence; here numbers that cannot mean anything are a mistake worth naming.
Finding idle_in_range(const Case& c) {
    const MetadataCall::Idle& idle = c.call.idle;
    const struct {
        const char* name;
        int64_t value, least;
    } numbers[] = {{"headDim", idle.head_dim, 0},
                   {"maxSeqlenKv", idle.max_seqlen_kv, 0},
                   {"oriTopK", idle.ori_topk, 0},
                   {"kvQuantMode", idle.kv_quant_mode, 0},
                   {"tileSize", idle.tile_size, 0},
                   {"ropeHeadDim", idle.rope_head_dim, 0},
                   {"cmpMaskMode", idle.cmp_mask_mode, 0},
                   {"oriWinRight", idle.ori_win_right, -1}};
    for (const auto& [name, value, least] : numbers) {
        if (value < least || value > INT32_MAX) return invalid(name, text(least, " to 2147483647"), text(value));
    }
    return {};
}

// Lengths that are read must be there; which of several numbers of sequences is right, the vendor does not ask.
Finding lengths_cover_batch(const Case& c) {
    if (Finding finding = are_int_vectors(c, {kCuSeqlensQ, kSequsedQ, kSequsedOriKv})) return finding;
    const auto covers = [&](Input input, int64_t entries) -> Finding {
        const meta::Tensor* tensor = c.in[input];
        if (tensor == nullptr || tensor->numel() >= entries) return {};
        return wrong_shape(c.name(input), text("(", entries, "), as there are ", c.batch, " sequences"), *tensor);
    };
    if (c.is_packed_q()) {
        if (Finding finding = covers(kCuSeqlensQ, c.batch + 1)) return finding;
    }
    return covers(kSequsedOriKv, c.batch);
}

constexpr Rule<Case> kRules[] = {
    required("KVQ-M01", metadata_out_pointers_given, "workspaceSize", "required, and executor",
             ACLNN_ERR_INNER_NULLPTR),
    required("KVQ-M02", metadata_output_given, "metaData"),
    {"HOST-F-51", Tier::front, handles_live, kEverywhere, "", "handles are live"},
    {"KVQ-M03", Tier::single, cores_given, kEverywhere, "device", "has cores"},
    {"KVQ-M04", Tier::single, sizes_in_range, kEverywhere, "batchSize", "0 or more, and maxSeqlenQ"},
    {"KVQ-M05", Tier::single, metadata_heads_in_range, kEverywhere, "numHeadsQ", "1 to 128, numHeadsKv 1"},
    {"KVQ-M05", Tier::single, heads_of_product, kProducts, "numHeadsQ", "64 or 128"},
    {"HOST-S-58", Tier::single, core_counts_fit, kEverywhere, "device",
     "1 to 36 cube and 72 vector cores, 2 with 128 heads"},
    {"KVQ-M06", Tier::single, mask_known, kEverywhere, "oriMaskMode", "0, 3 or 4"},
    {"KVQ-M06", Tier::single, window_in_range, kEverywhere, "oriWinLeft", "0 or more"},
    {"KVQ-M07", Tier::single, layouts_known, kEverywhere, "layoutQ", "BSND or TND; layoutKv the same or PA_ND"},
    {"KVQ-M08", Tier::existence, lengths_given, kEverywhere, "sequsedKv", "required, and cuSeqLensQ with TND"},
    {"KVQ-M09", Tier::cross, compression_of_product, kProducts, "cmpRatio",
     "4 or 128, cmpTopK 0, 512 or 1024 with hasCmpKv", Known::tensors},
    {"HOST-S-51", Tier::cross, compression_in_range, kHostOnly, "cmpRatio",
     "1 or more, cmpTopK 0 or more with hasCmpKv", Known::tensors},
    {"HOST-S-59", Tier::cross, idle_in_range, kHostOnly, "oriTopK",
     "0 to 2147483647, like all numbers without influence", Known::tensors},
    {"HOST-C-51", Tier::consistency, lengths_cover_batch, kEverywhere, "sequsedKv",
     "INT32, an entry for each sequence"},
    {"HOST-C-57", Tier::consistency, metadata_output_typed, kEverywhere, "metaData", "INT32, (1024)"},
};

const Group<Case> kGroups[] = {{kRules, std::size(kRules)}, kMetadataHostRules};

}  // namespace

const Catalogue<MetadataCase> kMetadataCatalogue{kGroups, std::size(kGroups)};

}  // namespace acl_attn::ops::sparse::kvq
