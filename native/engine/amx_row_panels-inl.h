// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of keys and values as AMX takes it where keys are the left factor: a register's rows are then pieces of key
// rows as they lie in memory, and it is the query, packed once, that stands in columns. To transpose the keys, few rows
// would take longer than to use them; here one pass over the rows, without a shuffle, makes pairs of values.
#pragma once

#include "engine/ahead-inl.h"
#include "engine/amx_products-inl.h"
#include "engine/panels-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand, class Owner>
class AmxSharedRows;  // amx_shared_rows-inl.h

// Of rows that are keys and values at once.
struct AmxSharedOperand : AmxOperand<1> {
    static constexpr bool kKeysOnLeft = true;
    template <class T, class Owner>
    using Rows = AmxSharedRows<T, AmxSharedOperand, Owner>;
};
template <>
inline constexpr bool kIsShared<AmxSharedOperand> = true;

// Of few rows, against keys and values of their own.
struct AmxFewOperand : AmxOperand<1> {
    static constexpr bool kKeysOnLeft = true;
    static constexpr int kTile = kFewTileKeys;
    static constexpr int kBlockRows = kFewItemRows;
    template <class T, class Owner>
    using Rows = AmxRows<T, AmxFewOperand, Owner>;
};

constexpr int kMaxSharedDim = 512;

// Keys: the rows, or copies. Values: panels of 16 channels, of every 32 first the even ones, then the odd ones, each
// with [tile's keys / 2] rows of pairs: keys k and k + 16 of every 32.
template <class T, class Operand>
class AmxRowPanels {
public:
    int64_t key = 0;           // of column 0; a multiple of Operand::kTile
    int begin = 0, end = 0;    // columns that some row sees
    bool exceptional = false;  // some value was set aside (exceptional-inl.h)
    const int steps;           // pairs of channels, padded to whole registers

    // The first column that is packed.
    int first() const { return round_down(begin, kAmxDepth); }
    uint16_t* row(int c) const {
        return reinterpret_cast<uint16_t*>(s_.key_panels) + static_cast<ptrdiff_t>(c - first()) * row_size();
    }
    ptrdiff_t row_size() const { return 2 * steps + kRowGap; }
    // Keys c .. c + 15.
    AmxKeyRows key_rows(int c) const { return {row(c), 2 * row_size()}; }
    static constexpr int value_panel_size() { return Operand::kTile / Operand::kDepth * kAmxColumns; }

protected:
    AmxRowPanels(int dim, int dim_v, const Scratch& scratch)
        : steps(panel_steps<Operand>(dim)), dim_(dim), dim_v_(dim_v), s_(scratch) {}

    // 32 rows at a time: before values k .. k + 31 are read, take_keys(k, from, to) takes the keys, of which [from, to)
    // are seen. Addresses of exceptional values are changed.
    template <class Beside, class TakeKeys>
    void pack_tile(const void** values, Beside& beside, const TakeKeys& take_keys) {
        exceptional = false;
        for (int k = first(); k < round_up(end, kAmxDepth); k += kAmxDepth) {
            const int from = k > begin ? k : begin, to = k + kAmxDepth < end ? k + kAmxDepth : end;
            take_keys(k, from, to);
            take_values(k, from, to, values, beside);
        }
    }

    const int dim_, dim_v_;
    const Scratch& s_;

private:
    using Codes = typename T::WideCodes;

    template <class Beside>
    void take_values(int k, int from, int to, const void** values, Beside& beside) {
        const bool is_exceptional = pack_values(k, values, beside);
        if (is_exceptional) {
            if (!exceptional) mark_ordinary(begin, from);
            set_aside<T, true>(values, from, to, dim_v_, s_.zeros, s_.value_classes, s_.value_originals);
            pack_values(k, values, beside);
        } else if (exceptional) {
            mark_ordinary(from, to);
        }
        exceptional |= is_exceptional;
    }

    void mark_ordinary(int from, int to) const {
        if (from < to) __builtin_memset(s_.value_classes + from, kOrdinary, static_cast<size_t>(to - from));
    }

    // Of 32 rows; true if some are exceptional.
    template <class Beside>
    __attribute__((noinline)) bool pack_values(int k, const void* const* values, Beside& beside) const {
        Extremes<Codes> seen;
        float* to = s_.value_panels + k / 2 * kAmxColumns;
        int d = 0;
        for (; d + kAmxDepth <= dim_v_; d += kAmxDepth, to += 2 * value_panel_size()) {
            pack_channels(values + k, to, seen, beside, [&](const void* row, int c) {
                return load<vu>(elements<T>(row) + d + c);
            });
        }
        if (d < dim_v_) {
            pack_channels(values + k, to, seen, beside, [&](const void* row, int c) {
                return load_bytes<vu>(elements<T>(row) + d + c, d + c < dim_v_ ? 2 * (dim_v_ - d - c) : 0);
            });
        }
        return classify<T, true>(seen) != kOrdinary;
    }

    // 32 channels; part(row, c): some of a row, from channel c of them on.
    template <class Beside, class Part>
    __attribute__((always_inline)) static void pack_channels(const void* const* rows, float* to, Extremes<Codes>& seen,
                                                             Beside& beside, const Part& part) {
        for (int i = 0; i < kAmxRows; i++, to += kAmxColumns) {
            for (int c = 0; c < kAmxColumns; c += kLanes) {
                const vu low = part(rows[i], 2 * c), high = part(rows[i + kAmxRows], 2 * c);
                store(to + c, (low & 0xffffu) | high << 16);
                store(to + value_panel_size() + c, low >> 16 | (high & 0xffff0000u));
                seen.add(reinterpret_cast<Codes>(low));
                seen.add(reinterpret_cast<Codes>(high));
            }
            beside.advance();
        }
    }
};

template <class T>
class Panels<T, AmxSharedOperand> : public AmxRowPanels<T, AmxSharedOperand> {
    using Base = AmxRowPanels<T, AmxSharedOperand>;

public:
    Panels(int dim, int dim_v, const Scratch& scratch) : Base(dim, dim_v, scratch) {}

    // keys: [kTileKeys] addresses; values: memory for as many. Before rows are read make(from, to) is called; it may
    // let their addresses point to row(from) and so on, after it has written them there.
    template <class Make>
    void pack(const void** keys, const void** values, Make make) {
        Nothing nothing;
        this->pack_tile(values, nothing, [&](int k, int from, int to) {
            make(from, to);
            copy_rows(keys, k);
            for (int i = k; i < k + kAmxDepth; i++) values[i] = this->row(i);
        });
    }

private:
    struct Nothing {
        void advance() {}
    };

    // 32 rows one after another, as far ahead as the processor can, because rows of lists are scattered in memory.
    // Nothing else is done beside it: that would leave less room for reads under way. And to ask for the rows earlier,
    // beside products, takes from these the means to read the second-level cache, which costs as much as it brings.
    __attribute__((noinline)) void copy_rows(const void* const* rows, int k) const {
        for (int i = k; i < k + kAmxDepth; i++) {
            const uint16_t* from = elements<T>(rows[i]);
            uint16_t* to = this->row(i);
            if (i + kSoon < kTileKeys) {
                const char* soon = static_cast<const char*>(rows[i + kSoon]);
#pragma GCC unroll 4
                for (int byte = 0; byte < kBytesSoon; byte += 64) prefetch_to_l2(soon + byte);
            }
            if (from == to) continue;
#pragma GCC unroll 8
            for (int d = 0; d < this->dim_; d += 2 * kLanes) store(to + d, load<vu>(from + d));
        }
    }

    static constexpr int kSoon = 8;         // rows from now
    static constexpr int kBytesSoon = 256;  // of a row: what follows the processor finds by itself
};

template <class T>
class Panels<T, AmxFewOperand> : public AmxRowPanels<T, AmxFewOperand> {
    using Operand = AmxFewOperand;
    using Base = AmxRowPanels<T, Operand>;

public:
    static constexpr bool finite = true;  // as far as anyone needs to know

    Panels(int dim, int dim_v, const Scratch& scratch) : Base(dim, dim_v, scratch) {}

    // Rows keys[c] + key_offset and values[c] + value_offset, of columns that are seen; others must be zeros.
    void pack(const void* const* keys, ptrdiff_t key_offset, const void* const* values, ptrdiff_t value_offset,
              Ahead& ahead) {
        const int steps = (round_up(this->end, kAmxDepth) - this->first()) / kAmxDepth;
        locate(keys, key_offset, keys_);
        locate(values, value_offset, values_);
        ahead.spread(steps * kAmxRows * ((this->dim_v_ + kAmxDepth - 1) / kAmxDepth));
        this->pack_tile(values_, ahead, [&](int k, int, int) {
            for (int c = k; c < k + kAmxDepth; c += kAmxRows) {
                if (!find_rows(c)) copy_rows(c);
            }
        });
    }

    const void* key_row(int column) const { return keys_[column]; }
    AmxKeyRows key_rows(int c) const { return rows_[c / kAmxRows]; }
    static constexpr ptrdiff_t value_part_size() { return 0; }

private:
    void locate(const void* const* rows, ptrdiff_t offset, const void** to) const {
        __builtin_memcpy(to, rows, sizeof *rows * Operand::kTile);
        for (int c = this->begin; c < this->end; c++) to[c] = static_cast<const char*>(rows[c]) + offset;
    }

    // Whether 16 keys can be used where they lie.
    bool find_rows(int c) {
        const ptrdiff_t stride = this->dim_ % kAmxDepth == 0 ? common_stride(keys_ + c) : 0;
        if (stride != 0) rows_[c / kAmxRows] = {elements<T>(keys_[c]), stride};
        return stride != 0;
    }

    __attribute__((noinline)) void copy_rows(int c) {
        const int dim = this->dim_;
        rows_[c / kAmxRows] = {this->row(c), 2 * this->row_size()};
        for (int i = c; i < c + kAmxRows; i++) {
            const uint16_t* from = elements<T>(keys_[i]);
            uint16_t* to = this->row(i);
            int d = 0;
            for (; d + 2 * kLanes <= dim; d += 2 * kLanes) store(to + d, load<vu>(from + d));
            // What a register has beyond the row meets zeros, and so must not be NaN.
            for (; d < 2 * this->steps; d += 2 * kLanes) {
                store(to + d, load_bytes<vu>(from + d, dim > d ? 2 * (dim - d) : 0));
            }
        }
    }

    const void *keys_[Operand::kTile], *values_[Operand::kTile];  // exceptional values' are changed
    AmxKeyRows rows_[Operand::kTile / kAmxRows];  // of the tile
};

}  // namespace
}  // namespace acl_attn::engine
