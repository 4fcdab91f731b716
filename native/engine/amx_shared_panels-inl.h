// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of rows that are keys and values at once, as AMX takes it where keys are the left factor: a register's rows
// are then pieces of key rows as they lie in memory, and it is the query, packed once, that stands in columns. One pass
// over the rows, without a shuffle, makes both: pieces of keys, and pairs of values.
#pragma once

#include "engine/amx_products-inl.h"
#include "engine/panels-inl.h"
#include "engine/sparse_block.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand, class Owner>
class AmxSharedRows;  // amx_shared_rows-inl.h

struct AmxSharedOperand : AmxOperand<1> {
    template <class T, class Owner>
    using Rows = AmxSharedRows<T, AmxSharedOperand, Owner>;
};

template <>
inline constexpr bool kIsShared<AmxSharedOperand> = true;

constexpr int kMaxSharedDim = 512;
constexpr int kAmxTile = kAmxRows * kAmxColumns;  // elements of a register

// Keys: copies of the rows. Values: panels of 16 channels, of every 32 first the even ones, then the odd ones, each
// with [tile's keys / 2] rows of pairs: keys k and k + 16 of every 32.
template <class T>
class Panels<T, AmxSharedOperand> {
    using Operand = AmxSharedOperand;

public:
    int64_t key = 0;           // of column 0; a multiple of kTileKeys
    int begin = 0, end = 0;    // columns that some row sees
    bool exceptional = false;  // some value was set aside (exceptional-inl.h)
    const int steps;           // pairs of channels, padded to whole registers

    Panels(int dim, int dim_v, const Scratch& scratch) : steps(panel_steps<Operand>(dim)), dim_(dim), s_(scratch) {
        (void)dim_v;  // the same
    }

    // keys: [kTileKeys] addresses; values: memory for as many. Before rows are read make(from, to) is called; it may
    // let their addresses point to row(from) and so on, after it has written them there.
    template <class Make>
    void pack(const void** keys, const void** values, Make make) {
        exceptional = false;
        for (int k = first(); k < round_up(end, Operand::kKeys); k += Operand::kKeys) {
            const int from = k > begin ? k : begin, to = k + Operand::kKeys < end ? k + Operand::kKeys : end;
            make(from, to);
            copy_rows(keys, k);
            for (int i = k; i < k + Operand::kKeys; i++) values[i] = row(i);
            const bool is_exceptional = pack_values(k, values);
            if (is_exceptional) {
                if (!exceptional) mark_ordinary(begin, from);
                set_aside<T, true>(values, from, to, dim_, s_.zeros, s_.value_classes, s_.value_originals);
                pack_values(k, values);
            } else if (exceptional) {
                mark_ordinary(from, to);
            }
            exceptional |= is_exceptional;
        }
    }

    // The first column that is packed.
    int first() const { return round_down(begin, Operand::kKeys); }
    uint16_t* row(int c) const {
        return reinterpret_cast<uint16_t*>(s_.key_panels) + static_cast<ptrdiff_t>(c - first()) * row_size();
    }
    ptrdiff_t row_size() const { return 2 * steps + kRowGap; }
    static constexpr int value_panel_size() { return kTileKeys / Operand::kDepth * kAmxColumns; }

private:
    // 32 rows one after another, as far ahead as the processor can, because rows of lists are scattered in memory.
    // Nothing else is done beside it: that would leave less room for reads under way. And to ask for the rows earlier,
    // beside products, takes from these the means to read the second-level cache, which costs as much as it brings.
    __attribute__((noinline)) void copy_rows(const void* const* rows, int k) const {
        for (int i = k; i < k + Operand::kKeys; i++) {
            const uint16_t* from = elements<T>(rows[i]);
            uint16_t* to = row(i);
            if (i + kSoon < kTileKeys) {
                const char* soon = static_cast<const char*>(rows[i + kSoon]);
#pragma GCC unroll 4
                for (int byte = 0; byte < kBytesSoon; byte += 64) prefetch_to_l2(soon + byte);
            }
            if (from == to) continue;
#pragma GCC unroll 8
            for (int d = 0; d < dim_; d += 2 * kLanes) store(to + d, load<vu>(from + d));
        }
    }

    void mark_ordinary(int from, int to) const {
        if (from < to) __builtin_memset(s_.value_classes + from, kOrdinary, static_cast<size_t>(to - from));
    }

    // Of 32 rows; true if some are exceptional.
    __attribute__((noinline)) bool pack_values(int k, const void* const* values) const {
        using Codes = typename T::WideCodes;
        Extremes<Codes> seen;
        for (int d = 0; d < dim_; d += kAmxDepth) {
            float* to = s_.value_panels + d / kAmxColumns * value_panel_size() + k / 2 * kAmxColumns;
            for (int i = 0; i < kAmxRows; i++, to += kAmxColumns) {
                const uint16_t* first = elements<T>(values[k + i]) + d;
                const uint16_t* second = elements<T>(values[k + i + kAmxRows]) + d;
                for (int c = 0; c < kAmxColumns; c += kLanes) {
                    const vu low = load<vu>(first + 2 * c), high = load<vu>(second + 2 * c);
                    store(to + c, (low & 0xffffu) | high << 16);
                    store(to + value_panel_size() + c, low >> 16 | (high & 0xffff0000u));
                    seen.add(reinterpret_cast<Codes>(low));
                    seen.add(reinterpret_cast<Codes>(high));
                }
            }
        }
        return classify<T, true>(seen) != kOrdinary;
    }

    static constexpr int kSoon = 8;          // rows from now
    static constexpr int kBytesSoon = 256;   // of a row: what follows the processor finds by itself

    const int dim_;
    const Scratch& s_;
};

}  // namespace
}  // namespace acl_attn::engine
