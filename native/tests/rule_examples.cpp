// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rule of the catalogue has an example that keeps it and one that breaks it, one change apart: the examples of
// rule_examples.txt, and a few here that need memory or dead handles.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "acl_attn/rules.h"
#include "two_phase_call.h"

using namespace two_phase;

using Tokens = std::map<std::string, std::string>;

static std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
    return parts;
}

// "4,5*3": 4, 5, 5, 5.
static std::vector<int64_t> numbers(const std::string& text) {
    std::vector<int64_t> values;
    for (const std::string& part : split(text, ',')) {
        const std::vector<std::string> factors = split(part, '*');
        const int64_t times = factors.size() > 1 ? std::strtoll(factors[1].c_str(), nullptr, 10) : 1;
        values.insert(values.end(), static_cast<size_t>(times), std::strtoll(factors[0].c_str(), nullptr, 10));
    }
    return values;
}

static aclDataType dtype(const std::string& name) {
    static const std::map<std::string, aclDataType> types = {
        {"f16", ACL_FLOAT16},   {"bf16", ACL_BF16},    {"f32", ACL_FLOAT},         {"i8", ACL_INT8},
        {"i4", ACL_INT4},       {"i32", ACL_INT32},    {"i64", ACL_INT64},         {"u64", ACL_UINT64},
        {"hif8", ACL_HIFLOAT8}, {"f4", ACL_FLOAT4_E2M1}, {"e4m3", ACL_FLOAT8_E4M3FN}, {"e8m0", ACL_FLOAT8_E8M0}};
    return types.at(name);
}

// A call in words, made of objects that live as long as it does. Nothing has memory.
class Example {
public:
    explicit Example(const Tokens& tokens) : tokens_(tokens) {
        Arguments& a = arguments;
        a.query = tensor("q");
        a.key = list("k");
        a.value = list("v");
        const struct {
            const char* name;
            const aclTensor* Arguments::* member;
        } tensors[] = {{"pse", &Arguments::pse_shift},
                       {"mask", &Arguments::atten_mask},
                       {"deq1", &Arguments::deq_scale1},
                       {"q1", &Arguments::quant_scale1},
                       {"deq2", &Arguments::deq_scale2},
                       {"q2", &Arguments::quant_scale2},
                       {"o2", &Arguments::quant_offset2},
                       {"as", &Arguments::antiquant_scale},
                       {"ao", &Arguments::antiquant_offset},
                       {"table", &Arguments::block_table},
                       {"qpad", &Arguments::query_padding_size},
                       {"kvpad", &Arguments::kv_padding_size},
                       {"ks", &Arguments::key_antiquant_scale},
                       {"ko", &Arguments::key_antiquant_offset},
                       {"vs", &Arguments::value_antiquant_scale},
                       {"vo", &Arguments::value_antiquant_offset},
                       {"kpre", &Arguments::key_shared_prefix},
                       {"vpre", &Arguments::value_shared_prefix},
                       {"qr", &Arguments::query_rope},
                       {"kr", &Arguments::key_rope},
                       {"krs", &Arguments::key_rope_antiquant_scale},
                       {"qs", &Arguments::dequant_scale_query},
                       {"sink", &Arguments::learnable_sink},
                       {"out", &Arguments::attention_out},
                       {"lse", &Arguments::softmax_lse}};
        for (const auto& [name, member] : tensors) a.*member = tensor(name);
        const struct {
            const char* name;
            const aclIntArray* Arguments::* member;
        } arrays[] = {{"ql", &Arguments::actual_seq_lengths},
                      {"kl", &Arguments::actual_seq_lengths_kv},
                      {"pl", &Arguments::actual_shared_prefix_len},
                      {"qstart", &Arguments::q_start_idx},
                      {"kstart", &Arguments::kv_start_idx}};
        for (const auto& [name, member] : arrays) {
            if (has(name)) a.*member = objects_.ints(numbers(tokens_.at(name)));
        }
        const struct {
            const char* name;
            int64_t Arguments::* member;
        } attributes[] = {{"heads", &Arguments::num_heads},
                          {"kv", &Arguments::num_key_value_heads},
                          {"pre", &Arguments::pre_tokens},
                          {"next", &Arguments::next_tokens},
                          {"sparse", &Arguments::sparse_mode},
                          {"inner", &Arguments::inner_precise},
                          {"block", &Arguments::block_size},
                          {"am", &Arguments::antiquant_mode},
                          {"km", &Arguments::key_antiquant_mode},
                          {"vm", &Arguments::value_antiquant_mode},
                          {"qm", &Arguments::query_quant_mode},
                          {"psetype", &Arguments::pse_type}};
        for (const auto& [name, member] : attributes) a.*member = number(name, a.*member);
        a.softmax_lse_flag = number("flag", 0) != 0;
        if (has("scale")) a.scale_value = std::strtod(tokens_.at("scale").c_str(), nullptr);
        a.input_layout = tokens_.at("layout");
        version = static_cast<int32_t>(number("version", 5));
    }

    Arguments arguments;
    int32_t version = 5;

private:
    bool has(const std::string& name) const {
        const auto found = tokens_.find(name);
        return found != tokens_.end() && found->second != "null";
    }
    int64_t number(const std::string& name, int64_t otherwise) const {
        return has(name) ? std::strtoll(tokens_.at(name).c_str(), nullptr, 10) : otherwise;
    }

    const aclTensor* make(const std::string& name, aclDataType type, const Dims& dims) {
        const Dims strides = has(name + ".strides") ? numbers(tokens_.at(name + ".strides")) : Dims{};
        const Dims storage = strides.empty() ? dims : Dims{1000000000};
        const auto format = static_cast<aclFormat>(number(name + ".format", ACL_FORMAT_ND));
        return objects_.keep(aclCreateTensor(dims.data(), dims.size(), type, strides.empty() ? nullptr : strides.data(),
                                             0, format, storage.data(), storage.size(), nullptr));
    }
    const aclTensor* tensor(const std::string& name) {
        if (!has(name)) return nullptr;
        const std::vector<std::string> parts = split(tokens_.at(name), ':');
        return make(name, dtype(parts[0]), numbers(parts[1]));
    }
    const aclTensorList* list(const std::string& name) {
        if (!has(name)) return nullptr;
        if (tokens_.at(name) == "empty") return objects_.list({});
        const std::vector<std::string> repeated = split(tokens_.at(name), '*');
        const std::vector<std::string> parts = split(repeated[0], ':');
        std::vector<const aclTensor*> members;
        for (int64_t i = repeated.size() > 1 ? std::stoll(repeated[1]) : 1; i > 0; --i) {
            for (const std::string& axes : split(parts[1], '+')) {
                members.push_back(make(name, dtype(parts[0]), numbers(axes)));
            }
        }
        return objects_.list(members);
    }

    Tokens tokens_;
    Objects objects_;
};

struct View {
    aclAttnProfile profile = ACL_ATTN_PROFILE_ASCEND950;
    aclAttnRules rules = ACL_ATTN_RULES_PAGE;
};

static View view(const std::string& name) {
    if (name == "newest") return {ACL_ATTN_PROFILE_ASCEND950, ACL_ATTN_RULES_NEWEST};
    if (name == "910b") return {ACL_ATTN_PROFILE_ASCEND910B, ACL_ATTN_RULES_PAGE};
    if (name == "host") return {ACL_ATTN_PROFILE_HOST, ACL_ATTN_RULES_PAGE};
    return {};
}

// The rules that a call breaks under a view; limits of the host target count only under its own.
static std::set<std::string> broken(const Tokens& tokens, const View& view) {
    const Example example(tokens);
    const aclAttnCheckOptions options{example.version, view.profile, view.rules, false};
    aclAttnReport* report = nullptr;
    std::set<std::string> rules;
    if (example.arguments.check(&options, &report) != 0) return {"no report: " + recent_message()};
    for (int32_t i = 0; i < aclAttnGetReportCount(report); ++i) {
        aclAttnProblem problem;
        if (aclAttnGetReportProblem(report, i, &problem) != 0) return {"no problem: " + recent_message()};
        if (problem.isTargetLimit && view.profile != ACL_ATTN_PROFILE_HOST) continue;
        expect(*problem.rule != '\0' && *problem.expected != '\0' && *problem.got != '\0' && problem.status != 0,
               std::string("parts of ") + problem.message);
        rules.insert(problem.rule);
    }
    aclAttnDestroyReport(report);
    return rules;
}

static std::string joined(const std::set<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += " " + name;
    return out.empty() ? " nothing" : out;
}

static Tokens tokens_of(std::istringstream& words, Tokens tokens = {}) {
    for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        tokens[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return tokens;
}

static std::set<std::string> run_examples(const char* path) {
    std::map<std::string, Tokens> bases;
    std::set<std::string> rules;
    std::ifstream file(path);
    expect(file.good(), std::string("cannot read ") + path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        std::string rule, name;
        words >> rule >> name;
        if (rule == "base") {
            bases[name] = tokens_of(words);
            continue;
        }
        const size_t at = name.find('@');
        const View as = view(at == std::string::npos ? "" : name.substr(at + 1));
        const Tokens& base = bases.at(name.substr(0, at));
        const std::set<std::string> before = broken(base, as);
        expect(before.empty(), rule + ": the accepting example breaks" + joined(before));
        const std::set<std::string> after = broken(tokens_of(words, base), as);
        expect(after.count(rule) == 1, rule + ": the refusing example breaks" + joined(after));
        rules.insert(rule);
    }
    return rules;
}

// The rules of pointers, handles and addresses, by phase one.
static void test_memory(std::set<std::string>* rules) {
    std::vector<uint16_t> data(4096, 0);
    Objects objects;
    const auto refused = [&](const char* rule, const Arguments& a, uint64_t* size) {
        aclOpExecutor* executor = nullptr;
        expect(a.phase_one(size, &executor) != 0, std::string(rule) + ": refused");
        aclAttnProblem problem{};
        expect(aclAttnGetRecentProblem(&problem) && std::strcmp(problem.rule, rule) == 0,
               std::string(rule) + ": " + recent_message());
        rules->insert(rule);
    };
    Arguments a;
    a.query = objects.tensor({1, 2, 64}, ACL_FLOAT16, data.data());
    a.key = objects.list({objects.tensor({1, 4, 64}, ACL_FLOAT16, data.data() + 256)});
    a.value = objects.list({objects.tensor({1, 4, 64}, ACL_FLOAT16, data.data() + 512)});
    a.attention_out = objects.tensor({1, 2, 64}, ACL_FLOAT16, data.data() + 1024);
    expect(call(a) == 0, "accepted: " + recent_message());
    uint64_t size = 0;
    refused("API-E-06", a, nullptr);
    Arguments changed = a;
    changed.query = objects.tensor({1, 2, 64}, ACL_FLOAT16, nullptr);
    refused("HOST-C-02", changed, &size);
    changed = a;
    changed.attention_out = objects.tensor({1, 2, 64}, ACL_FLOAT16, data.data() + 100);
    refused("HOST-C-03", changed, &size);
    changed = a;
    changed.learnable_sink = reinterpret_cast<const aclTensor*>(&data);
    refused("HOST-E-01", changed, &size);
}

static void test_every_rule_has_one(const std::set<std::string>& rules) {
    for (int32_t i = 0; i < aclAttnGetRuleCount(); ++i) {
        aclAttnRule rule;
        expect(aclAttnGetRule(i, &rule) == 0, recent_message());
        // Those of the sparse operators have theirs in sparse_rules.cpp.
        if (std::strcmp(rule.op, "fused_infer_attention_score") != 0) continue;
        expect(*rule.text != '\0' && *rule.group != '\0' && *rule.tier != '\0', std::string("words of ") + rule.id);
        if (rule.absence != nullptr) {
            expect(rules.count(rule.id) == 0, std::string(rule.id) + ": an example of a rule that is not there");
        } else {
            expect(rules.count(rule.id) == 1, std::string(rule.id) + ": no example");
        }
    }
    aclAttnRule rule;
    expect(aclAttnGetRule(-1, &rule) != 0 && aclAttnGetRule(aclAttnGetRuleCount(), &rule) != 0, "indices out of range");
}

int main(int argc, char** argv) {
    if (argc != 2 || aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    std::set<std::string> rules = run_examples(argv[1]);
    test_memory(&rules);
    test_every_rule_has_one(rules);
    expect(live_objects() == 0, "live objects: " + std::to_string(live_objects()));
    return check_result();
}
