"""Shared by tests of scans, sorts and similar operations: kernel variants, edge lengths, replayed plans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor
from vertigrad.gpu import Plan
from vertigrad.ops import paths

PATHS = {"portable": (False, False), "subgroups": (True, False), "chained": (True, True)}
every_path = pytest.mark.parametrize("name", PATHS)


@contextmanager
def path(name: str) -> Iterator[None]:
    """Use the kernels of a path; skip the test if this adapter does not support it."""
    subgroups, chained = PATHS[name]
    if subgroups and not paths.subgroup_size():
        pytest.skip("this adapter has no subgroups of one size")
    with paths.forced(subgroups, chained):
        yield


def here() -> list[str]:
    """The paths that this adapter supports."""
    return list(PATHS) if paths.subgroup_size() else ["portable"]


def edges(*sizes: int) -> list[int]:
    """0 and 1, and the lengths around each size."""
    return [0, 1, *(size + off for size in sizes for off in (-1, 0, 1))]


def replayed_twice(plan: Plan, *results: Tensor) -> list[np.ndarray]:
    """The results after two replays, which give the same bits and allocate no memory."""
    held = vertigrad.gpu().pool.held_bytes
    plan.replay()
    first = [result.numpy() for result in results]
    plan.replay()
    assert vertigrad.gpu().pool.held_bytes == held
    second = [result.numpy() for result in results]
    assert [a.tobytes() for a in first] == [b.tobytes() for b in second]
    return second
