// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions that programs for CANN may link against but the host target does not carry out yet.
#include "runtime/api.h"

namespace {

aclError unsupported(const char* api) {
    return acl_attn::runtime::entry(api, [&] {
        return acl_attn::fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                              acl_attn::text(api, ": not supported yet by the host target"));
    });
}

}  // namespace

extern "C" {

aclError aclmdlRICaptureBegin(aclrtStream, aclmdlRICaptureMode) { return unsupported("aclmdlRICaptureBegin"); }
aclError aclmdlRICaptureGetInfo(aclrtStream, aclmdlRICaptureStatus*, aclmdlRI*) {
    return unsupported("aclmdlRICaptureGetInfo");
}
aclError aclmdlRICaptureEnd(aclrtStream, aclmdlRI*) { return unsupported("aclmdlRICaptureEnd"); }
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode*) {
    return unsupported("aclmdlRICaptureThreadExchangeMode");
}
aclError aclmdlRICaptureTaskGrpBegin(aclrtStream) { return unsupported("aclmdlRICaptureTaskGrpBegin"); }
aclError aclmdlRICaptureTaskGrpEnd(aclrtStream, aclrtTaskGrp*) { return unsupported("aclmdlRICaptureTaskGrpEnd"); }
aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream, aclrtTaskGrp) {
    return unsupported("aclmdlRICaptureTaskUpdateBegin");
}
aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream) { return unsupported("aclmdlRICaptureTaskUpdateEnd"); }
aclError aclmdlRIExecute(aclmdlRI, int32_t) { return unsupported("aclmdlRIExecute"); }
aclError aclmdlRIExecuteAsync(aclmdlRI, aclrtStream) { return unsupported("aclmdlRIExecuteAsync"); }
aclError aclmdlRIDebugJsonPrint(aclmdlRI, const char*, uint32_t) { return unsupported("aclmdlRIDebugJsonPrint"); }
aclError aclmdlRIDestroy(aclmdlRI) { return unsupported("aclmdlRIDestroy"); }
aclError aclrtBinaryUnLoad(aclrtBinHandle) { return unsupported("aclrtBinaryUnLoad"); }
aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char*, aclrtFuncHandle*) {
    return unsupported("aclrtBinaryGetFunction");
}
aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle, uint64_t, aclrtFuncHandle*) {
    return unsupported("aclrtBinaryGetFunctionByEntry");
}
aclError aclrtLaunchKernel(aclrtFuncHandle, uint32_t, const void*, size_t, aclrtStream) {
    return unsupported("aclrtLaunchKernel");
}

}  // extern "C"
