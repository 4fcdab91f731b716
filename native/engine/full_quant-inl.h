// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of a block of rows with quantised queries: as prefill-inl.h, but a tile's sums are finished by themselves
// before they join the row's, and weights are rounded to the scheme's format.
#pragma once

#include "engine/bias-inl.h"
#include "engine/finish-inl.h"
#include "engine/full_quant_schemes-inl.h"
#include "engine/full_quant_stream-inl.h"
#include "engine/full_quant_tile-inl.h"
#include "engine/softmax-inl.h"

namespace acl_attn::engine {
namespace {

template <class Scheme>
class FullQuantRows {
public:
    FullQuantRows(const FullQuantBlock& block, const FullQuantScratch& scratch)
        : f_(block), b_(block.rows), s_(scratch), scheme_(block), tile_(block, scratch),
          rows_(static_cast<int>(b_.row_end - b_.row_begin)), groups_((rows_ + kMr - 1) / kMr),
          ldo_(round_up(b_.dim_v, kLanes)), ldq_(steps_of(round_up(tile_.dim, kStagingAlignment), kUnit<A>)),
          ldr_(steps_of(round_up(b_.rope_dim, kStagingAlignment), kUnit<FloatArithmetic>)) {}

    void run() {
        clear();
        if constexpr (Scheme::kMayStream) {
            if (may_stream(f_)) return stream();
        }
        bool more = tile_.first();
        if (more) load_queries();  // of rows that see no key not even the scales need exist
        for (; more; more = tile_.next()) {
            find_ranges();
            tile_.pack(Scheme::kHasKeyScale);
            for (strip_ = 0; strip_ < groups_; strip_ += kStripGroups) {
                strip_end_ = strip_ + kStripGroups < groups_ ? strip_ + kStripGroups : groups_;
                multiply_keys();
                for (int g = strip_; g < strip_end_; g++) weigh(g);
                multiply_values();
                if (tile_.exceptional) add_aside();
            }
        }
        for (int r = 0; r < rows_; r++) finish(r);
    }

    // Few rows: the same, without panels.
    void stream() {
        FullQuantStream<A, kTile> products(f_, s_, tile_, rows_, kStride);
        bool more = tile_.first();
        if (more) {
            products.load_queries();
            load_row_scales();
        }
        for (strip_ = 0; more; more = tile_.next()) {
            find_ranges();
            products.locate();
            products.multiply_keys();
            if constexpr (Scheme::kHasKeyScale) tile_.load_key_scales();
            for (int r = 0; r < rows_; r++) weigh_row(r, ranges_[r / kMr], scores(r));
            products.add_values();
        }
        for (int r = 0; r < rows_; r++) finish(r);
    }

private:
    using A = typename Scheme::Arithmetic;
    using Element = typename A::Element;
    static constexpr int kTile = Scheme::kTile;
    static constexpr int kStride = score_stride(kTile);
    static constexpr int kStripGroups = strip_rows(kTile) / kMr;
    static_assert(kTile % kNr == 0, "whole panels");

    struct Range {
        int begin, end;
        bool empty() const { return begin >= end; }
    };

    void clear() {
        const int padded_rows = groups_ * kMr;
        __builtin_memset(s_.out, 0, sizeof(float) * static_cast<size_t>(padded_rows) * ldo_);
        for (int r = 0; r < padded_rows; r++) {
            s_.row_max[r] = -kInfinity;
            s_.row_sum[r] = s_.row_scale[r] = 0.0f;
            s_.row_start[r] = 0;
        }
    }

    void load_queries() {
        const int padded_rows = groups_ * kMr;
        __builtin_memset(s_.query + rows_ * ldq_, 0, sizeof(float) * static_cast<size_t>((padded_rows - rows_) * ldq_));
        __builtin_memset(s_.query_rope + rows_ * ldr_, 0,
                         sizeof(float) * static_cast<size_t>((padded_rows - rows_) * ldr_));
        for (int r = 0; r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            s_.row_start[r] = tile_.load_query(
                row, reinterpret_cast<Element*>(s_.query + r * ldq_), ldq_,
                reinterpret_cast<typename FloatArithmetic::Element*>(s_.query_rope + r * ldr_), ldr_);
        }
        load_row_scales();
    }

    void load_row_scales() {
        for (int r = 0; Scheme::kHasRowScale && r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            const char* from = f_.query_scale + row / b_.group * f_.query_scale_token_stride +
                               row % b_.group * f_.query_scale_head_stride;
            s_.row_scale[r] = f_.score_scale * read_number(Dtype::f32, from);
        }
    }

    // Of a row of the current strip.
    float* scores(int r) const { return s_.scores + static_cast<ptrdiff_t>(r - strip_ * kMr) * kStride; }
    Element* weights(int r) const {
        if constexpr (sizeof(Element) == sizeof(float)) {
            return scores(r);
        } else {
            return static_cast<Element*>(s_.weights) + static_cast<ptrdiff_t>(r - strip_ * kMr) * kStride;
        }
    }

    void find_ranges() {
        for (int g = 0; g < groups_; g++) {
            const int64_t first = b_.row_begin + g * kMr;
            const Interval seen = visible_keys(b_, first, smaller(first + kMr, b_.row_end));
            const int64_t begin = larger(seen.begin - tile_.key, tile_.begin);
            const int64_t end = smaller(seen.end - tile_.key, tile_.end);
            ranges_[g] = begin < end ? Range{round_down(static_cast<int>(begin), kLanes),
                                             round_up(static_cast<int>(end), kLanes)}
                                     : Range{0, 0};
        }
    }

    void multiply_keys() {
        for (int p = tile_.begin / kNr; p * kNr < tile_.end; p++) {
            for (int g = strip_; g < strip_end_; g++) {
                const int columns = ranges_[g].end - p * kNr;
                if (columns <= 0 || ranges_[g].begin >= (p + 1) * kNr) continue;
                with_vectors(columns, [&](auto used) { multiply_keys<decltype(used)::value>(g * kMr, p); });
            }
        }
    }

    template <int kUsed>
    __attribute__((noinline)) void multiply_keys(int r, int p) {
        Accumulators<typename A::Scores, kUsed> acc;
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) acc.v[i][c] = as_float(splat_int(s_.row_start[r + i]));
        }
        acc.add(s_.query + r * ldq_, ldq_, tile_.key_panel(p), tile_.steps);
        Accumulators<typename FloatArithmetic::Scores, kUsed> sums;
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) sums.v[i][c] = sums_as_float<A>(acc.v[i][c]);
        }
        if (tile_.rope_steps > 0) sums.add(s_.query_rope + r * ldr_, ldr_, tile_.rope_panel(p), tile_.rope_steps);
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) store(scores(r + i) + p * kNr + c * kLanes, sums.v[i][c]);
        }
    }

    // From a group's products to weights.
    void weigh(int g) {
        const Range range = ranges_[g];
        if (range.empty()) return;
        for (int r = g * kMr; r < (g + 1) * kMr; r++) {
            if (r < rows_) {
                weigh_row(r, range, weights(r));
                continue;
            }
            s_.kept[r] = s_.joining[r] = 0.0f;
            __builtin_memset(weights(r) + range.begin, 0, sizeof(Element) * static_cast<size_t>(range.end - range.begin));
        }
    }

    template <class Weight>
    void weigh_row(int r, Range range, Weight* to) {
        float* x = scores(r);
        const float largest = find_logits(r, range, x);
        const float before = s_.row_max[r];
        const bool is_first = before == -kInfinity;
        const float own = largest == -kInfinity ? largest : scheme_.top(largest);
        const float now = own > before ? own : before;
        const float reference = now == -kInfinity ? 0.0f : now;
        const float kept = now == before ? 1.0f : exp_scalar(before - reference);
        const vf relative = splat(scheme_.relative(own == now ? 1.0f : exp_scalar(own - reference), is_first,
                                                   s_.joining[r]));
        const vf shift = splat(reference);
        vf sum = {};
        for (int c = range.begin; c < range.end; c += kLanes) {
            const vf e = exp_vector(scheme_.before_exp(load<vf>(x + c) - shift));
            sum += e;
            store_exact(to + c, scheme_.weight(e, relative));
        }
        s_.row_max[r] = now;
        s_.row_sum[r] = s_.row_sum[r] * kept + reduce_sum(sum);
        s_.kept[r] = kept;
    }

    // In place; hidden ones become -infinity. Returns the largest.
    float find_logits(int r, Range range, float* x) const {
        const int64_t row = b_.row_begin + r;
        const Interval seen = visible_keys(b_, row);
        const vf row_scale = splat(s_.row_scale[r]);
        vf top = splat(-kInfinity);
        for (int c = range.begin; c < range.end; c += kLanes) {
            vf logit = scheme_.logit(load<vf>(x + c), row_scale);
            if constexpr (Scheme::kHasKeyScale) logit *= load<vf>(s_.key_scales + c);
            top = max_number(logit, top);
            store(x + c, logit);
        }
        const bool has_bias = b_.bias.kind != BiasKind::none;
        const bool hides = b_.mask != nullptr || seen.begin > tile_.key + range.begin ||
                           seen.end < tile_.key + range.end;
        if (!has_bias && !hides) return reduce_max(top);
        if (has_bias) add_bias(b_, 0, row, seen, tile_.key, range.begin, range.end, x);
        if (hides) hide_scores(b_, row, seen, tile_.key, range.begin, range.end, x);
        top = splat(-kInfinity);
        for (int c = range.begin; c < range.end; c += kLanes) {
            vf logit = load<vf>(x + c);
            if (Scheme::kRoundsBias && has_bias) {
                logit = round_f16(logit);
                store(x + c, logit);
            }
            top = max_number(logit, top);
        }
        return reduce_max(top);
    }

    void multiply_values() {
        const float* panel = s_.value_panels;
        for (int c0 = 0; c0 < b_.dim_v; c0 += kNr, panel += tile_.kValuePanel) {
            for (int g = strip_; g < strip_end_; g++) {
                if (ranges_[g].empty()) continue;
                with_vectors(b_.dim_v - c0, [&](auto used) { multiply_values<decltype(used)::value>(g, c0, panel); });
            }
        }
    }

    template <int kUsed>
    __attribute__((noinline)) void multiply_values(int g, int c0, const float* panel) {
        const int r = g * kMr, begin = ranges_[g].begin, end = ranges_[g].end;
        Accumulators<typename A::Values, kUsed> acc = {};
        acc.add(reinterpret_cast<const float*>(weights(r) + begin), kStride / kUnit<A>, panel + begin / kUnit<A> * kNr,
                (end - begin) / kUnit<A>);
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
            const vf kept = splat(s_.kept[r + i]), joining = splat(s_.joining[r + i]);
            float* out = s_.out + static_cast<ptrdiff_t>(r + i) * ldo_ + c0;
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) {
                const vf sum = scheme_.tile_sum(sums_as_float<A>(acc.v[i][c]), tile_.key == 0);
                store(out + c * kLanes, fma(load<vf>(out + c * kLanes), kept, sum * joining));
            }
        }
    }

    void add_aside() {
        if constexpr (!A::kIsInteger) {
            for (int r = strip_ * kMr; r < strip_end_ * kMr && r < rows_; r++) {
                if (ranges_[r / kMr].empty()) continue;
                const int64_t row = b_.row_begin + r;
                add_set_aside<typename A::Row>(
                    b_, row, visible_keys(b_, row), tile_.key, tile_.begin, tile_.end, s_.value_classes,
                    s_.value_originals, [&](int k) { return load_exact(weights(r) + k) * s_.joining[r]; },
                    s_.out + static_cast<ptrdiff_t>(r) * ldo_);
            }
        }
    }

    void finish(int r) {
        const RowState state = {s_.row_max[r], s_.row_sum[r], 1.0f};
        const bool empty = state.sum == 0.0f;
        const float factor = empty ? 0.0f : 1.0f / (Scheme::kGain * scheme_.divisor(state.sum));
        const int64_t token = (b_.row_begin + r) / b_.group, head = (b_.row_begin + r) % b_.group;
        store_row(b_.sink, token, head, b_.dim_v, s_.out + static_cast<ptrdiff_t>(r) * ldo_, factor, empty);
        store_lse(b_.sink, token, head, state);
    }

    const FullQuantBlock& f_;
    const RowBlock& b_;
    const FullQuantScratch& s_;
    const Scheme scheme_;
    FullQuantTile<A, kTile> tile_;
    const int rows_, groups_;
    const int ldo_, ldq_, ldr_;
    int strip_ = 0, strip_end_ = 0;  // groups whose scores are held now
    Range ranges_[kMaxBlockRows / kMr];
};

template <class Scheme>
void full_quant_rows(const FullQuantBlock& block, const FullQuantScratch& scratch) {
    FullQuantRows<Scheme>(block, scratch).run();
}

template <class Scheme>
constexpr FullQuantKernel full_quant_kernel() {
    return {sizeof(typename Scheme::Arithmetic::Element), sizeof(typename FloatArithmetic::Element),
            full_quant_rows<Scheme>};
}

constexpr FullQuantKernels make_full_quant_kernels() {
    return {full_quant_kernel<PerTensor>(),
            full_quant_kernel<Mla<IntegerArithmetic, I8>>(),
            full_quant_kernel<Mla<FloatArithmetic, E4M3>>(),
            full_quant_kernel<Mla<FloatArithmetic, HiFloat8>>(),
            full_quant_kernel<GqaF8>(),
            full_quant_kernel<MxF8>()};
}

}  // namespace
}  // namespace acl_attn::engine
