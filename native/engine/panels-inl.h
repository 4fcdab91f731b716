// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of keys and values as the products take it.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/pack-inl.h"
#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// Of a key panel.
template <class Operand>
inline int panel_steps(int dim) { return round_up(steps_of(dim, Operand::kDepth), Operand::kSteps); }

// Whether they are of rows that are keys and values at once, and made by a pack() of their own.
template <class Operand>
constexpr bool kIsShared = false;

template <class T, class Operand>
class Panels {
public:
    int64_t key = 0;           // of column 0; a multiple of kTileKeys
    int begin = 0, end = 0;    // columns that some row sees
    bool exceptional = false;  // some value was set aside (exceptional-inl.h)
    bool finite = true;        // no key holds an infinity or NaN; only told where keys have second parts
    const int steps;           // of a key panel

    Panels(int dim, int dim_v, const Scratch& scratch)
        : steps(panel_steps<Operand>(dim)), dim_(dim), dim_v_(dim_v), s_(scratch) {}

    // [kTileKeys] addresses each; exceptional values' are changed. Those of keys must stay.
    void pack(const void* const* keys, const void** values) {
        keys_ = keys;
        constexpr bool tiny_matters = Operand::kDepth == 2;
        exceptional = set_aside<T, tiny_matters>(values, begin, end, dim_v_, s_.zeros, s_.value_classes,
                                                 s_.value_originals);
        if constexpr (Operand::kParts > 1) finite = !any_exceptional<T, false>(keys, begin, end, dim_);
        const int first = column(0), last = round_up(end, Operand::kKeys);
        for (int c = first; c < last; c += kLanes) {
            pack_keys<T, Operand>(keys + c, dim_, key_panel((c - first) / kColumns), (c - first) % kColumns, steps,
                                  key_part_size());
        }
        pack_values<Operand, T>(values, first, last, dim_v_, value_panel_size(), s_.value_panels, value_part_size());
    }

    const void* key_row(int column) const { return keys_[column]; }

    // The first column of a key panel: there are no more than [begin, end) needs.
    int column(int p) const { return round_down(begin, Operand::kKeys) + p * kColumns; }

    float* key_panel(int p) const { return s_.key_panels + static_cast<ptrdiff_t>(p) * steps * kColumns; }
    static constexpr int value_panel_size() { return kTileKeys / Operand::kDepth * kColumns; }

    // From a panel to that of the second parts.
    ptrdiff_t key_part_size() const { return static_cast<ptrdiff_t>(kTileKeys) * steps; }
    ptrdiff_t value_part_size() const {
        return static_cast<ptrdiff_t>(round_up(dim_v_, kColumns) / kColumns) * value_panel_size();
    }

private:
    static constexpr int kColumns = Operand::kColumns;

    const void* const* keys_ = nullptr;

    const int dim_, dim_v_;
    const Scratch& s_;
};

}  // namespace
}  // namespace acl_attn::engine
