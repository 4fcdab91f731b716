// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of few rows with E4M3 keys and values, from the codes where they lie: packing would cost more than the
// products. For rows that all see the same keys: no weight is 0 because of a mask, so that nothing must be set aside.
#pragma once

#include "engine/full_quant_tile-inl.h"
#include "engine/stream-inl.h"

namespace acl_attn::engine {
namespace {

// Depends on the sequence alone, not on how it is stored, as the choice of arithmetic must.
inline bool may_stream(const FullQuantBlock& f) {
    const RowBlock& b = f.rows;
    if (!f.has_few_rows || b.mask != nullptr || b.rope_dim > 0) return false;
    const Interval first = visible_keys(b, b.row_begin), last = visible_keys(b, b.row_end - 1);
    return first.begin == last.begin && first.end == last.end;
}

template <class A, int kTile>
class FullQuantStream {
public:
    FullQuantStream(const FullQuantBlock& block, const FullQuantScratch& scratch, FullQuantTile<A, kTile>& tile,
                    int rows, int stride)
        : f_(block), s_(scratch), tile_(tile), rows_(rows), stride_(stride),
          ldq_(round_up(block.rows.dim, kStagingAlignment)), ldo_(round_up(block.rows.dim_v, kLanes)) {}

    // As fp32: the scratch is that of more rows than have this form.
    void load_queries() {
        for (int r = 0; r < rows_; r++) {
            tile_.load_query(f_.rows.row_begin + r, s_.query + r * ldq_, ldq_,
                             reinterpret_cast<typename A::Rope::Element*>(s_.query_rope), 0);
        }
    }

    void locate() {
        tile_.locate();
        count_ = tile_.end - tile_.begin;
        join_chunks(f_.rows.key, s_.key_rows, s_.key_staging);
        join_chunks(f_.rows.value, s_.value_rows, s_.value_staging);
    }

    // Into the scores.
    void multiply_keys() {
        if (f_.value_scale.base == nullptr) return dot(0, f_.rows.dim, s_.scores);
        float* parts = s_.key_panels;  // which this form has no use for
        for (int g = 0; g * kScaledGroup < f_.rows.dim; g++) {
            dot(g * kScaledGroup, kScaledGroup, parts);
            tile_.load_group_scales(g);
            for (int r = 0; r < rows_; r++) {
                for (int c = round_down(tile_.begin, kLanes); c < tile_.end; c += kLanes) {
                    float* to = s_.scores + r * stride_ + c;
                    const vf part = load<vf>(parts + r * stride_ + c) * load<vf>(s_.key_scales + c);
                    store(to, g == 0 ? part : part + load<vf>(to));
                }
            }
        }
    }

    // Of the weights that stand in the scores.
    void add_values() {
        if (f_.value_scale.base == nullptr) {
            sum_values(tile_.begin, tile_.end);
            for (int r = 0; r < rows_; r++) join(r, s_.kept[r], [&](int) { return splat(s_.joining[r]); });
            return;
        }
        for (int k = tile_.begin; k < tile_.end;) {
            const int stop = smaller_int(round_down(k, kScaledGroup) + kScaledGroup, tile_.end);
            sum_values(k, stop);
            tile_.load_value_scales(tile_.key + k);
            for (int r = 0; r < rows_; r++) {
                join(r, k == tile_.begin ? s_.kept[r] : 1.0f,
                     [&](int d) { return load_wide<E8M0>(s_.line_scales + d); });
            }
            k = stop;
        }
    }

private:
    void join_chunks(const KvView& view, const void** rows, void* memory) const {
        if (!is_cut(view)) return;
        char* to = static_cast<char*>(memory);
        for (int k = tile_.begin; k < tile_.end; k++, to += view.dim) {
            for_chunks(view, static_cast<const char*>(rows[k]), [&](const char* p, int d, int n) {
                __builtin_memcpy(to + d, p, static_cast<size_t>(n));
            });
            rows[k] = to;
        }
    }

    static int smaller_int(int a, int b) { return a < b ? a : b; }

    // to[r][k] = sum over channels [channel, channel + dim) of query[r] * key k
    void dot(int channel, int dim, float* to) {
        const void* const* rows = s_.key_rows + tile_.begin;
        for (int k0 = 0; k0 < count_; k0 += kLanes) {
            const StreamRows keys = {rows, channel, smaller_int(k0 + kLanes, count_), nullptr};
            for_row_blocks(rows_, [&](int r, auto block_rows) {
                constexpr int kRows = decltype(block_rows)::value;
                for (int k = k0; k < keys.count; k += kLanes / kRows) {
                    dot_keys<E4M3, kRows>(s_.query + r * ldq_ + channel, ldq_, dim, keys, k, 1.0f,
                                          to + r * stride_ + tile_.begin + k, stride_);
                }
            });
        }
    }

    float* sums() const { return s_.value_panels; }  // which this form has no use for

    // sums[r] = sum over columns [begin, end) of weight * value
    void sum_values(int begin, int end) {
        __builtin_memset(sums(), 0, sizeof(float) * static_cast<size_t>(rows_ * ldo_));
        const StreamRows values = {s_.value_rows + begin, 0, end - begin, nullptr};
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            add_all_columns<E4M3, decltype(block_rows)::value>(s_.scores + r * stride_ + begin, stride_, values,
                                                               f_.rows.dim_v, sums() + r * ldo_, ldo_);
        });
    }

    // out = out * kept + sums * factor(first channel of a vector)
    template <class Factor>
    void join(int r, float kept, Factor factor) {
        float *out = s_.out + r * ldo_, *sum = sums() + r * ldo_;
        for (int d = 0; d < ldo_; d += kLanes) {
            store(out + d, fma(load<vf>(out + d), splat(kept), load<vf>(sum + d) * factor(d)));
        }
    }

    const FullQuantBlock& f_;
    const FullQuantScratch& s_;
    FullQuantTile<A, kTile>& tile_;
    const int rows_, stride_, ldq_, ldo_;
    int count_ = 0;  // columns of the tile that the rows see
};

}  // namespace
}  // namespace acl_attn::engine
