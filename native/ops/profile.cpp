// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/profile.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "acl/acl_rt.h"
#include "engine/targets.h"
#include "engine/threads.h"
#include "runtime/device.h"
#include "runtime/text.h"

namespace acl_attn::ops {
namespace {

constexpr const char* kNames[kProfileCount] = {"host", "ascend950", "ascend910b", "ascend910_93"};
constexpr int kUnset = -1;

struct Choice {
    std::atomic<int> value{kUnset};
};
Choice devices[runtime::kMaxDevices];
std::atomic<int> revision{kUnset};
thread_local int of_thread = kUnset;

bool is_set(const char* value) { return value != nullptr && *value != '\0'; }

// The environment as it was at first use.
struct Asked {
    Profile profile = kDefaultProfile;
    Revision revision = Revision::page;
    std::string wrong_profile, wrong_revision;  // sentences

    Asked() {
        const char* name = std::getenv("ACL_ATTN_PROFILE");
        if (is_set(name) && !find_profile(name, &profile)) {
            wrong_profile = text("ACL_ATTN_PROFILE: expected one of ", profile_names(bit(Profile::host) | kProductBits),
                                 ", got \"", name, "\"");
        }
        name = std::getenv("ACL_ATTN_RULES");
        if (is_set(name) && std::strcmp(name, "newest") == 0) {
            revision = Revision::newest;
        } else if (is_set(name) && std::strcmp(name, "page") != 0) {
            wrong_revision = text("ACL_ATTN_RULES: expected page or newest, got \"", name, "\"");
        }
    }
};

const Asked& asked() {
    static const Asked* const asked = new Asked;
    return *asked;
}

}  // namespace

const char* profile_name(Profile profile) noexcept { return kNames[static_cast<int>(profile)]; }

bool find_profile(const char* name, Profile* profile) noexcept {
    for (int i = 0; i < kProfileCount; ++i) {
        if (std::strcmp(kNames[i], name) != 0) continue;
        *profile = static_cast<Profile>(i);
        return true;
    }
    return false;
}

std::string profile_names(uint32_t profiles) {
    std::string names;
    for (int i = 0; i < kProfileCount; ++i) {
        if ((profiles & bit(static_cast<Profile>(i))) == 0) continue;
        if (!names.empty()) names += ", ";
        names += kNames[i];
    }
    return names;
}

Profile profile_of(int32_t device) noexcept {
    const int value = devices[device].value.load(std::memory_order_relaxed);
    return value == kUnset ? asked().profile : static_cast<Profile>(value);
}

void set_profile(int32_t device, Profile profile) noexcept {
    devices[device].value.store(static_cast<int>(profile), std::memory_order_relaxed);
}

void unset_profile(int32_t device) noexcept { devices[device].value.store(kUnset, std::memory_order_relaxed); }

Profile current_profile() noexcept {
    return of_thread == kUnset ? profile_of(runtime::current_device()) : static_cast<Profile>(of_thread);
}

void set_thread_profile(Profile profile) noexcept { of_thread = static_cast<int>(profile); }
void unset_thread_profile() noexcept { of_thread = kUnset; }

Revision current_revision() noexcept {
    const int value = revision.load(std::memory_order_relaxed);
    return value == kUnset ? asked().revision : static_cast<Revision>(value);
}

void set_revision(Revision chosen) noexcept { revision.store(static_cast<int>(chosen), std::memory_order_relaxed); }
void unset_revision() noexcept { revision.store(kUnset, std::memory_order_relaxed); }

const char* wrong_environment() noexcept {
    if (const char* problem = engine::target_environment_problem()) return problem;
    if (const char* problem = engine::thread_environment_problem()) return problem;
    const Asked& from = asked();
    if (from.wrong_profile.empty() && from.wrong_revision.empty()) return nullptr;
    const bool is_profile_open =
        of_thread == kUnset && devices[runtime::current_device()].value.load(std::memory_order_relaxed) == kUnset;
    if (is_profile_open && !from.wrong_profile.empty()) return from.wrong_profile.c_str();
    const bool is_revision_open = revision.load(std::memory_order_relaxed) == kUnset;
    return is_revision_open && !from.wrong_revision.empty() ? from.wrong_revision.c_str() : nullptr;
}

}  // namespace acl_attn::ops
