// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Random calls of the sparse operators, most of them wrong in one or two ways, on buffers that are exactly as large as
// their tensors say. Whatever phase one accepts is run. Nothing may crash, hang, touch memory beyond a buffer (build
// with -fsanitize=address), or be refused without a message. Usage: sparse_fuzz [calls] [seed]
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "acl_attn/rules.h"
#include "sparse_call.h"

using namespace sparse_call;

namespace {

std::mt19937_64 random_bits;

int64_t below(int64_t n) { return static_cast<int64_t>(random_bits() % static_cast<uint64_t>(n)); }
bool chance(int64_t one_in) { return below(one_in) == 0; }
template <class V>
const V& pick(const std::vector<V>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
}

const std::vector<int64_t> kNumbers = {0,         1,         2,           3,
                                       4,         5,         7,           16,
                                       64,        127,       128,         129,
                                       512,       640,       -1,          -2,
                                       INT32_MAX, INT32_MIN, int64_t{1} << 32, INT64_MAX,
                                       INT64_MIN, 65536};
const std::vector<aclDataType> kTypes = {ACL_FLOAT16, ACL_BF16,  ACL_FLOAT, ACL_INT32,    ACL_BOOL,
                                         ACL_INT8,    ACL_UINT8, ACL_INT64, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};
const std::vector<T Arguments::*> kTensors = {
    &Arguments::q,
    &Arguments::ori_kv,
    &Arguments::cmp_kv,
    &Arguments::ori_sparse_indices,
    &Arguments::cmp_sparse_indices,
    &Arguments::ori_block_table,
    &Arguments::cmp_block_table,
    &Arguments::cu_seqlens_q,
    &Arguments::cu_seqlens_ori_kv,
    &Arguments::cu_seqlens_cmp_kv,
    &Arguments::seqused_q,
    &Arguments::seqused_ori_kv,
    &Arguments::seqused_cmp_kv,
    &Arguments::cmp_residual_kv,
    &Arguments::ori_topk_length,
    &Arguments::cmp_topk_length,
    &Arguments::sinks,
    &Arguments::metadata,
    &Arguments::attn_out,
    &Arguments::softmax_lse,
};
const std::vector<int64_t Arguments::*> kAttributes = {
    &Arguments::cmp_ratio,       &Arguments::ori_mask_mode, &Arguments::cmp_mask_mode, &Arguments::ori_win_left,
    &Arguments::ori_win_right,   &Arguments::kv_quant_mode, &Arguments::tile_size,     &Arguments::rope_head_dim,
    &Arguments::topk_value_mode, &Arguments::ori_stride,    &Arguments::cmp_stride,    &Arguments::heads,
    &Arguments::kv_heads,        &Arguments::head_dim,      &Arguments::batch,         &Arguments::max_q,
    &Arguments::max_ori,         &Arguments::max_cmp,       &Arguments::ori_topk,      &Arguments::cmp_topk};

Scenario random_scenario() {
    Scenario s;
    s.is_quantised = chance(3);
    s.is_packed_q = chance(2);
    s.kv = s.is_quantised || chance(2) ? 'P' : s.is_packed_q ? 'T' : 'B';
    s.has_cmp = !chance(3);
    s.is_listed = s.has_cmp && chance(2);
    s.heads = pick<int64_t>({1, 2, 3, 5, 16, 33});
    s.block_size = pick<int64_t>({1, 3, 16, 17});
    s.topk = pick<int64_t>({1, 2, 5, 40});
    s.ratio = s.has_cmp ? pick<int64_t>({1, 2, 4, 7, 128}) : 1;
    s.type = s.is_quantised || chance(2) ? ACL_BF16 : ACL_FLOAT16;
    s.q.clear(), s.ori.clear();
    for (int64_t b = below(4); b >= 0; --b) {
        s.q.push_back(below(4));
        s.ori.push_back(chance(4) ? below(3) : below(40));
    }
    if (!s.is_packed_q) s.q.front() = std::max<int64_t>(s.q.front(), 1);
    return s;
}

// Of a tensor that is small enough to be made again; else some.
Dims shape_of(T tensor) {
    int64_t* shape = nullptr;
    uint64_t rank = 0;
    if (tensor == nullptr || aclGetViewShape(tensor, &shape, &rank) != 0) return {below(5), below(5)};
    const Dims dims(shape, shape + rank);
    delete[] shape;
    int64_t elements = 1;
    for (const int64_t dim : dims) {
        if (dim < 0 || dim > 100000 || elements > 1000000) return {2, below(5)};
        elements *= dim;
    }
    return dims;
}

// A tensor of its shape, or nearly, on a buffer of its own with random bits.
T altered(Prepared& p, T tensor) {
    Dims dims = shape_of(tensor);
    aclDataType type = ACL_INT32;
    if (tensor != nullptr) aclGetDataType(tensor, &type);
    if (!dims.empty()) {
        int64_t& dim = pick<int64_t*>({&dims.front(), &dims.back(), &dims[dims.size() / 2]})[0];
        switch (below(6)) {
            case 0: dim += 1; break;
            case 1: dim -= dim > 0; break;
            case 2: dim = 0; break;
            case 3: std::swap(dim, dims[0]); break;
            default: break;
        }
    }
    if (chance(8)) dims.push_back(1);
    if (chance(5)) type = pick(kTypes);
    const int64_t gap = chance(4) ? below(5) : 0;
    Dims strides(dims.size(), 1);
    int64_t last = below(3);
    const int64_t offset = last;
    for (size_t axis = dims.size(); axis-- > 0;) {
        if (axis + 1 < dims.size()) strides[axis] = strides[axis + 1] * std::max<int64_t>(dims[axis + 1], 1);
        if (axis == 0) strides[axis] += gap;
        last += dims[axis] > 0 ? (dims[axis] - 1) * strides[axis] : 0;
    }
    const size_t bytes = static_cast<size_t>(last + 1) * aclDataTypeSize(type);
    auto* data = static_cast<unsigned char*>(p.exactly(bytes));
    const bool is_small = chance(2);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(is_small && i % 4 != 0 ? 0 : random_bits());
    return p.objects.strided(dims, strides, offset, last + 1, type, data);
}

T anything(Prepared& p, T before) {
    static const int not_a_handle = 0;
    switch (below(9)) {
        case 0: return nullptr;
        case 1: {
            T dead = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
            aclDestroyTensor(dead);
            return dead;
        }
        case 2: return reinterpret_cast<T>(chance(2) ? random_bits() : reinterpret_cast<uintptr_t>(&not_a_handle));
        case 3: return p.objects.tensor({0}, pick(kTypes), nullptr);
        case 4: return p.objects.tensor({pick(kNumbers), below(4)}, pick(kTypes), nullptr);
        default: return altered(p, before);
    }
}

void mutate(Prepared& p) {
    Arguments& a = p.a;
    switch (below(8)) {
        case 0:
        case 1:
        case 2: {
            T Arguments::* const at = pick(kTensors);
            a.*at = anything(p, a.*at);
            break;
        }
        case 3:
        case 4: a.*pick(kAttributes) = pick(kNumbers); break;
        case 5:
            if (p.list_data != nullptr && p.rows > 0) p.list_data[0] = static_cast<int32_t>(pick(kNumbers));
            if (p.ori_rows.table != nullptr && chance(3)) p.ori_rows.table[0] = static_cast<int32_t>(pick(kNumbers));
            break;
        case 6:
            (chance(2) ? a.layout_q : a.layout_kv) =
                pick<std::string>({"BSND", "TND", "PA_BBND", "PA_ND", "", "BNSD", std::string(300, 'x')});
            break;
        default:
            a.is_strided_entry = chance(2);
            a.softmax_scale = pick<double>({0.0, -1.0, 1e30, HUGE_VAL, std::nan("")});
            a.return_softmax_lse = chance(2);
            break;
    }
}

// What every profile and edition has against the call: something, where phase one refuses it for what it looks like.
void ask(const Prepared& p, const std::string& call) {
    for (int i = 0; i < 2 * ACL_ATTN_PROFILE_COUNT; ++i) {
        const auto profile = static_cast<aclAttnProfile>(i / 2);
        const aclAttnCheckOptions options{0, profile, static_cast<aclAttnRules>(i % 2), false};
        for (const auto check : {&Arguments::check, &Arguments::metadata_check}) {
            aclAttnReport* report = nullptr;
            expect((p.a.*check)(&options, &report) == 0, "a report of " + call);
            const int32_t count = aclAttnGetReportCount(report);
            expect((count == 0) == aclAttnIsReportAccepting(report), "a verdict of " + call);
            for (int32_t k = 0; k < count; ++k) {
                aclAttnProblem problem;
                const bool is_there = aclAttnGetReportProblem(report, k, &problem) == 0;
                expect(is_there && *problem.message != '\0' && *problem.rule != '\0', "a problem of " + call);
            }
            aclAttnDestroyReport(report);
        }
    }
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = p.a.phase_one(&size, &executor);
    const std::string message = status == 0 ? "" : recent_message();
    if (status == 0) aclDestroyAclOpExecutor(executor);
    if (p.a.is_strided_entry || message.find("a null address") != std::string::npos) return;  // a check takes these
    aclAttnReport* report = nullptr;
    expect(p.a.check(nullptr, &report) == 0, "a report of " + call);
    expect(aclAttnIsReportAccepting(report) == (status == 0), "the same verdict of " + call + ": " + message);
    aclAttnDestroyReport(report);
}

}  // namespace

int main(int argc, char** argv) {
    const int64_t calls = argc > 1 ? std::atoll(argv[1]) : 6000;
    random_bits.seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20260401);
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    std::map<aclnnStatus, int64_t> outcomes, metadata_outcomes;
    for (int64_t n = 0; n < calls; ++n) {
        {
            Prepared p(random_scenario());
            const bool before = chance(2);  // whether the metadata is made before or after what goes wrong
            const int64_t wrong = below(3);
            recent_message();
            for (int64_t m = before ? 0 : wrong; m > 0; --m) mutate(p);
            const aclnnStatus metadata = p.make_metadata();
            expect(metadata == 0 || !recent_message().empty(), "a message with metadata call " + std::to_string(n));
            for (int64_t m = before ? wrong : 0; m > 0; --m) mutate(p);
            ask(p, "call " + std::to_string(n));
            recent_message();
            const aclnnStatus status = call(p.a);
            ++outcomes[status], ++metadata_outcomes[metadata];
            expect(status == 0 || !recent_message().empty(), "a message with call " + std::to_string(n));
        }
        expect(live_objects() == 0, "no objects left by call " + std::to_string(n));
    }
    for (const auto& [status, times] : outcomes) std::printf("status %d: %lld calls\n", status, (long long)times);
    for (const auto& [status, times] : metadata_outcomes) {
        std::printf("metadata status %d: %lld calls\n", status, (long long)times);
    }
    expect(outcomes[0] * 5 > calls && outcomes[161002] * 5 > calls && outcomes[161001] > 0,
           "a mix of outcomes: a fuzzer that never gets past the rules, or never meets one, tests nothing");
    return check_result();
}
