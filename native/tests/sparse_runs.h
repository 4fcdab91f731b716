// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// For the C++ tests of the sparse operators: runs that must go well, or must fail with a message and write nothing.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sparse_call.h"

namespace sparse_call {

inline std::vector<uint16_t> output_of(const Prepared& p) {
    return {p.out_data, p.out_data + static_cast<size_t>(p.rows * p.s.heads * 512)};
}

inline void fill_output(Prepared& p) { std::fill_n(p.out_data, static_cast<size_t>(p.rows * p.s.heads * 512), 0x1234); }

inline bool is_filled(const Prepared& p) {
    return std::all_of(p.out_data, p.out_data + static_cast<size_t>(p.rows * p.s.heads * 512),
                       [](uint16_t code) { return code == 0x1234; });
}

inline const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = [] {
        std::vector<Scenario> made;
        for (const Scenario& s : {window(), dense(), selected()}) {
            for (const Scenario& of_layout : {s, packed(s), unpacked(s)}) made.push_back(of_layout);
            made.push_back(quantised(s));
        }
        return made;
    }();
    return all;
}

inline std::set<std::string> broken_rules;  // by calls that were refused for them when they ran

inline void note_rule(const std::string& message) {
    const size_t at = message.rfind('[');
    if (at != std::string::npos) broken_rules.insert(message.substr(at + 1, message.size() - at - 2));
}

// The run fails with a message that contains `needle`, and writes nothing.
inline void fails(Prepared& p, const std::string& needle, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    fill_output(p);
    const aclnnStatus status = call(p.a);
    const std::string message = status == 0 ? "" : recent_message();
    expect(status == 161002 && message.find(needle) != std::string::npos,
           "\"" + needle + "\", status " + std::to_string(status) + ": " + message, file, line);
    expect(message.find(": expected ") != std::string::npos && message.find(", got ") != std::string::npos, message,
           file, line);
    expect(is_filled(p), "nothing is written: " + message, file, line);
    note_rule(message);
}

// The same of the metadata's producer.
inline void metadata_fails(Prepared& p, const char* needle, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
    const std::vector<int32_t> before = p.words;
    const aclnnStatus status = p.make_metadata();
    const std::string message = status == 0 ? "" : recent_message();
    expect(status == 161002 && message.find(needle) != std::string::npos, message, file, line);
    expect(p.words == before, "nothing is written: " + message, file, line);
    note_rule(message);
}

inline void runs(Prepared& p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    fill_output(p);
    const aclnnStatus status = call(p.a);
    expect(status == 0, status == 0 ? "" : recent_message(), file, line);
    expect(!is_filled(p), "something is written", file, line);
}

// An INT32 entry that is changed for as long as this lives.
class Changed {
public:
    Changed(int32_t& entry, int32_t value) : entry_(entry), before_(entry) { entry_ = value; }
    ~Changed() { entry_ = before_; }

private:
    int32_t& entry_;
    int32_t before_;
};

// The lengths' data, which the tensors were made on.
inline int32_t* data_of(Prepared& p, T Arguments::* member, const std::vector<int64_t>& values) {
    int32_t* data = p.int_data(values);
    p.a.*member = p.tensor({static_cast<int64_t>(values.size())}, ACL_INT32, data);
    return data;
}

}  // namespace sparse_call
