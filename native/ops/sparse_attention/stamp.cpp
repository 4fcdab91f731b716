// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/stamp.h"

#include <algorithm>

#include "runtime/text.h"

namespace acl_attn::ops::sparse {
namespace {

constexpr uint32_t kMagic = 0x4c434154;
constexpr uint32_t kVersion = 2;
enum StampWord : int { kMagicWord = kTaskWords, kVersionWord, kChecksumWord, kOperatorWord, kTraitWord };
constexpr int kTotalWord = kTraitWord + kTraitCount;
constexpr int kWordsOfTotal = 4;
constexpr int kListedWord = kTotalWord + Stamp::kKinds * kWordsOfTotal;
constexpr int kStampEnd = kListedWord + Stamp::kListed * Stamp::kKinds;
static_assert(kStampEnd <= kMetadataWords);

constexpr const char* kTraitNames[kTraitCount] = {"numHeadsQ",  "batch",       "cmpRatio", "oriMaskMode", "cmpMaskMode",
                                                  "oriWinLeft", "oriWinRight", "oriTopk",  "cmpTopk",     "layoutQ",
                                                  "layoutKv",   "hasOriKv",    "hasCmpKv"};
constexpr const char* kKindNames[Stamp::kKinds] = {"query tokens", "original tokens", "compressed rows", "residual"};

class Digest {
public:
    void add(uint32_t value) {
        state_ = (state_ ^ value) * 1099511628211u;
        state_ ^= state_ >> 29;  // a product moves bits up only
    }
    uint32_t value() const { return static_cast<uint32_t>(state_ ^ state_ >> 32); }

private:
    uint64_t state_ = 14695981039346656037u;
};

int64_t length_of(const SequenceLengths& lengths, int kind) {
    switch (kind) {
        case 0: return lengths.q.used;
        case 1: return lengths.ori.used;
        case 2: return lengths.cmp.used;
        default: return lengths.residual;
    }
}

// Everything but the checksum.
uint32_t checksum(const uint32_t* words) {
    // Every run of an operator takes this sum. A chain of additions waits for each product; chains side by side do not.
    constexpr int kChains = 8;
    static_assert(kMetadataWords % kChains == 0);
    Digest chains[kChains], digest;
    for (int i = 0; i < kMetadataWords; i += kChains) {
        for (int c = 0; c < kChains; ++c) chains[c].add(i + c == kChecksumWord ? 0 : words[i + c]);
    }
    for (const Digest& chain : chains) digest.add(chain.value());
    return digest.value();
}

std::string trait_text(int trait, int32_t value) {
    constexpr const char* kKvLayouts[] = {"BSND", "TND", "paged"};
    switch (trait) {
        case kIsPackedQ: return value != 0 ? "TND" : "BSND";
        case kKvLayout: return value >= 0 && value < 3 ? kKvLayouts[value] : "?";
        case kHasOri:
        case kHasCmp: return value != 0 ? "true" : "false";
        default: return text(value);
    }
}

void append(std::string& to, const std::string& part) {
    if (!to.empty()) to += ", ";
    to += part;
}

bool is_known(const Stamp& a, const Stamp& b, int kind) { return a.totals[kind].is_known && b.totals[kind].is_known; }

// The first sequence, of those kept one by one, whose lengths of a kind differ; -1: none.
int first_difference(const Stamp& a, const Stamp& b, int kind) {
    const int count = std::min<int>(Stamp::kListed, a.traits[kBatch]);
    for (int i = 0; i < count; ++i) {
        if (a.listed[i][kind] != b.listed[i][kind]) return i;
    }
    return -1;
}

void compare_lengths(const Stamp& a, const Stamp& b, int kind, Difference& found) {
    if (!is_known(a, b, kind)) return;
    const Stamp::Total &ta = a.totals[kind], &tb = b.totals[kind];
    if (ta.sum == tb.sum && ta.digest == tb.digest) return;
    const int index = first_difference(a, b, kind);
    if (index >= 0) {
        append(found.expected, text(a.listed[index][kind], " ", kKindNames[kind], " in sequence ", index));
        append(found.got, text(b.listed[index][kind]));
    } else if (ta.sum != tb.sum) {
        append(found.expected, text(ta.sum, " ", kKindNames[kind], " in all"));
        append(found.got, text(tb.sum));
    } else {
        append(found.expected, text(ta.sum, " ", kKindNames[kind], " in all, fingerprint ", ta.digest));
        append(found.got, text(tb.sum, ", distributed differently, fingerprint ", tb.digest));
    }
}

}  // namespace

Stamp stamp_of(Operator op, const TaskRules& r, bool is_packed_q, int kv_layout,
               const std::vector<SequenceLengths>& lengths) {
    Stamp stamp;
    stamp.op = op;
    const auto window = [](int64_t tokens) { return static_cast<int32_t>(std::min<int64_t>(tokens, INT32_MAX)); };
    stamp.traits[kHeads] = static_cast<int32_t>(r.heads);
    stamp.traits[kBatch] = static_cast<int32_t>(lengths.size());
    stamp.traits[kCmpRatio] = r.has_cmp ? static_cast<int32_t>(r.cmp_ratio) : 1;
    stamp.traits[kOriMaskMode] = static_cast<int32_t>(r.ori_mask_mode);
    stamp.traits[kCmpMaskMode] = r.has_cmp ? static_cast<int32_t>(r.cmp_mask_mode) : 0;
    stamp.traits[kWinLeft] = r.ori_mask_mode == 4 ? window(r.win_left) : -1;
    stamp.traits[kWinRight] = r.ori_mask_mode == 4 ? window(r.win_right) : -1;
    stamp.traits[kOriTopk] = static_cast<int32_t>(r.ori_topk);
    stamp.traits[kCmpTopk] = r.has_cmp ? static_cast<int32_t>(r.cmp_topk) : 0;
    stamp.traits[kIsPackedQ] = is_packed_q;
    stamp.traits[kKvLayout] = kv_layout;
    stamp.traits[kHasOri] = r.has_ori;
    stamp.traits[kHasCmp] = r.has_cmp;
    for (int kind = 0; kind < Stamp::kKinds; ++kind) {
        Digest digest;
        for (size_t b = 0; b < lengths.size(); ++b) {
            const int64_t length = length_of(lengths[b], kind);
            stamp.totals[kind].is_known &= length != kUnknownLength;
            stamp.totals[kind].sum += length;
            digest.add(static_cast<uint32_t>(length));
            if (b < Stamp::kListed) stamp.listed[b][kind] = static_cast<int32_t>(length);
        }
        stamp.totals[kind].digest = digest.value();
    }
    return stamp;
}

void write_stamp(const Stamp& stamp, uint32_t* words) {
    std::fill(words + kTaskWords, words + kMetadataWords, 0);
    words[kMagicWord] = kMagic;
    words[kVersionWord] = kVersion;
    words[kOperatorWord] = static_cast<uint32_t>(stamp.op);
    for (int i = 0; i < kTraitCount; ++i) words[kTraitWord + i] = static_cast<uint32_t>(stamp.traits[i]);
    for (int kind = 0; kind < Stamp::kKinds; ++kind) {
        uint32_t* to = words + kTotalWord + kind * kWordsOfTotal;
        const Stamp::Total& total = stamp.totals[kind];
        to[0] = total.is_known;
        to[1] = static_cast<uint32_t>(total.sum);
        to[2] = static_cast<uint32_t>(static_cast<uint64_t>(total.sum) >> 32);
        to[3] = total.digest;
        for (int i = 0; i < Stamp::kListed; ++i) {
            words[kListedWord + i * Stamp::kKinds + kind] = static_cast<uint32_t>(stamp.listed[i][kind]);
        }
    }
    words[kChecksumWord] = checksum(words);
}

StampState read_stamp(const uint32_t* words, Stamp& stamp) {
    if (words[kMagicWord] != kMagic || words[kVersionWord] != kVersion || words[kOperatorWord] > 1) {
        const bool is_blank =
            std::all_of(words + kTaskWords, words + kMetadataWords, [](uint32_t w) { return w == 0; });
        return is_blank ? StampState::absent : StampState::changed;
    }
    stamp.op = static_cast<Operator>(words[kOperatorWord]);
    for (int i = 0; i < kTraitCount; ++i) stamp.traits[i] = static_cast<int32_t>(words[kTraitWord + i]);
    for (int kind = 0; kind < Stamp::kKinds; ++kind) {
        const uint32_t* from = words + kTotalWord + kind * kWordsOfTotal;
        stamp.totals[kind] = {from[0] != 0, static_cast<int64_t>(from[1] | static_cast<uint64_t>(from[2]) << 32),
                              from[3]};
        for (int i = 0; i < Stamp::kListed; ++i) {
            stamp.listed[i][kind] = static_cast<int32_t>(words[kListedWord + i * Stamp::kKinds + kind]);
        }
    }
    return words[kChecksumWord] == checksum(words) ? StampState::good : StampState::changed;
}

Difference difference(const Stamp& a, const Stamp& b) {
    Difference found;
    if (a.op != b.op) return {metadata_api_name(a.op), metadata_api_name(b.op)};
    for (int i = 0; i < kTraitCount; ++i) {
        if (a.traits[i] == b.traits[i]) continue;
        append(found.expected, text(kTraitNames[i], " ", trait_text(i, a.traits[i])));
        append(found.got, text(kTraitNames[i], " ", trait_text(i, b.traits[i])));
    }
    if (a.traits[kBatch] != b.traits[kBatch]) return found;
    for (int kind = 0; kind < Stamp::kKinds; ++kind) compare_lengths(a, b, kind, found);
    return found;
}

std::string describe(const Stamp& stamp) {
    std::string out = text(metadata_api_name(stamp.op), ":");
    for (int i = 0; i < kTraitCount; ++i) {
        out += text(i == 0 ? " " : ", ", kTraitNames[i], " ", trait_text(i, stamp.traits[i]));
    }
    out += "\n";
    for (int kind = 0; kind < Stamp::kKinds; ++kind) {
        if (!stamp.totals[kind].is_known) {
            out += text("  ", kKindNames[kind], ": not known\n");
            continue;
        }
        out += text("  ", kKindNames[kind], ": ", stamp.totals[kind].sum, " in all;");
        const int count = std::clamp(stamp.traits[kBatch], 0, Stamp::kListed);
        for (int i = 0; i < count; ++i) out += text(" ", stamp.listed[i][kind]);
        out += count < stamp.traits[kBatch] ? " ...\n" : "\n";
    }
    return out;
}

}  // namespace acl_attn::ops::sparse
