# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""From the features of a call of `attention` to the operator's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..dtypes import DType, as_dtype, dtype_name
from ..errors import invalid, type_name, wrong_type
from ..kvcache.modes import as_mode
from ..kvcache.pairs import QuantizedKV
from ..spec import Spec
from ..tensor import ArrayLike, Tensor
from ..values import integer, number
from .features import Alibi, KvQuant, LeftPadding, OutQuant, Prefix, Rope
from .fia_call import POSITION
from .full_quant import KINDS, FullQuantLike, as_full_quant, modes_of, output_dtype

__all__ = ["FEATURE_NAMES", "NAMES_WITH", "FeatureTensor", "Features", "Settings"]

TensorLike: TypeAlias = ArrayLike | Spec


class FeatureTensor(NamedTuple):
    """Where a tensor of a feature comes from, and where it goes."""

    feature: str
    field: str  # of the feature's dataclass; empty if the feature is the tensor itself
    position: int  # among the operator's inputs

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.feature}.{self.field}" if self.field else self.feature


def _fields_without_default(kinds: type | tuple[type, ...]) -> set[str]:
    kind = kinds[0] if isinstance(kinds, tuple) else kinds
    return {field.name for field in fields(kind) if field.default is MISSING} if is_dataclass(kind) else set()


# For each feature: the type of its argument, and the C interface's name for each tensor in it.
_ANY = object
_FEATURES: dict[str, tuple[type | tuple[type, ...], dict[str, str]]] = {
    "rope": (Rope, {"query": "queryRope", "key": "keyRope"}),
    "bias": (_ANY, {"": "pseShift"}),
    "alibi": (Alibi, {"slopes": "pseShift"}),
    "sink": (_ANY, {"": "learnableSink"}),
    "prefix": (Prefix, {"key": "keySharedPrefix", "value": "valueSharedPrefix"}),
    "left_padding": (LeftPadding, {"query": "queryPaddingSize", "key": "kvPaddingSize"}),
    "kv_quant": (
        (KvQuant, QuantizedKV),
        {
            "key_scale": "keyAntiquantScale",
            "value_scale": "valueAntiquantScale",
            "key_offset": "keyAntiquantOffset",
            "value_offset": "valueAntiquantOffset",
        },
    ),
    "full_quant": (
        KINDS,
        {
            "query_scale": "dequantScaleQuery",
            "key_scale": "keyAntiquantScale",
            "value_scale": "valueAntiquantScale",
            "score_scale": "deqScale1",
            "p_scale": "quantScale1",
            "out_scale": "deqScale2",
        },
    ),
    "out_quant": (OutQuant, {"scale": "quantScale2", "offset": "quantOffset2"}),
}
_TENSORS: dict[str, tuple[FeatureTensor, ...]] = {
    feature: tuple(FeatureTensor(feature, field, POSITION[c_name]) for field, c_name in fields.items())
    for feature, (_, fields) in _FEATURES.items()
}
# Those that their class has no default for.
_REQUIRED: dict[str, tuple[FeatureTensor, ...]] = {
    feature: tuple(place for place in places if place.field in _fields_without_default(_FEATURES[feature][0]))
    for feature, places in _TENSORS.items()
}
# Tensors of one element, which may be given as a plain number.
_NUMBERS: dict[str, DType] = {
    "left_padding.query": np.dtype(np.int64),
    "left_padding.key": np.dtype(np.int64),
    "full_quant.key_scale": np.dtype(np.float32),
    "full_quant.value_scale": np.dtype(np.float32),
    "full_quant.score_scale": np.dtype(np.float32),
    "full_quant.p_scale": np.dtype(np.float32),
    "full_quant.out_scale": np.dtype(np.float32),
    "out_quant.scale": np.dtype(np.float32),
    "out_quant.offset": np.dtype(np.float32),
}
# What messages call the C interface's parameters, and what they do in calls that have a certain feature.
FEATURE_NAMES: dict[str, str] = {
    **{
        c_name: (f"{feature}.{field}" if field else feature)
        for feature in reversed(_FEATURES)  # of two that share a parameter the first one names it
        for field, c_name in _FEATURES[feature][1].items()
    },
    "actualSharedPrefixLen": "prefix.length",
    "qStartIdx": "alibi.q_start",
    "kvStartIdx": "alibi.kv_start",
    "keyAntiquantMode": "kv_quant.mode",
    "valueAntiquantMode": "kv_quant.mode",
    "pseType": "alibi",
    "queryQuantMode": "full_quant.scheme",
}
NAMES_WITH: dict[str, dict[str, str]] = {
    "alibi": {"pseShift": "alibi.slopes"},
    "full_quant": {
        "keyAntiquantScale": "full_quant.key_scale",
        "valueAntiquantScale": "full_quant.value_scale",
        "keyAntiquantMode": "full_quant.scheme",
        "valueAntiquantMode": "full_quant.scheme",
    },
}

_OUT_DTYPES = ("int8", "float8_e4m3fn", "hifloat8")


class Settings(NamedTuple):
    """What features say beside tensors."""

    key_mode: int = 0
    value_mode: int = 0
    query_mode: int = 0
    pse_type: int = 0
    lengths: tuple[tuple[int, tuple[int, ...]], ...] = ()  # positions and values of integer arrays
    out_dtype: DType | None = None


class Features(NamedTuple):
    """The features of a call."""

    rope: Rope | None = None
    bias: TensorLike | None = None
    alibi: Alibi | None = None
    sink: TensorLike | None = None
    prefix: Prefix | None = None
    left_padding: LeftPadding | None = None
    kv_quant: KvQuant | QuantizedKV | None = None
    full_quant: FullQuantLike | None = None
    out_quant: OutQuant | None = None

    def is_given(self) -> bool:
        """Whether there are any."""
        # On the path of every call, where a generator takes twice as long.
        for feature in self:  # noqa: SIM110
            if feature is not None:
                return True
        return False

    def check(self) -> None:
        """Refuse arguments of other types, ones that lack an array, and pairs that exclude each other."""
        for feature, given in zip(self._fields, self, strict=True):
            kind = _FEATURES[feature][0]
            if given is not None and not isinstance(given, kind):
                kinds = kind if isinstance(kind, tuple) else (kind,)
                if kinds is KINDS:
                    kinds = KINDS[:1]  # the others are results of quantisers, which nobody makes by hand
                expected = " or ".join(f"acl_attn.{each.__name__}" for each in kinds)
                raise wrong_type(feature, expected, type_name(given))
            if given is not None:
                for place in _REQUIRED[feature]:
                    if getattr(given, place.field) is None:
                        raise invalid(place.name, "an array", None)
        if self.bias is not None and self.alibi is not None:
            raise invalid("alibi", "None with a bias", "both", "add the two up and give them as bias")
        for other in ("kv_quant", "out_quant"):
            if self.full_quant is not None and getattr(self, other) is not None:
                raise invalid(other, "None with full_quant", "both")

    def tensors(self) -> Iterator[tuple[FeatureTensor, TensorLike]]:
        """Give each tensor of each feature, plain numbers as arrays."""
        for feature, given in zip(self._fields, self, strict=True):
            if given is not None:
                read: Any = as_full_quant(given) if feature == "full_quant" else given
                for place in _TENSORS[feature]:
                    value = getattr(read, place.field) if place.field else read
                    if value is not None:
                        yield place, _from_number(value, place.name)

    def describe(self, how: Callable[[Any, str], Tensor]) -> dict[FeatureTensor, Tensor]:
        """Describe each tensor."""
        return {place: how(value, place.name) for place, value in self.tensors()}

    def settings(self) -> Settings:
        """Read what is not a tensor."""
        query_mode = key_mode = value_mode = pse_type = 0
        lengths: list[tuple[int, tuple[int, ...]]] = []
        if self.kv_quant is not None:
            key_mode, value_mode = _modes(self.kv_quant)
        out_dtype = None if self.out_quant is None else _out_dtype(self.out_quant)
        if self.full_quant is not None:
            query_mode, key_mode, value_mode = modes_of(self.full_quant)
            out_dtype = output_dtype(self.full_quant)
        if self.alibi is not None:
            if not isinstance(self.alibi.sqrt, (bool, np.bool_)):
                raise wrong_type("alibi.sqrt", "a bool", type_name(self.alibi.sqrt))
            pse_type = 3 if self.alibi.sqrt else 2
            lengths.append((POSITION["qStartIdx"], (integer(self.alibi.q_start, "alibi.q_start"),)))
            lengths.append((POSITION["kvStartIdx"], (integer(self.alibi.kv_start, "alibi.kv_start"),)))
        if self.prefix is not None and self.prefix.length is not None:
            lengths.append((POSITION["actualSharedPrefixLen"], (integer(self.prefix.length, "prefix.length"),)))
        return Settings(key_mode, value_mode, query_mode, pse_type, tuple(lengths), out_dtype)

    def later(self) -> set[str]:
        """Name the tensors of which only a `Spec` is known."""
        return {place.name for place, value in self.tensors() if isinstance(value, Spec)}

    def replacing(self, planned: Features) -> dict[FeatureTensor, TensorLike]:
        """Give the tensors that stand in for planned ones; refuse what was planned otherwise."""
        self.check()
        for feature, given, before in zip(self._fields, self, planned, strict=True):
            if given is None:
                continue
            if before is None:
                raise invalid(feature, "None, as planned", type_name(given), "make a new plan")
            alone, old = _only(feature, given), _only(feature, before)
            if alone.settings() != old.settings():
                raise invalid(feature, f"{_said(old)} as planned", _said(alone), "make a new plan")
            got, wanted = ([place.name for place, _ in one.tensors()] for one in (alone, old))
            if got != wanted:
                raise invalid(feature, f"{', '.join(wanted)} as planned", ", ".join(got), "make a new plan")
        return dict(self.tensors())


def _only(feature: str, given: Any) -> Features:
    return Features()._replace(**{feature: given})


def _said(features: Features) -> str:
    settings = features.settings()
    if features.kv_quant is not None:
        return f"modes {settings.key_mode} and {settings.value_mode}"
    if features.full_quant is not None and settings.out_dtype is not None:
        scheme = as_full_quant(features.full_quant).scheme
        return f"scheme {scheme} and dtype {dtype_name(settings.out_dtype)}"
    if features.out_quant is not None and settings.out_dtype is not None:
        return f"dtype {dtype_name(settings.out_dtype)}"
    if features.prefix is not None:
        return f"length {features.prefix.length}"
    return f"type {settings.pse_type}, starts {[values[0] for _, values in settings.lengths]}"


def _from_number(value: Any, parameter: str) -> TensorLike:
    dtype = _NUMBERS.get(parameter)
    if dtype is None or not isinstance(value, (int, float, np.integer, np.floating)):
        return value
    if dtype.kind == "f":
        return np.array([number(value, parameter)], dtype)
    tokens = integer(value, parameter)
    if tokens < 0:
        raise invalid(parameter, "at least 0 tokens", tokens)
    return np.array([tokens], dtype)


def _modes(given: KvQuant | QuantizedKV) -> tuple[int, int]:
    if isinstance(given, QuantizedKV):
        return int(given.key_mode), int(given.value_mode)
    both: Sequence[int] = given.mode if isinstance(given.mode, (tuple, list)) else (given.mode, given.mode)
    if len(both) != 2:
        raise invalid("kv_quant.mode", "a mode, or one for key and one for value", given.mode)
    return int(as_mode(both[0], "kv_quant.mode")), int(as_mode(both[1], "kv_quant.mode"))


def _out_dtype(given: OutQuant) -> DType:
    dtype = as_dtype(given.dtype, "out_quant.dtype")
    if dtype_name(dtype) not in _OUT_DTYPES:
        raise wrong_type("out_quant.dtype", ", ".join(_OUT_DTYPES), dtype_name(dtype))
    return dtype
