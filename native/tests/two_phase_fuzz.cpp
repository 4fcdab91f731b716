// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Random calls, most of them wrong in one or two ways, on buffers that are exactly as large as their tensors say.
// Whatever phase one accepts is run. Nothing may crash, hang, touch memory beyond a buffer (build with
// -fsanitize=address), or be refused without a message. Usage: two_phase_fuzz [calls] [seed]
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

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
        for (size_t i = 0; i < bytes; ++i) blocks_.back()[i] = static_cast<char>(random_bits());
        return blocks_.back().get();
    }

private:
    std::vector<std::unique_ptr<char[]>> blocks_;
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

// The parameters of a feature, in shapes that fit the scenario (which may still not go together with it).
static void add_feature(Prepared& p, const Scenario& s, Memory& memory) {
    Arguments& a = p.arguments;
    const int64_t batch = s.batch();
    const int64_t tokens = s.paged() ? 16 : 13;
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
        default: {  // stored keys and values
            if (s.kv != Kv::dense) break;
            int64_t keys = 0;
            for (const int64_t length : s.kv_len) keys += length;
            const Axes extent{batch, s.packed() ? keys : s.skv, s.kv_heads, s.dim};
            const aclDataType type = pick<aclDataType>({ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN});
            Axes value_extent = extent;
            value_extent.d = s.dim_v;
            a.key = p.objects.list({make(in_layout(s, extent), type)});
            a.value = p.objects.list({make(in_layout(s, value_extent), type)});
            const int64_t mode = below(4);
            a.key_antiquant_mode = a.value_antiquant_mode = mode;
            const auto scale = [&](int64_t dim) {
                switch (mode) {
                    case 0: return make(chance(2) ? Dims{1} : Dims{s.kv_heads, dim}, s.type);
                    case 1: return make({batch, tokens}, ACL_FLOAT);
                    case 2: return make({s.kv_heads}, s.type);
                    default: return make({batch, s.kv_heads, tokens}, ACL_FLOAT);
                }
            };
            a.key_antiquant_scale = scale(s.dim);
            a.value_antiquant_scale = scale(s.dim_v);
            break;
        }
    }
}

static void mutate(Prepared& p, const Scenario& s, Memory& memory) {
    Arguments& a = p.arguments;
    static const std::vector<const aclTensor * Arguments::*> tensors = {
        &Arguments::query,        &Arguments::atten_mask,      &Arguments::block_table,      &Arguments::attention_out,
        &Arguments::softmax_lse,  &Arguments::pse_shift,       &Arguments::query_rope,       &Arguments::learnable_sink,
        &Arguments::quant_scale2, &Arguments::kv_padding_size, &Arguments::key_shared_prefix};
    static const std::vector<int64_t Arguments::*> numbers = {
        &Arguments::num_heads,         &Arguments::num_key_value_heads, &Arguments::pre_tokens, &Arguments::next_tokens,
        &Arguments::sparse_mode,       &Arguments::inner_precise,       &Arguments::block_size, &Arguments::pse_type,
        &Arguments::key_antiquant_mode};
    static const std::vector<const aclIntArray * Arguments::*> arrays = {
        &Arguments::actual_seq_lengths, &Arguments::actual_seq_lengths_kv, &Arguments::q_start_idx};
    switch (below(10)) {
        case 0: a.*pick(tensors) = random_tensor(p.objects, memory); break;
        case 1:
        case 2: {
            const auto member = tensors[static_cast<size_t>(below(5))];
            if (a.*member == nullptr) break;
            const aclDataType type = member == &Arguments::softmax_lse   ? ACL_FLOAT
                                     : member == &Arguments::block_table ? ACL_INT32
                                     : member == &Arguments::atten_mask  ? ACL_BOOL
                                                                         : s.type;
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
                   refused.status == status && reported.status == status,
               what + reported.message + " reported, " + recent_message());
    } else {
        const std::string rule = aclAttnGetRecentProblem(&refused) ? refused.rule : "";
        expect(rule == "HOST-C-02" || rule == "HOST-C-03", what + "nothing reported, " + recent_message());
    }
    aclAttnDestroyReport(report);
    aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET);
    aclAttnSetRules(ACL_ATTN_RULES_UNSET);
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
            const aclnnStatus status = call(p.arguments);
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
