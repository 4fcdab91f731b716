// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Queries, keys and values of quantised calls on their way to the products' operands.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/full_quant_operands-inl.h"
#include "engine/full_quant_kernels.h"

namespace acl_attn::engine {
namespace {

// Of a line that begins at `origin`, the address of the scale of group g.
inline const char* group_scale(const LineScaleView& v, const char* origin, int64_t line, int64_t g) {
    const char* pair = origin + g / 2 * v.pair_stride + g % 2;
    if (v.run == 1) return pair + line * v.run_stride;  // the usual case, without divisions
    return pair + line / v.run * v.run_stride + line % v.run * v.line_stride;
}

// Where token t's page of scales begins, and t inside it. Unpaged there is one page.
inline const char* scale_page(const LineScaleView& v, int64_t t, int64_t& inside) {
    inside = v.table == nullptr ? t : t % v.block_size;
    return v.table == nullptr ? v.base : v.base + v.table[t / v.block_size] * v.block_stride;
}

// codes[d] = scale(d / kScaledGroup), E8M0.
template <class Address>
inline void spread_group_scales(Address address, int dim, uint8_t* codes) {
    for (int d = 0; d < dim; d += kScaledGroup) __builtin_memset(codes + d, *address(d / kScaledGroup), kScaledGroup);
}

// A: the arithmetic. kTile: keys of a tile, on an absolute grid.
template <class A, int kTile>
class FullQuantTile {
public:
    using Element = typename A::Element;
    using RopeElement = typename A::Rope::Element;
    static constexpr bool kTinyMatters = sizeof(Element) == 2 && !A::kIsInteger;
    static constexpr int kColumns = A::Scores::kColumns;
    static constexpr int kValuePanel = kTile / kUnit<A> * kColumns;
    static_assert(kTile % kNr == 0 && kNr % kWholeKeys<A> == 0, "whole panels");

    int64_t key = 0;           // of column 0
    int begin = 0, end = 0;    // columns that some row of the block sees
    bool exceptional = false;  // some value was set aside
    const int dim, steps, rope_steps;

    FullQuantTile(const FullQuantBlock& block, const FullQuantScratch& scratch)
        : dim(block.rows.dim - block.rows.rope_dim), steps(key_steps<A>(dim)),
          rope_steps(key_steps<typename A::Rope>(block.rows.rope_dim)), b_(block), s_(scratch),
          span_(visible_keys(block.rows, block.rows.row_begin, block.rows.row_end)) {}

    bool first() {
        key = span_.empty() ? 0 : span_.begin / kTile * kTile;
        return !span_.empty() && enter();
    }
    bool next() {
        key += kTile;
        return enter();
    }

    // Fills the panels and, where tokens have scales of their own, key_scales.
    void pack(bool has_key_scale) {
        locate();
        stage_keys();
        stage_values();
        const int whole_end = round_up(end, kWholeKeys<A>);
        for (int c = round_down(begin, kNr); c < whole_end; c += kLanes) {
            for (int k = c + kSoon; kIsBytes<A> && k < c + kSoon + kLanes && k < end; k++) {
                prefetch_row(s_.key_rows[k], dim);
            }
            pack_key_panel<A>(s_.key_rows + c, dim, s_.key_panels + panel_of(c, steps), c % kColumns);
            if (rope_steps > 0) {
                pack_key_panel<typename A::Rope>(s_.rope_rows + c, b_.rows.rope_dim,
                                                 s_.rope_panels + panel_of(c, rope_steps), c % kColumns);
            }
        }
        pack_value_panels<A>(s_.value_rows, round_down(begin, kWholeKeys<A>), whole_end, b_.rows.dim_v, kValuePanel,
                             s_.value_panels);
        if (has_key_scale) load_key_scales();
    }

    // Those that begin with a column of keys, or a channel of values.
    const float* key_panel(int column) const { return s_.key_panels + panel_of(column, steps); }
    const float* rope_panel(int column) const { return s_.rope_panels + panel_of(column, rope_steps); }
    const float* value_panel(int channel) const {
        return s_.value_panels + static_cast<ptrdiff_t>(channel / kColumns) * kValuePanel;
    }

    // Query row `row` as units, zeros behind it. Returns what an integer sum over it begins with.
    template <class QueryElement>
    int32_t load_query(int64_t row, QueryElement* to, int units, RopeElement* rope, int rope_units) const {
        const int64_t token = row / b_.rows.group, head = row % b_.rows.group;
        const char* from = reinterpret_cast<const char*>(b_.query) + token * b_.rows.query_token_stride +
                           head * b_.rows.query_head_stride;
        const uint8_t* scales = nullptr;
        if (b_.value_scale.base != nullptr) {
            const char* of_row = b_.query_scale + token * b_.query_scale_token_stride +
                                 head * b_.query_scale_head_stride;
            spread_group_scales([&](int g) { return of_row + g; }, dim, s_.line_scales);
            scales = s_.line_scales;
        }
        __builtin_memset(to, 0, sizeof(float) * static_cast<size_t>(units));
        convert(b_.rows.key.dtype, from, scales, to, dim);
        if (rope_steps > 0) {
            __builtin_memset(rope, 0, sizeof(float) * static_cast<size_t>(rope_units));
            convert_rope(query_rope_row(b_.rows, 0, row), rope, b_.rows.rope_dim);
        }
        if constexpr (sizeof(QueryElement) == 1 && A::kIsBiased) {
            int32_t sum = 0;
            for (int d = 0; d < dim; d++) sum += to[d];
            return -kKeyBias * sum;
        }
        return 0;
    }

    // --- For products that take codes where they lie (full_quant_stream-inl.h).

    // Rows of the tile; columns outside the span are zeros.
    void locate() {
        const RowBlock& b = b_.rows;
        if (begin > 0 || end < kTile) {
            for (int k = 0; k < kTile; k++) s_.key_rows[k] = s_.value_rows[k] = s_.rope_rows[k] = s_.zeros;
        }
        locate_rows(b.key, key + begin, key + end, s_.key_rows + begin);
        if (!b.value_is_key) locate_rows(b.value, key + begin, key + end, s_.value_rows + begin);
        if (rope_steps > 0) locate_rows(b.key_addition.rope, key + begin, key + end, s_.rope_rows + begin);
    }

    // Into key_scales, of tokens; 0 for columns outside.
    void load_key_scales() {
        load_key_scales(0, [](const char* p) { return read_number(Dtype::f32, p); });
    }
    // Those of group g.
    void load_group_scales(int g) {
        load_key_scales(g, [](const char* p) { return read_number(Dtype::e8m0, p); });
    }

    // Of token t's group: one for each channel, in line_scales.
    void load_value_scales(int64_t t) {
        const LineScaleView& v = b_.value_scale;
        int64_t inside;
        const char* page = scale_page(v, t, inside);
        const int64_t g = inside / kScaledGroup;
        const char* run = group_scale(v, page, 0, g);
        for (int d = 0; d < b_.rows.dim_v; run += v.run_stride) {
            const char* p = run;
            for (int i = 0; i < v.run && d < b_.rows.dim_v; i++, d++, p += v.line_stride) {
                s_.line_scales[d] = static_cast<uint8_t>(*p);
            }
        }
    }

private:
    // Of key panels with so many steps, the one with a column.
    static ptrdiff_t panel_of(int column, int panel_steps) {
        return static_cast<ptrdiff_t>(column / kColumns * kColumns) * panel_steps;
    }

    template <class Read>
    void load_key_scales(int g, Read read) {
        for (int k = round_down(begin, kNr); k < round_up(end, kNr); k++) s_.key_scales[k] = 0.0f;
        const LineScaleView& v = b_.key_scale;
        for (int k = begin; k < end;) {
            int64_t line;
            const char* page = scale_page(v, key + k, line);
            const int stop = v.table == nullptr ? end : static_cast<int>(smaller(end, k + v.block_size - line));
            for (; k < stop; k++, line++) s_.key_scales[k] = read(group_scale(v, page, line, g));
        }
    }

    bool enter() {
        begin = static_cast<int>(larger(span_.begin - key, 0));
        end = static_cast<int>(smaller(span_.end - key, kTile));
        return key < span_.end;
    }

    static constexpr int kSoon = 16;  // rows from now

    // Whether rows can be packed where they lie: bytes that are an operand's already.
    bool lies_ready(const KvView& view) const {
        return kIsBytes<A> && view.chunk >= view.dim && view.dim % 2 == 0;
    }

    void stage(const KvView& view, const void** rows, void* memory, int stride, int from, int to,
               const uint8_t* scales) {
        for (int k = from; k < to; k++) {
            if (k + kSoon < end) prefetch_row(rows[k + kSoon], view.dim);
            Element* row = static_cast<Element*>(memory) + static_cast<ptrdiff_t>(k) * stride;
            for_chunks(view, static_cast<const char*>(rows[k]), [&](const char* p, int d, int n) {
                convert(view.dtype, p, scales == nullptr ? nullptr : scales + d, row + d, n);
            });
            rows[k] = row;
        }
    }

    void stage_keys() {
        const RowBlock& b = b_.rows;
        const int stride = round_up(dim, kStagingAlignment);
        if (lies_ready(b.key)) {
            if (b.value_is_key) __builtin_memcpy(s_.value_rows, s_.key_rows, sizeof(void*) * kTile);
        } else if (b_.value_scale.base == nullptr) {
            stage(b.key, s_.key_rows, s_.key_staging, stride, begin, end, nullptr);
            if (b.value_is_key) __builtin_memcpy(s_.value_rows, s_.key_rows, sizeof(void*) * kTile);
        } else {
            for (int k = begin; k < end; k++) {
                int64_t line;
                const char* page = scale_page(b_.key_scale, key + k, line);
                spread_group_scales([&](int g) { return group_scale(b_.key_scale, page, line, g); }, dim,
                                    s_.line_scales);
                stage(b.key, s_.key_rows, s_.key_staging, stride, k, k + 1, s_.line_scales);
            }
        }
        if (rope_steps == 0) return;
        const KvView& rope = b.key_addition.rope;
        const int rope_stride = round_up(b.rope_dim, kStagingAlignment);
        for (int k = begin; k < end; k++) {
            RopeElement* row = static_cast<RopeElement*>(s_.rope_staging) + static_cast<ptrdiff_t>(k) * rope_stride;
            for_chunks(rope, static_cast<const char*>(s_.rope_rows[k]), [&](const char* p, int d, int n) {
                convert_rope(reinterpret_cast<const uint16_t*>(p), row + d, n);
            });
            s_.rope_rows[k] = row;
        }
    }

    void stage_values() {
        const RowBlock& b = b_.rows;
        if (!b.value_is_key && !lies_ready(b.value)) {
            const int stride = round_up(b.dim_v, kStagingAlignment);
            if (b_.value_scale.base == nullptr) {
                stage(b.value, s_.value_rows, s_.value_staging, stride, begin, end, nullptr);
            } else {
                for (int k = begin; k < end;) {
                    const int stop = static_cast<int>(smaller(round_down(k, kScaledGroup) + kScaledGroup, end));
                    load_value_scales(key + k);
                    stage(b.value, s_.value_rows, s_.value_staging, stride, k, stop, s_.line_scales);
                    k = stop;
                }
            }
        }
        if constexpr (!A::kIsInteger) {
            exceptional = set_aside<typename A::Row, kTinyMatters>(s_.value_rows, begin, end, b.dim_v, s_.zeros,
                                                                   s_.value_classes, s_.value_originals);
        }
    }

    const FullQuantBlock& b_;
    const FullQuantScratch& s_;
    const Interval span_;
};

}  // namespace
}  // namespace acl_attn::engine
