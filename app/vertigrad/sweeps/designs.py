"""Designs: which values the swept parameters take in each run of a sweep."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .axes import MOST, Axis, plain, value_of

SAMPLINGS = ("grid", "random", "latin", "sobol")
MISSING = "is sampled by SciPy, which is not installed; install it with pip install 'vertigrad[sweep]', or use random"

Point = dict[str, Any]  # a value of each swept parameter, by name


def points(axes: Sequence[Axis], sampling: str, samples: int | None, seed: int) -> list[Point]:
    """The points of a design: every combination of a grid, or `samples` of the space that the axes span.

    `sampling` is "grid", "random", "latin" (Latin hypercube) or "sobol", a scrambled Sobol sequence of SciPy. Random
    points and Sobol points stay the same if more samples are added. `seed` is that of the sampling. Raises
    `InputError`.
    """
    if sampling not in SAMPLINGS:
        raise InputError(f"--sampling {sampling}: expected one of {', '.join(SAMPLINGS)}")
    if sampling == "grid":
        return _grid(axes, samples)
    if samples is None or not 1 <= samples <= MOST:
        raise InputError(f"--sampling {sampling}: add --samples N, from 1 to {MOST:,}")
    if not axes:
        raise InputError(f"--sampling {sampling}: there is no parameter to sample; add --set NAME=LOW:HIGH")
    fractions = {"random": _random, "latin": _latin, "sobol": _sobol}[sampling](len(axes), samples, seed)
    return [{axis.name: axis.at(float(u)) for axis, u in zip(axes, row, strict=True)} for row in fractions]


def read_table(path: Path) -> list[Point]:
    """The points of a CSV file: a column for each parameter, by its name in the first line. Raises `InputError`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names, *rows = list(csv.reader(file)) or [[]]
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"--table {path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    names = [name.strip() for name in names]
    if not rows or not all(names) or len(set(names)) < len(names):
        raise InputError(f"--table {path}: expected a line with the names of parameters, and a line for each run")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise InputError(f"--table {path}:{number}: has {len(row)} values, not {len(names)}")
    return [dict(zip(names, map(value_of, row), strict=True)) for row in rows]


def table_points(table: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]) -> list[Point]:
    """The points of a table in a script: a mapping for each row, or a sequence for each column. Raises `InputError`."""
    if isinstance(table, Mapping):
        columns = {name: list(values) for name, values in table.items()}
        if len({len(values) for values in columns.values()}) != 1:
            raise InputError("table: its columns have different lengths")
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    else:
        rows = [dict(row) for row in table]
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        raise InputError("table: expected at least one row, and the same parameters in every row")
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def _grid(axes: Sequence[Axis], samples: int | None) -> list[Point]:
    if samples is not None:
        raise InputError("--samples: a grid has all combinations of its values; leave out --samples or --sampling grid")
    endless = next((axis for axis in axes if axis.is_range), None)
    if endless is not None:
        raise InputError(
            f"--set {endless.name}={endless.low:g}:{endless.high:g}: a grid needs a count, such as "
            f"{endless.low:g}:{endless.high:g}:20; or sample the range with --samples N"
        )
    if (total := math.prod(len(axis.values) for axis in axes)) > MOST:
        raise InputError(f"a grid of {total:,} runs; at most {MOST:,} are run, so sample it with --samples N")
    names = [axis.name for axis in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))]


def _random(dimensions: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    return (generator.random(dimensions) for _ in range(samples))


def _latin(dimensions: int, samples: int, seed: int) -> np.ndarray:
    return _qmc("latin").LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(samples)


def _sobol(dimensions: int, samples: int, seed: int) -> np.ndarray:
    """The first points of the sequence; it is drawn up to a power of two, as its balance needs."""
    engine = _qmc("sobol").Sobol(dimensions, rng=np.random.default_rng(seed))
    return engine.random_base2(math.ceil(math.log2(max(samples, 2))))[:samples]


def _qmc(sampling: str) -> Any:
    try:
        return import_module("scipy.stats.qmc")
    except ImportError as error:
        raise InputError(f"--sampling {sampling}: {MISSING}") from error
