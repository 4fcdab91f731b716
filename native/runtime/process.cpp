// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Initialisation counting and version questions. Nothing else depends on initialisation.
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/api.h"

namespace acl_attn::runtime {
namespace {

constexpr size_t kVersionRoom = 128;

// Guarded by the state lock.
uint64_t init_count = 0;
bool was_initialised = false;
std::string* first_config = nullptr;  // never destroyed, like the state itself

aclError read_config(const char* path, std::string* content) {
    if (path == nullptr || *path == '\0') return ACL_SUCCESS;
    struct stat status = {};
    std::ifstream file;
    // A directory opens and then throws; a pipe or a device may never end.
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) file.open(path, std::ios::binary);
    if (!file.is_open()) {
        return fail(ACL_ERROR_INVALID_FILE, text("configPath: expected a readable file, got \"", path, "\""));
    }
    content->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    return ACL_SUCCESS;
}

aclError not_initialised() {
    return fail(ACL_ERROR_REPEAT_FINALIZE,
                "aclFinalize: AscendCL is not initialised; each finalisation needs an aclInit");
}

aclError check_package(const char* name) {
    if (name == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "pkgName: expected a package name, got null");
    if (std::strcmp(name, "acl_attn") == 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_FILE,
                text("pkgName: expected \"acl_attn\", the only package of the host target, got \"", name, "\""));
}

}  // namespace
}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclInit(const char* configPath) {
    return entry("aclInit", [&]() -> aclError {
        std::string config;
        if (const aclError error = read_config(configPath, &config)) return error;
        Lock lock(state().mutex);
        if (init_count > 0) {
            ++init_count;
            return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: AscendCL is initialised already; this call was counted");
        }
        if (was_initialised && configPath != nullptr && config != *first_config) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        "configPath: expected the content that the process was first initialised with, got another");
        }
        if (first_config == nullptr) first_config = new std::string;
        if (!was_initialised) *first_config = std::move(config);
        was_initialised = true;
        init_count = 1;
        return ACL_SUCCESS;
    });
}

aclError aclFinalize(void) {
    return entry("aclFinalize", [&]() -> aclError {
        Lock lock(state().mutex);
        if (init_count == 0) return not_initialised();
        init_count = 0;
        return ACL_SUCCESS;
    });
}

aclError aclFinalizeReference(uint64_t* refCount) {
    return entry("aclFinalizeReference", [&]() -> aclError {
        Lock lock(state().mutex);
        if (init_count == 0) return not_initialised();
        --init_count;
        if (refCount != nullptr) *refCount = init_count;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
    return entry("aclrtGetVersion", [&]() -> aclError {
        if (majorVersion == nullptr) return null_result("majorVersion");
        if (minorVersion == nullptr) return null_result("minorVersion");
        if (patchVersion == nullptr) return null_result("patchVersion");
        *majorVersion = ACL_MAJOR_VERSION;
        *minorVersion = ACL_MINOR_VERSION;
        *patchVersion = ACL_PATCH_VERSION;
        return ACL_SUCCESS;
    });
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
    return entry("aclsysGetVersionStr", [&]() -> aclError {
        if (versionStr == nullptr) return null_result("versionStr");
        if (const aclError error = check_package(pkgName)) return error;
        std::snprintf(versionStr, kVersionRoom, "%s", ACL_ATTN_VERSION);
        return ACL_SUCCESS;
    });
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
    return entry("aclsysGetVersionNum", [&]() -> aclError {
        if (versionNum == nullptr) return null_result("versionNum");
        if (const aclError error = check_package(pkgName)) return error;
        int major = 0, minor = 0, patch = 0;
        std::sscanf(ACL_ATTN_VERSION, "%d.%d.%d", &major, &minor, &patch);
        *versionNum = major * 10000000 + minor * 100000 + patch * 1000;
        return ACL_SUCCESS;
    });
}

}  // extern "C"
