"""Every attribute, optional input and optional output of every operator, in every opset that changes them.

A node's attributes are supported, or the node is rejected: a lowering that ignores an attribute raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from onnx import helper

from vertigrad import ops
from vertigrad.errors import InputError, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.onnx_import.lowerings import LOWERINGS
from vertigrad.onnx_import.node import Node
from vertigrad.onnx_import.tail import tail_of

from .cases import CASES, WITHOUT_EFFECT
from .cases.case import FLOAT, Case, affects, groups, is_equal, opset_in, optional, reference, schema
from .networks import node, reals

pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
OPERATORS = sorted(op for domain, op in LOWERINGS if not domain)
BY_OPERATOR = {op: [case for case in CASES if case.op == op] for op in OPERATORS}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(case: Case, version: int) -> str:
    """The errors in the result of a case; empty if there are none."""
    expected = [np.float32(0)] * len(case.outputs) if case.refused else reference(case, version)
    with Network(case.declared_model(version, expected)) as network:
        try:
            found = list(network.run(case.feeds()).values())
        except UnsupportedOp as error:
            return "" if case.refused and case.refused in str(error) else str(error)
    if case.refused:
        return "is not refused"
    return "" if is_equal(found, expected, case.rtol) else f"{found}, not {expected}"


@pytest.mark.turns(4)
@pytest.mark.parametrize("op", OPERATORS)
def test_a_node_gives_the_result_of_the_reference(op: str, gpu: Gpu) -> None:
    wrong = [
        f"{case} opset {version}: {what}"
        for case in BY_OPERATOR[op]
        for group in groups(op)
        if (version := opset_in(case, group)) and (what := outcome(case, version))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("op", OPERATORS)
def test_every_attribute_and_optional_argument_has_a_case(op: str) -> None:
    """For each opset that changes it: a case in which it has an effect, or is rejected."""
    missing = []
    for group in groups(op):
        valid = {case: version for case in BY_OPERATOR[op] if (version := opset_in(case, group))}
        definition: Any = schema(op, group[0])
        expected: list[str | int] = [*definition.attributes, *optional(definition.inputs)]
        missing += [f"opset {group[0]}: {what}" for what in expected if not covers(valid, what)]
        outputs = [index for index in optional(definition.outputs) if not any(index in case.outputs for case in valid)]
        missing += [f"opset {group[0]}: output {index}" for index in outputs]
        missing += [f"opset {group[0]}"] * (not valid)
    assert not missing


def covers(cases: Mapping[Case, int], what: str | int) -> bool:
    """Whether the result of one of the cases changes with an attribute or an input."""
    cases_with = {case: version for case, version in cases.items() if has(case, what)}
    return any(
        (case.op, what) in WITHOUT_EFFECT or case.refused or affects(case, what, version)
        for case, version in cases_with.items()
    )


def has(case: Case, what: str | int) -> bool:
    if isinstance(what, str):
        return what in case.attributes
    return what < len(case.inputs) and case.inputs[what] is not None


@pytest.mark.parametrize("op", OPERATORS)
def test_every_case_is_run(op: str) -> None:
    never = [str(case) for case in BY_OPERATOR[op] if not any(opset_in(case, group) for group in groups(op))]
    assert not never


def test_all_cases_are_of_lowered_operators() -> None:
    assert {case.op for case in CASES} == set(OPERATORS)


def _passes_over(node: Node) -> Any:
    return ops.leaky_relu(node.operand(0), 0.01)


def _reads_one(node: Node) -> Any:
    return ops.selu(node.operand(0), 1.0, node.attribute("gamma", 1.0))


def _lacks_an_output(node: Node) -> Any:
    x = node.tensor(0)
    node.ignore("axis", "largest", "sorted", 1)
    return [node.result(x)]


@pytest.mark.parametrize(
    ("op", "lowering", "case", "message"),
    [
        (
            "LeakyRelu",
            _passes_over,
            Case("LeakyRelu", (reals(3),), {"alpha": 0.5}),
            "unsupported attribute alpha = 0.5",
        ),
        ("Selu", _reads_one, Case("Selu", (reals(3),), {"alpha": 0.5, "gamma": 2.0}), "unsupported attribute alpha"),
        ("PRelu", _passes_over, Case("PRelu", (reals(3), reals(3))), "unsupported input 1"),
        ("TopK", _lacks_an_output, Case("TopK", (reals(3), np.array([2])), outputs=(0, 1)), "unsupported output 1"),
    ],
)
def test_an_attribute_that_a_lowering_ignores_is_rejected(
    op: str, lowering: Any, case: Case, message: str, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOWERINGS, ("", op), lowering)
    with Network(case.model(21)) as network, pytest.raises(UnsupportedOp, match=message):
        network.run(case.feeds())


def test_an_attribute_with_its_default_value_can_be_ignored(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOWERINGS, ("", "LeakyRelu"), _passes_over)
    case = Case("LeakyRelu", (reals(3),), {"alpha": 0.01})
    with Network(case.model(21)) as network:
        assert is_equal(list(network.run(case.feeds()).values()), reference(case, 21), 1e-6)


@pytest.mark.parametrize("activation", ["LeakyRelu", "Relu"])
def test_an_activation_with_an_unknown_attribute_is_not_fused(activation: str) -> None:
    """It is passed to its own lowering, which rejects it."""
    nodes = [node("MatMul", "xw", "a"), node(activation, "a", "y")]
    nodes[1].attribute.append(helper.make_attribute("new", 1))
    assert not tail_of(nodes[0], {"a": [nodes[1]]}, {}).nodes
    del nodes[1].attribute[:]
    assert tail_of(nodes[0], {"a": [nodes[1]]}, {}).nodes


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Conv", (reals(1, 2, 5, 5), reals(3, 2, 3, 3)), {"kernel_shape": [3, 2]}),
        ("RNN", (reals(2, 1, 3), reals(1, 4, 3), reals(1, 4, 4)), {"hidden_size": 5}),
    ],
)
def test_an_attribute_that_contradicts_the_weights_is_an_error(
    op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], gpu: Gpu
) -> None:
    built = Case(op, inputs, attributes, declared={0: (FLOAT, [f"n{axis}" for axis in range(4)])})
    with Network(built.model(21)) as network, pytest.raises(InputError, match=next(iter(attributes))):
        network.run(built.feeds())
