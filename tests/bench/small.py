# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's cases, made small enough to verify rather than to time."""

from __future__ import annotations

from dataclasses import replace

from acl_attn.bench.cases import Case
from acl_attn.bench.groups import Entry, Group


def small(case: Case) -> Case:
    """Shrink every axis but the head dim; what kind of call it is stays."""
    group = max(1, min(case.heads // case.kv_heads, 4))
    kv_heads = min(case.kv_heads, 2)
    if case.sparse:
        made = replace(case, q_len=min(case.q_len, 5), kv_len=700, topk=min(case.topk, 32))
    elif case.lengths:
        made = replace(case, lengths=((1, 90), (17, 17), (5, 70), (1, 1)), q_len=17, kv_len=90)
    elif case.q_len == case.kv_len:
        made = replace(case, q_len=min(case.q_len, 128), kv_len=min(case.kv_len, 128))
    else:
        made = replace(case, q_len=min(case.q_len, 6), kv_len=min(case.kv_len, 320))
    batch = len(made.lengths) or min(case.batch, 3)
    return replace(made, batch=batch, heads=group * kv_heads, kv_heads=kv_heads)


def small_group(group: Group) -> Group:
    """Shrink a group; cases that become the same are measured once."""
    entries = {
        small(entry.case): replace(entry, case=small(entry.case), own=entry.own and small(entry.own))
        for entry in group.entries
    }
    return replace(group, entries=tuple(entries.values()))


def entries_of(groups: tuple[Group, ...]) -> list[Entry]:
    """List all entries."""
    return [entry for group in groups for entry in group.entries]
