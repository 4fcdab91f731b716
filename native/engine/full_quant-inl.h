// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of a block of rows with quantised queries: as prefill-inl.h, but a tile's sums are finished by themselves
// before they join the row's, and weights are rounded to the scheme's format.
#pragma once

#include "engine/bias-inl.h"
#include "engine/finish-inl.h"
#include "engine/full_quant_products-inl.h"
#include "engine/full_quant_schemes-inl.h"
#include "engine/full_quant_stream-inl.h"
#include "engine/full_quant_tile-inl.h"
#include "engine/softmax-inl.h"

namespace acl_attn::engine {
namespace {

template <class Scheme, template <class, class, bool> class AnyProducts>
class FullQuantRows {
    using A = typename Scheme::Arithmetic;

public:
    using Products = AnyProducts<A, FullQuantTile<A, Scheme::kTile>, Scheme::kTakesIntegers>;
    static constexpr int kGroup = Products::kGroup;
    // Groups whose scores are held at a time: as many as fit the second-level cache beside the panels; or one that is
    // multiplied with keys, or has been, and one whose weights are multiplied with values.
    static constexpr int kStripGroups = Products::kOverlaps ? 2 : 65536 / Scheme::kTile / kGroup;

    FullQuantRows(const FullQuantBlock& block, const FullQuantScratch& scratch)
        : f_(block), b_(block.rows), s_(scratch), scheme_(block), tile_(block, scratch), products_(tile_, b_.dim_v),
          rows_(static_cast<int>(b_.row_end - b_.row_begin)), groups_((rows_ + kGroup - 1) / kGroup),
          ldo_(round_up(b_.dim_v, kLanes)), ldq_(units_of<A>(tile_.dim)),
          ldr_(units_of<typename A::Rope>(b_.rope_dim)) {}

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
            if constexpr (Products::kOverlaps) {
                visit_overlapped();
            } else {
                visit_strips();
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
        for (; more; more = tile_.next()) {
            find_ranges();
            products.locate();
            products.multiply_keys();
            if constexpr (Scheme::kHasKeyScale) tile_.load_key_scales();
            for (int r = 0; r < rows_; r++) weigh_row(r, enter_row(r, ranges_[r / kGroup]), scores(r));
            products.add_values();
        }
        for (int r = 0; r < rows_; r++) finish(r);
    }

private:
    using Element = typename A::Element;
    using RopeElement = typename A::Rope::Element;
    static constexpr int kTile = Scheme::kTile;
    static constexpr int kStride = score_stride(kTile);

    struct Range {
        int begin, end;
        bool empty() const { return begin >= end; }
        int size() const { return end - begin; }
    };

    void clear() {
        const int padded_rows = groups_ * kGroup;
        __builtin_memset(s_.out, 0, sizeof(float) * static_cast<size_t>(padded_rows) * ldo_);
        for (int r = 0; r < padded_rows; r++) {
            s_.row_max[r] = -kInfinity;
            s_.row_sum[r] = s_.row_scale[r] = 0.0f;
            s_.row_start[r] = 0;
        }
    }

    void load_queries() {
        const int padded_rows = groups_ * kGroup;
        __builtin_memset(s_.query + rows_ * ldq_, 0, sizeof(float) * static_cast<size_t>((padded_rows - rows_) * ldq_));
        __builtin_memset(s_.query_rope + rows_ * ldr_, 0,
                         sizeof(float) * static_cast<size_t>((padded_rows - rows_) * ldr_));
        for (int r = 0; r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            s_.row_start[r] = tile_.load_query(
                row, reinterpret_cast<Element*>(s_.query + r * ldq_), ldq_,
                reinterpret_cast<RopeElement*>(s_.query_rope + r * ldr_), ldr_);
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

    // Where a row's scores stand, in turns with rows of other strips.
    static ptrdiff_t place(int r) { return static_cast<ptrdiff_t>(r % (kStripGroups * kGroup)) * kStride; }
    float* scores(int r) const { return s_.scores + place(r); }
    Element* weights(int r) const {
        if constexpr (sizeof(Element) == sizeof(float)) {
            return scores(r);
        } else {
            return static_cast<Element*>(s_.weights) + place(r);
        }
    }

    void find_ranges() {
        for (int g = 0; g < groups_; g++) {
            const int64_t first = b_.row_begin + g * kGroup;
            const Interval seen = visible_keys(b_, first, smaller(first + kGroup, b_.row_end));
            const int64_t begin = larger(seen.begin - tile_.key, tile_.begin);
            const int64_t end = smaller(seen.end - tile_.key, tile_.end);
            ranges_[g] = begin < end ? Range{round_down(static_cast<int>(begin), kWholeKeys<A>),
                                             round_up(static_cast<int>(end), kWholeKeys<A>)}
                                     : Range{0, 0};
        }
    }

    // Rows of group g that are not filling.
    int count(int g) const { return static_cast<int>(smaller(rows_ - g * kGroup, kGroup)); }

    // --- A packed tile for all groups.

    void visit_strips() {
        const auto nothing = [] {};
        constexpr int kColumns = Products::kColumns;
        for (int strip = 0; strip < groups_; strip += kStripGroups) {
            const int end = strip + kStripGroups < groups_ ? strip + kStripGroups : groups_;
            for (int c = round_down(tile_.begin, kColumns); c < tile_.end; c += kColumns) {
                for (int g = strip; g < end; g++) multiply_keys(g, c, nothing);
            }
            for (int g = strip; g < end; g++) {
                enter_group(g);
                while (weighing_.more()) weigh_some();
            }
            for (int d = 0; d < b_.dim_v; d += kColumns) {
                for (int g = strip; g < end; g++) multiply_values(g, d, nothing);
            }
            for (int g = strip; g < end && tile_.exceptional; g++) add_aside(g);
        }
    }

    // Group g - 1 is weighed beside the products of group g - 2 with values and of group g with keys.
    void visit_overlapped() {
        constexpr int kColumns = Products::kColumns;
        for (int g = 0; g < groups_ + 2; g++) {
            enter_group(g - 1);
            const int steps = 2 * (weighing_.end - weighing_.weighed), calls = products_of(g);
            int credit = 0;
            const auto beside = [&] {
                for (credit += steps; credit >= calls && weighing_.more(); credit -= calls) weigh_some();
            };
            if (g > 1) {
                for (int d = 0; d < b_.dim_v; d += kColumns) multiply_values(g - 2, d, beside);
                if (tile_.exceptional) add_aside(g - 2);
            }
            if (g < groups_) {
                for (int c = round_down(tile_.begin, kColumns); c < tile_.end; c += kColumns) {
                    multiply_keys(g, c, beside);
                }
            }
            while (weighing_.more()) weigh_some();
        }
    }

    // About how often products call what runs beside them.
    int products_of(int g) const {
        constexpr int kColumns = Products::kColumns;
        int calls = 1;
        if (g > 1) calls += ranges_[g - 2].size() / kWholeKeys<A> * ((b_.dim_v + kColumns - 1) / kColumns);
        if (g < groups_) calls += ranges_[g].size() / kColumns * (tile_.steps / A::Scores::kSteps);
        return calls;
    }

    template <class Beside>
    void multiply_keys(int g, int column, Beside beside) {
        const int columns = ranges_[g].end - column, r = g * kGroup;
        if (columns <= 0 || ranges_[g].begin >= column + Products::kColumns) return;
        const QuantQuery query = {s_.query + r * ldq_, s_.query_rope + r * ldr_, ldq_, ldr_, s_.row_start + r,
                                  count(g)};
        products_.scores(query, column, columns, scores(r) + column, kStride, beside);
    }

    template <class Beside>
    void multiply_values(int g, int channel, Beside beside) {
        if (ranges_[g].empty()) return;
        const int r = g * kGroup;
        const QuantWeights w = {reinterpret_cast<const float*>(weights(r)), kStride / kUnit<A>, ranges_[g].begin,
                                ranges_[g].end, count(g)};
        products_.sums(w, channel, [&](int i, int c, vf sum) { join(r + i, channel + c, sum); }, beside);
    }

    // A row of the tile, when its largest logit is known.
    struct RowStep {
        Range range;
        float reference, relative;  // what logits are less by, and their exponentials multiplied by
    };

    // The group whose products become weights. Some rows are entered ahead, so that the processor need not wait for a
    // row's largest logit, and as many as stay in the first-level cache.
    struct Weighing {
        static constexpr int kAhead = kTile < 4096 ? 4096 / kTile : 1;
        int group, entered, weighed, end;  // rows
        RowStep step[kAhead];
        bool more() const { return weighed < end; }
    };

    // -1 and groups_: nothing to weigh.
    void enter_group(int g) {
        weighing_.group = g;
        weighing_.entered = weighing_.weighed = weighing_.end = 0;
        if (g < 0 || g >= groups_ || ranges_[g].empty()) return;
        weighing_.entered = weighing_.weighed = g * kGroup;
        weighing_.end = g * kGroup + count(g);
        for (int r = weighing_.end; r < (g + 1) * kGroup; r++) {
            s_.kept[r] = s_.joining[r] = 0.0f;
            __builtin_memset(weights(r) + ranges_[g].begin, 0,
                             sizeof(Element) * static_cast<size_t>(ranges_[g].size()));
        }
    }

    // One of two steps that each row needs.
    void weigh_some() {
        Weighing& w = weighing_;
        if (w.entered < w.end && w.entered < w.weighed + Weighing::kAhead) {
            w.step[w.entered % Weighing::kAhead] = enter_row(w.entered, ranges_[w.group]);
            w.entered++;
        } else {
            weigh_row(w.weighed, w.step[w.weighed % Weighing::kAhead], weights(w.weighed));
            w.weighed++;
        }
    }

    // The row's logits, and what its sums so far are multiplied by.
    RowStep enter_row(int r, Range range) {
        const float largest = find_logits(r, range, scores(r));
        const float before = s_.row_max[r];
        const bool is_first = before == -kInfinity;
        const float own = largest == -kInfinity ? largest : scheme_.top(largest);
        const float now = own > before ? own : before;
        const float reference = now == -kInfinity ? 0.0f : now;
        const float kept = now == before ? 1.0f : exp_scalar(before - reference);
        s_.row_max[r] = now;
        s_.row_sum[r] *= kept;
        s_.kept[r] = kept;
        const float relative =
            scheme_.relative(own == now ? 1.0f : exp_scalar(own - reference), is_first, s_.joining[r]);
        return {range, reference, relative};
    }

    template <class Weight>
    void weigh_row(int r, const RowStep& step, Weight* to) {
        const float* x = scores(r);
        const vf shift = splat(step.reference), relative = splat(step.relative);
        vf sum = {};
        const auto weigh = [&](int c) {
            const vf e = exp_vector(scheme_.before_exp(load<vf>(x + c) - shift));
            sum += e;
            return scheme_.weight(e, relative);
        };
        for (int c = step.range.begin; c < step.range.end; c += kUnitKeys<A>) {
            vf w[kUnit<A>];
            for (int i = 0; i < kUnit<A>; i++) w[i] = weigh(c + i * kLanes);
            if constexpr (std::is_same_v<Weight, float>) {
                for (int i = 0; i < kUnit<A>; i++) store(to + c + i * kLanes, w[i]);
            } else {
                store_weights<A>(to + c, w);
            }
        }
        s_.row_sum[r] += reduce_sum(sum);
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

    __attribute__((always_inline)) void join(int r, int channel, vf sum) const {
        float* out = s_.out + static_cast<ptrdiff_t>(r) * ldo_ + channel;
        store(out, fma(load<vf>(out), splat(s_.kept[r]),
                       scheme_.tile_sum(sum, tile_.key == 0) * splat(s_.joining[r])));
    }

    void add_aside(int g) {
        if constexpr (!A::kIsInteger) {
            if (ranges_[g].empty()) return;
            for (int r = g * kGroup; r < g * kGroup + count(g); r++) {
                const int64_t row = b_.row_begin + r;
                add_set_aside<typename A::Row>(
                    b_, row, visible_keys(b_, row), tile_.key, tile_.begin, tile_.end, s_.value_classes,
                    s_.value_originals, [&](int k) { return load_weight<A>(weights(r), k) * s_.joining[r]; },
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
    const Products products_;
    const int rows_, groups_;
    const int ldo_, ldq_, ldr_;
    Weighing weighing_ = {};
    Range ranges_[Products::kBlockRows / kGroup];
};

template <class Scheme, template <class, class, bool> class Products>
void full_quant_rows(const FullQuantBlock& block, const FullQuantScratch& scratch) {
    FullQuantRows<Scheme, Products>(block, scratch).run();
}

template <class Scheme, template <class, class, bool> class Products>
constexpr FullQuantKernel full_quant_kernel() {
    using A = typename Scheme::Arithmetic;
    using Rows = FullQuantRows<Scheme, Products>;
    return {sizeof(typename A::Element),
            sizeof(typename A::Rope::Element),
            kWholeChannels<A>,
            kWholeChannels<typename A::Rope>,
            Rows::kGroup,
            Rows::Products::kBlockRows,
            Rows::kStripGroups * Rows::kGroup,
            full_quant_rows<Scheme, Products>};
}

template <template <class, class, bool> class Products, class Integer, class Float>
constexpr FullQuantKernels make_full_quant_kernels() {
    return {full_quant_kernel<PerTensor<Integer>, Products>(),
            full_quant_kernel<Mla<Integer, I8>, Products>(),
            full_quant_kernel<Mla<Float, E4M3>, Products>(),
            full_quant_kernel<Mla<Float, HiFloat8>, Products>(),
            full_quant_kernel<GqaF8<Float>, Products>(),
            full_quant_kernel<MxF8<Float>, Products>()};
}

}  // namespace
}  // namespace acl_attn::engine
