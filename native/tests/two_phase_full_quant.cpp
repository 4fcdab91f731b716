// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantised queries through the C interface alone: every scheme and storage of its scales, against plain loops over
// what codes and scales stand for; what is refused; the largest workspace. On the sim target, what its kernels do not
// serve has to be refused.
#include <cstdlib>

#include "two_phase_codes.h"

using namespace two_phase;

namespace {

#ifdef ACL_ATTN_TEST_SIM
constexpr bool kOnSim = true;
#else
constexpr bool kOnSim = false;
#endif

bool is_served(const Format& f, bool is_mx) {
    if (!kOnSim) return true;
    const char* soc = std::getenv("ACL_ATTN_SOC_NAME");
    const bool is_2201 = soc != nullptr && std::string(soc).rfind("Ascend910", 0) == 0;
    return !is_mx && (f.type == ACL_INT8 || !is_2201);
}

// A call with packed queries (TND or NTD) or batched ones (BNSD), its outputs, and what both mean.
struct Case {
    Case(const std::string& layout, const Truth& truth, const Format& format, int64_t dim)
        : t(truth), f(format), in(layout.substr(0, layout.find('_'))), out_axes(layout.substr(layout.find('_') + 1)) {
        a.input_layout = layout;
        a.num_heads = t.heads;
        a.num_key_value_heads = t.kv_heads;
        a.sparse_mode = t.causal ? 3 : 0;
        a.softmax_lse_flag = true;
        for (const int64_t rows : t.rows) totals.push_back((totals.empty() ? 0 : totals.back()) + rows);
        extent = {static_cast<int64_t>(t.rows.size()), packed() ? totals.back() : t.rows[0], t.heads, dim};
        a.query = tokens<uint8_t>(f.type, dim, [this](int64_t b, int64_t h, int64_t i, int64_t d) {
            return code_at(f, 0, b, i, h, d);
        });
        if (packed()) a.actual_seq_lengths = objects.ints(totals);
        out.assign(static_cast<size_t>(extent.b * extent.s * t.heads * t.dim_v), kPoison);
        lse.assign(static_cast<size_t>(extent.b * extent.s * t.heads), -1.0f);
        if (packed()) out.resize(static_cast<size_t>(extent.s * t.heads * t.dim_v)), lse.resize(extent.s * t.heads);
        const Axes out_extent{extent.b, extent.s, t.heads, t.dim_v};
        a.attention_out = objects.tensor(dims_of(out_axes, out_extent), ACL_BF16, out.data());
        a.softmax_lse = objects.tensor(packed() ? Dims{extent.s, t.heads, 1} : Dims{extent.b, t.heads, extent.s, 1},
                                       ACL_FLOAT, lse.data());
    }

    bool packed() const { return in.find('T') != std::string::npos; }
    // The token's sequence and number in it.
    void locate(int64_t batch, int64_t token, int64_t* b, int64_t* i) const {
        *b = batch, *i = token;
        if (!packed()) return;
        for (*b = 0; token >= totals[*b]; ++*b) {}
        *i = token - (*b == 0 ? 0 : totals[*b - 1]);
    }
    // Shaped like query, with other channels; 0: without that axis.
    template <class T>
    const aclTensor* tokens(aclDataType type, int64_t dim,
                            const std::function<T(int64_t b, int64_t h, int64_t i, int64_t d)>& element) {
        std::string axes = in;
        if (dim == 0) axes.erase(axes.find('D'));
        Axes e = extent;
        e.d = dim;
        return buffers.tensor<T>(objects, dims_of(axes, e), type, [this, axes, element](const Dims& at) {
            Axes x{};
            for (size_t k = 0; k < axes.size(); ++k) {
                (axes[k] == 'B' ? x.b : axes[k] == 'N' ? x.n : axes[k] == 'D' ? x.d : x.s) = at[k];
            }
            int64_t b = 0, i = 0;
            locate(x.b, x.s, &b, &i);
            return element(b, x.n, i, x.d);
        });
    }
    void page(const Pages& pages) {
        table = pages.table;
        a.block_table = objects.tensor({extent.b, pages.columns}, ACL_INT32, table.data());
        a.block_size = pages.size;
        a.actual_seq_lengths_kv = objects.ints(t.keys);
    }
    const aclTensor* floats(const std::vector<float>& numbers) {
        return buffers.tensor<float>(objects, {static_cast<int64_t>(numbers.size())}, ACL_FLOAT,
                                     [=](const Dims& at) { return numbers[at[0]]; });
    }

    void check(const std::string& what) {
        const aclnnStatus status = call(a);
        if (!is_served(f, a.query_quant_mode == 6)) {
            const std::string message = status == 0 ? "accepted" : recent_message();
            expect(message.find("which no kernel instantiation serves") != std::string::npos, what + ": " + message);
            return;
        }
        expect(status == 0, what + ": " + (status == 0 ? "" : recent_message()));
        if (status != 0) return;
        const auto place = [this](int64_t b, int64_t h, int64_t i) {
            return packed() ? Axes{0, (b == 0 ? 0 : totals[b - 1]) + i, h, 0} : Axes{b, i, h, 0};
        };
        hold(t, f, what,
             [&](int64_t b, int64_t h, int64_t i, int64_t d) {
                 Axes x = place(b, h, i);
                 x.d = d;
                 return double(decode(out[position(out_axes, {extent.b, extent.s, t.heads, t.dim_v}, x)], ACL_BF16));
             },
             [&](int64_t b, int64_t h, int64_t i) {
                 return double(lse[position(packed() ? "TN" : "BNS", extent, place(b, h, i))]);
             });
        uint64_t most = 0, size = 0;
        aclOpExecutor* executor = nullptr;
        expect(a.largest(&most, &executor) == 0 && aclDestroyAclOpExecutor(executor) == 0, what + ": largest");
        expect(a.phase_one(&size, &executor) == 0 && size <= most, what + ": within the largest workspace");
        expect(aclDestroyAclOpExecutor(executor) == 0, what + ": destroy");
    }

    Truth t;
    const Format& f;
    std::string in, out_axes;
    Axes extent{};
    std::vector<int64_t> totals;
    std::vector<int32_t> table;
    Arguments a;
    Objects objects;
    Buffers buffers;
    std::vector<uint16_t> out;
    std::vector<float> lse;
};

double dot(const Format& f, int64_t dim, int64_t b, int64_t h, int64_t i, int64_t hk, int64_t j) {
    double sum = 0.0;
    for (int64_t d = 0; d < dim; ++d) sum += number_at(f, 0, b, i, h, d) * number_at(f, 1, b, j, hk, d);
    return sum;
}
double rope_dot(int64_t b, int64_t h, int64_t i, int64_t hk, int64_t j) {
    double sum = 0.0;
    for (int64_t d = 0; d < 64; ++d) sum += double(sample(3, b, i, h, d)) * double(sample(3, b, j, hk + 50, d));
    return sum;
}
void test_per_tensor() {
    Truth t{4, 2, 32, {3, 3}, {40, 7}, true, {}, {}};
    t.logit_error = 4e-3;  // scores are kept in fp16
    const double score = 0.0078125, out = 0.5;
    t.logit = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
        return dot(kInt8, 32, b, h, i, h / 2, j) * score * 0.5 + double(sample(2, b + 9, i, h, j));
    };
    t.value = [=](int64_t b, int64_t hk, int64_t j, int64_t d) { return number_at(kInt8, 2, b, j, hk, d) * out; };
    Case c("BNSD", t, kInt8, 32);
    c.a.scale_value = 0.5;
    c.a.actual_seq_lengths_kv = c.objects.ints(t.keys);
    for (const int64_t tensor : {1, 2}) {
        (tensor == 1 ? c.a.key : c.a.value) = c.objects.list({c.buffers.tensor<uint8_t>(
            c.objects, {2, 2, 40, 32}, ACL_INT8, [=](const Dims& at) {
                return at[2] < t.keys[at[0]] ? code_at(kInt8, tensor, at[0], at[2], at[1], at[3]) : kInt8.poison;
            })});
    }
    c.a.pse_shift = c.buffers.tensor<uint16_t>(c.objects, {2, 4, 3, 40}, ACL_FLOAT16, [](const Dims& at) {
        return encode(sample(2, at[0] + 9, at[2], at[1], at[3]), ACL_FLOAT16);
    });
    uint64_t word = 0x4000000000000fffU;  // of the low half the matrix unit does not look at the lowest bits
    float number;
    number = static_cast<float>(score);
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    word |= bits;
    c.a.deq_scale1 = c.objects.tensor({1}, ACL_UINT64, &word);
    c.a.quant_scale1 = c.floats({127.0f});
    c.a.deq_scale2 = c.floats({static_cast<float>(out / 127)});
    c.check("INT8, one scale a tensor");
}

void test_mla(const Format& f, const std::string& layout, int rank) {
    Truth t{4, 1, 512, {3, 0, 2}, {130, 5, 9}, false, {}, {}};
    if (layout == "BNSD") t.rows = {2, 2, 2};
    const double key_scale = f.type == ACL_INT8 ? 0.03125 : 0.125, value_scale = 0.5;
    t.logit = [=, &f](int64_t b, int64_t h, int64_t i, int64_t j) {
        return (dot(f, 512, b, h, i, 0, j) + rope_dot(b, h, i, 0, j)) * scale_at(4, b, i, h) * key_scale * 0.25;
    };
    t.value = [=, &f](int64_t b, int64_t, int64_t j, int64_t d) { return number_at(f, 1, b, j, 0, d) * value_scale; };
    Case c(layout, t, f, 512);
    c.a.scale_value = 0.25;
    c.a.query_quant_mode = 3;
    const Pages pages(t.keys, 128);
    c.page(pages);
    const auto cache = [&](int64_t dim, int64_t chunk, aclDataType type, auto element, auto poison) {
        using T = decltype(poison);
        const Dims dims = rank == 3   ? Dims{pages.blocks, 128, dim}
                          : rank == 4 ? Dims{pages.blocks, 1, 128, dim}
                                      : Dims{pages.blocks, 1, dim / chunk, 128, chunk};
        return c.buffers.tensor<T>(c.objects, dims, type, [=](const Dims& at) -> T {
            const int64_t row = rank == 3 ? at[1] : rank == 4 ? at[2] : at[3];
            const int64_t d = rank == 3 ? at[2] : rank == 4 ? at[3] : at[2] * chunk + at[4];
            int64_t b = 0, j = 0;
            return pages.find(at[0], row, &b, &j) ? element(b, j, d) : poison;
        });
    };
    c.a.key = c.objects.list({cache(512, 32, f.type,
                                    [&f](int64_t b, int64_t j, int64_t d) { return code_at(f, 1, b, j, 0, d); },
                                    f.poison)});
    const Dims unread = rank == 3   ? Dims{pages.blocks, 128, 512}
                        : rank == 4 ? Dims{pages.blocks, 1, 128, 512}
                                    : Dims{pages.blocks, 1, 16, 128, 32};
    c.a.value = c.objects.list({c.objects.tensor(unread, f.type, nullptr)});
    c.a.key_rope = cache(64, 16, ACL_BF16,
                         [](int64_t b, int64_t j, int64_t d) { return encode(sample(3, b, j, 50, d), ACL_BF16); },
                         kPoison);
    c.a.query_rope = c.tokens<uint16_t>(ACL_BF16, 64, [](int64_t b, int64_t h, int64_t i, int64_t d) {
        return encode(sample(3, b, i, h, d), ACL_BF16);
    });
    c.a.dequant_scale_query = c.tokens<float>(ACL_FLOAT, 0, [](int64_t b, int64_t h, int64_t i, int64_t) {
        return static_cast<float>(scale_at(4, b, i, h));
    });
    c.a.key_antiquant_scale = c.floats({static_cast<float>(key_scale)});
    c.a.value_antiquant_scale = c.floats({static_cast<float>(value_scale)});
    c.check("decode MLA of type " + std::to_string(f.type) + ", " + layout + ", cache of rank " + std::to_string(rank));
}

// `fused`: a block's scales of keys follow its keys, in one piece of memory.
void test_gqa(bool fused) {
    Truth t{6, 2, 128, {3, 0, 2}, {130, 5, 300}, true, {}, {}};
    t.logit = [](int64_t b, int64_t h, int64_t i, int64_t j) {
        return dot(kE4m3, 128, b, h, i, h / 3, j) * scale_at(4, b, i, h) * scale_at(5, b, j, h / 3) * 0.25;
    };
    t.value = [](int64_t b, int64_t hk, int64_t j, int64_t d) {
        return number_at(kE4m3, 2, b, j, hk, d) * double(1 + 2 * hk);
    };
    Case c("NTD_TND", t, kE4m3, 128);
    c.a.scale_value = 0.25;
    c.a.query_quant_mode = c.a.key_antiquant_mode = 3;
    c.a.value_antiquant_mode = 2;
    const Pages pages(t.keys, 128);
    c.page(pages);
    const int64_t plain = 2 * 128 * 128, tail = fused ? 2 * 128 * 4 : 0, block = plain + tail;
    std::vector<uint8_t> memory(static_cast<size_t>(pages.blocks * block), kE4m3.poison);
    std::vector<float> apart(static_cast<size_t>(pages.blocks * 256), std::nanf(""));
    for (int64_t n = 0; n < pages.blocks; ++n) {
        for (int64_t hk = 0; hk < 2; ++hk) {
            for (int64_t r = 0; r < 128; ++r) {
                int64_t b = 0, j = 0;
                if (!pages.find(n, r, &b, &j)) continue;
                for (int64_t d = 0; d < 128; ++d) {
                    memory[n * block + (hk * 128 + r) * 128 + d] = code_at(kE4m3, 1, b, j, hk, d);
                }
                const float scale = static_cast<float>(scale_at(5, b, j, hk));
                const int64_t place = hk * 128 + r;
                apart[n * 256 + place] = scale;
                if (fused) std::memcpy(&memory[n * block + plain + place * 4], &scale, sizeof scale);
            }
        }
    }
    const int64_t bytes = static_cast<int64_t>(memory.size());
    c.a.key = c.objects.list({c.objects.strided({pages.blocks, 2, 128, 128}, {block, 128 * 128, 128, 1}, 0, bytes,
                                                kE4m3.type, memory.data())});
    c.a.key_antiquant_scale =
        fused ? c.objects.strided({pages.blocks, 2, 128}, {block / 4, 128, 1}, plain / 4, bytes / 4, ACL_FLOAT,
                                  memory.data())
              : c.objects.tensor({pages.blocks, 2, 128}, ACL_FLOAT, apart.data());
    c.a.value = c.objects.list({c.buffers.tensor<uint8_t>(
        c.objects, {pages.blocks, 2, 128, 128}, kE4m3.type, [&](const Dims& at) {
            int64_t b = 0, j = 0;
            return pages.find(at[0], at[2], &b, &j) ? code_at(kE4m3, 2, b, j, at[1], at[3]) : kE4m3.poison;
        })});
    c.a.value_antiquant_scale = c.floats({1.0f, 3.0f});
    c.a.dequant_scale_query = c.tokens<float>(ACL_FLOAT, 0, [](int64_t b, int64_t h, int64_t i, int64_t) {
        return static_cast<float>(scale_at(4, b, i, h));
    });
    const std::string what = std::string("FP8 with grouped heads") + (fused ? ", scales behind their keys" : "");
    c.check(what);
    c.a.quant_scale1 = c.floats({448.0f});
    c.check(what + ", weights up to 448");
}

// `rank` of the cache, 0 without pages.
void test_mxfp8(int rank, int64_t dim, bool rope, bool by_kv_head) {
    const Format& f = kE4m3;
    Truth t{6, 2, dim, {3, 0, 2}, {130, 0, 70}, true, {}, {}};
    const double factor = dim == 64 ? 0.0625 : 0.03125;
    t.logit = [=, &f](int64_t b, int64_t h, int64_t i, int64_t j) {
        double sum = rope ? rope_dot(b, h, i, h / 3, j) : 0.0;
        for (int64_t d = 0; d < dim; ++d) {
            sum += number_at(f, 0, b, i, h, d) * number_of(power_at(4, b, i, h, d / 32)) *
                   number_at(f, 1, b, j, h / 3, d) * number_of(power_at(5, b, j, h / 3, d / 32));
        }
        return sum * factor;
    };
    t.value = [=, &f](int64_t b, int64_t hk, int64_t j, int64_t d) {
        return number_at(f, 2, b, j, hk, d) * number_of(power_at(6, b, j / 32, hk, d));
    };
    Case c("TND", t, f, dim);
    c.a.scale_value = factor;
    c.a.query_quant_mode = c.a.key_antiquant_mode = 6;
    c.a.value_antiquant_mode = 8;
    const int64_t tokens = c.extent.s, pairs = dim / 64, size = 64;
    c.a.dequant_scale_query =
        by_kv_head ? c.buffers.tensor<uint8_t>(c.objects, {2, tokens, 3, pairs, 2}, ACL_FLOAT8_E8M0,
                                               [&](const Dims& at) {
                                                   int64_t b = 0, i = 0;
                                                   c.locate(0, at[1], &b, &i);
                                                   return power_at(4, b, i, at[0] * 3 + at[2], at[3] * 2 + at[4]);
                                               })
                   : c.buffers.tensor<uint8_t>(c.objects, {tokens, 6, pairs, 2}, ACL_FLOAT8_E8M0, [&](const Dims& at) {
                         int64_t b = 0, i = 0;
                         c.locate(0, at[0], &b, &i);
                         return power_at(4, b, i, at[1], at[2] * 2 + at[3]);
                     });
    if (rope) {
        c.a.query_rope = c.tokens<uint16_t>(ACL_BF16, 64, [](int64_t b, int64_t h, int64_t i, int64_t d) {
            return encode(sample(3, b, i, h, d), ACL_BF16);
        });
    }
    const auto key_rope = [](int64_t b, int64_t j, int64_t hk, int64_t d) {
        return encode(sample(3, b, j, hk + 50, d), ACL_BF16);
    };
    constexpr uint8_t kNan = 0xff;  // of E8M0
    if (rank == 0) {
        // Keys of the first sequence, then of the third.
        const auto find = [](int64_t token, int64_t* b) {
            *b = token < 130 ? 0 : 2;
            return token - (*b == 0 ? 0 : 130);
        };
        for (const int64_t tensor : {1, 2}) {
            (tensor == 1 ? c.a.key : c.a.value) = c.objects.list(
                {c.buffers.tensor<uint8_t>(c.objects, {200, 2, dim}, f.type, [&, tensor](const Dims& at) {
                    int64_t b = 0;
                    const int64_t j = find(at[0], &b);
                    return code_at(f, tensor, b, j, at[1], at[2]);
                })});
        }
        c.a.key_antiquant_scale = c.buffers.tensor<uint8_t>(
            c.objects, {200, 2, pairs, 2}, ACL_FLOAT8_E8M0, [&](const Dims& at) {
                int64_t b = 0;
                const int64_t j = find(at[0], &b);
                return power_at(5, b, j, at[1], at[2] * 2 + at[3]);
            });
        c.a.value_antiquant_scale = c.buffers.tensor<uint8_t>(
            c.objects, {3 + 2, 2, dim, 2}, ACL_FLOAT8_E8M0, [&](const Dims& at) {
                const int64_t b = at[0] < 3 ? 0 : 2, group = (at[0] - (b == 0 ? 0 : 3)) * 2 + at[3];
                return group * 32 < t.keys[b] ? power_at(6, b, group, at[1], at[2]) : kNan;
            });
        if (rope) {
            c.a.key_rope = c.buffers.tensor<uint16_t>(c.objects, {200, 2, 64}, ACL_BF16, [&](const Dims& at) {
                int64_t b = 0;
                const int64_t j = find(at[0], &b);
                return key_rope(b, j, at[1], at[2]);
            });
        }
        c.a.actual_seq_lengths_kv = c.objects.ints({130, 130, 200});
    } else {
        const Pages pages(t.keys, size);
        c.page(pages);
        // Blocks and heads with gaps.
        const auto steps = [](const Dims& dims) {
            Dims strides(dims.size(), 1);
            for (size_t axis = dims.size(); axis-- > 3;) strides[axis - 1] = strides[axis] * dims[axis];
            strides[1] = strides[2] * dims[2] + 48;
            strides[0] = strides[1] * dims[1] + 16;
            return strides;
        };
        const auto cache = [&](int64_t channels, int64_t chunk, aclDataType type, auto element, auto poison) {
            using T = decltype(poison);
            const Dims dims = rank == 4 ? Dims{pages.blocks, 2, size, channels}
                                        : Dims{pages.blocks, 2, channels / chunk, size, chunk};
            return c.buffers.tensor<T>(
                c.objects, dims, type,
                [=](const Dims& at) -> T {
                    int64_t b = 0, j = 0;
                    if (!pages.find(at[0], at[rank == 4 ? 2 : 3], &b, &j)) return poison;
                    return element(b, j, at[1], rank == 4 ? at[3] : at[2] * chunk + at[4]);
                },
                steps(dims), poison);
        };
        for (const int64_t tensor : {1, 2}) {
            (tensor == 1 ? c.a.key : c.a.value) = c.objects.list({cache(
                dim, 32, f.type,
                [&f, tensor](int64_t b, int64_t j, int64_t hk, int64_t d) { return code_at(f, tensor, b, j, hk, d); },
                f.poison)});
        }
        if (rope) c.a.key_rope = cache(64, 16, ACL_BF16, key_rope, kPoison);
        const Dims keys = rank == 4 ? Dims{pages.blocks, 2, size, pairs, 2}
                                    : Dims{pages.blocks, 2, size / 16, pairs, 16, 2};
        c.a.key_antiquant_scale = c.buffers.tensor<uint8_t>(
            c.objects, keys, ACL_FLOAT8_E8M0,
            [=](const Dims& at) {
                int64_t b = 0, j = 0;
                if (!pages.find(at[0], rank == 4 ? at[2] : at[2] * 16 + at[4], &b, &j)) return kNan;
                return power_at(5, b, j, at[1], at[3] * 2 + at.back());
            },
            steps(keys), kNan);
        const Dims values = rank == 4 ? Dims{pages.blocks, 2, size / 64, dim, 2}
                                      : Dims{pages.blocks, 2, dim / 16, size / 64, 16, 2};
        c.a.value_antiquant_scale = c.buffers.tensor<uint8_t>(
            c.objects, values, ACL_FLOAT8_E8M0,
            [=](const Dims& at) {
                const int64_t pair = rank == 4 ? at[2] : at[3], d = rank == 4 ? at[3] : at[2] * 16 + at[4];
                int64_t b = 0, j = 0;
                if (!pages.find(at[0], (pair * 2 + at.back()) * 32, &b, &j)) return kNan;
                return power_at(6, b, j / 32, at[1], d);
            },
            steps(values), kNan);
    }
    const std::string what = "MXFP8, head dim " + std::to_string(dim) + (rope ? " and rope" : "") + ", rank " +
                             std::to_string(rank) + (by_kv_head ? ", query's scales by key head" : "");
    c.check(what);
    if (rope) return;
    c.a.quant_scale1 = c.floats({256.0f});
    c.t.lse_shift = std::log(256.0);
    c.check(what + ", weights up to 256");
}

// One change to a good call, and what its refusal says.
void test_refusals() {
    Truth t{2, 1, 64, {2}, {3}, false, {}, {}};
    Case c("TND", t, kE4m3, 64);
    const auto codes = [&](const Dims& dims, aclDataType type) {
        return c.buffers.tensor<uint8_t>(c.objects, dims, type, [](const Dims&) { return uint8_t{0x7f}; });
    };
    c.a.query_quant_mode = c.a.key_antiquant_mode = 6;
    c.a.value_antiquant_mode = 8;
    c.a.key = c.objects.list({codes({3, 1, 64}, kE4m3.type)});
    c.a.value = c.objects.list({codes({3, 1, 64}, kE4m3.type)});
    c.a.dequant_scale_query = codes({2, 2, 1, 2}, ACL_FLOAT8_E8M0);
    c.a.key_antiquant_scale = codes({3, 1, 1, 2}, ACL_FLOAT8_E8M0);
    c.a.value_antiquant_scale = codes({1, 1, 64, 2}, ACL_FLOAT8_E8M0);
    c.a.actual_seq_lengths_kv = c.objects.ints({3});
    expect(call(c.a) == 0, "the good call: " + recent_message());
    const Arguments good = c.a;
    const auto refused = [&](const std::string& parameter, const std::string& id,
                             const std::function<void(Arguments&)>& change, aclnnStatus code = 561002) {
        Arguments a = good;
        change(a);
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        const aclnnStatus status = a.phase_one(&size, &executor);
        const std::string message = status == 0 ? "" : recent_message();
        expect(status == code && message.rfind(parameter + ": expected ", 0) == 0 &&
                   message.find("[" + id + "]") != std::string::npos,
               parameter + " " + id + ": status " + std::to_string(status) + " " + message);
        if (status == 0) aclDestroyAclOpExecutor(executor);
    };
    refused("dequantScaleQuery", "DQF-E-12", [](Arguments& a) { a.dequant_scale_query = nullptr; });
    refused("valueAntiquantScale", "DQF-E-12", [](Arguments& a) { a.value_antiquant_scale = nullptr; });
    refused("keyAntiquantScale", "DQF-S-08",
            [&](Arguments& a) { a.key_antiquant_scale = codes({3, 1, 1, 2}, ACL_INT8); });
    refused("dequantScaleQuery", "DQF-X-41",
            [&](Arguments& a) { a.dequant_scale_query = codes({2, 1, 2, 2}, ACL_FLOAT8_E8M0); });
    refused("keyAntiquantScale", "DQF-X-42",
            [&](Arguments& a) { a.key_antiquant_scale = codes({3, 1, 2, 1}, ACL_FLOAT8_E8M0); });
    refused("valueAntiquantScale", "DQF-X-42",
            [&](Arguments& a) { a.value_antiquant_scale = codes({2, 1, 64, 2}, ACL_FLOAT8_E8M0); });
    refused("quantScale1", "DQF-S-09", [&](Arguments& a) { a.quant_scale1 = c.floats({1.0f, 2.0f}); });
    refused("deqScale1", "DQF-E-13", [&](Arguments& a) { a.deq_scale1 = c.floats({1.0f}); });
    refused("keyAntiquantOffset", "DQF-E-13",
            [&](Arguments& a) { a.key_antiquant_offset = codes({3, 1, 1, 2}, ACL_FLOAT8_E8M0); });
    refused("attentionOut", "API-S-01", [&](Arguments& a) { a.attention_out = codes({2, 2, 64}, ACL_INT8); }, 161002);
    refused("learnableSink", "SINK-X-09", [&](Arguments& a) {
        a.learnable_sink =
            c.buffers.tensor<uint16_t>(c.objects, {2}, ACL_BF16, [](const Dims&) { return uint16_t{0}; });
    });
    refused("queryQuantMode", "DQF-S-07", [](Arguments& a) { a.value_antiquant_mode = 7; });
    refused("attentionOut", "HOST-C-03", [&](Arguments& a) {
        a.attention_out = c.objects.tensor({2, 2, 64}, ACL_BF16, const_cast<uint16_t*>(c.out.data()));
        a.quant_scale1 = c.objects.tensor({1}, ACL_FLOAT, c.out.data() + 2);
    });
    refused("keyAntiquantScale", "HOST-C-02",
            [&](Arguments& a) { a.key_antiquant_scale = c.objects.tensor({3, 1, 1, 2}, ACL_FLOAT8_E8M0, nullptr); });
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_per_tensor();
    for (const std::string layout : {"TND", "TND_NTD"}) test_mla(kInt8, layout, 5);
    for (const Format* format : {&kE4m3, &kHif8}) {
        for (const int rank : {3, 4, 5}) test_mla(*format, "TND", rank);
        test_mla(*format, "BNSD", 4);
    }
    test_gqa(false);
    test_gqa(true);
    for (const int rank : {0, 4, 5}) {
        for (const int64_t dim : {64, 128}) {
            test_mxfp8(rank, dim, false, dim == 64);
            test_mxfp8(rank, dim, true, dim == 128);
        }
    }
    if (!kOnSim) test_refusals();  // of a call in MXFP8
    return check_result();
}
