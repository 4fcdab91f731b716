// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Bad calls: each is one change to a good one, and is refused with the right status and a sentence that names the
// parameter, what was expected, what was given, and the rule.
#include <functional>

#include "two_phase_scenario.h"

using namespace two_phase;

using Change = std::function<void(Prepared&)>;

// `parts`: what the message must contain; the first is its beginning.
static void refused(const Scenario& s, const Change& change, int status, const std::vector<std::string>& parts) {
    Prepared p(s, 1.0);
    change(p);
    const std::vector<uint16_t> out = p.out;
    uint64_t size = 77;
    aclOpExecutor* executor = reinterpret_cast<aclOpExecutor*>(&size);
    const aclnnStatus got = p.arguments.phase_one(&size, &executor);
    const std::string message = recent_message();
    expect(got == status, parts[0] + ": status " + std::to_string(got) + ", message " + message);
    if (got == 0) {
        aclDestroyAclOpExecutor(executor);
        return;
    }
    expect(message.rfind(parts[0], 0) == 0, parts[0] + ": message " + message);
    expect(message.find(": expected ") != std::string::npos && message.find(", got ") != std::string::npos &&
               message.back() == ']',
           "form of: " + message);
    for (const std::string& part : parts) {
        expect(message.find(part) != std::string::npos, "\"" + part + "\" in: " + message);
    }
    expect(size == 77 && executor == reinterpret_cast<aclOpExecutor*>(&size), "out-pointers untouched: " + parts[0]);
    expect(p.out == out, "output untouched: " + parts[0]);
}

static void accepted(const Scenario& s, const Change& change, const std::string& what) {
    Prepared p(s, 1.0);
    change(p);
    const aclnnStatus status = call(p.arguments);
    expect(status == 0, what + ": status " + std::to_string(status) + " " + recent_message());
}

static Scenario batched() {
    Scenario s;
    s.q_len = {3, 2};
    s.kv_len = {5, 4};
    s.heads = 4;
    return s;
}
static Scenario packed() {
    Scenario s = batched();
    s.layout = "TND";
    return s;
}
static Scenario paged(Kv kv = Kv::paged4) {
    Scenario s = batched();
    s.kv = kv;
    return s;
}
static Scenario listed() {
    Scenario s = batched();
    s.kv = Kv::list;
    return s;
}

static std::vector<uint16_t> spare(4096, 0);
static std::vector<float> spare_floats(4096, 0);

static const aclTensor* some(Prepared& p, const Dims& dims, aclDataType type = ACL_FLOAT16) {
    return p.objects.tensor(dims, type, spare.data());
}

static void test_pointers_and_handles() {
    refused(batched(), [](Prepared& p) { p.arguments.query = nullptr; }, 161001,
            {"query: ", "null pointer", "API-E-01"});
    refused(batched(), [](Prepared& p) { p.arguments.key = nullptr; }, 161001, {"key: "});
    refused(batched(), [](Prepared& p) { p.arguments.value = nullptr; }, 161001, {"value: "});
    refused(batched(), [](Prepared& p) { p.arguments.attention_out = nullptr; }, 161001, {"attentionOut: "});
    refused(batched(), [](Prepared& p) { p.arguments.softmax_lse = nullptr; }, 161001, {"softmaxLse: "});
    Prepared p(batched(), 1.0);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    expect(p.arguments.phase_one(nullptr, &executor) == 161001, "workspaceSize null");
    expect(recent_message().rfind("workspaceSize: ", 0) == 0, "workspaceSize named");
    expect(p.arguments.phase_one(&size, nullptr) == 161001, "executor null");
    expect(recent_message().rfind("executor: ", 0) == 0, "executor named");

    const aclTensor* dead = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, spare.data());
    aclDestroyTensor(dead);
    const aclIntArray* dead_array = aclCreateIntArray(nullptr, 0);
    aclDestroyIntArray(dead_array);
    refused(batched(), [&](Prepared& q) { q.arguments.query = dead; }, 161002, {"query: ", "live aclTensor"});
    refused(batched(), [&](Prepared& q) { q.arguments.learnable_sink = dead; }, 161002, {"learnableSink: "});
    refused(batched(), [&](Prepared& q) { q.arguments.actual_seq_lengths = dead_array; }, 161002,
            {"actualSeqLengths: "});
    refused(batched(), [&](Prepared& q) { q.arguments.query = reinterpret_cast<const aclTensor*>(&check_failures); },
            161002, {"query: "});
    refused(batched(), [&](Prepared& q) { q.arguments.key = reinterpret_cast<const aclTensorList*>(dead); }, 161002,
            {"key: ", "aclTensorList"});
    accepted(
        batched(), [&](Prepared& q) { q.arguments.softmax_lse_flag = false, q.arguments.softmax_lse = dead; },
        "softmaxLse without the flag is not an argument");
}

static void test_types() {
    const auto query_of = [](aclDataType type) {
        return [type](Prepared& p) { p.arguments.query = some(p, {2, 3, 4, 16}, type); };
    };
    refused(batched(), query_of(ACL_FLOAT), 161002, {"query: ", "FLOAT16 or BF16", "API-S-01"});
    refused(batched(), query_of(ACL_BF16), 161002, {"key[0]: ", "BF16", "FLOAT16"});
    refused(batched(), query_of(ACL_INT8), 161002, {"key[0]: ", "INT8"});
    refused(batched(), [](Prepared& p) { p.arguments.attention_out = some(p, {2, 3, 4, 16}, ACL_BF16); }, 161002,
            {"attentionOut: ", "FLOAT16", "BF16"});
    refused(batched(), [](Prepared& p) { p.arguments.attention_out = some(p, {2, 3, 4, 16}, ACL_INT8); }, 561002,
            {"quantScale2: ", "PQ-E-01"});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.key = p.objects.list({some(p, {2, 5, 2, 16}, ACL_INT8)});
                p.arguments.value = p.objects.list({some(p, {2, 5, 2, 16}, ACL_INT8)});
            },
            561002, {"keyAntiquantScale: ", "DQA-E-01"});
    refused(batched(), [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {2, 5, 2, 16}, ACL_BF16)}); },
            161002, {"value[0]: ", "FLOAT16", "BF16"});
    refused(batched(), [](Prepared& p) { p.arguments.atten_mask = some(p, {3, 5}, ACL_FLOAT16); }, 561002,
            {"attenMask: ", "pseShift", "MASK-S-01"});
    refused(batched(), [](Prepared& p) { p.arguments.softmax_lse = some(p, {2, 4, 3, 1}, ACL_FLOAT16); }, 561002,
            {"softmaxLse: ", "FLOAT", "LSE-S-01"});
    refused(paged(), [](Prepared& p) { p.arguments.block_table = some(p, {2, 3}, ACL_INT64); }, 561002,
            {"blockTable: ", "INT32", "PA-S-01"});
}

// A parameter of a feature, in a shape that fits none, is refused by a rule of its own; where the feature has a second
// parameter, for the want of that.
static void test_features() {
    const struct {
        const char* name;
        const aclTensor* Arguments::* member;
        const char* rule;
    } tensors[] = {
        {"pseShift", &Arguments::pse_shift, "PSE-S-06"},
        {"deqScale1", &Arguments::deq_scale1, "DQN-E-01"},
        {"quantScale1", &Arguments::quant_scale1, "DQN-E-01"},
        {"deqScale2", &Arguments::deq_scale2, "DQN-E-01"},
        {"quantScale2", &Arguments::quant_scale2, "PQ-S-01"},
        {"quantOffset2", &Arguments::quant_offset2, "PQ-S-02"},
        {"antiquantScale", &Arguments::antiquant_scale, "DQN-E-01"},
        {"antiquantOffset", &Arguments::antiquant_offset, "DQN-E-01"},
        {"queryPaddingSize", &Arguments::query_padding_size, "LP-S-01"},
        {"kvPaddingSize", &Arguments::kv_padding_size, "LP-S-02"},
        {"keyAntiquantScale", &Arguments::key_antiquant_scale, "DQN-E-01"},
        {"keyAntiquantOffset", &Arguments::key_antiquant_offset, "DQN-E-01"},
        {"valueAntiquantScale", &Arguments::value_antiquant_scale, "DQN-E-01"},
        {"valueAntiquantOffset", &Arguments::value_antiquant_offset, "DQN-E-01"},
        {"valueSharedPrefix", &Arguments::key_shared_prefix, "PFX-E-01"},
        {"keySharedPrefix", &Arguments::value_shared_prefix, "PFX-E-01"},
        {"keyRope", &Arguments::query_rope, "ROPE-E-01"},
        {"queryRope", &Arguments::key_rope, "ROPE-E-01"},
        {"keyRopeAntiquantScale", &Arguments::key_rope_antiquant_scale, "ROPE-X-18"},
        {"dequantScaleQuery", &Arguments::dequant_scale_query, "DQN-E-01"},
        {"learnableSink", &Arguments::learnable_sink, "SINK-S-03"},
    };
    for (const auto& t : tensors) {
        refused(batched(), [&](Prepared& p) { p.arguments.*t.member = some(p, {5}); }, 561002,
                {std::string(t.name) + ": ", t.rule});
    }
    const struct {
        const char* name;
        const aclIntArray* Arguments::* member;
        const char* rule;
    } arrays[] = {
        {"actualSharedPrefixLen: ", &Arguments::actual_shared_prefix_len, "HOST-E-05"},
        {"qStartIdx[0]: ", &Arguments::q_start_idx, "HOST-S-07"},
        {"kvStartIdx[0]: ", &Arguments::kv_start_idx, "HOST-S-07"},
    };
    for (const auto& a : arrays) {
        refused(batched(), [&](Prepared& p) { p.arguments.*a.member = p.objects.ints({1}); }, 561002,
                {a.name, a.rule});
    }
    const struct {
        const char* name;
        int64_t Arguments::* member;
    } modes[] = {
        {"antiquantMode", &Arguments::antiquant_mode},
        {"keyAntiquantMode", &Arguments::key_antiquant_mode},
        {"valueAntiquantMode", &Arguments::value_antiquant_mode},
        {"queryQuantMode", &Arguments::query_quant_mode},
    };
    for (const auto& m : modes) {
        refused(batched(), [&](Prepared& p) { p.arguments.*m.member = 2; }, 561002,
                {std::string(m.name) + ": ", "got 2", "HOST-E-03"});
    }
    refused(batched(), [](Prepared& p) { p.arguments.pse_type = 1; }, 561002, {"pseType: ", "got 1", "PSE-S-01"});
    refused(batched(), [](Prepared& p) { p.arguments.pse_type = 2; }, 561002, {"pseShift: ", "PSE-E-01"});
}

static void test_attributes() {
    const auto set = [](int64_t Arguments::* member, int64_t value) {
        return [=](Prepared& p) { p.arguments.*member = value; };
    };
    const int64_t big = (int64_t{1} << 32) + 4;
    for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, big}) {
        refused(batched(), set(&Arguments::num_heads, value), 561002, {"numHeads: "});
    }
    refused(batched(), set(&Arguments::num_key_value_heads, -2), 561002, {"numKeyValueHeads: "});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.num_key_value_heads = -1;
                p.arguments.query = some(p, {2, 0, 4, 16});
                p.arguments.attention_out = some(p, {2, 0, 4, 16});
            },
            561002, {"numKeyValueHeads: "});
    refused(batched(), set(&Arguments::num_key_value_heads, 3), 561002, {"numKeyValueHeads: ", "divisor", "COM-C-13"});
    refused(batched(), [](Prepared& p) { p.arguments.num_heads = 8, p.arguments.softmax_lse_flag = false; }, 561002,
            {"attentionOut: ", "(2, 3, 8, 16)", "COM-C-19"});
    refused(batched(), [](Prepared& p) { p.arguments.query = some(p, {2, 3, 8, 16}); }, 561002,
            {"query: ", "numHeads = 4", "COM-C-03"});
    refused(batched(), set(&Arguments::num_key_value_heads, 4), 561002, {"key[0]: ", "Nkv = 4"});
    for (const int64_t mode : {int64_t{-1}, int64_t{5}, int64_t{9}, INT64_MAX}) {
        refused(batched(), set(&Arguments::sparse_mode, mode), 561002, {"sparseMode: "});
    }
    for (const int64_t precise : {int64_t{-1}, int64_t{4}}) {
        refused(batched(), set(&Arguments::inner_precise, precise), 561002, {"innerPrecise: ", "COM-S-13"});
    }
    for (const char* layout : {"", "bsnd", "BSND ", "SBH", "TND_BSND", "a layout name that is far too long to print"}) {
        refused(batched(), [&](Prepared& p) { p.arguments.input_layout = layout; }, 561002, {"inputLayout: ", "BSND"});
    }
    refused(batched(), [](Prepared& p) { p.arguments.input_layout = "BSH"; }, 561002, {"query: ", "(B, S, N*D)"});
    for (const double scale : {0.0, -1.0, 3e38, 1e-300}) {
        accepted(batched(), [&](Prepared& p) { p.arguments.scale_value = scale; }, "any scale");
    }
    for (const double scale : {1e300, double{INFINITY}, double{NAN}}) {
        refused(batched(), [&](Prepared& p) { p.arguments.scale_value = scale; }, 561002,
                {"scaleValue: expected a finite", "HOST-S-03"});
    }
    refused(batched(), set(&Arguments::block_size, -7), 561002, {"blockSize: ", "got -7", "HOST-S-04"});
    accepted(batched(), set(&Arguments::block_size, 128), "a block size that nothing uses");
}

static void test_shapes() {
    refused(batched(), [](Prepared& p) { p.arguments.query = some(p, {2, 3, 64}); }, 561002, {"query: ", "4 axes"});
    refused(batched(), [](Prepared& p) { p.arguments.query = some(p, {2, 3, 4, 8}); }, 561002, {"key[0]: ", "D = 8"});
    refused(batched(), [](Prepared& p) { p.arguments.attention_out = some(p, {2, 4, 3, 16}); }, 561002,
            {"attentionOut: ", "(2, 3, 4, 16)", "(2, 4, 3, 16)"});
    refused(batched(), [](Prepared& p) { p.arguments.attention_out = some(p, {0}); }, 561002, {"attentionOut: "});
    refused(
        batched(),
        [](Prepared& p) { p.arguments.softmax_lse = p.objects.tensor({2, 3, 4, 1}, ACL_FLOAT, spare_floats.data()); },
        561002, {"softmaxLse: ", "(2, 4, 3, 1)", "(2, 3, 4, 1)"});
    refused(batched(), [](Prepared& p) { p.arguments.softmax_lse = p.objects.tensor({0}, ACL_FLOAT, nullptr); }, 561002,
            {"softmaxLse: ", "elements"});
    refused(batched(), [](Prepared& p) { p.arguments.key = p.objects.list({}); }, 561002, {"key: "});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.key = p.objects.list({some(p, {1, 5, 2, 16})});
                p.arguments.value = p.objects.list({some(p, {1, 5, 2, 16})});
            },
            561002, {"key[0]: ", "B = 2", "COM-C-23"});
    refused(batched(), [](Prepared& p) { p.arguments.key = p.objects.list({some(p, {1, 5, 2, 16})}); }, 561002,
            {"value[0]: ", "of key, (1, 5, 2, 16)", "COM-C-20"});
    refused(batched(), [](Prepared& p) { p.arguments.key = p.objects.list({some(p, {2, 5, 2, 8})}); }, 561002,
            {"key[0]: ", "D = 16"});
    refused(batched(), [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {2, 6, 2, 16})}); }, 561002,
            {"value[0]: ", "5 tokens"});
    refused(batched(), [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {2, 5, 1, 16})}); }, 561002,
            {"value[0]: ", "Nkv = 2"});
    // Without a key anywhere their shapes do not matter, lengths do.
    for (const Dims& dims : {Dims{2, 0, 2, 16}, Dims{2, 0, 7, 16}, Dims{2, 5, 0, 16}}) {
        const auto no_keys = [&](Prepared& p) {
            p.arguments.key = p.objects.list({p.objects.tensor(dims, ACL_FLOAT16, nullptr)});
            p.arguments.value = p.objects.list({p.objects.tensor(dims, ACL_FLOAT16, nullptr)});
        };
        refused(batched(), no_keys, 561002, {"actualSeqLengthsKv[0]: ", "at most 0"});
        accepted(
            batched(), [&](Prepared& p) { no_keys(p), p.arguments.actual_seq_lengths_kv = nullptr; }, "no keys at all");
    }
    Scenario wide = batched();
    wide.layout = "BSH";
    wide.dim = wide.dim_v = 520;
    refused(wide, [](Prepared&) {}, 561002, {"query: ", "512", "520"});
    refused(wide, [](Prepared& p) { p.arguments.num_heads = 3, p.arguments.num_key_value_heads = 1; }, 561002,
            {"query: ", "divides"});
    // Extents whose product no machine can address, empty or not.
    const int64_t huge = int64_t{1} << 40;
    refused(batched(),
            [&](Prepared& p) {
                const Dims dims{huge, 0, huge, huge};
                p.arguments.query = p.objects.tensor(dims, ACL_FLOAT16, spare.data());
                if (p.arguments.query == nullptr) p.arguments.query = some(p, {1, 3, 4, 16});
            },
            561002, {""});
    Scenario many = batched();
    many.layout = "TND";
    refused(many,
            [](Prepared& p) {
                p.arguments.actual_seq_lengths = p.objects.ints(std::vector<int64_t>(65537, 5));
                p.arguments.actual_seq_lengths_kv = p.objects.ints(std::vector<int64_t>(65537, 9));
            },
            561002, {"actualSeqLengths: ", "65536"});
}

static void test_lists() {
    refused(listed(), [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {1, 5, 2, 16})}); }, 561002,
            {"value: ", "as many as key"});
    const auto three = [](Prepared& p) {
        const auto list = [&] {
            return p.objects.list({some(p, {1, 5, 2, 16}), some(p, {1, 5, 2, 16}), some(p, {1, 5, 2, 16})});
        };
        p.arguments.key = list();
        p.arguments.value = list();
    };
    refused(listed(), three, 561002, {"key: ", "2 sequences", "3 tensors"});
    refused(listed(),
            [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {1, 5, 2, 16}), some(p, {1, 9, 2, 16})}); },
            561002, {"value[1]: ", "tokens"});
    refused(listed(),
            [](Prepared& p) { p.arguments.key = p.objects.list({some(p, {1, 5, 2, 16}), some(p, {2, 5, 2, 16})}); },
            561002, {"key[1]: "});
    refused(listed(), [](Prepared& p) { p.arguments.actual_seq_lengths_kv = p.objects.ints({5, 6}); }, 561002,
            {"actualSeqLengthsKv[1]: ", "at most 5"});
    refused(listed(), [](Prepared& p) { p.arguments.block_table = some(p, {2, 4}, ACL_INT32); }, 561002,
            {"blockTable: "});
    refused(listed(),
            [](Prepared& p) {
                std::vector<const aclTensor*> members;
                for (int i = 0; i < 257; ++i) members.push_back(some(p, {1, 1, 2, 16}));
                p.arguments.key = p.objects.list(members);
            },
            161002, {"key: ", "256", "257"});
}

static void test_lengths() {
    const auto q = [](std::vector<int64_t> v) {
        return [v](Prepared& p) { p.arguments.actual_seq_lengths = p.objects.ints(v); };
    };
    const auto kv = [](std::vector<int64_t> v) {
        return [v](Prepared& p) { p.arguments.actual_seq_lengths_kv = p.objects.ints(v); };
    };
    refused(batched(), q({4, 1}), 561002, {"actualSeqLengths[0]: ", "at most 3", "got 4"});
    refused(batched(), q({1, -1}), 561002, {"actualSeqLengths[1]: ", "got -1"});
    refused(batched(), kv({5, 6}), 561002, {"actualSeqLengthsKv[1]: ", "at most 5", "got 6"});
    refused(batched(), kv({-5}), 561002, {"actualSeqLengthsKv[0]: "});
    refused(batched(), kv({INT64_MAX, INT64_MAX}), 561002, {"actualSeqLengthsKv[0]: "});
    Scenario three = batched();
    three.q_len = {1, 2, 3};
    three.kv_len = {1, 2, 3};
    refused(three, q({1, 2}), 561002, {"actualSeqLengths: ", "at least 3", "got 2"});
    refused(three, kv({1, 2}), 561002, {"actualSeqLengthsKv: ", "at least 3", "got 2"});

    refused(packed(), q({}), 561002, {"actualSeqLengths: ", "running totals"});
    refused(packed(), kv({}), 561002, {"actualSeqLengthsKv: ", "running totals"});
    refused(packed(), [](Prepared& p) { p.arguments.actual_seq_lengths = nullptr; }, 561002, {"actualSeqLengths: "});
    refused(packed(), q({3, 4}), 561002, {"actualSeqLengths[1]: ", "T = 5", "got 4", "padding sequence"});
    refused(packed(), q({3, 6}), 561002, {"actualSeqLengths[1]: ", "T = 5"});
    refused(packed(), q({3, 2}), 561002, {"actualSeqLengths[1]: ", "running totals"});
    refused(packed(), q({-3, 5}), 561002, {"actualSeqLengths[0]: "});
    refused(packed(), q({INT64_MIN, 5}), 561002, {"actualSeqLengths[0]: "});
    refused(packed(), kv({5, 8}), 561002, {"actualSeqLengthsKv[1]: ", "T = 9"});
    refused(packed(), kv({5, 4}), 561002, {"actualSeqLengthsKv[1]: "});
    refused(packed(), kv({5, 9, 9}), 561002, {"actualSeqLengthsKv: ", "2 entries", "got 3"});
    refused(packed(), kv({0, 5, 9}), 561002, {"actualSeqLengthsKv: ", "cu_seqlens", "leading 0"});
    refused(packed(), q({0, 3, 5}), 561002, {"actualSeqLengthsKv: ", "actualSeqLengths looks like cu_seqlens"});
    accepted(packed(), [&](Prepared& p) { q({0, 3, 5})(p), kv({0, 5, 9})(p); }, "an empty first sequence is legal");
}

static void test_paging() {
    for (const Kv kv : {Kv::paged3, Kv::paged4, Kv::paged5}) {
        const auto lengths = [](std::vector<int64_t> v) {
            return [v](Prepared& p) { p.arguments.actual_seq_lengths_kv = p.objects.ints(v); };
        };
        refused(paged(kv), [](Prepared& p) { p.arguments.actual_seq_lengths_kv = nullptr; }, 561002,
                {"actualSeqLengthsKv: ", "ASL-E-03"});
        refused(paged(kv), lengths({5, 13}), 561002, {"blockTable: ", "(2, >= 4)", "(2, 3)"});
        refused(paged(kv), lengths({5, INT64_MAX}), 561002, {"blockTable: "});
        for (const int64_t size : {int64_t{0}, int64_t{-4}}) {
            refused(paged(kv), [&](Prepared& p) { p.arguments.block_size = size; }, 561002, {"blockSize: ", "PA-S-04"});
        }
        refused(paged(kv), [](Prepared& p) { p.arguments.block_size = 8; }, 561002, {"key: ", "blockSize 8"});
        refused(paged(kv), [](Prepared& p) { p.arguments.block_table = some(p, {2}, ACL_INT32); }, 561002,
                {"blockTable: "});
        refused(paged(kv), [](Prepared& p) { p.arguments.block_table = some(p, {2, 0}, ACL_INT32); }, 561002,
                {"blockTable: ", "PA-S-03"});
        refused(paged(kv), [](Prepared& p) { p.arguments.block_table = some(p, {3, 4}, ACL_INT32); }, 561002,
                {"blockTable: ", "(2, >= 2)"});
        refused(paged(kv), [](Prepared& p) { p.arguments.num_key_value_heads = 1; }, 561002, {"key: "});
    }
    refused(paged(), [](Prepared& p) { p.arguments.key = p.objects.list({some(p, {2, 2})}); }, 561002,
            {"key: ", "(blocks, Nkv, blockSize, D)"});
    refused(paged(), [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {6, 4, 32})}); }, 561002,
            {"value: "});
    refused(paged(), [](Prepared& p) { p.arguments.value = p.objects.list({some(p, {5, 2, 4, 16})}); }, 561002,
            {"value: ", "6 blocks"});
    refused(paged(),
            [](Prepared& p) {
                p.arguments.key = p.objects.list({some(p, {0, 2, 4, 16})});
                p.arguments.value = p.objects.list({some(p, {0, 2, 4, 16})});
            },
            561002, {"key: ", "at least one block"});
    refused(paged(Kv::paged5), [](Prepared& p) { p.arguments.key = p.objects.list({some(p, {6, 2, 2, 4, 8})}); },
            561002, {"key: ", "last axis of 16"});
    Scenario cu = paged();
    cu.layout = "TND";
    refused(cu, [](Prepared& p) { p.arguments.actual_seq_lengths = p.objects.ints({0, 3, 5}); }, 561002,
            {"actualSeqLengthsKv: ", "cu_seqlens"});
    refused(cu,
            [](Prepared& p) {
                p.arguments.actual_seq_lengths = p.objects.ints({0, 3, 5});
                p.arguments.actual_seq_lengths_kv = p.objects.ints({0, 5, 4});
            },
            561002, {"blockTable: ", "cu_seqlens"});
    refused(cu, [](Prepared& p) { p.arguments.actual_seq_lengths_kv = p.objects.ints({5, 15}); }, 561002,
            {"blockTable: ", "no running totals"});
}

static void test_masks() {
    const auto mask = [](Dims dims, int64_t mode) {
        return [=](Prepared& p) {
            p.arguments.atten_mask = p.objects.tensor(dims, ACL_BOOL, spare.data());
            p.arguments.sparse_mode = mode;
        };
    };
    refused(batched(), [](Prepared& p) { p.arguments.sparse_mode = 1; }, 561002, {"attenMask: ", "sparseMode 1"});
    for (const int64_t mode : {0, 1}) {
        for (const Dims& dims :
             {Dims{3, 4}, Dims{2, 5}, Dims{3, 3, 5}, Dims{2, 2, 3, 5}, Dims{3, 1, 3, 5}, Dims{2, 1, 2, 5}}) {
            refused(batched(), mask(dims, mode), 561002, {"attenMask: ", ">= 3, >= 5", "MASK-C-04"});
        }
        for (const Dims& dims : {Dims{5}, Dims{1, 1, 1, 3, 5}}) {
            refused(batched(), mask(dims, mode), 561002, {"attenMask: ", "axes"});
        }
        for (const Dims& dims : {Dims{3, 5}, Dims{1, 3, 5}, Dims{2, 3, 5}, Dims{1, 1, 9, 32}, Dims{2, 1, 4, 6}}) {
            accepted(batched(), mask(dims, mode), "mask shape");
        }
    }
    Scenario decode = batched();
    decode.q_len = {1, 1};
    decode.sq = 1;
    refused(decode, mask({2, 5}, 0), 561002, {"attenMask: ", "(2, 1, 5)"});
    accepted(decode, mask({1, 5}, 0), "one row for all");
    for (const int64_t mode : {2, 3, 4}) {
        for (const Dims& dims : {Dims{3, 5}, Dims{128, 128}, Dims{2048, 2047}, Dims{2, 2048, 2048}}) {
            refused(batched(), mask(dims, mode), 561002, {"attenMask: ", "(2048, 2048)", "MASK-C-05"});
        }
        for (const Dims& dims : {Dims{2048, 2048}, Dims{1, 2048, 2048}, Dims{1, 1, 2048, 2048}}) {
            accepted(batched(), mask(dims, mode), "2048 x 2048");
        }
    }
    const auto window = [&](int64_t mode, int64_t pre, int64_t next) {
        return [=](Prepared& p) {
            if (mode == 0) p.arguments.atten_mask = p.objects.tensor({3, 5}, ACL_BOOL, spare.data());
            p.arguments.sparse_mode = mode, p.arguments.pre_tokens = pre, p.arguments.next_tokens = next;
        };
    };
    for (const int64_t mode : {0, 4}) {
        refused(batched(), window(mode, 1, -2), 561002, {"nextTokens: ", "-preTokens = -1", "MASK-C-06"});
        refused(batched(), window(mode, INT64_MIN, 5), 561002, {"nextTokens: "});
        for (const int64_t next : {int64_t{-1}, INT64_MAX}) accepted(batched(), window(mode, 1, next), "window");
        accepted(batched(), window(mode, INT64_MAX, INT64_MIN), "window that sees nothing here");
    }
    accepted(batched(), [](Prepared& p) { p.arguments.pre_tokens = -9; }, "no window without a mask");
}

static void test_memory() {
    const auto null_data = [](const Dims& dims, aclDataType type) {
        return [=](Prepared& p) { return p.objects.tensor(dims, type, nullptr); };
    };
    refused(batched(), [&](Prepared& p) { p.arguments.query = null_data({2, 3, 4, 16}, ACL_FLOAT16)(p); }, 561002,
            {"query: ", "null address"});
    refused(batched(), [&](Prepared& p) { p.arguments.attention_out = null_data({2, 3, 4, 16}, ACL_FLOAT16)(p); },
            561002, {"attentionOut: ", "null address"});
    refused(batched(), [&](Prepared& p) { p.arguments.softmax_lse = null_data({2, 4, 3, 1}, ACL_FLOAT)(p); }, 561002,
            {"softmaxLse: ", "null address"});
    refused(batched(),
            [&](Prepared& p) { p.arguments.key = p.objects.list({null_data({2, 5, 2, 16}, ACL_FLOAT16)(p)}); }, 561002,
            {"key[0]: ", "null address"});
    refused(batched(), [&](Prepared& p) { p.arguments.atten_mask = null_data({3, 5}, ACL_BOOL)(p); }, 561002,
            {"attenMask: ", "null address"});
    refused(paged(), [&](Prepared& p) { p.arguments.block_table = null_data({2, 3}, ACL_INT32)(p); }, 561002,
            {"blockTable: ", "null address"});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.query =
                    p.objects.tensor({2, 3, 4, 16}, ACL_FLOAT16, reinterpret_cast<char*>(spare.data()) + 1);
            },
            561002, {"query: ", "divides"});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.query =
                    p.objects.strided({2, 3, 4, 16}, {192, 16, 48, 1}, 0, 384, ACL_FLOAT16, spare.data());
            },
            561002, {"query: ", "contiguous", "(192, 16, 48, 1)"});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.key = p.objects.list(
                    {p.objects.strided({2, 5, 2, 16}, {200, 32, 16, 1}, 0, 400, ACL_FLOAT16, spare.data())});
            },
            561002, {"key[0]: ", "contiguous", "PA-C-05"});
    refused(paged(),
            [](Prepared& p) {
                p.arguments.key = p.objects.list(
                    {p.objects.strided({6, 2, 4, 16}, {256, 128, 17, 1}, 0, 2000, ACL_FLOAT16, spare.data())});
            },
            561002, {"key: ", "dense axes", "PA-C-04"});
    refused(paged(),
            [](Prepared& p) {
                p.arguments.key = p.objects.list(
                    {p.objects.strided({6, 2, 4, 16}, {0, 64, 16, 1}, 0, 2000, ACL_FLOAT16, spare.data())});
            },
            561002, {"key: ", "positive"});
    refused(batched(), [](Prepared& p) { p.arguments.attention_out = p.arguments.query; }, 561002,
            {"attentionOut: ", "overlaps query"});
    refused(batched(),
            [](Prepared& p) {
                p.arguments.attention_out = p.objects.tensor({2, 3, 4, 16}, ACL_FLOAT16, p.value[0].data() - 383);
            },
            561002, {"attentionOut: ", "memory that overlaps "});
    refused(batched(),
            [](Prepared& p) { p.arguments.softmax_lse = p.objects.tensor({2, 4, 3, 1}, ACL_FLOAT, p.out.data() + 2); },
            561002, {"softmaxLse: ", "overlaps attentionOut"});
}

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_pointers_and_handles();
    test_types();
    test_features();
    test_attributes();
    test_shapes();
    test_lists();
    test_lengths();
    test_paging();
    test_masks();
    test_memory();
    expect(live_objects() == 0, "live objects: " + std::to_string(live_objects()));
    return check_result();
}
