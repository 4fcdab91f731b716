// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/describe.h"

#include "ops/sparse_attention/stamp.h"
#include "runtime/text.h"

namespace acl_attn::ops::sparse {
namespace {

std::string call_text(const uint32_t* words) {
    Stamp stamp;
    switch (read_stamp(words, stamp)) {
        case StampState::good: return describe(stamp);
        case StampState::changed: return "not as the metadata operator wrote it; it says:\n" + describe(stamp);
        case StampState::absent: break;
    }
    return "no word about the call that it was made for\n";
}

std::string point(const uint32_t* fields) { return text("(", fields[0], ", ", fields[1], ", ", fields[2], ")"); }

}  // namespace

std::string describe_metadata(const uint32_t* words) {
    std::string out = call_text(words);
    int idle = 0;
    for (int core = 0; core < kMaxCubeCores; ++core) {
        const uint32_t* fields = words + cube_word(core);
        if (fields[kEnable] == 0) {
            ++idle;
            continue;
        }
        out += text("cube core ", core, ": (sequence, row block, column block) ", point(fields + kStartBatch),
                    " up to ", point(fields + kEndBatch), ", first partial slot ", fields[kFirstSlot]);
        if (fields[kMostColumnBlocks] > 0)
            out += text(", at most ", fields[kMostColumnBlocks], " column blocks a core");
        out += "\n";
    }
    out += text(idle, " of ", kMaxCubeCores, " cube cores without work\n");
    for (int core = 0; core < kMaxVectorCores; ++core) {
        const uint32_t* fields = words + vector_word(core);
        if (fields[kReduce] == 0) continue;
        out += text("vector core ", core, ": reduces sequence ", fields[kReduceBatch], ", row block ",
                    fields[kReduceRows], ", rows ", fields[kReduceFirstRow], " to ",
                    static_cast<uint64_t>(fields[kReduceFirstRow]) + fields[kReduceRowCount], ", from ",
                    fields[kReduceSlots], " slots at ", fields[kReduceSlot], "\n");
    }
    return out;
}

}  // namespace acl_attn::ops::sparse
