// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/metadata_check.h"

#include <algorithm>

#include "ops/sparse_attention/stamp.h"

namespace acl_attn::ops::sparse {
namespace {

Finding refused(const Planned& planned, const std::string& expected, const std::string& got) {
    const char* rule = planned.op == Operator::sparse_flash_mla ? "SMLA-075" : "HOST-V-51";
    return named(invalid("metadata", expected, got,
                         text("call ", metadata_api_name(planned.op), " again whenever lengths or parameters change")),
                 rule);
}

// The first word that differs from what this device would write; kTaskWords: none.
int first_difference(const Planned& planned, const std::vector<TaskSequence>& sequences, const uint32_t* words,
                     std::vector<uint32_t>& wanted) {
    write_task_list(planned.tasks, sequences, wanted.data());
    const auto end = wanted.begin() + kTaskWords;
    return static_cast<int>(std::mismatch(wanted.begin(), end, words).first - wanted.begin());
}

Finding check_against_list(const Planned& planned, const std::vector<SequenceLengths>& lengths,
                           const int32_t* ori_topk, const int32_t* cmp_topk, const uint32_t* words) {
    std::vector<TaskSequence> sequences = task_sequences(planned, lengths, ori_topk, cmp_topk);
    std::vector<uint32_t> wanted(kMetadataWords);
    const int word = first_difference(planned, sequences, words, wanted);
    if (word == kTaskWords) return {};
    const uint32_t ours = wanted[static_cast<size_t>(word)];
    if (planned.tasks.cmp_topk > 0) {  // the metadata operator may not have been told the compressed lengths
        for (TaskSequence& sequence : sequences) sequence.cmp = kUnknownLength;
        if (first_difference(planned, sequences, words, wanted) == kTaskWords) return {};
    }
    return refused(planned,
                   text("what ", metadata_api_name(planned.op), " wrote for this call, or a device of ",
                        planned.tasks.cores.cube, " cube cores, with ", ours, " in word ", word),
                   text("words that it did not write, with ", words[word], " there"));
}

}  // namespace

Finding check_metadata(const Planned& planned, const std::vector<SequenceLengths>& lengths, const int32_t* ori_topk,
                       const int32_t* cmp_topk, const uint32_t* words) {
    Stamp got;
    switch (read_stamp(words, got)) {
        case StampState::absent: return check_against_list(planned, lengths, ori_topk, cmp_topk, words);
        case StampState::changed:
            return refused(planned, text("the words as ", metadata_api_name(planned.op), " wrote them"),
                           "words that it did not write, or that were changed since");
        case StampState::good: break;
    }
    const Stamp expected = stamp_of(planned.op, planned.tasks, planned.layout_q == Layout::tnd,
                                    static_cast<int>(planned.layout_kv), lengths);
    const Difference found = difference(expected, got);
    if (found.expected.empty()) return {};
    return refused(planned, text("that of this call: ", found.expected), text("that of another: ", found.got));
}

}  // namespace acl_attn::ops::sparse
