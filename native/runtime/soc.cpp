// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/soc.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "acl/acl_base.h"
#include "runtime/chips.h"
#include "runtime/device.h"

namespace acl_attn::runtime {
namespace {

Soc processor(const char* name) {
    const int32_t cores = std::max(1u, std::thread::hardware_concurrency());
    int64_t cache = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    cache = std::max<int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
    return {name, cores, cores, cores, static_cast<int64_t>(total_memory()), cache, 0, 0};
}

Soc choose() {
    const char* asked = std::getenv("ACL_ATTN_SOC_NAME");
    if (asked == nullptr || *asked == '\0') return processor("Host");
    if (const Soc* chip = find_chip(asked)) return *chip;
    static const std::string name = asked;  // the environment may change later
    return processor(name.c_str());
}

}  // namespace

const Soc& soc() noexcept {
    static const Soc chosen = choose();
    return chosen;
}

}  // namespace acl_attn::runtime

const char* aclrtGetSocName(void) { return acl_attn::runtime::soc().name; }
