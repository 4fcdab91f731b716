// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Times the sparse engine alone: bench_sparse [threads [target [filter]]]. Each run of a case stands between runs of
// the machine's limits, and ratios are medians of ratios to these.
#include <cstdio>
#include <cstring>
#include <string>

#include "bench_support.h"
#include "engine/sparse.h"
#include "formats/half.h"

using namespace acl_attn::engine;
using namespace engine_bench;

namespace {

enum class Mode { window, lists, prefix };

struct Case {
    const char* name;
    SparseRows rows;
    Mode mode;
    int32_t batch, heads;
    int64_t q_len, kv_len, ratio, topk;
};

int64_t visible(const Case& c, int64_t token) { return (c.kv_len - c.q_len + token + 1) / c.ratio; }

// Rows that all tokens see, counted for each.
double pairs(const Case& c) {
    double sum = 0;
    for (int64_t i = 0; i < c.q_len; i++) {
        sum += static_cast<double>(std::min<int64_t>(128, c.kv_len - c.q_len + i + 1));
        if (c.mode == Mode::prefix) sum += static_cast<double>(visible(c, i));
        if (c.mode == Mode::lists) sum += static_cast<double>(std::min(c.topk, visible(c, i)));
    }
    return sum * c.batch;
}

// At least so many bytes must be read: rows of windows and prefixes once, those of lists for each token.
double row_bytes(const Case& c) {
    const double bytes = c.rows == SparseRows::packed_e4m3 ? 640 : 1024;
    double rows = static_cast<double>(std::min<int64_t>(127 + c.q_len, c.kv_len));
    if (c.mode == Mode::prefix) rows += static_cast<double>(visible(c, c.q_len - 1));
    if (c.mode == Mode::lists) {
        for (int64_t i = 0; i < c.q_len; i++) rows += static_cast<double>(std::min(c.topk, visible(c, i)));
    }
    return rows * bytes * c.batch;
}

void bench(const Case& c) {
    const bool packed = c.rows == SparseRows::packed_e4m3;
    const int64_t row = packed ? kPackedRowBytes : kSparseDim;
    const size_t row_size = packed ? 640 : 1024;
    constexpr int32_t kBlock = 64;
    SparseProblem p;
    p.dtype = c.rows == SparseRows::f16 ? Dtype::f16 : Dtype::bf16;
    p.rows = c.rows;
    p.heads = c.heads;
    p.scale = 0.0441942f;
    p.query = p.out = {c.heads * kSparseDim, kSparseDim};
    p.cmp_ratio = c.ratio;
    p.max_sequences = c.batch;
    p.max_tokens = c.batch * c.q_len;
    const int64_t ori_blocks = (c.kv_len + kBlock - 1) / kBlock;
    const int64_t cmp_len = c.mode == Mode::window ? 0 : c.kv_len / c.ratio;
    const int64_t cmp_blocks = (cmp_len + kBlock - 1) / kBlock;
    // Only the blocks of windows exist: others would only take memory.
    const int64_t kept = std::min<int64_t>(ori_blocks, (127 + c.q_len) / kBlock + 2);
    p.ori = {true, row, kBlock * row, kBlock, c.batch * kept, 0, false, 128};
    p.cmp = {cmp_len > 0, row, kBlock * row, kBlock, c.batch * cmp_blocks, c.mode == Mode::lists ? c.topk : 0, false,
             c.mode == Mode::lists ? c.topk : cmp_len};
    std::vector<int32_t> ori_table, cmp_table, order(static_cast<size_t>(c.batch * cmp_blocks)), lists;
    for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int32_t>(i);
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[static_cast<size_t>(std::rand()) % i]);
    std::vector<SparseSequence> sequences;
    for (int64_t b = 0; b < c.batch; b++) {
        SparseSequence s;
        s.q_len = c.q_len;
        s.q_offset = s.out_offset = b * c.q_len * p.query.token_stride;
        s.list_row = b * c.q_len;
        s.ori.len = c.kv_len;
        s.cmp.len = cmp_len;
        s.ori.table_offset = b * ori_blocks;
        s.cmp.table_offset = b * cmp_blocks;
        s.ori_band = {c.kv_len - c.q_len - 127, c.kv_len - c.q_len};
        s.cmp_shift = c.kv_len - c.q_len + 1;
        sequences.push_back(s);
        for (int64_t i = 0; i < ori_blocks; i++) {
            ori_table.push_back(i < ori_blocks - kept ? -1 : static_cast<int32_t>(b * kept + i - (ori_blocks - kept)));
        }
        for (int64_t i = 0; i < cmp_blocks; i++) cmp_table.push_back(order[static_cast<size_t>(b * cmp_blocks + i)]);
        for (int64_t i = 0; c.mode == Mode::lists && i < c.q_len; i++) {
            for (int64_t e = 0; e < c.topk; e++) {
                lists.push_back(visible(c, i) <= e ? -1 : static_cast<int32_t>(std::rand() % visible(c, i)));
            }
        }
    }
    const auto fill = [&](Large<uint8_t>& bytes, size_t n, bool is_packed) {
        bytes.resize(n);
        uint64_t state = 88172645463325252u;
        for (size_t i = 0; i + 1 < n; i += 2) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const float f = static_cast<float>(state >> 40) * 0x1p-24f * 3.4f - 1.7f;
            using namespace acl_attn::formats;
            uint16_t code = p.dtype == Dtype::f16 ? encode_f16(f) : encode_bf16(f);
            if (is_packed) code &= 0x3f3f;
            std::memcpy(bytes.data() + i, &code, 2);
        }
        for (size_t r = 0; is_packed && r < n; r += row_size) std::memset(bytes.data() + r + 576, 126, 7);
    };
    Large<uint8_t> q, ori, cmp, out;
    fill(q, static_cast<size_t>(p.max_tokens * p.query.token_stride) * 2, false);
    fill(ori, static_cast<size_t>(p.ori.block_count * kBlock) * row_size, packed);
    fill(cmp, static_cast<size_t>(p.cmp.block_count * kBlock) * row_size, packed);
    out.resize(q.size());
    SparseOperands o;
    o.query = q.data();
    o.ori = ori.data();
    o.cmp = cmp.data();
    o.ori_block_table = ori_table.data();
    o.cmp_block_table = cmp_table.data();
    o.cmp_indices = lists.data();
    o.out = out.data();
    const auto plan = SparseAttention::plan(p);
    Large<char> workspace(plan->workspace_bytes());
    Large<uint8_t> large(size_t{256} << 20, 1);
    const auto once = [&] {
        if (plan->run(o, sequences.data(), c.batch, workspace.data()).found()) std::abort();
    };
    once();
    std::vector<double> times, multiply, read;
    const double start = now();
    while (times.size() < 3 || (now() - start < 2.0 && times.size() < 200)) {
        const double rate = multiply_rate(thread_count());
        // Also makes sure that rows come from memory.
        const double bandwidth = read_rate(thread_count(), large.data(), large.size());
        const double t0 = now_on(thread_count());
        once();
        times.push_back(now_on(thread_count()) - t0);
        multiply.push_back(pairs(c) * c.heads * 2 * kSparseDim / times.back() / rate);
        read.push_back(row_bytes(c) / times.back() / bandwidth);
    }
    const double seconds = median(times);
    std::printf("%-34s %10.1f us %8.1f GFLOP/s (%3.0f %% of multiply-adds) %6.2f GB/s of rows (%3.0f %% of reads)\n",
                c.name, seconds * 1e6, 4 * pairs(c) * c.heads * kSparseDim / seconds * 1e-9, 100 * median(multiply),
                row_bytes(c) / seconds * 1e-9, 100 * median(read));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (!engine_bench::configure(argc, argv)) return 1;
    std::printf("%s, %d threads (%s)\n", target_name(target_in_use()), thread_count(), cpu_features().c_str());
    const SparseRows bf16 = SparseRows::bf16, f16 = SparseRows::f16, packed = SparseRows::packed_e4m3;
    const Case cases[] = {
        {"prefill window bf16 s4096 h64", bf16, Mode::window, 1, 64, 4096, 4096, 1, 0},
        {"prefill window bf16 s4096 h8", bf16, Mode::window, 1, 8, 4096, 4096, 1, 0},
        {"prefill window fp16 s4096 h64", f16, Mode::window, 1, 64, 4096, 4096, 1, 0},
        {"prefill window packed s4096 h64", packed, Mode::window, 1, 64, 4096, 4096, 1, 0},
        {"prefill prefix bf16 s1024 32k h64", bf16, Mode::prefix, 1, 64, 1024, 32768, 128, 0},
        {"prefill lists bf16 s256 32k h64", bf16, Mode::lists, 1, 64, 256, 32768, 4, 512},
        {"prefill lists bf16 s256 256k h64", bf16, Mode::lists, 1, 64, 256, 262144, 4, 512},
        {"prefill lists packed s256 32k h64", packed, Mode::lists, 1, 64, 256, 32768, 4, 512},
        {"decode prefix bf16 b32 64k h64", bf16, Mode::prefix, 32, 64, 1, 65536, 128, 0},
        {"decode lists bf16 b32 64k h64", bf16, Mode::lists, 32, 64, 1, 65536, 4, 512},
        {"decode lists packed b32 64k h64", packed, Mode::lists, 32, 64, 1, 65536, 4, 512},
        {"decode lists bf16 b32 64k h128", bf16, Mode::lists, 32, 128, 1, 65536, 4, 512},
        {"decode prefix bf16 b32 64k h8", bf16, Mode::prefix, 32, 8, 1, 65536, 128, 0},
        {"decode prefix bf16 b32 64k h1", bf16, Mode::prefix, 32, 1, 1, 65536, 128, 0},
        {"decode lists bf16 b32 64k h8", bf16, Mode::lists, 32, 8, 1, 65536, 4, 512},
        {"decode lists packed b32 64k h8", packed, Mode::lists, 32, 8, 1, 65536, 4, 512},
        {"decode lists bf16 b32 64k h1", bf16, Mode::lists, 32, 1, 1, 65536, 4, 512},
        {"decode lists packed b32 64k h1", packed, Mode::lists, 32, 1, 1, 65536, 4, 512},
        {"decode lists bf16 b1 64k h64", bf16, Mode::lists, 1, 64, 1, 65536, 4, 512},
        {"decode prefix bf16 b1 1M h64", bf16, Mode::prefix, 1, 64, 1, 1 << 20, 128, 0},
        {"decode window bf16 b32 h64", bf16, Mode::window, 32, 64, 1, 65536, 1, 0},
    };
    for (const Case& c : cases) {
        if (argc <= 3 || std::strstr(c.name, argv[3]) != nullptr) bench(c);
    }
    return 0;
}
