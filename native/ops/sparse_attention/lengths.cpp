// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/lengths.h"

#include "ops/rule.h"

namespace acl_attn::ops::sparse {
namespace {

std::string entry(const LengthSources& s, Input input, int64_t index) {
    return text(input_name(s.op, input), "[", index, "]");
}

Finding check_totals(const LengthSources& s, const LengthSource& side) {
    const int32_t* totals = side.totals;
    if (totals[0] != 0) {
        return named(invalid(entry(s, side.totals_name, 0), "0", text(totals[0]),
                             "running totals begin with 0 and have one entry more than there are sequences"),
                     s.rules.totals);
    }
    for (int64_t b = 0; b < s.batch; ++b) {
        if (totals[b + 1] >= totals[b]) continue;
        return named(invalid(entry(s, side.totals_name, b + 1), text("at least ", totals[b], ", the entry before"),
                             text(totals[b + 1])),
                     s.rules.totals);
    }
    if (side.tokens >= 0 && totals[s.batch] != side.tokens) {
        return named(invalid(entry(s, side.totals_name, s.batch),
                             text(side.tokens, ", the tokens of ", side.extent_name), text(totals[s.batch])),
                     s.rules.totals);
    }
    return {};
}

Finding read_segment(const LengthSources& s, const LengthSource& side, int64_t b, Segment& segment) {
    if (!side.present) return {};
    segment.first = side.totals != nullptr ? side.totals[b] : 0;
    segment.stored = side.totals != nullptr ? side.totals[b + 1] - side.totals[b] : side.extent;
    segment.used = segment.stored;
    if (side.used == nullptr) return {};
    segment.used = side.used[b];
    if (segment.used >= 0 && segment.used <= segment.stored) return {};
    return named(invalid(entry(s, side.used_name, b),
                         text("0 to ", segment.stored, ", what ", side.extent_name, " has for the sequence"),
                         text(segment.used)),
                 s.rules.used);
}

Finding read_residual(const LengthSources& s, int64_t b, int64_t& residual) {
    if (s.residual == nullptr || !s.cmp.present) return {};  // without compressed rows the ratio means nothing
    residual = s.residual[b];
    if (residual >= 0 && residual < s.cmp_ratio) return {};
    return named(
        invalid(entry(s, kCmpResidualKv, b), text("0 to ", s.cmp_ratio - 1, ", less than cmpRatio"), text(residual)),
        s.rules.residual);
}

Finding derive_compressed(const LengthSources& s, int64_t b, SequenceLengths& lengths) {
    if (!s.cmp.present) return {};
    lengths.cmp.stored = s.cmp.extent;
    lengths.cmp.used = lengths.ori.used / s.cmp_ratio;
    if (lengths.cmp.used <= lengths.cmp.stored) return {};
    return named(
        invalid(entry(s, s.ori.used_name, b),
                text("at most ", lengths.cmp.stored, " compressed rows, what ", s.cmp.extent_name, " has room for"),
                text(lengths.ori.used, " original tokens, ", lengths.cmp.used, " compressed rows")),
        s.rules.used);
}

}  // namespace

Finding read_lengths(const LengthSources& s, std::vector<SequenceLengths>& lengths) {
    for (const LengthSource* side : {&s.q, &s.ori, &s.cmp}) {
        if (!side->present || side->totals == nullptr) continue;
        if (Finding finding = check_totals(s, *side)) return finding;
    }
    lengths.assign(static_cast<size_t>(s.batch), {});
    for (int64_t b = 0; b < s.batch; ++b) {
        SequenceLengths& of = lengths[static_cast<size_t>(b)];
        if (Finding finding = read_segment(s, s.q, b, of.q)) return finding;
        if (Finding finding = read_segment(s, s.ori, b, of.ori)) return finding;
        if (Finding finding = s.cmp_follows_ori ? derive_compressed(s, b, of) : read_segment(s, s.cmp, b, of.cmp)) {
            return finding;
        }
        if (Finding finding = read_residual(s, b, of.residual)) return finding;
    }
    return {};
}

}  // namespace acl_attn::ops::sparse
