// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/profile.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "acl/acl_rt.h"
#include "runtime/device.h"

namespace acl_attn::ops {
namespace {

constexpr const char* kNames[kProfileCount] = {"host", "ascend950", "ascend910b", "ascend910_93"};
constexpr int kUnset = -1;

struct Choice {
    std::atomic<int> value{kUnset};
};
Choice devices[runtime::kMaxDevices];
std::atomic<int> revision{kUnset};

Profile asked_profile() {
    Profile profile = kDefaultProfile;
    if (const char* name = std::getenv("ACL_ATTN_PROFILE")) find_profile(name, &profile);
    return profile;
}

Revision asked_revision() {
    const char* name = std::getenv("ACL_ATTN_RULES");
    return name != nullptr && std::strcmp(name, "newest") == 0 ? Revision::newest : Revision::page;
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
    static const Profile asked = asked_profile();
    const int value = devices[device].value.load(std::memory_order_relaxed);
    return value == kUnset ? asked : static_cast<Profile>(value);
}

void set_profile(int32_t device, Profile profile) noexcept {
    devices[device].value.store(static_cast<int>(profile), std::memory_order_relaxed);
}

void unset_profile(int32_t device) noexcept { devices[device].value.store(kUnset, std::memory_order_relaxed); }

Profile current_profile() noexcept { return profile_of(runtime::current_device()); }

Revision current_revision() noexcept {
    static const Revision asked = asked_revision();
    const int value = revision.load(std::memory_order_relaxed);
    return value == kUnset ? asked : static_cast<Revision>(value);
}

void set_revision(Revision asked) noexcept { revision.store(static_cast<int>(asked), std::memory_order_relaxed); }
void unset_revision() noexcept { revision.store(kUnset, std::memory_order_relaxed); }

}  // namespace acl_attn::ops
