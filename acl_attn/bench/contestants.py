# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Those who are measured: this package's engine, the machine's limits and the peers, asked alike."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .cases import Case
from .limits import FAR_BYTES, Limits
from .peers import Peer, UnsupportedCaseError, load_peer
from .timing import prioritised, time_calls
from .truth import plain_operands

if TYPE_CHECKING:
    from .engine import Prepared

__all__ = ["ENGINE", "LIMITS", "Contestant", "UnsupportedCaseError", "make"]

ENGINE, LIMITS = "acl_attn", "limits"


class Contestant(ABC):
    """Whoever a worker asks.

    Attributes
    ----------
    versions : dict
        Of the libraries in use.
    note : str
        What a timed call includes.
    """

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.note = ""

    @abstractmethod
    def prepare(self, case: Case) -> dict[str, Any]:
        """Get ready and call once; give ``rows`` of the output, and ``expected`` ones if it knows them."""

    @abstractmethod
    def time(self, samples: int, seconds: float) -> dict[str, Any]:
        """Measure."""

    @abstractmethod
    def free(self) -> None:
        """Let the case go."""


class Engine(Contestant):
    """`acl_attn` itself: `Plan.run` with an output array, and synchronous."""

    def __init__(self, threads: int, cpu: str = "") -> None:
        super().__init__()
        import acl_attn

        acl_attn.set_num_threads(threads)
        if cpu:
            acl_attn.set_cpu_target(cpu)
        self.versions = {"acl_attn": acl_attn.__version__, "cpu_target": acl_attn.get_cpu_target()}
        self.note = "Plan.run into an output array, synchronisation included"
        self._prepared: Prepared | None = None

    def prepare(self, case: Case) -> dict[str, Any]:
        """Get ready; the engine's own process also knows the truth."""
        from .engine import prepare

        self._prepared = prepare(case)
        with prioritised():
            self._prepared.call()
        return {"rows": _lists(self._prepared.rows()), "expected": _lists(self._prepared.expected)}

    def time(self, samples: int, seconds: float) -> dict[str, Any]:
        """Time the plan."""
        if self._prepared is None:
            raise RuntimeError("nothing is prepared")
        return time_calls(self._prepared.call, samples, seconds).as_dict()

    def free(self) -> None:
        """Close the plan."""
        if self._prepared is not None:
            self._prepared.close()
        self._prepared = None


class Bounds(Contestant):
    """The machine's limits that bound a case: its units' rates, and reading as many bytes as it must."""

    def __init__(self, threads: int, library: str) -> None:
        super().__init__()
        self._limits, self._threads = Limits(Path(library)), threads
        self.note = "own loops at full speed; reading the case's bytes of keys and values again and again"
        self._case: Case | None = None

    def prepare(self, case: Case) -> dict[str, Any]:
        """Remember the case."""
        self._case = case
        return {}

    def time(self, samples: int, seconds: float) -> dict[str, Any]:
        """Measure once each of the case's limits, or before any case all that the machine has."""
        del samples, seconds
        case = self._case
        units = (
            self._limits.units
            if case is None
            else [unit for unit in (*case.units, "fp32_exp") if unit in self._limits.units]
        )
        rates = {unit: self._limits.operations(unit, self._threads) for unit in units}
        if case is not None:
            rates["read"] = self._limits.read(int(case.kv_bytes), self._threads)
        else:
            rates["read_far"] = self._limits.read(FAR_BYTES, self._threads)
        return {"rates": rates}

    def free(self) -> None:
        """Forget the case."""
        self._case = None
        self._limits.free()


class Rival(Contestant):
    """A peer."""

    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self._peer, self.versions, self.note = peer, peer.versions, peer.note

    def prepare(self, case: Case) -> dict[str, Any]:
        """Make the data, if it has such a call at all."""
        self._peer.check(case)
        operands = plain_operands(case)
        if case.peers_dtype == "fp32":
            self._peer.prepare(case, *(array.astype(np.float32) for array in operands))
        else:
            self._peer.prepare(case, *operands)
        del operands
        with prioritised():  # libraries whose threads spin hardly get anywhere on a busy machine otherwise
            self._peer.call()
        output = self._peer.output()
        return {"rows": _lists([output[position] for position in case.positions()])}

    def time(self, samples: int, seconds: float) -> dict[str, Any]:
        """Time the peer's call."""
        return time_calls(self._peer.call, samples, seconds).as_dict()

    def free(self) -> None:
        """Let the operands go."""
        keep = {"threads": self._peer.threads, "versions": self._peer.versions}
        self._peer.__dict__.clear()
        self._peer.__dict__.update(keep)


def _lists(rows: Any) -> list[list[float]]:
    return [np.asarray(row, np.float64).tolist() for row in rows]


def make(name: str, threads: int, *arguments: str) -> Contestant:
    """Make a contestant by its name; the engine takes an instruction set, the limits their library."""
    if name == ENGINE:
        return Engine(threads, *arguments)
    if name == LIMITS:
        return Bounds(threads, *arguments)
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # huge pages for torch, as NumPy's arrays have
    return Rival(load_peer(name, threads))
