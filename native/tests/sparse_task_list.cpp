// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The task list against lists that the vendor's planner wrote for the same sequences, and against what every list must
// be: work in order, without gaps, all of it.
#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "check.h"
#include "ops/sparse_attention/blocking.h"
#include "ops/sparse_attention/task_columns.h"
#include "ops/sparse_attention/task_list.h"
#include "ops/sparse_attention/task_shares.h"

using namespace acl_attn::ops::sparse;

namespace {

using Words = std::vector<uint32_t>;
using Sequences = std::vector<TaskSequence>;

void expect(bool ok, const std::string& what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    check_that(ok, what.c_str(), file, line);
}

constexpr Operator kMla = Operator::sparse_flash_mla;
constexpr Operator kQuant = Operator::kv_quant_sparse_attn_sharedkv;

// A call with the usual window. `topk` > 0: compressed rows are listed.
TaskRules rules_of(Operator op, ChipFamily family, int64_t heads, Cores cores, bool has_cmp, int64_t topk,
                   int64_t ratio) {
    TaskRules r;
    r.heads = heads;
    r.blocking = blocking_of(op, family, heads, topk > 0);
    r.cores = cores;
    r.has_ori = true;
    r.has_cmp = has_cmp;
    r.cmp_topk = topk;
    r.cmp_ratio = ratio;
    r.ori_mask_mode = 4;
    r.cmp_mask_mode = has_cmp ? 3 : 0;
    r.win_left = 127;
    r.win_right = 0;
    r.cmp_follows_ori = op == kQuant;
    return r;
}

Words list_of(const TaskRules& rules, const Sequences& sequences) {
    Words words(kMetadataWords, 0xdeadbeef);
    write_task_list(rules, sequences, words.data());
    for (int i = kTaskWords; i < kMetadataWords; ++i) expect(words[static_cast<size_t>(i)] == 0xdeadbeef, "tail");
    words.resize(kTaskWords);
    return words;
}

void core(Words& words, int index, uint32_t b0, uint32_t m0, uint32_t s0, uint32_t b1, uint32_t m1, uint32_t s1,
          uint32_t slot = 0, uint32_t most = 0) {
    const uint32_t fields[] = {1, b0, m0, s0, b1, m1, s1, slot, most};
    for (int k = 0; k < kCubeFields; ++k) words[static_cast<size_t>(cube_word(index) + k)] = fields[k];
}

void same(const Words& got, const Words& want, const std::string& name) {
    for (size_t i = 0; i < want.size(); ++i) {
        expect(got[i] == want[i], name + ": word " + std::to_string(i) + " is " + std::to_string(got[i]) +
                                      ", expected " + std::to_string(want[i]));
    }
}

void test_known_lists() {
    const Cores a2{24, 48}, small{4, 8}, a5{32, 64};
    {
        Words want(kTaskWords, 0);
        core(want, 0, 0, 0, 0, 1, 0, 0);
        core(want, 1, 1, 0, 0, 1, 1, 0);
        core(want, 2, 1, 1, 0, 1, 2, 0);
        core(want, 3, 1, 2, 0, 2, 0, 0);
        same(list_of(rules_of(kMla, ChipFamily::a2_a3, 64, a2, true, 512, 4), {{1, 2050, 512, 2}, {3, 4100, 1025, 0}}),
             want, "selected rows");
    }
    {
        Words want(kTaskWords, 0);
        for (uint32_t i = 0; i < 22; ++i) core(want, static_cast<int>(i), 0, i, 0, 0, i + 1, 0);
        core(want, 22, 0, 22, 0, 0, 24, 0);
        core(want, 23, 0, 24, 0, 1, 0, 0);
        same(list_of(rules_of(kMla, ChipFamily::a2_a3, 64, a2, false, 0, 1), {{100, 100, 0, 0}}), want, "window");
    }
    {
        Words want(kTaskWords, 0);
        for (int i : {0, 1}) core(want, i, 0, 0, 0, 1, 0, 0, 0, 6);
        for (int i : {2, 3}) core(want, i, 1, 0, 0, 2, 0, 0, 0, 6);
        same(list_of(rules_of(kMla, ChipFamily::a5, 128, small, true, 512, 4), {{1, 2050, 512, 2}, {2, 600, 150, 0}}),
             want, "shared heads");
    }
    {
        TaskRules r = rules_of(kMla, ChipFamily::a2_a3, 64, a2, true, 0, 128);
        r.is_batch_consistent = true;
        Words want(kTaskWords, 0);
        for (uint32_t i = 0; i < 5; ++i) core(want, static_cast<int>(i), 0, 0, i, 0, 0, i + 1, i);
        core(want, 5, 0, 0, 5, 1, 0, 0, 5);
        for (uint32_t v = 0; v < 32; ++v) {
            const uint32_t fields[] = {1, 0, 0, 0, 6, 2 * v, 2, 0};
            for (int k = 0; k < kVectorFields; ++k)
                want[static_cast<size_t>(vector_word(static_cast<int>(v)) + k)] = fields[k];
        }
        same(list_of(r, {{1, 300000, 2343, 96}}), want, "a row cut for several cores");
    }
    {
        Words want(kTaskWords, 0);
        core(want, 0, 0, 0, 0, 2, 0, 0);
        same(list_of(rules_of(kMla, ChipFamily::a2_a3, 64, a2, false, 0, 1), {{0, 5, 0, 0}, {0, 7, 0, 0}}), want,
             "nothing to do");
    }
    {
        Words want(kTaskWords, 0);
        core(want, 0, 0, 0, 0, 1, 0, 0);
        core(want, 1, 1, 0, 0, 1, 1, 0);
        core(want, 2, 1, 1, 0, 2, 0, 0);
        same(list_of(rules_of(kQuant, ChipFamily::a5, 64, a5, true, 512, 4), {{1, 2050, 512, 0}, {2, 600, 150, 0}}),
             want, "packed, selected rows");
    }
    {
        Words want(kTaskWords, 0);
        for (int i : {0, 1}) core(want, i, 0, 0, 0, 1, 1, 0, 0, 2);
        for (int i : {2, 3}) core(want, i, 1, 1, 0, 2, 0, 0, 0, 2);
        same(list_of(rules_of(kQuant, ChipFamily::a5, 128, small, false, 0, 1), {{1, 2050, 0, 0}, {2, 600, 0, 0}}),
             want, "packed, window");
    }
}

// Column blocks of a block of rows, counted column by column.
int64_t counted_blocks(const TaskRules& r, const TaskSequence& s, int64_t m) {
    const int64_t begin = m * r.blocking.rows, end = std::min(begin + r.blocking.rows, s.q * r.heads);
    int64_t ori = 0, cmp = 0;
    for (int64_t j = 0; j < s.ori; ++j) {
        bool is_seen = false;
        for (int64_t row = begin; row < end; ++row) {
            const int64_t p = s.ori - s.q + row / r.heads;
            const bool in_band = (r.win_left < 0 || j >= p - r.win_left) && (r.win_right < 0 || j <= p + r.win_right);
            is_seen |= r.ori_mask_mode == 0 || (r.ori_mask_mode == 3 ? j <= p : in_band);
        }
        ori += is_seen;
    }
    const int64_t stands_for = r.cmp_follows_ori ? s.ori : s.cmp * r.cmp_ratio + s.residual;
    for (int64_t j = 0; j < s.cmp && r.has_cmp; ++j) {
        const int64_t last_position = stands_for - s.q + (end - 1) / r.heads;
        cmp += r.cmp_mask_mode == 0 || (j + 1) * r.cmp_ratio - 1 <= last_position;
    }
    if (r.cmp_topk > 0) cmp = std::min(cmp, r.cmp_topk);
    const int64_t unit = r.is_batch_consistent
                             ? std::max(r.blocking.columns, ((ori + cmp) / 32 + r.blocking.columns - 1) /
                                                                r.blocking.columns * r.blocking.columns)
                             : r.blocking.columns;
    return (ori + unit - 1) / unit + (cmp + unit - 1) / unit;
}

std::string point(int64_t b, int64_t m, int64_t c) {
    return "(" + std::to_string(b) + ", " + std::to_string(m) + ", " + std::to_string(c) + ")";
}

// Every block of columns of every block of rows belongs to one core, in order; what is cut is reduced.
void check_list(const TaskRules& r, const Sequences& sequences, const std::string& name) {
    const Words words = list_of(r, sequences);
    int64_t b = 0, m = 0, c = 0, slots = 0;
    std::vector<int64_t> cuts;  // partial results of each row that several cores share
    bool is_over = false;
    for (int i = 0; i < r.cores.cube / r.blocking.copies; ++i) {
        const uint32_t* at = words.data() + cube_word(i * r.blocking.copies);
        if (r.blocking.copies == 2) {
            expect(std::equal(at, at + kCubeFields, at + kCubeFields), name + ": both cores of a pair do the same");
        }
        if (at[kEnable] == 0) {
            is_over = true;
            continue;
        }
        expect(!is_over, name + ": no core works behind one that does not");
        expect(at[kStartBatch] == b && at[kStartRows] == m && at[kStartColumns] == c,
               name + ": core " + std::to_string(i) + " starts where the one before ended, " + point(b, m, c));
        if (c > 0) expect(at[kFirstSlot] == slots, name + ": first slot");
        int64_t taken = 0;
        while (b != at[kEndBatch] || m != at[kEndRows] || c != at[kEndColumns]) {
            if (b >= static_cast<int64_t>(sequences.size())) {
                expect(false, name + ": the end of core " + std::to_string(i) + " lies behind everything");
                return;
            }
            const TaskSequence& s = sequences[static_cast<size_t>(b)];
            const int64_t rows = (s.q * r.heads + r.blocking.rows - 1) / r.blocking.rows;
            const int64_t blocks = m < rows ? counted_blocks(r, s, m) : 0;
            if (c < blocks) {
                ++c, ++taken;
                if (c < blocks) continue;
            }
            c = 0;
            if (++m >= rows) m = 0, ++b;
        }
        expect(r.blocking.copies == 1 || taken <= at[kMostColumnBlocks], name + ": most column blocks");
        // Partial results: one for what a core that begins a row leaves of it, one for each block of later cores.
        if (!cuts.empty() && cuts.back() < 0) {
            const bool in_row =
                at[kEndColumns] > 0 && at[kEndBatch] == at[kStartBatch] && at[kEndRows] == at[kStartRows];
            int64_t parts = in_row ? at[kEndColumns] - at[kStartColumns] : 0;
            if (!in_row) {
                const TaskSequence& s = sequences[at[kStartBatch]];
                parts = counted_blocks(r, s, at[kStartRows]) - at[kStartColumns];
            }
            slots += parts;
            cuts.back() -= parts;
            if (!in_row) cuts.back() = -cuts.back();
        }
        if (at[kEndColumns] > 0 && (cuts.empty() || cuts.back() > 0)) {
            cuts.push_back(-1);
            ++slots;
        }
    }
    const auto is_idle = [&](const TaskSequence& s) {
        for (int64_t k = 0; k < (s.q * r.heads + r.blocking.rows - 1) / r.blocking.rows; ++k) {
            if (counted_blocks(r, s, k) > 0) return false;
        }
        return true;
    };
    expect(m == 0 && c == 0 && std::all_of(sequences.begin() + b, sequences.end(), is_idle),
           name + ": nothing is left to do behind " + point(b, m, c));

    int64_t first = 0;
    size_t cut = 0;
    for (int v = 0; v < r.cores.vector;) {
        const uint32_t* at = words.data() + vector_word(v);
        if (at[kReduce] == 0) break;
        if (cut >= cuts.size()) {
            expect(false, name + ": a reduction of a row that is whole");
            return;
        }
        expect(at[kReduceSlot] == first && at[kReduceSlots] == cuts[cut], name + ": slots of a reduction");
        int64_t rows = 0;
        const uint32_t batch = at[kReduceBatch], row = at[kReduceRows];
        for (; v < r.cores.vector; ++v) {
            const uint32_t* part = words.data() + vector_word(v);
            if (part[kReduce] == 0 || part[kReduceBatch] != batch || part[kReduceRows] != row) break;
            expect(part[kReduceFirstRow] == rows && part[kReduceRowCount] > 0, name + ": rows of a reduction");
            rows += part[kReduceRowCount];
        }
        const TaskSequence& s = sequences[batch];
        expect(rows == std::min(r.blocking.rows, s.q * r.heads - row * r.blocking.rows), name + ": all rows reduced");
        first += cuts[cut++];
    }
    expect(cut == cuts.size(), name + ": every row that is cut is reduced");
}

// The same list as shares: whatever a block of rows sees is in them once, in order, at the cores that the list says.
void check_shares(const TaskRules& r, const Sequences& sequences, const std::string& name) {
    const Words words = list_of(r, sequences);
    const acl_attn::engine::SparseShares shares = read_shares(r, sequences, words.data());
    for (size_t i = 1; i < shares.size(); ++i) {
        const auto& a = shares[i - 1];
        const auto& b = shares[i];
        expect(std::tie(a.sequence, a.row_begin, a.block_begin) < std::tie(b.sequence, b.row_begin, b.block_begin) &&
                   a.core <= b.core,
               name + ": shares are in order");
    }
    for (size_t n = 0; n < sequences.size(); ++n) {
        const int64_t rows = sequences[n].q * r.heads;
        for (int64_t m = 0; m * r.blocking.rows < rows; ++m) {
            const int64_t blocks = counted_blocks(r, sequences[n], m);
            int64_t seen = 0;
            for (const auto& share : shares) {
                const int64_t row = m * r.blocking.rows;
                if (share.sequence != static_cast<int64_t>(n)) continue;
                if (row < share.row_begin || row >= share.row_end) continue;
                const uint32_t* at = words.data() + cube_word(share.core);
                const std::vector<int64_t> end = {at[kEndBatch], at[kEndRows], at[kEndColumns]};
                const std::vector<int64_t> start = {at[kStartBatch], at[kStartRows], at[kStartColumns]};
                const bool is_whole = share.blocks == 1;
                expect(is_whole || share.blocks == blocks, name + ": parts of a row that has so many");
                expect(is_whole ? seen == 0 : share.block_begin == seen, name + ": no part is left out or done twice");
                seen = is_whole ? std::max<int64_t>(blocks, 1) : share.block_end;
                const std::vector<int64_t> first = {share.sequence, m, is_whole ? 0 : share.block_begin};
                expect(first >= start && first < end && share.copies == r.blocking.copies, name + ": its core has it");
            }
            expect(seen >= blocks, name + ": all that a row sees is shared out");
        }
    }
}

void test_random_lists(int count) {
    std::mt19937 random(20260901);
    const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
    int cut = 0;
    for (int n = 0; n < count; ++n) {
        const ChipFamily family = below(2) == 0 ? ChipFamily::a5 : ChipFamily::a2_a3;
        const Operator op = below(3) == 0 ? kQuant : kMla;
        const int64_t heads = op == kQuant ? (below(2) + 1) * 64 : 1 + below(128);
        const Cores cores{static_cast<int>(2 + below(kMaxCubeCores - 1)), static_cast<int>(36 + below(37))};
        const bool has_cmp = below(3) > 0;
        const int64_t topk = has_cmp && below(2) == 0 ? 1 + below(600) : 0;
        TaskRules r = rules_of(op, family, heads, cores, has_cmp, topk, 1 + below(8));
        if (op == kMla && below(3) == 0) {
            r.ori_mask_mode = below(2) * 3;
            r.win_left = r.win_right = -1;
        } else if (op == kMla) {
            r.win_left = below(200) - 1;
            r.win_right = below(3) - 1;
        }
        if (op == kMla && has_cmp && below(4) == 0) r.cmp_mask_mode = 0;
        r.is_batch_consistent = op == kMla && below(2) == 0;
        Sequences sequences;
        for (int64_t b = below(5); b >= 0; --b) {
            TaskSequence s{below(6), below(3) == 0 ? below(5) : below(900), 0, 0};
            s.cmp = has_cmp ? s.ori / r.cmp_ratio : 0;
            s.residual = has_cmp && op == kMla ? s.ori % r.cmp_ratio : 0;
            sequences.push_back(s);
        }
        check_list(r, sequences, "random list " + std::to_string(n));
        check_shares(r, sequences, "shares of random list " + std::to_string(n));
        cut += list_of(r, sequences)[static_cast<size_t>(vector_word(0))] != 0;
    }
    expect(cut * 20 > count, "many of the lists cut rows: " + std::to_string(cut));
}

// A long row, so that the plan has to end in reasonable time however many tokens there are.
void test_long_sequences() {
    TaskRules r = rules_of(kMla, ChipFamily::a5, 128, {36, 72}, true, 512, 4);
    const Words words = list_of(r, {{1 << 20, 1 << 20, 1 << 18, 0}, {0, 0, 0, 0}, {1, INT32_MAX, INT32_MAX / 4, 3}});
    const uint32_t* last = words.data() + cube_word(35);
    expect(last[kEnable] == 1 && last[kEndBatch] == 3 && last[kEndRows] == 0, "all cores have work, to the end");
}

}  // namespace

int main() {
    test_known_lists();
    test_random_lists(600);
    test_long_sequences();
    return check_result();
}
