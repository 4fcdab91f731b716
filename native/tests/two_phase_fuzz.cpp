// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Random calls, most of them wrong in one or two ways, on buffers that are exactly as large as their tensors say.
// Whatever phase one accepts is run, through any of the entry points; sometimes what device tensors hold changes, or
// all objects are destroyed, between the phases. Nothing may crash, hang, touch memory beyond a buffer (build with
// -fsanitize=address), or be refused without a message. Usage: two_phase_fuzz [calls] [seed]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include "aclnnop/aclnn_fused_infer_attention_score.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v2.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v3.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"
#include "two_phase_scenario.h"

using namespace two_phase;

static std::mt19937_64 random_bits;

static int64_t below(int64_t n) { return static_cast<int64_t>(random_bits() % static_cast<uint64_t>(n)); }
static bool chance(int64_t one_in) { return below(one_in) == 0; }
template <class T>
static const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
}

static const std::vector<std::string> kLayouts = {"BSH",       "BSND",      "BNSD",      "TND",     "NTD",
                                                  "BNSD_BSND", "BSH_BNSD",  "BSND_BNSD", "NTD_TND", "BSH_NBSD",
                                                  "BSND_NBSD", "BNSD_NBSD", "TND_NTD"};
static const std::vector<int64_t> kNumbers = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              5,
                                              7,
                                              16,
                                              17,
                                              -1,
                                              -2,
                                              -5,
                                              127,
                                              2048,
                                              INT32_MAX,
                                              INT32_MIN,
                                              int64_t{1} << 32,
                                              (int64_t{1} << 32) + 2,
                                              INT64_MAX,
                                              INT64_MIN};
static const std::vector<aclDataType> kTypes = {ACL_FLOAT16, ACL_BF16,     ACL_FLOAT,        ACL_INT32,
                                                ACL_BOOL,    ACL_INT8,     ACL_UINT8,        ACL_INT4,
                                                ACL_INT64,   ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};

static size_t bytes_of(int64_t elements, aclDataType type) {
    const size_t size = aclDataTypeSize(type);
    return static_cast<size_t>(elements) * (size == 0 ? 1 : size);
}

// Buffers live on the heap, each by itself, so that a sanitizer sees the first byte beyond.
class Memory {
public:
    void* exactly(size_t bytes) {
        blocks_.push_back(std::make_unique<char[]>(bytes));
        sizes_.push_back(bytes);
        for (size_t i = 0; i < bytes; ++i) blocks_.back()[i] = static_cast<char>(random_bits());
        return blocks_.back().get();
    }

    // Fills the buffers of at most so many bytes with other numbers.
    void scramble(size_t largest) {
        for (size_t b = 0; b < blocks_.size(); ++b) {
            for (size_t i = 0; i < sizes_[b] && sizes_[b] <= largest; ++i) {
                blocks_[b][i] = static_cast<char>(random_bits());
            }
        }
    }

private:
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::vector<size_t> sizes_;
};

static Scenario random_scenario() {
    Scenario s;
    s.layout = pick(kLayouts);
    s.type = chance(2) ? ACL_FLOAT16 : ACL_BF16;
    s.kv_heads = 1 + below(3);
    s.heads = s.kv_heads * (1 + below(3));
    s.kv = static_cast<Kv>(below(5));
    if (s.packed() && s.kv == Kv::list) s.kv = Kv::dense;
    s.dim = s.kv == Kv::paged5 ? 16 * (1 + below(3)) : 1 + below(40);
    s.dim_v = s.kv == Kv::paged5 ? 16 * (1 + below(3)) : 1 + below(40);
    s.sq = below(8);
    s.skv = below(12);
    s.q_len.clear();
    s.kv_len.clear();
    for (int64_t b = 1 + below(4); b > 0; --b) {
        s.q_len.push_back(below(s.sq + 1));
        s.kv_len.push_back(below(s.skv + 1));
    }
    s.sparse_mode = below(5);
    s.mask = s.sparse_mode == 1 || chance(3);
    if (s.mask && s.sparse_mode > 1 && !chance(20)) s.mask = false;  // the 2048 x 2048 tensor is slow to make
    s.mask_shared = chance(2);
    if (chance(2)) s.pre = below(6), s.next = below(6) - s.pre;
    s.block_size = 1 + below(5);
    s.block_gap = below(3) * 8;
    return s;
}

static const aclTensor* random_tensor(Objects& objects, Memory& memory) {
    static const int not_a_handle = 0;
    switch (below(6)) {
        case 0: return nullptr;
        case 1: {
            const aclTensor* dead =
                aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
            aclDestroyTensor(dead);
            return dead;
        }
        case 2:
            return reinterpret_cast<const aclTensor*>(chance(2) ? random_bits()
                                                                : reinterpret_cast<uintptr_t>(&not_a_handle));
        case 3: return objects.tensor({0}, pick(kTypes), nullptr);
        default: break;
    }
    Dims dims(static_cast<size_t>(below(7)));
    for (int64_t& dim : dims) dim = chance(30) ? pick(kNumbers) : below(7);
    int64_t elements = 1;
    for (const int64_t dim : dims) elements = dim < 0 || dim > 100000 || elements > 100000 ? 1000000 : elements * dim;
    const aclDataType type = pick(kTypes);
    void* data = elements > 100000 ? nullptr : memory.exactly(bytes_of(elements, type));
    return objects.tensor(dims, type, data);
}

// The tensor of `dims`, changed a little, on a buffer of its own.
static const aclTensor* altered(Dims dims, aclDataType type, Objects& objects, Memory& memory) {
    if (!dims.empty()) {
        int64_t& dim = dims[static_cast<size_t>(below(static_cast<int64_t>(dims.size())))];
        switch (below(5)) {
            case 0: dim += 1; break;
            case 1: dim -= dim > 0; break;
            case 2: dim = 0; break;
            case 3: std::swap(dim, dims[0]); break;
            default: break;
        }
    }
    if (chance(8)) dims.push_back(1);
    const int64_t elements = count(dims);
    if (chance(6)) type = pick(kTypes);
    if (chance(4) && !dims.empty()) {  // gaps between the outermost entries
        Dims strides(dims.size(), 1);
        for (size_t axis = dims.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * dims[axis];
        const size_t axis = static_cast<size_t>(below(static_cast<int64_t>(dims.size())));
        strides[axis] += below(5);
        int64_t last = below(4);
        const int64_t offset = last;
        for (size_t a = 0; a < dims.size(); ++a) last += dims[a] > 0 ? (dims[a] - 1) * strides[a] : 0;
        return objects.strided(dims, strides, offset, last + 1, type, memory.exactly(bytes_of(last + 1, type)));
    }
    return objects.tensor(dims, type, memory.exactly(bytes_of(elements, type)));
}

static Dims shape_of(const aclTensor* tensor) {
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    if (aclGetViewShape(tensor, &dims, &rank) != 0) return {};
    const Dims shape(dims, dims + rank);
    delete[] dims;
    return shape;
}

static const aclTensorList* random_list(Objects& objects, Memory& memory, const Scenario& s) {
    std::vector<const aclTensor*> members;
    for (int64_t n = below(4); n > 0; --n) {
        const aclTensor* member = chance(3) ? random_tensor(objects, memory)
                                            : altered({1, s.skv, s.kv_heads, s.dim}, s.type, objects, memory);
        if (member != nullptr) members.push_back(member);
    }
    return objects.list(members);
}

static const aclTensor* fresh(Prepared& p, Memory& memory, const Dims& dims, aclDataType type) {
    return p.objects.tensor(dims, type, memory.exactly(bytes_of(count(dims), type)));
}

// Dims of a tensor in the scenario's axes.
static Dims in_layout(const Scenario& s, const Axes& extent) {
    return dims_of(s.layout.substr(0, s.layout.find('_')), extent);
}

// Keys and values in a type of their own, and their scales.
static void store_codes(Prepared& p, const Scenario& s, Memory& memory) {
    if (s.kv == Kv::list) return;
    Arguments& a = p.arguments;
    const int64_t batch = s.batch(), tokens = s.paged() ? 24 : 13;
    int64_t keys = 0;
    for (const int64_t length : s.kv_len) keys += length;
    const int64_t blocks = s.paged() ? static_cast<int64_t>(p.table.size()) : 0;
    const aclDataType type = pick<aclDataType>({ACL_INT8, ACL_INT8, ACL_INT4, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN});
    const int64_t mode = below(s.paged() ? 6 : 4);
    const auto codes = [&](int64_t dim) {
        const Dims dims = s.kv == Kv::paged3   ? Dims{blocks, s.block_size, s.kv_heads * dim}
                          : s.kv == Kv::paged4 ? Dims{blocks, s.kv_heads, s.block_size, dim}
                          : s.kv == Kv::paged5
                              ? Dims{blocks, s.kv_heads, dim / 16, s.block_size, 16}
                              : in_layout(s, {batch, s.packed() ? keys : s.skv, s.kv_heads, dim});
        return p.objects.list({fresh(p, memory, dims, type)});
    };
    const auto scale = [&](int64_t dim) {
        switch (mode) {
            case 0: return fresh(p, memory, chance(2) ? Dims{1} : Dims{s.kv_heads, dim}, s.type);
            case 1: return fresh(p, memory, {batch, tokens}, ACL_FLOAT);
            case 2: return fresh(p, memory, {s.kv_heads}, s.type);
            case 3: return fresh(p, memory, {batch, s.kv_heads, tokens}, ACL_FLOAT);
            case 4: return fresh(p, memory, {blocks, s.block_size}, ACL_FLOAT);
            default: return fresh(p, memory, {blocks, s.kv_heads, s.block_size}, ACL_FLOAT);
        }
    };
    a.key = codes(s.dim);
    a.value = codes(s.dim_v);
    if (chance(6) && mode < 2 && s.dim == s.dim_v) {  // in one tensor, as older programs have them
        a.antiquant_mode = mode;
        a.antiquant_scale = mode == 0 ? fresh(p, memory, {2, s.kv_heads, s.dim}, s.type)
                                      : fresh(p, memory, {2, batch, tokens}, ACL_FLOAT);
        return;
    }
    a.key_antiquant_mode = a.value_antiquant_mode = mode;
    a.key_antiquant_scale = scale(s.dim);
    a.value_antiquant_scale = scale(s.dim_v);
    if (chance(3)) {
        a.key_antiquant_offset = scale(s.dim);
        a.value_antiquant_offset = scale(s.dim_v);
    }
}

// The parameters of a feature, in shapes that fit the scenario (which may still not go together with it).
static void add_feature(Prepared& p, const Scenario& s, Memory& memory) {
    Arguments& a = p.arguments;
    const int64_t batch = s.batch();
    const auto make = [&](const Dims& dims, aclDataType type) { return fresh(p, memory, dims, type); };
    switch (below(9)) {
        case 0: a.pse_shift = make({chance(2) ? 1 : batch, s.heads, chance(2) ? 1 : 40, 60}, s.type); break;
        case 1:
            a.pse_type = 2 + below(2);
            a.pse_shift = make({s.heads}, ACL_FLOAT);
            a.q_start_idx = p.objects.ints({below(9)});
            break;
        case 2: a.learnable_sink = make({s.heads}, s.type); break;
        case 3: {
            if (s.paged() || s.kv == Kv::list) break;
            const Dims query = shape_of(a.query);
            Axes extent{batch, s.sq, s.heads, 8};
            for (size_t i = 0; i < query.size(); ++i) extent.s = s.packed() ? query[s.layout[0] == 'T' ? 0 : 1] : s.sq;
            a.query_rope = make(in_layout(s, extent), s.type);
            int64_t keys = 0;
            for (const int64_t length : s.kv_len) keys += length;
            a.key_rope = make(in_layout(s, {batch, s.packed() ? keys : s.skv, s.kv_heads, 8}), s.type);
            break;
        }
        case 4:
            if (s.packed()) break;
            a.key_shared_prefix = make(in_layout(s, {1, 5, s.kv_heads, s.dim}), s.type);
            a.value_shared_prefix = make(in_layout(s, {1, 5, s.kv_heads, s.dim_v}), s.type);
            if (chance(2)) a.actual_shared_prefix_len = p.objects.ints({below(7)});
            break;
        case 5:
            (chance(2) ? a.query_padding_size : a.kv_padding_size) = make({1}, ACL_INT64);
            break;
        case 6: {
            const Dims dims = shape_of(a.attention_out);
            const aclDataType type = pick<aclDataType>({ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN});
            a.attention_out = make(dims, type);
            a.quant_scale2 = make(chance(2) ? Dims{1} : Dims{s.heads, s.dim_v}, ACL_FLOAT);
            break;
        }
        default: store_codes(p, s, memory); break;
    }
}

static void mutate(Prepared& p, const Scenario& s, Memory& memory) {
    Arguments& a = p.arguments;
    static const std::vector<const aclTensor * Arguments::*> tensors = {
        &Arguments::query,        &Arguments::atten_mask,      &Arguments::block_table,      &Arguments::attention_out,
        &Arguments::softmax_lse,  &Arguments::pse_shift,       &Arguments::query_rope,       &Arguments::learnable_sink,
        &Arguments::quant_scale2, &Arguments::kv_padding_size, &Arguments::key_shared_prefix,
        &Arguments::key_antiquant_scale, &Arguments::value_antiquant_scale, &Arguments::value_antiquant_offset,
        &Arguments::quant_offset2, &Arguments::key_rope, &Arguments::deq_scale1, &Arguments::dequant_scale_query};
    static const std::vector<int64_t Arguments::*> numbers = {
        &Arguments::num_heads,         &Arguments::num_key_value_heads, &Arguments::pre_tokens, &Arguments::next_tokens,
        &Arguments::sparse_mode,       &Arguments::inner_precise,       &Arguments::block_size, &Arguments::pse_type,
        &Arguments::key_antiquant_mode, &Arguments::value_antiquant_mode, &Arguments::query_quant_mode,
        &Arguments::antiquant_mode};
    static const std::vector<const aclIntArray * Arguments::*> arrays = {
        &Arguments::actual_seq_lengths, &Arguments::actual_seq_lengths_kv, &Arguments::q_start_idx};
    switch (below(12)) {
        case 0: a.*pick(tensors) = random_tensor(p.objects, memory); break;
        case 1:
        case 2: {
            const auto member = chance(2) ? tensors[static_cast<size_t>(below(5))] : pick(tensors);
            if (a.*member == nullptr) break;
            aclDataType type = s.type;
            if (aclGetDataType(a.*member, &type) != 0) break;
            if (count(shape_of(a.*member)) < 100000) a.*member = altered(shape_of(a.*member), type, p.objects, memory);
            break;
        }
        case 3: (chance(2) ? a.key : a.value) = random_list(p.objects, memory, s); break;
        case 4:
        case 5: {
            std::vector<int64_t> values;
            for (int64_t n = below(6); n > 0; --n) values.push_back(chance(6) ? pick(kNumbers) : below(13));
            a.*pick(arrays) = chance(10) ? nullptr : p.objects.ints(values);
            break;
        }
        case 6: a.*pick(numbers) = pick(kNumbers); break;
        case 7: a.input_layout = chance(5) ? std::string(static_cast<size_t>(below(40)), 'B') : pick(kLayouts); break;
        case 8: {
            if (p.table.empty()) break;
            p.table[static_cast<size_t>(below(static_cast<int64_t>(p.table.size())))] =
                static_cast<int32_t>(pick(kNumbers));
            break;
        }
        case 9: a.scale_value = pick<double>({0.0, -1.0, 1e39, double{NAN}, double{INFINITY}, 1e-300}); break;
        case 10: a.softmax_lse_flag = !a.softmax_lse_flag; break;
        default: a.attention_out = chance(2) ? a.query : a.softmax_lse; break;
    }
}

// Whatever its lengths, a call needs no more than what was said without them.
static void compare_workspaces(const Arguments& a, int64_t n) {
    uint64_t size = 0, most = 0;
    aclOpExecutor* executor = nullptr;
    if (a.phase_one(&size, &executor) != 0) return;
    aclDestroyAclOpExecutor(executor);
    const aclnnStatus status = a.largest(&most, &executor);
    expect(status == 0 && size <= most, "the greatest workspace, " + std::to_string(most) + " bytes, serves call " +
                                            std::to_string(n) + ", which needs " + std::to_string(size) + ": " +
                                            (status == 0 ? "" : recent_message()));
    if (status == 0) aclDestroyAclOpExecutor(executor);
}

// A report says what phase one says, and says it first; but for addresses, which a report does not insist on.
static void compare_report(const Arguments& a, aclAttnProfile profile, aclAttnRules rules, int64_t n) {
    const aclAttnCheckOptions options{5, profile, rules, false};
    const std::string what = std::string(aclAttnGetProfileName(profile)) + ", call " + std::to_string(n) + ": ";
    aclAttnReport* report = nullptr;
    expect(a.check(&options, &report) == 0, what + "no report");
    aclAttnProblem reported{}, refused{};
    const bool has_problem = aclAttnGetReportProblem(report, 0, &reported) == 0;
    aclAttnSetProfile(0, profile);
    aclAttnSetRules(rules);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = a.phase_one(&size, &executor);
    if (status == 0) {
        aclDestroyAclOpExecutor(executor);
        expect(!has_problem, what + (has_problem ? reported.message : ""));
        expect((aclAttnGetReportAcceptedBy(report) & (1u << profile)) != 0, what + "said to be accepted");
    } else if (has_problem) {
        expect(aclAttnGetRecentProblem(&refused) && std::string(refused.rule) == reported.rule &&
                   refused.status == status && reported.status == status &&
                   refused.isTargetLimit == reported.isTargetLimit,
               what + reported.message + " reported, " + recent_message());
    } else {
        const std::string rule = aclAttnGetRecentProblem(&refused) ? refused.rule : "";
        expect(rule == "HOST-C-02" || rule == "HOST-C-03", what + "nothing reported, " + recent_message());
    }
    aclAttnDestroyReport(report);
    aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET);
    aclAttnSetRules(ACL_ATTN_RULES_UNSET);
}

// Phase one of an older entry point, which has the first of the newest one's parameters.
static aclnnStatus phase_one_of(int version, const Arguments& a, uint64_t* size, aclOpExecutor** executor) {
    std::string layout = a.input_layout;
    const auto inputs = std::make_tuple(
        a.query, a.key, a.value, a.pse_shift, a.atten_mask, a.actual_seq_lengths, a.actual_seq_lengths_kv, a.deq_scale1,
        a.quant_scale1, a.deq_scale2, a.quant_scale2, a.quant_offset2, a.antiquant_scale, a.antiquant_offset,
        a.block_table, a.query_padding_size, a.kv_padding_size);
    const auto of_v2 = std::make_tuple(a.key_antiquant_scale, a.key_antiquant_offset, a.value_antiquant_scale,
                                       a.value_antiquant_offset, a.key_shared_prefix, a.value_shared_prefix,
                                       a.actual_shared_prefix_len);
    const auto of_v3 = std::make_tuple(a.query_rope, a.key_rope, a.key_rope_antiquant_scale);
    const auto of_v4 = std::make_tuple(a.dequant_scale_query, a.learnable_sink);
    const auto attributes = std::make_tuple(a.num_heads, a.scale_value, a.pre_tokens, a.next_tokens, layout.data(),
                                            a.num_key_value_heads, a.sparse_mode, a.inner_precise, a.block_size,
                                            a.antiquant_mode, a.softmax_lse_flag);
    const auto modes = std::make_tuple(a.key_antiquant_mode, a.value_antiquant_mode);
    const auto last = std::make_tuple(a.attention_out, a.softmax_lse, size, executor);
    const auto ask = [](auto phase_one, const auto&... parts) {
        return std::apply(phase_one, std::tuple_cat(parts...));
    };
    switch (version) {
        case 1: return ask(aclnnFusedInferAttentionScoreGetWorkspaceSize, inputs, attributes, last);
        case 2: return ask(aclnnFusedInferAttentionScoreV2GetWorkspaceSize, inputs, of_v2, attributes, modes, last);
        case 3:
            return ask(aclnnFusedInferAttentionScoreV3GetWorkspaceSize, inputs, of_v2, of_v3, attributes, modes, last);
        case 4:
            return ask(aclnnFusedInferAttentionScoreV4GetWorkspaceSize, inputs, of_v2, of_v3, of_v4, attributes, modes,
                       std::make_tuple(a.query_quant_mode), last);
        default: return a.phase_one(size, executor);
    }
}

// Plans and runs; what happens in between is not the plan's fault.
static aclnnStatus call_and_interfere(Prepared& p, Memory& memory) {
    const int version = chance(3) ? static_cast<int>(1 + below(4)) : 5;
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (const aclnnStatus status = phase_one_of(version, p.arguments, &size, &executor)) return status;
    if (chance(8)) {
        memory.scramble(64);  // padding sizes and the like
        for (int32_t& entry : p.table) {
            if (chance(3)) entry = static_cast<int32_t>(pick(kNumbers));
        }
    }
    if (chance(8)) p.objects.destroy_all();  // the plan has what it needs
    aclnnStatus (*const run[])(void*, uint64_t, aclOpExecutor*, aclrtStream) = {
        aclnnFusedInferAttentionScore, aclnnFusedInferAttentionScoreV2, aclnnFusedInferAttentionScoreV3,
        aclnnFusedInferAttentionScoreV4, aclnnFusedInferAttentionScoreV5};
    const auto workspace = std::make_unique<char[]>(size + 1);
    if (const aclnnStatus status = run[version - 1](workspace.get(), size, executor, nullptr)) return status;
    return aclrtSynchronizeStream(nullptr);
}

int main(int argc, char** argv) {
    const int64_t calls = argc > 1 ? std::atoll(argv[1]) : 20000;
    random_bits.seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20250901);
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    std::map<aclnnStatus, int64_t> outcomes;
    for (int64_t n = 0; n < calls; ++n) {
        const Scenario s = random_scenario();
        {
            Memory memory;
            Prepared p(s, 0.125 * static_cast<double>(below(9) - 2), chance(2));
            for (int64_t m = below(3); m > 0; --m) add_feature(p, s, memory);
            for (int64_t m = below(3); m > 0; --m) mutate(p, s, memory);
            compare_workspaces(p.arguments, n);
            compare_report(p.arguments, static_cast<aclAttnProfile>(below(ACL_ATTN_PROFILE_COUNT)),
                           static_cast<aclAttnRules>(below(2)), n);
            recent_message();
            const aclnnStatus status = call_and_interfere(p, memory);
            ++outcomes[status];
            expect(status == 0 || !recent_message().empty(), "a message with call " + std::to_string(n));
        }
        expect(live_objects() == 0, "no objects left by call " + std::to_string(n));
    }
    for (const auto& [status, times] : outcomes)
        std::printf("status %d: %lld calls\n", status, static_cast<long long>(times));
    const bool balanced = outcomes[0] * 5 > calls && outcomes[561002] * 10 > calls && outcomes[161002] > 0;
    expect(balanced, "a mix of outcomes: a fuzzer that never gets past the rules, or never meets one, tests nothing");
    return check_result();
}
