// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse AscendC kernels in the simulator with its checks on, for both architectures, against the double
// computation and the host engine. A case without an instantiation has to be refused.
#include "ascendc/launch/sim_settings.h"
#include "ascendc/launch/sparse_attention.h"
#include "ascendc/launch/sparse_schedule.h"
#include "ascendc_support.h"
#include "engine_sparse_problem.h"

using namespace engine_test;

namespace {

using Sequences = std::vector<SparseSequenceSpec>;
using acl_attn::ascendc::set_sim_settings;

std::string chip_name(const SparseSpec& spec, const Chip& chip) { return spec.name() + name_of(chip); }

SparseFault run_on(const Chip& chip, SparseLaid& laid, const SparseShares* shares = nullptr) {
    const auto plan = acl_attn::ascendc::plan(laid.problem, chip);
    Guarded<uint8_t> workspace;
    workspace.assign(plan->workspace_bytes(), 0xff);
    SparseOperands operands = laid.operands;
    operands.shares = shares;
    const MemoryRanges ranges = laid.ranges();
    operands.ranges = &ranges;
    return plan->run(operands, laid.sequences.data(), static_cast<int64_t>(laid.sequences.size()), workspace.data());
}

Result result_on(const Chip& chip, const SparseSpec& spec, const SparseData& data,
                 const SparseShares* shares = nullptr) {
    SparseLaid laid(spec, data);
    const SparseFault fault = run_on(chip, laid, shares);
    expect(!fault.found() && !fault.failed, chip_name(spec, chip) + ": " + fault.failure);
    return laid.collect();
}

bool is_served(const SparseSpec& spec, const Chip& chip) {
    SparseLaid laid(spec, make_sparse_data(spec, 1));
    const bool is_served = acl_attn::ascendc::unsupported(laid.problem, chip).empty();
    expect(is_served == (!spec.packed() || chip.architecture == 3510), chip_name(spec, chip) + ": served or not");
    return is_served;
}

void expect_close(const std::string& name, const SparseSpec& spec, const Error& e) {
    const double limit = std::max(rms_limit_of(spec.dtype), 1.25 * e.ideal);
    char text[120];
    std::snprintf(text, sizeof text, ": rms %.6f, lse %.2e, shape %s", e.rms, e.lse, e.shape ? "ok" : "wrong");
    expect(e.shape && e.rms <= limit && e.lse <= kKernelLseLimit, name + text);
}

Exact exact_of(Dtype dtype, const Result& result) {
    Exact exact;
    for (const uint16_t x : result.out) exact.out.push_back(decode(dtype, x));
    exact.lse.assign(result.lse.begin(), result.lse.end());
    return exact;
}

void check(const SparseSpec& spec, const Chip& chip) {
    if (!is_served(spec, chip)) return;
    const SparseData data = make_sparse_data(spec, 11);
    Spec like;
    like.dtype = spec.dtype;
    const Result got = result_on(chip, spec, data);
    expect_close(chip_name(spec, chip), spec, compare(like, got, sparse_reference(spec, data)));
    const Exact host = exact_of(spec.dtype, run_sparse(spec, data));
    expect_close(chip_name(spec, chip) + " against the host", spec, compare(like, got, host));
}

template <class Body>
void for_each_chip(Body body) {
    for (const int32_t architecture : {2201, 3510}) body(Chip{architecture, kCores});
}

// Every kind of row; contiguous, paged, and paged in blocks that no tile is a multiple of.
void scenarios() {
    SparseSpec base;
    base.heads = 3;
    base.sequences = Sequences{{3, 40}, {1, 300}, {30, 200}, {5, 3}, {0, 9}, {4, 0}};
    int32_t kind = 0;
    for (const SparseRows rows :
         {SparseRows::bf16, SparseRows::f16, SparseRows::packed_e4m3, SparseRows::packed_hif8}) {
        SparseSpec spec = base;
        spec.rows = rows;
        spec.dtype = rows == SparseRows::f16 ? Dtype::f16 : Dtype::bf16;
        const auto check_next = [&] {
            const int32_t blocks[] = {0, 16, 7};
            const int32_t block = blocks[kind++ % 3];
            spec.ori_block = block;
            spec.cmp_block = block == 16 ? 48 : block;
            for_each_chip([&](const Chip& chip) { check(spec, chip); });
        };
        check_next();  // window alone
        spec.has_cmp = true;
        check_next();  // and a prefix of the compressed rows
        spec.ratio = 1;
        check_next();
        spec.cmp_topk = 32;
        check_next();  // lists, shorter and longer than what is visible
        spec.cmp_topk = 150;
        spec.has_topk_length = true;
        check_next();
        spec.ori_topk = 40;
        spec.all_cmp = true;
        check_next();  // lists for both
        spec.has_cmp = false;
        spec.cmp_topk = 0;
        check_next();  // of the original rows alone
    }
}

void heads() {
    for (const int32_t heads : {1, 64, 100, 128}) {
        for (const int64_t topk : {0, 50}) {
            SparseSpec spec;
            spec.heads = heads;
            spec.has_cmp = true;
            spec.cmp_topk = topk;
            spec.has_sink = heads != 100;
            spec.sequences = Sequences{{1, 260}, {3, 129}};
            for_each_chip([&](const Chip& chip) { check(spec, chip); });
        }
    }
}

void windows() {
    const int64_t windows[][2] = {{-1, -1}, {-1, 0}, {0, 0}, {2, 1}, {300, 5}, {127, -1}};
    for (const auto& window : windows) {
        SparseSpec spec;
        spec.dtype = Dtype::f16;
        spec.rows = SparseRows::f16;
        spec.heads = 2;
        spec.left = window[0];
        spec.right = window[1];
        spec.sequences = Sequences{{70, 90}, {2, 400}, {30, 12}};
        for_each_chip([&](const Chip& chip) { check(spec, chip); });
    }
}

// Lengths around a tile; compressed rows that exist and nobody may see.
void lengths() {
    for (const int64_t ratio : {1, 3}) {
        SparseSpec spec;
        spec.heads = 64;
        spec.has_cmp = true;
        spec.ratio = ratio;
        spec.sequences = Sequences{{2, 127 * ratio, 0, 3}, {1, 128 * ratio}, {1, 129 * ratio + 2}, {2, 0}, {1, 1}};
        for_each_chip([&](const Chip& chip) { check(spec, chip); });
    }
}

// Streams that are cut, with and without lists; few rows and many.
void long_streams() {
    for (const int64_t topk : {0, 1300}) {
        SparseSpec spec;
        spec.heads = 2;
        spec.has_cmp = true;
        spec.ratio = 1;
        spec.cmp_topk = topk;
        spec.sequences = Sequences{{1, 2300}, {2, 1100}, {1, 1024}};
        for_each_chip([&](const Chip& chip) { check(spec, chip); });
    }
}

// Lists by hand: without an entry, with an end before entries that lead nowhere, invisible ones, long runs.
void lists() {
    SparseSpec spec;
    spec.heads = 5;
    spec.has_cmp = true;
    spec.ratio = 1;
    spec.cmp_topk = 200;
    spec.sequences = Sequences{{4, 210}};
    SparseData data = make_sparse_data(spec, 12);
    std::vector<int32_t>& list = data.sequences[0].cmp_list;
    const auto entry = [&](int64_t token, int64_t e) -> int32_t& {
        return list[static_cast<size_t>(token * spec.cmp_topk + e)];
    };
    for (int32_t e = 0; e < 200; e++) {
        entry(0, e) = e == 0 ? -1 : 1 << 20;              // nothing
        entry(1, e) = e < 150 ? e : e == 150 ? -1 : 9999;  // a run, its end inside the second step
        entry(2, e) = e % 2 == 0 ? 209 : e;               // every other one is not visible
        entry(3, e) = e < 3 ? 7 : -1;                     // three times the same row
    }
    Spec like;
    for_each_chip([&](const Chip& chip) {
        like.dtype = spec.dtype;
        expect_close(chip_name(spec, chip) + " by hand", spec,
                     compare(like, result_on(chip, spec, data), sparse_reference(spec, data)));
    });
}

// Rows that no token sees are not touched: NaN in them changes nothing.
void unseen_rows() {
    for (const int64_t topk : {0, 40}) {
        SparseSpec spec;
        spec.heads = 8;
        spec.has_cmp = true;
        spec.cmp_topk = topk;
        spec.ratio = 1;
        spec.sequences = Sequences{{1, 290}, {2, 170}};
        if (topk == 0) spec.sequences[1].extra_cmp = 9;
        const SparseData data = make_sparse_data(spec, 6);
        SparseData spoiled = data;
        for (size_t n = 0; n < spec.sequences.size(); n++) {
            std::vector<const uint8_t*> seen;
            for (int64_t i = 0; i < spec.sequences[n].q_len; i++) {
                for (const uint8_t* row : seen_rows(spec, data, n, i)) seen.push_back(row);
            }
            const auto spoil = [&](const std::vector<uint8_t>& rows, std::vector<uint8_t>& to) {
                const size_t bytes = static_cast<size_t>(spec.row_bytes());
                for (size_t at = 0; at < rows.size(); at += bytes) {
                    if (std::count(seen.begin(), seen.end(), rows.data() + at) == 0) {
                        std::fill_n(to.begin() + static_cast<ptrdiff_t>(at), bytes, uint8_t{0xff});
                    }
                }
            };
            spoil(data.sequences[n].ori, spoiled.sequences[n].ori);
            spoil(data.sequences[n].cmp, spoiled.sequences[n].cmp);
        }
        for_each_chip([&](const Chip& chip) {
            expect(is_same(result_on(chip, spec, spoiled), result_on(chip, spec, data)),
                   chip_name(spec, chip) + ": NaN where nobody looks");
        });
    }
}

// Packed rows become the same numbers as on the host.
void packed_numbers() {
    for (const SparseRows rows : {SparseRows::packed_e4m3, SparseRows::packed_hif8}) {
        const SparseSpec spec = every_packed_number(rows);
        const SparseData data = make_every_packed_number(spec);
        expect(result_on({3510, kCores}, spec, data).out == run_sparse(spec, data).out,
               "packed rows " + std::to_string(static_cast<int>(rows)) + ": other numbers");
    }
}

void padding() {
    SparseSpec spec;
    spec.sequences = Sequences{{2, 20, 3}, {0, 7, 2}, {0, 0, 1}, {3, 9, 0}};
    const SparseData data = make_sparse_data(spec, 3);
    for_each_chip([&](const Chip& chip) {
        SparseLaid laid(spec, data);
        const SparseFault fault = run_on(chip, laid);
        expect(!fault.found() && !fault.failed, "padding: " + fault.failure);
        expect(is_padding_zero(laid), "padding is 0, its LSE too" + name_of(chip));
    });
}

// On a fault nothing is computed.
void faults() {
    SparseSpec spec;
    spec.has_cmp = true;
    spec.cmp_topk = 6;
    spec.sequences = Sequences{{2, 40}, {3, 900}};
    SparseData data = make_sparse_data(spec, 5);
    data.sequences[1].cmp_list[0] = 1 << 20;
    for_each_chip([&](const Chip& chip) {
        SparseLaid laid(spec, data);
        const SparseFault fault = run_on(chip, laid);
        expect(fault.kind == SparseFault::Kind::cmp_index && fault.sequence == 1 && fault.value == 1 << 20,
               "the bad entry is named" + name_of(chip));
        const uint16_t* out = laid.out.data();
        expect(std::all_of(out, out + laid.out.size(), [](uint16_t x) { return x == SparseLaid::kUnwritten; }),
               "nothing was computed" + name_of(chip));
    });
}

SparseSpec mixed(int64_t topk) {
    SparseSpec spec;
    spec.heads = topk > 0 ? 128 : 24;
    spec.has_cmp = true;
    spec.ratio = 1;
    spec.cmp_topk = topk;
    spec.sequences = Sequences{{1, 2100}, {4, 150, 2}, {0, 3}, {1, 90}};
    return spec;
}

// Neither the number of cores nor the order in which pipes happen to run changes a bit.
void orders() {
    for (const int64_t topk : {0, 60}) {
        for (const SparseRows rows : {SparseRows::bf16, SparseRows::packed_e4m3}) {
            SparseSpec spec = mixed(topk);
            spec.rows = rows;
            const SparseData data = make_sparse_data(spec, 4);
            for_each_chip([&](const Chip& chip) {
                if (!is_served(spec, chip)) return;
                const Result want = result_on(chip, spec, data);
                const std::string name = chip_name(spec, chip) + ": other bits ";
                expect(is_same(result_on({chip.architecture, 1}, spec, data), want), name + "on one core");
                for (const uint64_t seed : {1, 2, 3}) {
                    set_sim_settings({true, seed});
                    expect(is_same(result_on({chip.architecture, 2 * kCores}, spec, data), want),
                           name + "in order " + std::to_string(seed));
                    set_sim_settings({true, 0});
                }
            });
        }
    }
}

// What the shares say of the core that an item is on: rows, part of the columns, and half of the heads.
void check_cores(const SparseSpec& spec, const SparseData& data, const Chip& chip, const SparseShares& all) {
    using namespace acl_attn::ascendc;
    const SparseLaid laid(spec, data);
    const SparseSchedule schedule = make_schedule(laid.problem, laid.sequences.data(),
                                                  static_cast<int64_t>(laid.sequences.size()), &all, chip);
    int32_t on_cores = 0;
    for (int32_t core = 0; core < schedule.cores; core++) {
        const size_t first = static_cast<size_t>(schedule.core_items[static_cast<size_t>(core)]);
        const size_t end = static_cast<size_t>(schedule.core_items[static_cast<size_t>(core) + 1]);
        on_cores += end > first;
        for (size_t i = first; i < end; i++) {
            const int64_t* item = schedule.items.data() + i * kSparseItemWords;
            const int64_t row = (item[kSparseItemRowBegin] + item[kSparseItemRowEnd] - 1) / 2;
            const bool is_second_half = row % spec.heads >= spec.heads / 2;
            expect(std::any_of(all.begin(), all.end(),
                               [&](const SparseShare& s) {
                                   return s.sequence == item[kSparseItemSequence] && s.row_begin <= row &&
                                          row < s.row_end && s.core + (s.copies > 1 && is_second_half) == core;
                               }) || item[kSparseItemSequence] == 3,
                   chip_name(spec, chip) + ": an item on the wrong core");
        }
    }
    expect(schedule.is_by_shares && on_cores == (spec.cmp_topk > 0 ? 4 : 3), chip_name(spec, chip) + ": cores in use");
}

// Nor does who does what. Shares that are for more cores than the chip has are passed over.
void shares() {
    for (const int64_t topk : {0, 60}) {
        const SparseSpec spec = mixed(topk);
        const SparseData data = make_sparse_data(spec, 4);
        const int64_t heads = spec.heads;
        const auto share = [&](int64_t sequence, int64_t begin, int64_t end, int32_t core) {
            SparseShare s;
            s.sequence = sequence;
            s.row_begin = begin * heads;
            s.row_end = end * heads;
            s.core = core;
            s.copies = topk > 0 ? 2 : 1;
            return s;
        };
        SparseShares all = {share(0, 0, 1, 4), share(0, 0, 1, 0), share(1, 0, 3, 2), share(1, 3, 4, 0)};
        all[0].blocks = all[1].blocks = 5;
        all[0].block_end = all[1].block_begin = 2;
        all[1].block_end = 5;
        for_each_chip([&](const Chip& chip) {
            check_cores(spec, data, {chip.architecture, 7}, all);
            const Result want = result_on(chip, spec, data);
            for (const int32_t cores : {7, 5}) {
                expect(is_same(result_on({chip.architecture, cores}, spec, data, &all), want),
                       chip_name(spec, chip) + ": other bits by shares on " + std::to_string(cores) + " cores");
            }
        });
    }
}

}  // namespace

int main(int argc, char** argv) {
    set_sim_settings({true, 0});
    const std::pair<const char*, void (*)()> tests[] = {
        {"scenarios", scenarios}, {"heads", heads}, {"windows", windows},
        {"lengths", lengths}, {"long_streams", long_streams}, {"lists", lists},
        {"unseen_rows", unseen_rows}, {"packed_numbers", packed_numbers}, {"padding", padding}, {"faults", faults},
        {"orders", orders}, {"shares", shares},
    };
    for (const auto& [name, run] : tests) {
        if (argc < 2 || std::string(argv[1]) == name) run();
    }
    return finish("ascendc_sparse_attention");
}
