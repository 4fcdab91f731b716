# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The task list of a sparse call by the balancing rules, slowly: columns are counted one by one, all work is listed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Point = tuple[int, int, int]  # sequence, block of rows, block of columns

CUBE_WORDS, VECTOR_WORDS, VECTOR_FIRST, WORDS = 9, 8, 324, 900


@dataclass
class Sequence:
    """Query tokens, original tokens, compressed rows, and original tokens behind these; entries of the rows' lists."""

    q: int
    ori: int
    cmp: int = 0
    residual: int = 0
    ori_entries: list[int] | None = None
    cmp_entries: list[int] | None = None


@dataclass
class Call:
    """What decides the list. `is_a5`: of an Ascend 950; `cuts_rows`: the plan of the strictest deterministic level."""

    sequences: list[Sequence]
    heads: int
    cube: int
    vector: int
    is_quantised: bool = False
    is_a5: bool = True
    cuts_rows: bool = False
    has_cmp: bool = False
    ratio: int = 1
    ori_topk: int = 0
    cmp_topk: int = 0
    ori_mask: int = 4
    cmp_mask: int = 3
    left: int = 127
    right: int = 0

    @property
    def rows(self) -> int:
        """(Token, head) pairs of a block."""
        if self.is_a5:
            return self.heads
        if self.ori_topk or self.cmp_topk:
            return self.heads
        return 256 // self.heads * self.heads

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return 128 if self.is_a5 else 512

    @property
    def copies(self) -> int:
        """Cores that share the heads of an entry."""
        return 2 if self.is_a5 and self.heads > 64 else 1


@dataclass
class Row:
    """A block of rows: the costs of its column blocks."""

    rows: int
    costs: list[int] = field(default_factory=list)


def sees_original(call: Call, own: Sequence, token: int, column: int) -> bool:
    position = own.ori - own.q + token
    if call.ori_mask == 0:
        return True
    if call.ori_mask == 3:
        return column <= position
    return (call.left == -1 or column >= position - call.left) and (call.right == -1 or column <= position + call.right)


def counted(call: Call, own: Sequence, tokens: range) -> tuple[int, int]:
    """Original and compressed columns that a block of rows goes through."""
    seen = [j for j in range(own.ori) if any(sees_original(call, own, token, j) for token in tokens)]
    original = len(seen)
    if call.ori_topk:
        entries = call.ori_topk if own.ori_entries is None else max(own.ori_entries[token] for token in tokens)
        original = min(entries, original if call.has_cmp else own.ori)
    if not call.has_cmp:
        return original, 0
    if call.is_quantised:
        compressed = ((seen[-1] if seen else 0) + 1) // call.ratio
    else:
        stands_for = own.cmp * call.ratio + own.residual
        last = stands_for - own.q + tokens[-1]
        ends = [(row + 1) * call.ratio - 1 for row in range(own.cmp)]
        compressed = sum(call.cmp_mask == 0 or end <= last for end in ends)
    if call.cmp_topk:
        by_entries = call.cmp_mask == 0 and own.cmp_entries is not None
        compressed = min(compressed, own.cmp_entries[tokens[0]] if by_entries else call.cmp_topk)
    return original, compressed


def row_of(call: Call, own: Sequence, index: int) -> Row:
    begin = index * call.rows
    end = min(begin + call.rows, own.q * call.heads)
    tokens = range(begin // call.heads, (end - 1) // call.heads + 1)
    streams = counted(call, own, tokens)
    unit = call.columns
    if call.cuts_rows:
        unit *= max(1, -(-(sum(streams) // 32) // unit))
    row = Row(end - begin)
    for columns in streams:
        for first in range(0, columns, unit):
            width = min(unit, columns - first)
            row.costs.append(6 * -(-row.rows // 16) + 10 * -(-width // 64))
    return row


class Work:
    """All that there is to do, and how far it has been handed out."""

    def __init__(self, call: Call) -> None:
        self.batches: list[list[Row]] = []
        for own in call.sequences:
            has_columns = own.ori > 0 or (call.has_cmp and own.cmp > 0)
            blocks = -(-own.q * call.heads // call.rows) if has_columns else 0
            self.batches.append([row_of(call, own, index) for index in range(blocks)])
        self.at: Point = (0, 0, 0)

    @property
    def is_done(self) -> bool:
        return self.at[0] == len(self.batches)

    @property
    def row(self) -> Row:
        b, m, _ = self.at
        return self.batches[b][m] if m < len(self.batches[b]) else Row(0)

    def left_of_row(self) -> list[int]:
        return self.row.costs[self.at[2] :]

    def left_of_batch(self) -> list[int]:
        b, m, _ = self.at
        return self.left_of_row() + [cost for row in self.batches[b][m + 1 :] for cost in row.costs]

    def last_of_batch(self) -> int:
        costs = [cost for row in self.batches[self.at[0]] for cost in row.costs]
        return costs[-1] if costs else 0

    def total(self) -> int:
        return sum(cost for batch in self.batches for row in batch for cost in row.costs)

    def largest_row(self) -> int:
        return max((sum(row.costs) for batch in self.batches for row in batch), default=0)

    def next_batch(self) -> None:
        self.at = (self.at[0] + 1, 0, 0)

    def next_row(self, skips_idle: bool = True) -> None:
        b, m, _ = self.at
        for index in range(m + 1, len(self.batches[b])):
            if self.batches[b][index].costs or not skips_idle:
                self.at = (b, index, 0)
                return
        self.next_batch()


def share(work: Work, limit: int, cuts_rows: bool) -> tuple[int, int]:
    """Give a core its share: the cost, and how many column blocks it is."""
    given: list[int] = []

    def fits(costs: list[int], last: int) -> bool:
        return limit + last // 2 >= sum(given) + sum(costs)

    while not work.is_done:
        left = work.left_of_batch()
        if left and not fits(left, work.last_of_batch()):
            break
        given += left
        work.next_batch()
    while not work.is_done:
        left = work.left_of_row()
        if not fits(left, work.row.costs[-1] if work.row.costs else 0):
            break
        given += left
        work.next_row()
    while cuts_rows and not work.is_done and work.left_of_row():
        cost = work.left_of_row()[0]
        is_forced = not given
        if not fits([cost], cost) and not is_forced:
            break
        was_forced = not fits([cost], cost)
        given.append(cost)
        work.at = (*work.at[:2], work.at[2] + 1)
        if not work.left_of_row():
            work.next_row(skips_idle=not was_forced)
        if was_forced:
            break
    return sum(given), len(given)


def task_list(call: Call) -> Array:
    """Words 0 to 899.

    Parameters
    ----------
    call : Call
        What the list is for.

    Returns
    -------
    ndarray of int32, shape (900,)
        The list.
    """
    words = np.zeros(WORDS, np.int32)
    work = Work(call)
    cores = call.cube // call.copies
    entries: list[tuple[Point, Point, int, int]] = []  # start, end, first slot, column blocks
    reductions: list[tuple[Point, int, int]] = []  # row, first slot, slots
    closed, parts, left = 0, 1, 0
    unassigned, largest = work.total(), work.largest_row()
    has_columns = [own.q > 0 and (own.ori > 0 or (call.has_cmp and own.cmp > 0)) for own in call.sequences]
    if not any(has_columns):
        entries.append(((0, 0, 0), (len(call.sequences), 0, 0), 0, 0))
    elif unassigned == 0:
        entries.append(((0, 0, 0), (0, 0, 0), 0, 0))
    for core in count():
        if core == cores or not any(has_columns) or unassigned <= 0 or work.is_done:
            break
        start, slot = work.at, closed + parts - 1
        average = unassigned // (cores - core)
        load, blocks = share(work, average if call.cuts_rows else max(average, largest), call.cuts_rows)
        unassigned -= load
        entries.append((start, work.at, slot, blocks))
        if core > 0 and parts > 1 and work.at[:2] != start[:2]:
            parts += max(left - 1, 0)
            reductions.append((start, closed, parts))
            closed, parts, left = closed + parts, 1, 0
        if work.at[2] > 0:
            parts += 1 if parts == 1 else work.at[2] - start[2]
            left = len(work.left_of_row())
    most = max(blocks for *_, blocks in entries) if call.copies == 2 and entries else 0
    for core, (start, end, slot, _) in enumerate(entries):
        for copy in range(call.copies):
            at = CUBE_WORDS * (core * call.copies + copy)
            words[at : at + CUBE_WORDS] = 1, *start, *end, slot, most
    reduce(call, work, reductions, words)
    return words


def reduce(call: Call, work: Work, reductions: list[tuple[Point, int, int]], words: Array) -> None:
    """Hand rows that were cut to vector cores."""
    rows = [work.batches[row[0]][row[1]].rows for row, _, _ in reductions]
    total = sum(slots * own for (_, _, slots), own in zip(reductions, rows, strict=True))
    spare, core = call.vector - len(reductions), 0
    for (row, first, slots), own in zip(reductions, rows, strict=True):
        wanted = max(1, slots * own // -(-total // call.vector))
        each = -(-own // wanted)
        shares = min(-(-own // each), spare + 1)
        spare -= shares - 1
        for index in range(shares):
            at = VECTOR_FIRST + VECTOR_WORDS * core
            begin = index * each
            size = each if index + 1 < shares else own - begin
            words[at : at + VECTOR_WORDS] = 1, row[0], row[1], first, slots, begin, size, 0
            core += 1
