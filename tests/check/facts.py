# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the fused operator with the verdict that a product's own implementation gave, as plain facts.

`verdicts.jsonl` beside this file holds them in the form that `Facts.line` writes. `recorded` reads the other form, in
which such verdicts are handed around: one JSON object a line with ``soc``, ``inputs``, ``int_values``, ``attrs``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HANDED = Path(__file__).parent / "verdicts.jsonl"

PROFILES = {"Ascend950": "ascend950", "Ascend910B": "ascend910b", "Ascend910_93": "ascend910_93"}
# Outside these names a recorded type was none: the harness that recorded it had run with an undefined type. Tensors of
# such a type cannot be made; one that no operator has registered is as good.
UNREGISTERED = "COMPLEX128"
DTYPES = {
    "fp16": "FLOAT16",
    "bf16": "BF16",
    "fp32": "FLOAT",
    "int8": "INT8",
    "int4": "INT4",
    "int32": "INT32",
    "int64": "INT64",
    "uint64": "UINT64",
    "bool": "BOOL",
    "uint8": "UINT8",
    "e4m3": "FLOAT8_E4M3FN",
    "e8m0": "FLOAT8_E8M0",
    "hif8": "HIFLOAT8",
    "fp4_e2m1": "FLOAT4_E2M1",
}
RENAMED = {"dequant_scale1": "deq_scale1", "dequant_scale2": "deq_scale2", "scale": "scale_value"}
# Length arrays, and what the recorded form calls their values.
LENGTHS = {
    "actual_seq_lengths": "q_lens",
    "actual_seq_lengths_kv": "kv_lens",
    "actual_shared_prefix_len": "prefix_len",
}

UNBOUNDED = 2147483647
ATTRIBUTES: dict[str, Any] = {
    "num_heads": 0,
    "scale_value": 1.0,
    "pre_tokens": UNBOUNDED,
    "next_tokens": UNBOUNDED,
    "input_layout": "BSH",
    "num_key_value_heads": 0,
    "sparse_mode": 0,
    "inner_precise": 0,
    "block_size": 0,
    "antiquant_mode": 0,
    "softmax_lse_flag": False,
    "key_antiquant_mode": 0,
    "value_antiquant_mode": 0,
    "query_quant_mode": 0,
    "pse_type": 0,
}


@dataclass(frozen=True)
class Facts:
    """One call and its verdict.

    Attributes
    ----------
    id : str
        Name of the case.
    profile : str
        The product.
    ok : bool
        Whether it accepted the call.
    rule : str
        The rule that fails first, if that is known.
    sole : bool
        Whether it is the only one that fails.
    tensors : dict
        By parameter: (shape, dtype) or (shape, dtype, format); lists of them for key and value.
    lengths : dict
        By parameter: values, or the number of entries where the values were not known on the host.
    attributes : dict
        By parameter; without those that have the value of `ATTRIBUTES`.
    """

    id: str
    profile: str
    ok: bool
    rule: str
    sole: bool
    tensors: dict[str, Any]
    lengths: dict[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Write the facts as one line."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @property
    def has_unknown_lengths(self) -> bool:
        """Whether the largest workspace was asked for: lengths without values on the host."""
        return any(isinstance(self.lengths.get(name), int) for name in ("actual_seq_lengths", "actual_seq_lengths_kv"))


def handed(path: Path = HANDED) -> list[Facts]:
    """Read facts in our own form."""
    return [Facts(**json.loads(line)) for line in path.read_text().splitlines()]


def recorded(path: Path) -> list[Facts]:
    """Read facts in the recorded form, without those that no call of the C interface can express."""
    rows = (json.loads(line) for line in path.read_text().splitlines() if line.strip())
    # An output type is no parameter; and strides were recorded one rank short, whatever the tensor had.
    return [_from_recorded(row) for row in rows if not row["attrs"].get("out_dtype") and not row["strides"]]


def _from_recorded(row: dict[str, Any]) -> Facts:
    tensors, lengths = {}, {}
    for name, given in {**row["inputs"], **row["outputs"]}.items():
        if name in LENGTHS:
            values = row["int_values"].get(LENGTHS[name])
            lengths[name] = given["shape"][0] if values is None else values
        else:
            many = isinstance(given, list)
            tensors[RENAMED.get(name, name)] = [_tensor(each) for each in given] if many else _tensor(given)
    attributes = {RENAMED.get(name, name): value for name, value in row["attrs"].items() if name != "out_dtype"}
    attributes = {name: value for name, value in attributes.items() if value != ATTRIBUTES[name]}
    rule = row["first_rule"] if row["first_rule"] not in (None, "LEGACY") else ""
    return Facts(
        id=row["id"],
        profile=PROFILES[row["soc"]],
        ok=row["expect"] == "ok",
        rule=rule,
        sole=bool(row["sole"]) and bool(rule),
        tensors=tensors,
        lengths=lengths,
        attributes=attributes,
    )


def _tensor(given: dict[str, Any]) -> list[Any]:
    described = [given["shape"], DTYPES.get(given["dtype"], UNREGISTERED)]
    return described if given["fmt"] == "ND" else [*described, given["fmt"]]
