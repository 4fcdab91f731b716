// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Keys, values and outputs in every stored type through the C interface alone, against plain loops over what codes and
// scales stand for; two_phase_features.cpp has INT8, and INT4 in INT32, with offsets.
#include "two_phase_codes.h"

using namespace two_phase;

namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kRows = 3, kDim = 64, kBlock = 32;

// Of a tensor (1 key, 2 value), sequence, token, head and channel.
using ScaleAt = std::function<double(int64_t tensor, int64_t b, int64_t j, int64_t hk, int64_t d)>;

double sampled_query(int64_t b, int64_t h, int64_t i, int64_t d) { return double(sample(0, b, i, h, d)); }

// A BNSD call; `paged`: of a cache of rank 4.
struct Call {
    Call(const Format& format, bool is_paged) : f(format), paged(is_paged), pages({40, 7}, kBlock) {
        a.input_layout = "BNSD";
        a.num_heads = kHeads;
        a.num_key_value_heads = kKvHeads;
        a.scale_value = 0.125;
        a.softmax_lse_flag = true;
        a.query = buffers.tensor<uint16_t>(objects, {2, kHeads, kRows, kDim}, ACL_FLOAT16, [](const Dims& at) {
            return encode(sample(0, at[0], at[2], at[1], at[3]), ACL_FLOAT16);
        });
        a.actual_seq_lengths_kv = objects.ints(pages.keys);
        if (paged) {
            a.block_table = objects.tensor({2, pages.columns}, ACL_INT32, pages.table.data());
            a.block_size = kBlock;
        }
        a.key = objects.list({stored(1)});
        a.value = objects.list({stored(2)});
        lse.assign(2 * kHeads * kRows, -1.0f);
        a.softmax_lse = objects.tensor({2, kHeads, kRows, 1}, ACL_FLOAT, lse.data());
        out.assign(2 * kHeads * kRows * kDim, kPoison);
        a.attention_out = objects.tensor({2, kHeads, kRows, kDim}, ACL_FLOAT16, out.data());
    }

    // Which token a place of the storage's axes (outer, head, token) is; false: nobody's.
    bool find(int64_t outer, int64_t row, int64_t* b, int64_t* j) const {
        if (paged) return pages.find(outer, row, b, j);
        *b = outer, *j = row;
        return row < pages.keys[outer];
    }
    int64_t outer() const { return paged ? pages.blocks : 2; }
    int64_t tokens() const { return paged ? kBlock : 40; }

    const aclTensor* stored(int64_t tensor) {
        const bool half = f.type == ACL_INT4 || f.type == ACL_FLOAT4_E2M1;  // the even element is the low half
        const auto code = [this, tensor](const Dims& at, int64_t d) {
            int64_t b = 0, j = 0;
            return find(at[0], at[2], &b, &j) ? code_at(f, tensor, b, j, at[1], d) : f.poison;
        };
        Dims dims{outer(), kKvHeads, tokens(), half ? kDim / 2 : kDim};
        const aclTensor* bytes = buffers.tensor<uint8_t>(objects, dims, half ? ACL_UINT8 : f.type, [&](const Dims& at) {
            if (!half) return code(at, at[3]);
            return static_cast<uint8_t>(code(at, at[3] * 2) | code(at, at[3] * 2 + 1) << 4);
        });
        if (!half) return bytes;
        dims[3] = kDim;
        return objects.tensor(dims, f.type, buffers.last());
    }

    void check(const std::string& what, const ScaleAt& scale, const std::function<double(size_t)>& number) {
        Truth t{kHeads, kKvHeads, kDim, {kRows, kRows}, pages.keys, false, {}, {}};
        t.logit = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
            double sum = 0.0;
            for (int64_t d = 0; d < kDim; ++d) {
                sum += sampled_query(b, h, i, d) * number_at(f, 1, b, j, h / 2, d) * scale(1, b, j, h / 2, d);
            }
            return sum * 0.125;
        };
        t.value = [&](int64_t b, int64_t hk, int64_t j, int64_t d) {
            return number_at(f, 2, b, j, hk, d) * scale(2, b, j, hk, d);
        };
        const aclnnStatus status = call(a);
        expect(status == 0, what + ": " + (status == 0 ? "" : recent_message()));
        if (status != 0) return;
        const auto row = [](int64_t b, int64_t h, int64_t i) { return (b * kHeads + h) * kRows + i; };
        hold(t, weights, what,
             [&](int64_t b, int64_t h, int64_t i, int64_t d) {
                 return number(static_cast<size_t>(row(b, h, i) * kDim + d));
             },
             [&](int64_t b, int64_t h, int64_t i) { return double(lse[static_cast<size_t>(row(b, h, i))]); });
    }
    void check(const std::string& what, const ScaleAt& scale) {
        check(what, scale, [this](size_t k) { return double(decode(out[k], ACL_FLOAT16)); });
    }

    const Format& f;
    Format weights = kFloats;
    bool paged;
    Pages pages;
    Arguments a;
    Objects objects;
    Buffers buffers;
    std::vector<uint16_t> out;
    std::vector<float> lse;
};

std::string name(const Format& f, int64_t mode) {
    return "type " + std::to_string(f.type) + ", mode " + std::to_string(mode);
}

void test_mode(const Format& f, int64_t mode) {
    const bool paged = mode == 4 || mode == 5;
    Call c(f, paged);
    c.a.key_antiquant_mode = c.a.value_antiquant_mode = mode;
    const ScaleAt scale = [mode](int64_t tensor, int64_t b, int64_t j, int64_t hk, int64_t d) {
        switch (mode) {
            case 0: return scale_at(tensor + 3, 0, 0, hk, d);
            case 2: return scale_at(tensor + 3, 0, 0, hk);
            case 1:
            case 4: return scale_at(tensor + 3, b, j, 0);
            case 6: return number_of(power_at(tensor + 3, b, j, hk, d / 32));
            default: return scale_at(tensor + 3, b, j, hk);
        }
    };
    for (const int64_t tensor : {1, 2}) {
        const auto number = [&c, scale, tensor](int64_t outer, int64_t hk, int64_t token) {
            int64_t b = 0, j = 0;
            return static_cast<float>(c.find(outer, token, &b, &j) ? scale(tensor, b, j, hk, 0) : std::nan(""));
        };
        const aclTensor* made = nullptr;
        if (mode == 0 || mode == 2) {
            const Dims dims = mode == 0 ? Dims{kKvHeads, kDim} : Dims{kKvHeads};
            made = c.buffers.tensor<uint16_t>(c.objects, dims, ACL_FLOAT16, [=](const Dims& at) {
                return encode(static_cast<float>(scale(tensor, 0, 0, at[0], mode == 0 ? at[1] : 0)), ACL_FLOAT16);
            });
        } else if (mode == 6) {
            made = c.buffers.tensor<uint8_t>(
                c.objects, {1, 2, kKvHeads, 40, kDim / 32}, ACL_FLOAT8_E8M0, [&](const Dims& at) {
                    const bool used = at[3] < c.pages.keys[at[1]];
                    return used ? power_at(tensor + 3, at[1], at[3], at[2], at[4]) : uint8_t{0xff};
                });
        } else if (mode == 1 || mode == 4) {
            made = c.buffers.tensor<float>(c.objects, {c.outer(), c.tokens()}, ACL_FLOAT,
                                           [&](const Dims& at) { return number(at[0], 0, at[1]); });
        } else {
            made = c.buffers.tensor<float>(c.objects, {c.outer(), kKvHeads, c.tokens()}, ACL_FLOAT,
                                           [&](const Dims& at) { return number(at[0], at[1], at[2]); });
        }
        (tensor == 1 ? c.a.key_antiquant_scale : c.a.value_antiquant_scale) = made;
    }
    c.check(name(f, mode), scale);
}

double e4m3(uint8_t code) {
    const int exponent = code >> 3 & 15, fraction = code & 7;
    if ((code & 0x7f) == 0x7f) return std::nan("");
    const double size = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    return code & 0x80 ? -size : size;
}

// A prefix says how many bits the exponent has; its first bit is its sign, and before the others stands a 1.
double hif8(uint8_t code) {
    const int rest = code & 0x7f;
    if (code == 0x80 || rest == 0x6f) return std::nan("");  // infinity is never right here either
    const int bits = rest >= 0x60 ? 4 : rest >= 0x40 ? 3 : rest >= 0x20 ? 2 : rest >= 0x10 ? 1 : 0;
    const int kept = bits == 4 ? 1 : bits == 3 ? 2 : 3;
    double size = 0.0;
    if (rest >= 8) {
        int exponent = 0;
        if (bits > 0) {
            const int field = rest >> kept & ((1 << bits) - 1), top = 1 << (bits - 1);
            exponent = (field & (top - 1)) | top;
            if (field & top) exponent = -exponent;
        }
        size = std::ldexp((1 << kept) + (rest & ((1 << kept) - 1)), exponent - kept);
    } else if (rest > 0) {
        size = std::ldexp(1.0, rest - 23);
    }
    return code & 0x80 ? -size : size;
}

// Outputs of 8 bits: of a cache of the same type, as products want it.
void test_output(const Format& f, double (*decoded)(uint8_t), double step) {
    for (const bool by_channel : {false, true}) {
        Call c(f, false);
        const aclTensor* ones = c.buffers.tensor<uint16_t>(c.objects, {kKvHeads, kDim}, ACL_FLOAT16,
                                                           [](const Dims&) { return encode(1.0f, ACL_FLOAT16); });
        c.a.key_antiquant_scale = c.a.value_antiquant_scale = ones;
        std::vector<uint8_t> codes(c.out.size(), f.poison);
        c.a.attention_out = c.objects.tensor({2, kHeads, kRows, kDim}, f.type, codes.data());
        const auto scale = [=](int64_t h, int64_t d) { return by_channel ? scale_at(7, 0, 0, h, d) : 2.0; };
        c.a.quant_scale2 = c.buffers.tensor<float>(
            c.objects, by_channel ? Dims{kHeads, kDim} : Dims{1}, ACL_FLOAT,
            [&](const Dims& at) { return static_cast<float>(scale(at[0], by_channel ? at[1] : 0)); });
        c.weights.relative += step;
        c.weights.step = 0.02;  // of the smallest numbers
        const auto number = [&](size_t k) {
            const int64_t d = static_cast<int64_t>(k) % kDim, h = static_cast<int64_t>(k) / (kDim * kRows) % kHeads;
            return decoded(codes[k]) / scale(h, d);
        };
        c.check("output of " + name(f, 0) + (by_channel ? ", scales by channel" : ""),
                [](int64_t, int64_t, int64_t, int64_t, int64_t) { return 1.0; }, number);
    }
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    for (const Format* f : {&kInt8, &kInt4, &kE4m3, &kHif8}) test_mode(*f, 0);
    for (const Format* f : {&kInt8, &kInt4, &kE4m3}) test_mode(*f, 1);
    test_mode(kInt8, 2);
    for (const Format* f : {&kInt8, &kInt4}) test_mode(*f, 3);
    for (const Format* f : {&kInt8, &kE4m3}) test_mode(*f, 4);
    test_mode(kInt8, 5);
    test_mode(kE2m1, 6);
    test_output(kE4m3, e4m3, 1.0 / 16);
    test_output(kHif8, hif8, 1.0 / 8);
    return check_result();
}
