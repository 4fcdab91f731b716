# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The tokenizer and the chat format, from the metadata of a GGUF file."""

from __future__ import annotations

import codecs

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from .weights import metadata

CONTROL_TOKEN = 3  # token_type of <|im_start|> and the like


class ChatTokenizer:
    """Text to token ids and back.

    Parameters
    ----------
    reader : GGUFReader
        A file whose tokenizer is byte-level BPE with SmolLM's pre-tokenizer.

    Raises
    ------
    ValueError
        If the file has another kind of tokenizer, which would silently give other token ids.
    """

    def __init__(self, reader: GGUFReader) -> None:
        kind = (metadata(reader, "tokenizer.ggml.model"), metadata(reader, "tokenizer.ggml.pre"))
        if kind != ("gpt2", "smollm"):
            raise ValueError(f"tokenizer: expected byte-level BPE ('gpt2', 'smollm'), got {kind}")
        tokens: list[str] = metadata(reader, "tokenizer.ggml.tokens")
        merges: list[str] = metadata(reader, "tokenizer.ggml.merges")
        types: list[int] = metadata(reader, "tokenizer.ggml.token_type")
        self._tokenizer = Tokenizer(
            models.BPE(
                vocab={token: index for index, token in enumerate(tokens)},
                merges=[(left, right) for left, right in (merge.split(" ") for merge in merges)],
            )
        )
        # SmolLM splits numbers into single digits before the usual GPT-2 word pattern.
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        is_control = [token_type == CONTROL_TOKEN for token_type in types]
        self._tokenizer.add_special_tokens(
            [
                AddedToken(token, special=True, normalized=False)
                for token, control in zip(tokens, is_control, strict=True)
                if control
            ]
        )
        alphabet = _byte_alphabet()
        self._token_bytes = [
            b"" if control else bytes(alphabet[character] for character in token)
            for token, control in zip(tokens, is_control, strict=True)
        ]
        self.end_of_text = frozenset(
            {int(metadata(reader, "tokenizer.ggml.eos_token_id")), tokens.index("<|endoftext|>")}
        )

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a plain text; control tokens spelled out in it are recognised."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def encode_chat(self, user: str, system: str | None = None) -> list[int]:
        """Return the ids of a conversation of one user message that awaits the assistant's answer.

        The file's own template begins with a default system message. It is left out here unless given: with it, a
        model of this size loses the thread of short prompts.
        """
        messages = [("user", user)] if system is None else [("system", system), ("user", user)]
        text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
        return self.encode(text + "<|im_start|>assistant\n")

    def stream(self) -> TextStream:
        """Return a decoder for one sequence of ids that arrive one by one."""
        return TextStream(self._token_bytes)


class TextStream:
    """Turns ids into text as soon as the text is certain: a character may span several tokens.

    Parameters
    ----------
    token_bytes : list of bytes
        What each id stands for.
    """

    def __init__(self, token_bytes: list[bytes]) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """Take one id and return the text that became complete, often a word, sometimes nothing."""
        return self._decoder.decode(self._token_bytes[token_id])

    def finish(self) -> str:
        """Return a replacement character if the text ended within a character."""
        return self._decoder.decode(b"", final=True)


def _byte_alphabet() -> dict[str, int]:
    """Return the characters that byte-level BPE writes for bytes: printable ones as they are, others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}
