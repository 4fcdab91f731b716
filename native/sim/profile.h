// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Counts of a launch as text for programs: a summary (JSON) and a timeline (Chrome's and Perfetto's trace format).
//
// The environment asks for them:
//   ACL_ATTN_SIM_REPORT=FILE  count, and append the summary of each launch to FILE, one line each
//   ACL_ATTN_SIM_DRY=1        compute nothing (results stay as they were); only together with a report
//   ACL_ATTN_SIM_TRACE=FILE   write the timeline of one core of the last launch to FILE; only together with a report
//   ACL_ATTN_SIM_CORE=N       that core, default 0
#pragma once

#include <string>

#include "sim/launch.h"

namespace acl_attn::sim {

// Sets counts, dry and traced_core as the environment says. Checks win: with checks nothing is counted dry.
void ask_for_profile(LaunchOptions& options);

// Writes what ask_for_profile() made the launch keep. Returns what went wrong, empty if nothing.
std::string write_profile(const LaunchOptions& options, const LaunchResult& result, const char* kernel);

std::string summary_json(const LaunchOptions& options, const LaunchResult& result, const char* kernel);
std::string trace_json(const LaunchOptions& options, const LaunchResult& result);

}  // namespace acl_attn::sim
