// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "npu/kernels.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "runtime/text.h"

namespace acl_attn::npu {
namespace {

constexpr const char* kFunction = "acl_attn_npu_launch";

std::string own_folder() {
    Dl_info info = {};
    if (dladdr(reinterpret_cast<const void*>(&kernels_for), &info) == 0 || info.dli_fname == nullptr) return ".";
    const std::string path = info.dli_fname;
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

Kernels open(const Device& device) {
    Kernels found;
    const std::string folder = own_folder();
    const std::string file = text("libacl_attn_npu_", device.chip.architecture, ".so");
    for (const std::string& path : {text(folder, "/npu/", device.name, "/", file), text(folder, "/", file)}) {
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            found.problem += text(found.problem.empty() ? "" : "; ", dlerror());
            continue;
        }
        found.launch = reinterpret_cast<LaunchFunction>(dlsym(library, kFunction));
        found.problem = found.launch == nullptr ? text(path, " does not export ", kFunction) : "";
        break;
    }
    return found;
}

}  // namespace

Kernels kernels_for(const Device& device) {
    static auto* const mutex = new std::mutex;
    static auto* const known = new std::map<int32_t, Kernels>;
    const std::lock_guard<std::mutex> hold(*mutex);
    const auto found = known->find(device.chip.architecture);
    if (found != known->end()) return found->second;
    const Kernels opened = open(device);
    if (opened.problem.empty()) known->emplace(device.chip.architecture, opened);
    return opened;
}

}  // namespace acl_attn::npu
