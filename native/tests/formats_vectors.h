// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each instruction set; main comes from the baseline, so that it can decline to call this.
#pragma once

int check_vectors();
