// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Bit for bit: a result does not depend on threads, batch neighbours, or where K and V lie, and not on anything that a
// row does not see.
#include <cstring>

#include "engine_reference.h"

using namespace engine_test;

namespace {

Spec mixed(Dtype dtype, Storage storage, bool has_mask) {
    Spec spec;
    spec.dtype = dtype;
    spec.storage = storage;
    spec.has_mask = has_mask;
    spec.heads = 6;
    spec.kv_heads = 2;
    spec.dim = 80;
    spec.dim_v = 48;
    const Band causal{kOpenFirst, 0};
    spec.sequences = Sequences{{1, 1100, {}}, {3, 700, {-650, 690}}, {300, 300, causal}, {20, 2100, {kOpenFirst, 2080}},
                      {0, 9, {}},            {5, 0, {}},            {40, 257, {-40, 30}}};
    if (!has_mask) spec.sequences.push_back({400, 520, {-100, 200}});
    return spec;
}

// Whether the results of some rows, from `row` on, are those of `all` there.
bool same_rows(const Spec& spec, const Result& some, const Result& all, size_t row) {
    const size_t dim_v = static_cast<size_t>(spec.dim_v);
    return std::equal(some.out.begin(), some.out.end(), all.out.begin() + static_cast<ptrdiff_t>(row * dim_v)) &&
           std::equal(some.lse.begin(), some.lse.end(), all.lse.begin() + static_cast<ptrdiff_t>(row));
}

void threads() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        const Spec spec = mixed(dtype, Storage::contiguous, false);
        const std::vector<Logical> data = make_logical(spec, 11);
        set_thread_count(1);
        const Result one = run(spec, data);
        check_against_reference(spec, data, one);
        for (const int count : {2, 5}) {
            set_thread_count(count);
            for (int repeat = 0; repeat < 3; repeat++) {
                expect(run(spec, data) == one, spec.name() + ": same bits on " + std::to_string(count) + " threads");
            }
        }
        set_thread_count(0);
    }
}

void neighbours() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const bool has_mask : {false, true}) {
            const Spec spec = mixed(dtype, Storage::contiguous, has_mask);
            const std::vector<Logical> data = make_logical(spec, 12);
            const Result together = run(spec, data);
            size_t row = 0;
            for (size_t n = 0; n < spec.sequences.size(); n++) {
                Spec alone = spec;
                alone.sequences = Sequences{spec.sequences[n]};
                const Result single = run(alone, {data[n]});
                expect(same_rows(spec, single, together, row), alone.name() + ": same bits alone");
                row += single.lse.size();
            }
        }
    }
}

void storages() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const bool has_mask : {false, true}) {
            const Spec dense = mixed(dtype, Storage::contiguous, has_mask);
            const std::vector<Logical> data = make_logical(dense, 13);
            const Result want = run(dense, data);
            int combination = 0;  // both orders of heads with each storage and with each block size
            for (const Storage storage : {Storage::paged_tokens, Storage::paged_heads, Storage::paged_chunks}) {
                for (const int32_t block_size : {16, 48, 128, 512}) {
                    Spec paged = mixed(dtype, storage, has_mask);
                    paged.block_size = block_size;
                    paged.heads_outside = combination++ % 2 != 0;
                    expect(run(paged, data, 3) == want, paged.name() + ": same bits as contiguous");
                }
                combination++;
            }
        }
    }
}

// Masks that hide whole tiles from some of the rows that are computed together, and none of them from others: which
// rows those are depends on how threads share the rows.
void stepped_masks() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        Spec spec;
        spec.dtype = dtype;
        spec.heads = 8;
        spec.kv_heads = 2;
        spec.dim = spec.dim_v = 64;
        spec.has_mask = true;
        spec.sequences = Sequences{{235, 390, {9, 155}}, {300, 1100, {}}};
        std::vector<Logical> data = make_logical(spec, 16);
        for (size_t n = 0; n < data.size(); n++) {
            const int64_t columns = spec.sequences[n].kv_len;
            for (int64_t i = 0; i < spec.sequences[n].q_len; i++) {
                for (int64_t j = 0; j < columns; j++) {
                    data[n].mask[static_cast<size_t>(i * columns + j)] = (j / 100 + i / 50) % 3 == 0 ? 7 : 0;
                }
            }
        }
        set_thread_count(1);
        const Result one = run(spec, data);
        check_against_reference(spec, data, one);
        for (const int count : {2, 5}) {
            set_thread_count(count);
            expect(run(spec, data) == one, spec.name() + ": steps, on " + std::to_string(count) + " threads");
        }
        set_thread_count(0);
    }
}

// Heads that lie side by side are computed together where each has few rows, others one by one.
void few_rows() {
    const int32_t dims[][2] = {{64, 64}, {192, 128}, {40, 72}};
    for (const auto& pair : dims) {
        for (const bool has_mask : {false, true}) {
            Spec spec;
            spec.dtype = Dtype::bf16;
            spec.heads = spec.kv_heads = 5;
            spec.dim = pair[0];
            spec.dim_v = pair[1];
            spec.has_mask = has_mask;
            spec.sequences = Sequences{{8, 90},   {13, 300},           {16, 2300, {kOpenFirst, 2290}},
                                       {17, 140}, {33, 600, {9, 200}}, {64, 270, {-30, 200}},
                                       {65, 300}};
            const std::vector<Logical> data = make_logical(spec, 17);
            set_thread_count(1);
            const Result want = run(spec, data);
            check_against_reference(spec, data, want);
            set_thread_count(3);
            expect(run(spec, data) == want, spec.name() + ": few rows, on 3 threads");
            set_thread_count(0);
            for (const Storage storage : {Storage::paged_tokens, Storage::paged_heads, Storage::paged_chunks}) {
                for (const int32_t block_size : {16, 128}) {
                    Spec paged = spec;
                    paged.storage = storage;
                    paged.block_size = block_size;
                    expect(run(paged, data, 4) == want, paged.name() + ": few rows, same bits as contiguous");
                }
            }
        }
    }
}

// A row's bits do not change with the rows beside it: the same rows as part of a longer prefill.
void row_blocks() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const Band& band : {Band{kOpenFirst, 0}, Band{-90, 10}}) {
            Spec spec;
            spec.dtype = dtype;
            spec.dim = spec.dim_v = 64;
            spec.sequences = Sequences{{1000, 1000, band}};
            std::vector<Logical> data = make_logical(spec, 14);
            const Result all = run(spec, data);
            Spec part = spec;
            const int64_t first = 333, count = 500;
            part.sequences = Sequences{{count, 1000, {band.first == kOpenFirst ? kOpenFirst : band.first + first,
                                                      band.last + first}}};
            Logical cut = data[0];
            cut.q.assign(data[0].q.begin() + first * spec.dim, data[0].q.begin() + (first + count) * spec.dim);
            cut.mask.assign(static_cast<size_t>(count * 1000), 0);
            const Result some = run(part, {cut});
            expect(same_rows(spec, some, all, static_cast<size_t>(first)),
                   "the same bits in other row blocks, from key " + std::to_string(band.first));
        }
    }
}

// Calls `body` for each eleventh key of a sequence: those that are poisoned.
template <class Body>
void each_poisoned(size_t sequence, int64_t kv_len, Body body) {
    for (int64_t j = static_cast<int64_t>(sequence) + 3; j < kv_len; j += 11) body(j);
}

std::vector<Logical> poisoned(const Spec& spec, std::vector<Logical> data, uint16_t poison) {
    const int64_t kd = spec.kv_heads * spec.dim, vd = spec.kv_heads * spec.dim_v;
    for (size_t n = 0; n < data.size(); n++) {
        each_poisoned(n, spec.sequences[n].kv_len, [&](int64_t j) {
            std::fill_n(data[n].k.begin() + j * kd, kd, poison);
            for (int64_t c = j % 3; c < vd; c += 3) data[n].v[static_cast<size_t>(j * vd + c)] = poison;
        });
    }
    return data;
}

// Numbers that no row sees may be anything. Even rows do not see the poison; odd rows that do are not compared.
void hidden_numbers() {
    const uint16_t poisons[] = {0xffff, 0x7f80, 0xff80, 0x7c00, 0xfc00, 0x7f7f, 0x0001};
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const bool has_mask : {false, true}) {
            Spec spec = mixed(dtype, Storage::contiguous, has_mask);
            std::vector<Logical> clean = make_logical(spec, 15);
            spec.has_mask = true;
            std::vector<bool> sees_poison;  // of each row of each sequence
            for (size_t n = 0; n < clean.size(); n++) {
                const SequenceSpec& s = spec.sequences[n];
                if (!has_mask) std::fill(clean[n].mask.begin(), clean[n].mask.end(), 0);
                for (int64_t i = 0; i < s.q_len; i++) {
                    bool touched = false;
                    each_poisoned(n, s.kv_len, [&](int64_t j) {
                        if (i % 2 == 0) clean[n].mask[static_cast<size_t>(i * s.kv_len + j)] = 1;
                        touched = touched || sees(spec, n, clean[n], i, j);
                    });
                    sees_poison.push_back(touched);
                }
            }
            const Result want = run(spec, clean);
            for (const uint16_t poison : poisons) {
                const Result got = run(spec, poisoned(spec, clean, poison));
                for (size_t row = 0; row < got.lse.size(); row++) {
                    const size_t at = row * static_cast<size_t>(spec.dim_v);
                    if (sees_poison[row / static_cast<size_t>(spec.heads)]) continue;
                    expect(std::memcmp(&got.out[at], &want.out[at], static_cast<size_t>(spec.dim_v) * 2) == 0 &&
                               std::memcmp(&got.lse[row], &want.lse[row], 4) == 0,
                           spec.name() + ": hidden " + std::to_string(poison) + " changed row " + std::to_string(row));
                }
            }
            expect(run(spec, clean) == want, "runs repeat");
        }
    }
}

}  // namespace

int main() {
    for_each_target([](int) {
        threads();
        neighbours();
        storages();
        stepped_masks();
        few_rows();
        row_blocks();
        hidden_numbers();
    });
    return finish("engine_determinism");
}
