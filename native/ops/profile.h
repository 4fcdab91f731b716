// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Whose rules a call is held against: those of a product, or only what the mathematics and the safety of memory need.
#pragma once

#include <cstdint>
#include <string>

namespace acl_attn::ops {

enum class Profile : uint8_t { host, ascend950, ascend910b, ascend910_93 };
constexpr int kProfileCount = 4;
constexpr Profile kDefaultProfile = Profile::ascend950;

// Which edition of a product's rules: the vendor's page, or the newest sources where these differ from it.
enum class Revision : uint8_t { page, newest };

constexpr uint32_t bit(Profile profile) { return 1u << static_cast<int>(profile); }
constexpr uint32_t bit(Revision revision) { return 1u << static_cast<int>(revision); }

// The profiles and editions that a rule belongs to. Profile host has no editions.
struct Scope {
    uint32_t profiles;
    uint32_t revisions;

    constexpr bool covers(Profile profile, Revision revision) const {
        return (profiles & bit(profile)) != 0 && (profile == Profile::host || (revisions & bit(revision)) != 0);
    }
};

constexpr uint32_t kOlderBits = bit(Profile::ascend910b) | bit(Profile::ascend910_93);
constexpr uint32_t kProductBits = bit(Profile::ascend950) | kOlderBits;
constexpr uint32_t kBothRevisions = bit(Revision::page) | bit(Revision::newest);

constexpr Scope kEverywhere{bit(Profile::host) | kProductBits, kBothRevisions};
constexpr Scope kHostOnly{bit(Profile::host), kBothRevisions};
constexpr Scope kProducts{kProductBits, kBothRevisions};
constexpr Scope kAscend950{bit(Profile::ascend950), kBothRevisions};
constexpr Scope kOlder{kOlderBits, kBothRevisions};
constexpr Scope page_only(Scope scope) { return {scope.profiles, bit(Revision::page)}; }
constexpr Scope newest_only(Scope scope) { return {scope.profiles, bit(Revision::newest)}; }
constexpr Scope and_host(Scope scope) { return {scope.profiles | bit(Profile::host), scope.revisions}; }

const char* profile_name(Profile profile) noexcept;
// False for an unknown name.
bool find_profile(const char* name, Profile* profile) noexcept;
// "host, ascend910b" for a set of bits.
std::string profile_names(uint32_t profiles);

// Of a device: what was set, or the environment variable ACL_ATTN_PROFILE, or kDefaultProfile.
Profile profile_of(int32_t device) noexcept;
void set_profile(int32_t device, Profile profile) noexcept;
void unset_profile(int32_t device) noexcept;
// What the calling thread chose, or its device's, that of the first one if it has none yet.
Profile current_profile() noexcept;
void set_thread_profile(Profile profile) noexcept;
void unset_thread_profile() noexcept;

// What was set, or what the environment variable ACL_ATTN_RULES says ("page" or "newest"), or `page`.
Revision current_revision() noexcept;
void set_revision(Revision revision) noexcept;
void unset_revision() noexcept;

// What is wrong with the environment variables that calls go by, as a sentence; null where nothing is, or nobody asks
// them any more. Calls are refused with it: guessing would hold them against rules that nobody chose.
const char* wrong_environment() noexcept;

}  // namespace acl_attn::ops
