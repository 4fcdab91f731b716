// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Declarations of the kernel API as strict as the vendor's public headers are: parameter types, template parameters and
// their defaults, overloads, fields, and the types that each generation takes. Kernels and api_probe.cpp are checked
// against them, never run: vendor_like.cmake says how. Written from the facts in those headers (the asc-devkit of
// CANN), in our own words; where two releases differ, what both accept. No function does anything.
//
// Two branches, as there. Without ACL_ATTN_VENDOR_DEVICE: the CPU-debug one, where pointers of all memories are plain
// and the kind of core is a run-time test. With it: the device's, for clang, with an address space for each memory, and
// a kind of core that is known at compile time: -D__DAV_CUBE__, -D__DAV_VEC__ or neither.
#pragma once

#include "copies.h"
#include "cube.h"
#include "system.h"
#include "vector.h"
#if __NPU_ARCH__ == 3510
#include "registers.h"
#endif
