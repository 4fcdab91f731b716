// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A call in terms of the mathematics (sequences, heads, lengths), the buffers that any layout and storage make of it,
// and the answer by plain loops. Index arithmetic here is written from axis letters, independently of the library's.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "two_phase_call.h"

namespace two_phase {

enum class Kv { dense, list, paged3, paged4, paged5 };

struct Scenario {
    std::string layout = "BSND";
    aclDataType type = ACL_FLOAT16;
    int64_t heads = 2, kv_heads = 2, dim = 16, dim_v = 16;
    std::vector<int64_t> q_len{3}, kv_len{5};  // of each sequence
    int64_t sq = 3, skv = 5;                   // token axes of batched layouts
    int64_t sparse_mode = 0;
    int64_t pre = INT_MAX, next = INT_MAX;
    bool mask = false;      // sparse mode 0 and 1: hides some keys of each sequence
    bool mask_shared = false;
    Kv kv = Kv::dense;
    int64_t block_size = 4;
    int64_t block_gap = 0;  // elements between blocks

    int64_t batch() const { return static_cast<int64_t>(q_len.size()); }
    bool packed() const { return layout.find('T') != std::string::npos; }
    bool paged() const { return kv != Kv::dense && kv != Kv::list; }
};

// Query, key and value are functions of what they stand for, so that every layout holds the same numbers.
inline float sample(int tensor, int64_t b, int64_t token, int64_t head, int64_t d) {
    uint32_t x = static_cast<uint32_t>(((b * 131 + token) * 37 + head) * 521 + d) * 4u + static_cast<uint32_t>(tensor);
    x ^= x >> 16, x *= 0x7feb352dU, x ^= x >> 15, x *= 0x846ca68bU, x ^= x >> 16;
    return static_cast<float>(static_cast<int32_t>(x % 129) - 64) / 64.0f;  // exact in both types
}

// Codecs of our own, so that a mistake in the library's cannot cancel out. encode: values that the type holds exactly.
inline uint16_t encode(float value, aclDataType type) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == ACL_BF16) return static_cast<uint16_t>(bits >> 16);
    if (value == 0.0f) return 0;
    const uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff));
}

inline float decode(uint16_t code, aclDataType type) {
    if (type == ACL_BF16) {
        const uint32_t bits = static_cast<uint32_t>(code) << 16;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    const int exponent = code >> 10 & 0x1f, fraction = code & 0x3ff;
    if (exponent == 0x1f) return std::numeric_limits<float>::quiet_NaN();  // or infinity: neither is ever right here
    const float magnitude = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 0x400),
                                       exponent == 0 ? -24 : exponent - 25);
    return (code & 0x8000) != 0 ? -magnitude : magnitude;
}

inline bool mask_hides(const Scenario& s, int64_t b, int64_t i, int64_t j) {
    return (3 * i + 5 * j + (s.mask_shared ? 0 : 7 * b)) % 4 == 1;
}

inline bool sees(const Scenario& s, int64_t b, int64_t i, int64_t j) {
    const int64_t shift = s.kv_len[b] - s.q_len[b];
    switch (s.sparse_mode) {
        case 0: return !s.mask || (!mask_hides(s, b, i, j) && i - s.pre <= j && j <= i + s.next);
        case 1: return !mask_hides(s, b, i, j);
        case 2: return j <= i;
        case 3: return j <= i + shift;
        default: return i - s.pre + shift <= j && j <= i + s.next + shift;
    }
}

struct Answer {
    std::vector<double> out;  // [b][h][i][d], only rows in use
    std::vector<double> lse;  // [b][h][i]
};

inline Answer plain_answer(const Scenario& s, double scale) {
    Answer answer;
    for (int64_t b = 0; b < s.batch(); ++b) {
        for (int64_t h = 0; h < s.heads; ++h) {
            const int64_t hk = h / (s.heads / s.kv_heads);
            for (int64_t i = 0; i < s.q_len[b]; ++i) {
                std::vector<double> logits(s.kv_len[b], -std::numeric_limits<double>::infinity());
                double top = -std::numeric_limits<double>::infinity();
                for (int64_t j = 0; j < s.kv_len[b]; ++j) {
                    if (!sees(s, b, i, j)) continue;
                    double dot = 0.0;
                    for (int64_t d = 0; d < s.dim; ++d) {
                        dot += double(sample(0, b, i, h, d)) * double(sample(1, b, j, hk, d));
                    }
                    logits[j] = dot * scale;
                    top = std::max(top, logits[j]);
                }
                const bool blind = std::isinf(top);
                double sum = 0.0;
                std::vector<double> row(s.dim_v, 0.0);
                for (int64_t j = 0; j < s.kv_len[b] && !blind; ++j) {
                    const double p = std::exp(logits[j] - top);
                    sum += p;
                    for (int64_t d = 0; d < s.dim_v; ++d) row[d] += p * double(sample(2, b, j, hk, d));
                }
                for (const double x : row) answer.out.push_back(blind ? 0.0 : x / sum);
                answer.lse.push_back(blind ? std::numeric_limits<double>::infinity() : top + std::log(sum));
            }
        }
    }
    return answer;
}

// Position of an element of a dense tensor whose axes are `letters`, e.g. "BNSD"; H is N and D fused, T a packed S.
struct Axes {
    int64_t b, s, n, d;
};
inline int64_t position(const std::string& letters, const Axes& extent, const Axes& index) {
    int64_t at = 0;
    for (const char letter : letters) {
        if (letter == 'B') at = at * extent.b + index.b;
        if (letter == 'S' || letter == 'T') at = at * extent.s + index.s;
        if (letter == 'N') at = at * extent.n + index.n;
        if (letter == 'H') at = (at * extent.n + index.n) * extent.d + index.d;
        if (letter == 'D') at = at * extent.d + index.d;
    }
    return at;
}
inline Dims dims_of(const std::string& letters, const Axes& extent) {
    Dims dims;
    for (const char letter : letters) {
        dims.push_back(letter == 'B' ? extent.b : letter == 'N' ? extent.n : letter == 'D' ? extent.d
                       : letter == 'H' ? extent.n * extent.d : extent.s);
    }
    return dims;
}
inline int64_t count(const Dims& dims) {
    int64_t product = 1;
    for (const int64_t dim : dims) product *= dim;
    return product;
}

constexpr uint16_t kPoison = 0x7fff;  // NaN in both types: wherever nothing may be read

// The buffers of a scenario, and the call on them.
class Prepared {
public:
    explicit Prepared(const Scenario& scenario, double scale, bool with_lse = true) : s_(scenario) {
        const size_t bar = s_.layout.find('_');
        in_ = s_.layout.substr(0, bar);
        out_axes_ = bar == std::string::npos ? in_ : s_.layout.substr(bar + 1);
        q_total_ = running(s_.q_len);
        arguments.num_heads = s_.heads;
        arguments.num_key_value_heads = s_.kv_heads;
        arguments.scale_value = scale;
        arguments.input_layout = s_.layout;
        arguments.sparse_mode = s_.sparse_mode;
        arguments.pre_tokens = s_.pre;
        arguments.next_tokens = s_.next;
        arguments.softmax_lse_flag = with_lse;
        make_query();
        if (s_.paged()) {
            make_cache();
        } else if (s_.kv == Kv::list) {
            make_list();
        } else {
            make_dense();
        }
        make_lengths();
        make_mask();
        make_outputs(with_lse);
    }

    Arguments arguments;
    Objects objects;
    std::vector<uint16_t> query, out;
    std::vector<std::vector<uint16_t>> key, value;  // buffers of the members
    std::vector<int32_t> table;
    std::vector<uint8_t> mask;
    std::vector<float> lse;

    // The used rows in the order of Answer.
    std::vector<uint16_t> out_rows() const {
        std::vector<uint16_t> rows;
        visit_rows([&](int64_t b, int64_t h, int64_t i) {
            for (int64_t d = 0; d < s_.dim_v; ++d) {
                rows.push_back(out[position(out_axes_, out_extent(), at(b, i, h, d, q_total_))]);
            }
        });
        return rows;
    }
    std::vector<float> lse_rows() const {
        std::vector<float> rows;
        visit_rows([&](int64_t b, int64_t h, int64_t i) { rows.push_back(lse[lse_position(b, h, i)]); });
        return rows;
    }
    // Whether rows beyond the sequences' lengths are 0 and +inf.
    bool padding_is_clean() const {
        if (s_.packed()) return true;
        for (int64_t b = 0; b < s_.batch(); ++b) {
            for (int64_t h = 0; h < s_.heads; ++h) {
                for (int64_t i = s_.q_len[b]; i < s_.sq; ++i) {
                    for (int64_t d = 0; d < s_.dim_v; ++d) {
                        if (out[position(out_axes_, out_extent(), {b, i, h, d})] != 0) return false;
                    }
                    if (!lse.empty() && !(std::isinf(lse[lse_position(b, h, i)]) && lse[lse_position(b, h, i)] > 0)) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

private:
    static std::vector<int64_t> running(const std::vector<int64_t>& lengths) {
        std::vector<int64_t> totals;
        for (const int64_t length : lengths) totals.push_back((totals.empty() ? 0 : totals.back()) + length);
        return totals;
    }
    // Index of a token in a tensor whose sequences are packed by `totals`, or stand in a batch axis.
    Axes at(int64_t b, int64_t token, int64_t head, int64_t d, const std::vector<int64_t>& totals) const {
        if (!s_.packed()) return {b, token, head, d};
        return {0, (b == 0 ? 0 : totals[b - 1]) + token, head, d};
    }
    Axes q_extent() const { return {s_.batch(), s_.packed() ? q_total_.back() : s_.sq, s_.heads, s_.dim}; }
    Axes out_extent() const { return {s_.batch(), s_.packed() ? q_total_.back() : s_.sq, s_.heads, s_.dim_v}; }
    int64_t lse_position(int64_t b, int64_t h, int64_t i) const {
        const std::string axes = s_.packed() ? "TN" : "BNS";
        return position(axes, out_extent(), at(b, i, h, 0, q_total_));
    }
    template <class Visit>
    void visit_rows(Visit&& visit) const {
        for (int64_t b = 0; b < s_.batch(); ++b) {
            for (int64_t h = 0; h < s_.heads; ++h) {
                for (int64_t i = 0; i < s_.q_len[b]; ++i) visit(b, h, i);
            }
        }
    }
    // Writes a sequence's tokens of a tensor (0 query, 1 key, 2 value) through `place(token, head, d)`.
    template <class Place>
    void write(int tensor, int64_t b, int64_t tokens, int64_t heads, int64_t dim, std::vector<uint16_t>& to,
               Place&& place) const {
        for (int64_t t = 0; t < tokens; ++t) {
            for (int64_t h = 0; h < heads; ++h) {
                for (int64_t d = 0; d < dim; ++d) to[place(t, h, d)] = encode(sample(tensor, b, t, h, d), s_.type);
            }
        }
    }

    void make_query() {
        const Axes extent = q_extent();
        query.assign(count(dims_of(in_, extent)), kPoison);
        for (int64_t b = 0; b < s_.batch(); ++b) {
            write(0, b, s_.q_len[b], s_.heads, s_.dim, query, [&](int64_t t, int64_t h, int64_t d) {
                return position(in_, extent, at(b, t, h, d, q_total_));
            });
        }
        arguments.query = objects.tensor(dims_of(in_, extent), s_.type, query.data());
    }

    void make_dense() {
        const std::vector<int64_t> totals = running(s_.kv_len);
        for (const int tensor : {1, 2}) {
            const int64_t dim = tensor == 1 ? s_.dim : s_.dim_v;
            const Axes extent{s_.batch(), s_.packed() ? totals.back() : s_.skv, s_.kv_heads, dim};
            auto& buffers = tensor == 1 ? key : value;
            buffers.emplace_back(count(dims_of(in_, extent)), kPoison);
            for (int64_t b = 0; b < s_.batch(); ++b) {
                write(tensor, b, s_.kv_len[b], s_.kv_heads, dim, buffers[0], [&](int64_t t, int64_t h, int64_t d) {
                    return position(in_, extent, at(b, t, h, d, totals));
                });
            }
            (tensor == 1 ? arguments.key : arguments.value) =
                objects.list({objects.tensor(dims_of(in_, extent), s_.type, buffers[0].data())});
        }
    }

    void make_list() {
        for (const int tensor : {1, 2}) {
            const int64_t dim = tensor == 1 ? s_.dim : s_.dim_v;
            auto& buffers = tensor == 1 ? key : value;
            std::vector<const aclTensor*> members;
            for (int64_t b = 0; b < s_.batch(); ++b) {
                const Axes extent{1, s_.kv_len[b] + b % 2, s_.kv_heads, dim};  // some members are longer than used
                buffers.emplace_back(count(dims_of(in_, extent)), kPoison);
                write(tensor, b, s_.kv_len[b], s_.kv_heads, dim, buffers.back(), [&](int64_t t, int64_t h, int64_t d) {
                    return position(in_, extent, {0, t, h, d});
                });
                members.push_back(objects.tensor(dims_of(in_, extent), s_.type, buffers.back().data()));
            }
            (tensor == 1 ? arguments.key : arguments.value) = objects.list(members);
        }
    }

    void make_cache() {
        const int64_t size = s_.block_size;
        int64_t columns = 1;
        for (const int64_t length : s_.kv_len) columns = std::max(columns, (length + size - 1) / size + 1);
        const int64_t blocks = s_.batch() * columns;
        table.assign(blocks, -1);
        for (int64_t b = 0; b < s_.batch(); ++b) {  // used blocks stand in reverse order, the rest of a row is -1
            for (int64_t c = 0; c * size < s_.kv_len[b]; ++c) {
                table[b * columns + c] = static_cast<int32_t>(blocks - 1 - (b * columns + c));
            }
        }
        arguments.block_table = objects.tensor({s_.batch(), columns}, ACL_INT32, table.data());
        arguments.block_size = size;
        for (const int tensor : {1, 2}) {
            const int64_t dim = tensor == 1 ? s_.dim : s_.dim_v;
            const int64_t n = s_.kv_heads;
            const Dims dims = s_.kv == Kv::paged3   ? Dims{blocks, size, n * dim}
                              : s_.kv == Kv::paged4 ? Dims{blocks, n, size, dim}
                                                    : Dims{blocks, n, dim / 16, size, 16};
            const int64_t head = s_.kv == Kv::paged3 ? dim : size * dim + s_.block_gap;
            const int64_t block = (s_.kv == Kv::paged3 ? size * n * dim : n * head) + s_.block_gap;
            const int64_t offset = s_.block_gap;
            auto& buffers = tensor == 1 ? key : value;
            buffers.emplace_back(offset + blocks * block, kPoison);
            for (int64_t b = 0; b < s_.batch(); ++b) {
                write(tensor, b, s_.kv_len[b], n, dim, buffers[0], [&](int64_t t, int64_t h, int64_t d) {
                    const int64_t r = t % size;
                    const int64_t inner = s_.kv == Kv::paged3   ? r * n * dim + d
                                          : s_.kv == Kv::paged4 ? r * dim + d
                                                                : (d / 16 * size + r) * 16 + d % 16;
                    return offset + table[b * columns + t / size] * block + h * head + inner;
                });
            }
            Dims strides(dims.size(), 1);
            for (size_t axis = dims.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * dims[axis];
            strides[0] = block;
            if (s_.kv != Kv::paged3) strides[1] = head;
            (tensor == 1 ? arguments.key : arguments.value) = objects.list({objects.strided(
                dims, strides, offset, static_cast<int64_t>(buffers[0].size()), s_.type, buffers[0].data())});
        }
    }

    void make_lengths() {
        if (s_.packed()) arguments.actual_seq_lengths = objects.ints(q_total_);
        if (s_.packed() && !s_.paged()) {
            arguments.actual_seq_lengths_kv = objects.ints(running(s_.kv_len));
            return;
        }
        if (!s_.packed()) arguments.actual_seq_lengths = objects.ints(s_.q_len);
        arguments.actual_seq_lengths_kv = objects.ints(s_.kv_len);
    }

    void make_mask() {
        if (!s_.mask) return;
        if (s_.sparse_mode >= 2) {  // the tensor that products want; what it holds is not looked at
            mask.assign(2048 * 2048, 0xff);
            arguments.atten_mask = objects.tensor({2048, 2048}, ACL_BOOL, mask.data());
            return;
        }
        int64_t rows = 1, columns = 3;  // larger than needed
        for (const int64_t length : s_.q_len) rows = std::max(rows, length + 1);
        for (const int64_t length : s_.kv_len) columns = std::max(columns, length + 3);
        const int64_t batches = s_.mask_shared ? 1 : s_.batch();
        mask.assign(batches * rows * columns, 0);
        for (int64_t b = 0; b < batches; ++b) {
            for (int64_t i = 0; i < rows; ++i) {
                for (int64_t j = 0; j < columns; ++j) {
                    mask[(b * rows + i) * columns + j] = mask_hides(s_, b, i, j);
                }
            }
        }
        arguments.atten_mask = objects.tensor({batches, 1, rows, columns}, ACL_UINT8, mask.data());
    }

    void make_outputs(bool with_lse) {
        const Dims dims = dims_of(out_axes_, out_extent());
        out.assign(count(dims), kPoison);
        arguments.attention_out = objects.tensor(dims, s_.type, out.data());
        if (!with_lse) return;
        const Dims lse_dims = s_.packed() ? Dims{out_extent().s, s_.heads, 1} : Dims{s_.batch(), s_.heads, s_.sq, 1};
        lse.assign(count(lse_dims), -1.0f);
        arguments.softmax_lse = objects.tensor(lse_dims, ACL_FLOAT, lse.data());
    }

    Scenario s_;
    std::string in_, out_axes_;
    std::vector<int64_t> q_total_;
};

}  // namespace two_phase
