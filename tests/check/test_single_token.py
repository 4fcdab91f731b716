# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""One query token a sequence, where A2 and A3 look away from bands and lengths: calls mean the same, or are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import acl_attn
from acl_attn import Mask

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILES = ("host", "ascend950", "ascend910b", "ascend910_93")
OLDER = PROFILES[2:]
RNG = np.random.default_rng(4)
Q = RNG.standard_normal((2, 1, 2, 64)).astype(np.float16)
K, V = RNG.standard_normal((2, 2, 9, 2, 64)).astype(np.float16)
EXPECTED = acl_attn.reference.attention(Q, K, V)


@pytest.fixture(params=PROFILES)
def profile(request: pytest.FixtureRequest) -> Iterator[str]:
    device = acl_attn.Device(0)
    before = device.profile
    device.profile = request.param
    yield request.param
    device.profile = before


@pytest.mark.parametrize(
    "options", [{"mask": "causal"}, {"window": (-1, 0)}, {"mask": Mask.window(-1, 3)}, {}], ids=str
)
def test_a_causal_token_sees_all_keys(profile: str, options: dict[str, Any]) -> None:
    assert acl_attn.check("attention", query=Q, key=K, value=V, profile=profile, **options)
    np.testing.assert_allclose(acl_attn.attention(Q, K, V, **options), EXPECTED, atol=2e-3)
    with acl_attn.Plan(Q, K, V, **options) as plan:
        np.testing.assert_allclose(plan.run(), EXPECTED, atol=2e-3)
        assert plan.visible_keys(0, 0).tolist() == list(range(9))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"window": (3, 0)}, "mask"),
        ({"mask": "causal_top_left"}, "mask"),
        ({"mask": "causal", "q_lengths": [1, 0]}, "q_lengths[1]"),
    ],
    ids=str,
)
def test_what_products_look_away_from(profile: str, options: dict[str, Any], parameter: str) -> None:
    report = acl_attn.check("attention", query=Q, key=K, value=V, profile=profile, **options)
    if profile not in OLDER:
        assert report
        expected = acl_attn.reference.attention(Q, K, V, **options)
        np.testing.assert_allclose(acl_attn.attention(Q, K, V, **options), expected, atol=2e-3)
        return
    assert [problem.parameter for problem in report.problems] == [parameter]
    with pytest.raises(acl_attn.InvalidArgumentError, match=f"one query token .* on {profile}.*layout TND"):
        acl_attn.attention(Q, K, V, **options)
    with pytest.raises(acl_attn.InvalidArgumentError, match="one query token"):
        acl_attn.Plan(Q, K, V, **options)


@pytest.mark.usefixtures("profile")
def test_other_forms_say_the_same() -> None:
    """What the refusals advise: layout TND, or a mask with an axis of keys."""
    expected = acl_attn.reference.attention(Q, K, V, window=(3, 0))
    packed = [a.reshape(-1, 2, 64) for a in (Q, K, V)]
    found = acl_attn.attention(*packed, layout="TND", q_lengths=[1, 1], kv_lengths=[9, 9], window=(3, 0))
    np.testing.assert_allclose(found.reshape(Q.shape), expected, atol=2e-3)
    hidden = Mask.window(3, 0).materialize(1, 9)[None, None].repeat(2, 0)
    dense = acl_attn.attention(Q, K, V, mask=Mask.dense(hidden, true_means="masked"))
    np.testing.assert_allclose(dense, expected, atol=2e-3)
