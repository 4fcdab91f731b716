# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs in INT8, FP8 and HIFLOAT8."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acl_attn.dtypes import decode
from acl_attn.testing.build import arguments
from acl_attn.testing.calls import Call

from ..checks import check, run

CALL = Call("BSND", (5, 1, 18), (40, 70, 9), 6, 2, 64, 64, q_room=2, out_format="int8")
FORMATS = ("int8", "float8_e4m3fn", "hifloat8")


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("out_format", FORMATS)
def test_formats(out_format: str, dtype: str, per_channel: bool, offset: bool) -> None:
    call = replace(CALL, out_format=out_format, dtype=dtype, out_per_channel=per_channel, out_offset=offset)
    for seed in range(3):
        check(replace(call, seed=seed))


@pytest.mark.parametrize("layout", ["BSH", "BNSD", "BNSD_BSND", "TND", "NTD", "NTD_TND", "BSND_BNSD"])
def test_channels_count_by_head_in_every_layout(layout: str) -> None:
    check(replace(CALL, layout=layout, out_per_channel=True, sparse_mode=3))


@pytest.mark.parametrize("rows", [1, 130])
def test_long_keys(rows: int) -> None:
    check(replace(CALL, q_lengths=(rows,), kv_lengths=(1100,), out_format="float8_e4m3fn"))


@pytest.mark.parametrize("out_format", FORMATS)
def test_rows_that_see_no_key_are_zero_and_not_the_offset(out_format: str) -> None:
    call = replace(CALL, q_lengths=(18, 3), kv_lengths=(9, 0), sparse_mode=3, out_format=out_format, out_offset=True)
    out, _ = check(call)
    assert not out.view(np.uint8)[0, :9].any()
    assert not out.view(np.uint8)[1].any()


@pytest.mark.parametrize(("out_format", "largest"), [("int8", 127), ("float8_e4m3fn", 448), ("hifloat8", 32768)])
def test_saturation(out_format: str, largest: float) -> None:
    given = arguments(replace(CALL, q_lengths=(1,), kv_lengths=(1,), out_format=out_format))
    given["value"] = np.where(given["value"] < 0, -1, 1).astype(np.float16)
    given["quant_scale2"] = np.array([1e6], np.float32)
    assert set(np.abs(decode(run(given)[0])[0, 0].reshape(-1)).tolist()) <= {
        largest,
        128 if largest == 127 else largest,
    }
