// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What lengths, tables, lists and metadata hold is judged when a call runs, each entry of it, and a call that is
// refused for it writes nothing.
#include <cstring>
#include <random>

#include "acl_attn/rules.h"
#include "sparse_runs.h"

using namespace sparse_call;

namespace {

void test_lengths_are_judged_when_they_are_read() {
    for (const Scenario& s : scenarios()) {
        Prepared p(s);
        int32_t* totals = s.is_packed_q ? data_of(p, &Arguments::cu_seqlens_q, Prepared::running(s.q)) : nullptr;
        int32_t* used = s.kv != 'T' ? data_of(p, &Arguments::seqused_ori_kv, s.ori) : nullptr;
        int32_t* ori_totals =
            s.kv == 'T' ? data_of(p, &Arguments::cu_seqlens_ori_kv, Prepared::running(s.ori)) : nullptr;
        expect(p.make_metadata() == 0, "metadata");
        runs(p);
        if (totals != nullptr) {
            {
                Changed c(totals[0], 1);
                fails(p, "cuSeqlensQ[0]: expected 0");
            }
            {
                Changed c(totals[1], 4);
                fails(p, "cuSeqlensQ[2]: expected at least 4");
            }
            {
                Changed c(totals[2], 4);
                fails(p, "cuSeqlensQ[2]: expected 3");
            }
            {
                Changed c(totals[2], INT32_MAX);
                fails(p, "cuSeqlensQ[2]: ");
            }
            {
                Changed c(totals[1], -1);
                fails(p, "cuSeqlensQ[1]: ");
            }
        }
        const char* name = s.is_quantised ? "sequsedKv[1]: " : "sequsedOriKv[1]: ";
        if (used != nullptr) {
            for (const int32_t value : {-1, INT32_MAX, INT32_MIN, 4096}) {
                Changed c(used[1], value);
                fails(p, name);
            }
        }
        if (ori_totals != nullptr) {
            for (const int32_t value : {-1, INT32_MAX, 0}) {
                Changed c(ori_totals[2], value);
                fails(p, "cuSeqlensOriKv[2]: ");
            }
        }
        if (s.has_cmp && !s.is_quantised) {
            std::vector<int64_t> residual;
            for (const int64_t tokens : s.ori) residual.push_back(tokens % s.ratio);
            int32_t* data = data_of(p, &Arguments::cmp_residual_kv, residual);
            for (const int32_t value : {-1, static_cast<int32_t>(s.ratio), INT32_MAX}) {
                Changed c(data[0], value);
                fails(p, "cmpResidualKv[0]: ");
            }
        }
        runs(p);
    }
}

void test_places_that_lead_nowhere() {
    for (const Scenario& s : scenarios()) {
        Prepared p(s);
        expect(p.make_metadata() == 0, "metadata");
        if (s.kv == 'P') {
            for (const int32_t value : {-1, INT32_MAX, INT32_MIN, 6 * 64}) {
                {
                    Changed c(p.ori_rows.table[p.ori_rows.columns], value);  // of sequence 1, whose window begins there
                    if (s.ori[1] <= 128) fails(p, "oriBlockTable[1][0]: expected a block id in 0..");
                }
                if (!s.has_cmp) continue;
                Changed c(p.cmp_rows.table[0], value);
                fails(p, "cmpBlockTable[0][0]: expected a block id in 0..");
            }
        }
        if (s.is_listed) {
            const std::string first = s.is_packed_q ? "cmpSparseIndices[1][0][" : "cmpSparseIndices[0][1][0][";
            int32_t* list = p.list_data + s.topk;  // of row 1, which sees 10 rows
            for (const int64_t entry : {0, 1, 9}) {
                for (const int32_t value : {-2, 10, INT32_MAX, INT32_MIN}) {
                    Changed c(list[entry], value);
                    fails(p, first + std::to_string(entry) + "]: expected a row of the sequence in 0..9");
                }
            }
            {
                Changed c(list[10], 12345);  // behind what is visible: not looked at
                runs(p);
            }
        }
        runs(p);
    }
}

void test_metadata_must_be_the_calls_own() {
    std::mt19937 random(7);
    for (const Scenario& s : scenarios()) {
        Prepared p(s);
        expect(p.make_metadata() == 0, "metadata");
        const std::vector<int32_t> own = p.words;
        runs(p);
        for (const size_t word :
             {size_t{0}, size_t{4}, size_t{323}, size_t{324}, size_t{899}, size_t{900}, size_t{1023}}) {
            Changed c(p.words[word], p.words[word] + 1);
            fails(p, "metadata: expected ");
        }
        for (int32_t& word : p.words) word = static_cast<int32_t>(random());
        fails(p, "metadata: expected ");
        std::fill(p.words.begin(), p.words.end(), 0);
        fails(p, "metadata: expected ");

        // As a device would leave it: the list and nothing behind.
        std::copy(own.begin(), own.begin() + 900, p.words.begin());
        runs(p);
        {
            Changed c(p.words[5], p.words[5] + 1);
            fails(p, "in word 5, got ");
        }

        // Of a call with other lengths, other heads, other lists.
        Scenario other = s;
        other.ori[1] += 1;
        Prepared longer(other);
        expect(longer.make_metadata() == 0, "metadata of longer sequences");
        p.words = longer.words;
        p.a.metadata = p.tensor({1024}, ACL_INT32, p.words.data());
        fails(p, std::to_string(s.ori[1]) + " original tokens in sequence 1");
        fails(p, std::to_string(s.ori[1] + 1));
        other = s;
        other.heads = s.heads / 2;
        Prepared narrower(other);
        expect(narrower.make_metadata() == 0, "metadata of fewer heads");
        p.words = narrower.words;
        fails(p, "numHeadsQ 64, got that of another: numHeadsQ 32");
        p.words = own;
        p.a.metadata = p.tensor({1024}, ACL_INT32, p.words.data());
        runs(p);
    }
}

void test_many_sequences() {
    Scenario s = window();
    s.q.assign(40, 1), s.ori.assign(40, 20);
    Prepared p(s);
    expect(p.make_metadata() == 0, "metadata");
    runs(p);
    const std::vector<int32_t> own = p.words;
    std::vector<int64_t> lengths = s.ori;
    lengths[30] = 19;
    data_of(p, &Arguments::seqused_ori_kv, lengths);
    fails(p, "799 original tokens in all, got that of another: 800");
    lengths[31] = 21;
    data_of(p, &Arguments::seqused_ori_kv, lengths);
    fails(p, "distributed differently");
}

void test_metadata_lengths() {
    Prepared p(selected());
    int32_t* totals = data_of(p, &Arguments::cu_seqlens_q, {0, 2, 3});
    int32_t* residual = data_of(p, &Arguments::cmp_residual_kv, {0, 1});
    int32_t* used = data_of(p, &Arguments::seqused_ori_kv, {40, 21});
    {
        Changed c(totals[0], 5);
        metadata_fails(p, "[SMLA-M40]");
    }
    {
        Changed c(totals[2], 1);
        metadata_fails(p, "[SMLA-M40]");
    }
    {
        Changed c(totals[2], INT32_MAX);
        metadata_fails(p, "[HOST-V-52]");
    }
    {
        Changed c(used[1], -1);
        metadata_fails(p, "[SMLA-M41]");
    }
    {
        Changed c(residual[1], 4);
        metadata_fails(p, "[SMLA-M42]");
    }
    CHECK_OK(p.make_metadata());

    Prepared packed_rows(quantised(selected()));
    totals = data_of(packed_rows, &Arguments::cu_seqlens_q, {0, 2, 3});
    used = data_of(packed_rows, &Arguments::seqused_ori_kv, {40, 21});
    {
        Changed c(totals[1], -1);
        metadata_fails(packed_rows, "cuSeqlensQ[1]: ");
    }
    {
        Changed c(used[0], INT32_MIN);
        metadata_fails(packed_rows, "sequsedKv[0]: ");
    }
    {
        Changed c(totals[2], INT32_MAX);
        metadata_fails(packed_rows, "[HOST-V-52]");
    }
    CHECK_OK(packed_rows.make_metadata());

    // Without compressed rows their ratio and residuals mean nothing, whatever they are.
    Prepared none(window());
    none.a.cmp_ratio = INT64_MIN;
    none.a.cmp_residual_kv = none.ints({-1, 99});
    CHECK_OK(none.make_metadata());
    none.a.cmp_ratio = 1;
    none.a.cmp_residual_kv = nullptr;
    runs(none);

    Prepared lists(window());
    lists.a.ori_mask_mode = 0;
    lists.a.ori_win_left = lists.a.ori_win_right = -1;
    lists.a.ori_topk = 3;
    lists.a.ori_topk_length = lists.ints({1, -1, 2}, {3, 1});
    metadata_fails(lists, "oriTopkLength[1][0]: expected 0 or more, got -1 [SMLA-M43]");
    lists.a.ori_topk_length = lists.ints({1, 1}, {2, 1});
    metadata_fails(lists, "[SMLA-M43]");
    lists.a.ori_topk_length = lists.ints({1, 1, 2}, {3, 1});
    CHECK_OK(lists.make_metadata());
}
// Every rule about what tensors hold has been broken above.
void test_coverage() {
    for (int32_t i = 0; i < aclAttnGetRuleCount(); ++i) {
        aclAttnRule rule;
        CHECK_OK(aclAttnGetRule(i, &rule));
        if (std::strcmp(rule.stage, "run") != 0) continue;
        expect(broken_rules.count(rule.id) == 1, std::string("a run that breaks ") + rule.id);
        expect(rule.status == 161002, std::string("the status of ") + rule.id);
        expect(*rule.group != '\0' && *rule.tier != '\0' && *rule.text != '\0', std::string("words of ") + rule.id);
    }
    for (const std::string& id : broken_rules) {
        bool is_listed = false;
        for (int32_t i = 0; i < aclAttnGetRuleCount(); ++i) {
            aclAttnRule rule;
            is_listed |= aclAttnGetRule(i, &rule) == 0 && id == rule.id && std::strcmp(rule.stage, "run") == 0;
        }
        expect(is_listed, id + " in the catalogue");
    }
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_lengths_are_judged_when_they_are_read();
    test_places_that_lead_nowhere();
    test_metadata_must_be_the_calls_own();
    test_many_sequences();
    test_metadata_lengths();
    test_coverage();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
