"""Every case of every operator in float64: the result is the reference's of float32, and has more digits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .cases import CASES
from .cases.case import Case, groups, opset_in, reference, schema

MORE_DIGITS = 1.0 - 2.0**-30  # what equals another number still does
REFUSED = {"RoiAlign"}
OPERATORS = sorted({case.op for case in CASES if not case.refused})


def takes_doubles(op: str, version: int, index: int) -> bool:
    """Whether ONNX lets an input of an operator be float64."""
    definition: Any = schema(op, version)
    declared = definition.inputs[min(index, len(definition.inputs) - 1)].type_str
    types = {one.type_param_str: one.allowed_type_strs for one in definition.type_constraints}
    return any("tensor(double)" in allowed for allowed in types.get(declared, [declared]))


def widened(value: Any) -> Any:
    if isinstance(value, list):
        return [widened(item) for item in value]
    array = np.asarray(value)
    return array * np.float64(MORE_DIGITS) if array.dtype == np.float32 else value


def pair(case: Case) -> tuple[Case, int] | None:
    """The case in float64, and the newest opset in which it is valid; None if it has no floats that can be that."""
    for group in reversed(groups(case.op)):
        version = opset_in(case, group)
        if version is not None:
            inputs = tuple(
                widened(value) if takes_doubles(case.op, version, index) and value is not None else value
                for index, value in enumerate(case.inputs)
            )
            wide = replace(case, inputs=inputs)
            is_wide = any(array.dtype == np.float64 for _, array, _ in wide._arrays())
            return (wide, version) if is_wide and opset_in(wide, [version]) is not None else None
    return None


def outputs(case: Case, version: int, expected: list[Any]) -> list[np.ndarray]:
    with Network(case.declared_model(version, [widened(value) for value in expected])) as network:
        return list(flat(network.run(case.feeds()).values()))


def flat(values: Iterable[Any]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        elif value is not None:
            yield np.asarray(value)


def fault(found: np.ndarray, narrow: np.ndarray, numbers: list[float]) -> str:
    """What is wrong with an output; `numbers` are attributes, which are float32 themselves."""
    if found.shape != narrow.shape:
        return f"shape {found.shape}, not {narrow.shape}"
    if found.dtype.kind != "f":
        return "" if np.array_equal(found, narrow) else f"{found}, not {narrow}"
    largest = np.abs(narrow, where=np.isfinite(narrow), out=np.zeros_like(narrow)).max(initial=0.0)
    if not np.allclose(found, narrow, rtol=2e-5, atol=2e-5 * float(largest), equal_nan=True):
        return f"{found}, not {narrow}"
    whole = (found * 4 == np.round(found * 4)) | ~np.isfinite(found) | np.isin(found, numbers)
    few = (found.astype(np.float32) == found) & ~whole
    return "has the digits of float32" if found.dtype == np.float64 and few.sum() > 1 + (~whole).sum() / 50 else ""


@pytest.mark.turns(4)
@pytest.mark.parametrize("op", OPERATORS)
def test_a_node_in_float64_has_its_digits(f64_gpu: Gpu, op: str) -> None:
    wrong = list[str]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in (case for case in CASES if case.op == op and not case.refused):
            if (found := pair(case)) is None:
                continue
            wide, version = found
            expected = reference(case, version)
            try:
                results = outputs(wide, version, expected)
            except UnsupportedOp:
                wrong += [f"{case} is refused"] * (op not in REFUSED)
                continue
            numbers = [float(np.float32(value)) for value in case.attributes.values() if isinstance(value, float)]
            faults = (fault(a, b, numbers) for a, b in zip(results, flat(expected), strict=True))
            wrong += [f"{case} opset {version}: {what}" for what in faults if what]
    assert not wrong, "\n".join(wrong)
