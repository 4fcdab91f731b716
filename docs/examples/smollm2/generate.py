# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Prefill, then decode token by token."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from .model import Model
from .paged import PagedAttention
from .weights import Array


class Sampler:
    """Chooses the next token of one sequence.

    Parameters
    ----------
    temperature : float
        0 takes the likeliest token always; larger values flatten the distribution that is drawn from.
    seed : int
        Of the random numbers. Each sequence has its own generator, so that it draws the same alone and in a batch.
    """

    def __init__(self, temperature: float, seed: int) -> None:
        self._temperature, self._random = temperature, np.random.default_rng(seed)

    def __call__(self, logits: Array) -> int:
        """Return a token id for logits ``(vocabulary,)``."""
        if self._temperature == 0:
            return int(logits.argmax())
        scaled = (logits.astype(np.float64) - logits.max()) / self._temperature
        cumulative = np.cumsum(np.exp(scaled))
        return int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))


def generate(
    model: Model,
    attention: PagedAttention,
    prompts: Sequence[Sequence[int]],
    samplers: Sequence[Sampler],
    *,
    max_tokens: int,
    stop: Collection[int],
) -> Iterator[list[tuple[int, int]]]:
    """Continue prompts of unequal length together.

    Parameters
    ----------
    model : Model
        The network.
    attention : PagedAttention
        Fresh, with room for each prompt and `max_tokens`.
    prompts : sequence of sequences of int
        Token ids.
    samplers : sequence of Sampler
        One for each prompt.
    max_tokens : int
        Tokens to generate at most for each prompt.
    stop : collection of int
        Ids that end a sequence; they are not given out.

    Yields
    ------
    list of (int, int)
        For each step, sequence and token id of the sequences that go on. The first step is the prefill.
    """
    running = list(range(len(prompts)))
    new_tokens = {sequence: list(ids) for sequence, ids in enumerate(prompts)}
    lengths = dict.fromkeys(running, 0)
    for _ in range(max_tokens):
        attention.begin_step(running, [len(new_tokens[sequence]) for sequence in running])
        logits = model.forward(
            [new_tokens[sequence] for sequence in running], [lengths[sequence] for sequence in running], attention
        )
        step: list[tuple[int, int]] = []
        for sequence, row in zip(running, logits, strict=True):
            lengths[sequence] += len(new_tokens[sequence])
            token = samplers[sequence](row)
            if token not in stop:
                step.append((sequence, token))
                new_tokens[sequence] = [token]
        running = [sequence for sequence, _ in step]
        yield step
        if not running:
            return
