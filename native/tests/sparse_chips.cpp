// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Metadata for the chip that ACL_ATTN_SOC_NAME names, against lists that the vendor's planner wrote on such a chip.
#include "sparse_call.h"

using namespace sparse_call;

namespace {

struct Core {
    int index;
    std::vector<int32_t> start, end;
    int32_t slot = 0, most = 0;
};

// Words 0 .. 323.
std::vector<int32_t> list_of(const std::vector<Core>& cores) {
    std::vector<int32_t> words(324, 0);
    for (const Core& core : cores) {
        int32_t* to = words.data() + core.index * 9;
        to[0] = 1;
        std::copy(core.start.begin(), core.start.end(), to + 1);
        std::copy(core.end.begin(), core.end.end(), to + 4);
        to[7] = core.slot, to[8] = core.most;
    }
    return words;
}

// The metadata of a call that has only lengths.
std::vector<int32_t> metadata_of(bool is_quantised, int64_t heads, const std::vector<int64_t>& q,
                                 const std::vector<int64_t>& ori, int64_t ratio, int64_t topk) {
    Scenario s = ratio == 1 ? window() : topk > 0 ? selected() : dense();
    s.is_quantised = is_quantised;
    s.heads = heads;
    s.q = q, s.ori = {1, 1}, s.topk = 1;  // buffers for the main operator are not looked at
    s.ori.resize(q.size(), 1);
    s.ratio = ratio;
    Prepared p(s);
    std::vector<int64_t> cmp, residual;
    for (const int64_t tokens : ori) cmp.push_back(tokens / ratio), residual.push_back(tokens % ratio);
    p.a.seqused_ori_kv = p.ints(ori);
    if (ratio > 1) p.a.seqused_cmp_kv = p.ints(cmp), p.a.cmp_residual_kv = p.ints(residual);
    p.a.cmp_topk = topk;
    CHECK_OK(p.make_metadata());
    return p.words;
}

void check_list(const std::vector<int32_t>& words, const std::vector<Core>& cores, const char* name) {
    const std::vector<int32_t> want = list_of(cores);
    for (size_t i = 0; i < want.size(); ++i) {
        expect(words[i] == want[i], std::string(name) + ": word " + std::to_string(i) + " is " +
                                        std::to_string(words[i]) + ", expected " + std::to_string(want[i]));
    }
}

using P = std::vector<int32_t>;

void test_910b1() {
    check_list(metadata_of(false, 64, {1, 3}, {2050, 4100}, 4, 512),
               {{0, P{0, 0, 0}, P{1, 0, 0}},
                {1, P{1, 0, 0}, P{1, 1, 0}},
                {2, P{1, 1, 0}, P{1, 2, 0}},
                {3, P{1, 2, 0}, P{2, 0, 0}}},
               "selected rows");
    std::vector<Core> cores;
    for (int32_t i = 0; i < 22; ++i) cores.push_back({i, {0, i, 0}, {0, i + 1, 0}});
    cores.push_back({22, {0, 22, 0}, {0, 24, 0}});
    cores.push_back({23, {0, 24, 0}, {1, 0, 0}});
    check_list(metadata_of(false, 64, {100}, {100}, 1, 0), cores, "window");
    check_list(metadata_of(false, 64, {0, 0}, {5, 7}, 1, 0), {{0, P{0, 0, 0}, P{2, 0, 0}}}, "nothing to do");

    CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3));
    cores.clear();
    for (int32_t i = 0; i < 5; ++i) cores.push_back({i, {0, 0, i}, {0, 0, i + 1}, i});
    cores.push_back({5, {0, 0, 5}, {1, 0, 0}, 5});
    const std::vector<int32_t> words = metadata_of(false, 64, {1}, {300000}, 128, 0);
    check_list(words, cores, "a row cut for several cores");
    for (int32_t v = 0; v < 72; ++v) {
        const P want = v < 32 ? P{1, 0, 0, 0, 6, 2 * v, 2, 0} : P(8, 0);
        const auto at = words.begin() + 324 + v * 8;
        expect(std::equal(want.begin(), want.end(), at), "vector core " + std::to_string(v));
    }
    for (const int64_t level : {0, 1, 2}) {
        CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, level));
        check_list(metadata_of(false, 64, {1}, {300000}, 128, 0), {{0, P{0, 0, 0}, P{1, 0, 0}}}, "uncut");
    }
}

void test_950z() {
    check_list(metadata_of(false, 128, {1, 2}, {2050, 600}, 4, 512),
               {{0, P{0, 0, 0}, P{1, 0, 0}, 0, 6},
                {1, P{0, 0, 0}, P{1, 0, 0}, 0, 6},
                {2, P{1, 0, 0}, P{2, 0, 0}, 0, 6},
                {3, P{1, 0, 0}, P{2, 0, 0}, 0, 6}},
               "shared heads");
    check_list(metadata_of(true, 128, {1, 2}, {2050, 600}, 1, 0),
               {{0, P{0, 0, 0}, P{1, 1, 0}, 0, 2},
                {1, P{0, 0, 0}, P{1, 1, 0}, 0, 2},
                {2, P{1, 1, 0}, P{2, 0, 0}, 0, 2},
                {3, P{1, 1, 0}, P{2, 0, 0}, 0, 2}},
               "packed rows, shared heads");

    // Limits of the stream that the thread uses count.
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 2));
    CHECK_OK(aclrtUseStreamResInCurrentThread(stream));
    check_list(metadata_of(false, 128, {1, 2}, {2050, 600}, 4, 512),
               {{0, P{0, 0, 0}, P{2, 0, 0}, 0, 11}, {1, P{0, 0, 0}, P{2, 0, 0}, 0, 11}}, "two cores");
    CHECK_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1));
    Prepared p(window());
    p.a.heads = 128;
    CHECK_FAILS(p.make_metadata(), 161002,
                "device: expected 2 to 36 cube and 2 to 72 vector cores for 128 heads, got 1");
    CHECK_FAILS(p.make_metadata(), 161002, "[SMLA-M13]");
    Prepared packed_rows(quantised(window()));
    packed_rows.a.heads = 128;
    CHECK_FAILS(packed_rows.make_metadata(), 161002, "[HOST-S-58]");
    p.a.heads = 64;
    CHECK_OK(p.make_metadata());
    CHECK_OK(aclrtUnuseStreamResInCurrentThread(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

void test_9589() {
    check_list(metadata_of(true, 64, {1, 2}, {2050, 600}, 4, 512),
               {{0, P{0, 0, 0}, P{1, 0, 0}}, {1, P{1, 0, 0}, P{1, 1, 0}}, {2, P{1, 1, 0}, P{2, 0, 0}}},
               "packed, selected rows");
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    const std::string chip = aclrtGetSocName();
    if (chip == "Ascend910B1") test_910b1();
    if (chip == "Ascend950PR_950z") test_950z();
    if (chip == "Ascend950PR_9589") test_9589();
    return check_result();  // fails if nothing was checked
}
