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

template <class T, class Operand>
class Panels {
public:
    int64_t key = 0;           // of column 0; a multiple of kTileKeys
    int begin = 0, end = 0;    // columns that some row sees
    bool exceptional = false;  // some value was set aside (exceptional-inl.h)
    const int steps;           // of a key panel

    Panels(int dim, int dim_v, const Scratch& scratch)
        : steps(steps_of(dim, Operand::kDepth)), dim_(dim), dim_v_(dim_v), s_(scratch) {}

    // [kTileKeys] addresses each; exceptional values' are changed.
    void pack(const void* const* keys, const void** values) {
        constexpr bool tiny_matters = Operand::kDepth == 2;
        exceptional = set_aside<T, tiny_matters>(values, begin, end, dim_v_, s_.zeros, s_.value_classes,
                                                 s_.value_originals);
        for (int c = column(0); c < round_up(end, kLanes); c += kLanes) {
            pack_keys<T, Operand>(keys + c, dim_, key_panel((c - column(0)) / kNr), (c - column(0)) % kNr);
        }
        pack_values<Operand, T>(values, column(0), round_up(end, kLanes), dim_v_, value_panel_size(),
                                s_.value_panels);
    }

    // The first column of a key panel: there are no more than [begin, end) needs.
    int column(int p) const { return round_down(begin, kLanes) + p * kNr; }

    float* key_panel(int p) const { return s_.key_panels + static_cast<ptrdiff_t>(p) * steps * kNr; }
    static constexpr int value_panel_size() { return kTileKeys / Operand::kDepth * kNr; }

private:
    const int dim_, dim_v_;
    const Scratch& s_;
};

}  // namespace
}  // namespace acl_attn::engine
