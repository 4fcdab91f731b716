// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the functions of this folder run. Kernels define it before they include them, as their compiler tells functions
// of the AI core from those of the host by an attribute.
#pragma once

#ifndef ACL_ATTN_GEOMETRY_SPACE
#define ACL_ATTN_GEOMETRY_SPACE
#endif
