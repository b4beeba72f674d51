"""What follows a product is fused into its kernel, with its attributes: a normalization, an addition, an activation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network, tail
from vertigrad.onnx_import.values import constant
from vertigrad.ops.activation import PARAMETERS

from .networks import model, node, reals

ACTIVATIONS: dict[str, list[dict[str, Any]]] = {
    **{op: [{}, {"alpha": 0.3}] if PARAMETERS[name] else [{}] for op, name in tail.ACTIVATIONS.items()},
    "Gelu": [{"approximate": "none"}, {"approximate": "tanh"}],
    "HardSigmoid": [{}, {"alpha": 0.3}, {"beta": 0.3}],
    "Clip": [{}],
}
X, WEIGHT, BIAS = reals(6, 8), reals(8, 5, seed=1), reals(5, seed=2)


@pytest.mark.parametrize("op", ACTIVATIONS)
def test_an_activation_is_fused_into_the_kernel_of_the_product_before_it(op: str, steady: Gpu) -> None:
    ends = ["low", "high"] if op == "Clip" else []
    constants = {"w": WEIGHT, "b": BIAS, "low": np.float32(-0.4), "high": np.float32(0.7)}
    for attributes in ACTIVATIONS[op]:
        nodes = [node("MatMul", "xw", "a"), node("Add", "ab", "c"), node(op, ["c", *ends], "y", **attributes)]
        saved = {name: np.asarray(array) for name, array in constants.items() if name in ("w", "b", *ends)}
        proto = model(nodes, {"x": [6, 8]}, "y", saved, opset=22)
        (expected,) = ReferenceEvaluator(proto).run(None, {"x": X})
        with Network(proto) as network:
            assert len(network.program({"x": X}).plan) == 1
            np.testing.assert_allclose(
                network.run({"x": X})["y"], expected, rtol=1e-5, atol=2e-6, err_msg=str(attributes)
            )


@pytest.mark.parametrize("low", ["given", "several", ""])
def test_a_clip_without_constant_scalar_bounds_is_a_separate_kernel(low: str, steady: Gpu) -> None:
    constants = {"w": WEIGHT, "several": np.float32([-0.4]), "high": np.float32(0.7)}
    inputs = {"x": [6, 8], **({"given": []} if low == "given" else {})}
    nodes = [node("MatMul", "xw", "a"), node("Clip", ["a", low, "high"], "y")]
    proto = model(nodes, inputs, "y", {name: np.asarray(array) for name, array in constants.items()}, opset=22)
    fed = {"x": X, **({"given": np.asarray(np.float32(-0.4))} if low == "given" else {})}
    with Network(proto) as network:
        assert (len(network.program(fed).plan) == 1) is (low == "several")
        expected = np.clip(X @ WEIGHT, None if not low else -0.4, 0.7)
        np.testing.assert_allclose(network.run(fed)["y"], expected, rtol=1e-5, atol=2e-6)


def test_only_a_clip_of_three_inputs_is_fused(steady: Gpu) -> None:
    constants = {"w": WEIGHT, "low": np.float32(0.2), "from": np.array([1]), "to": np.array([4])}
    for last, expected in (
        (node("Slice", ["a", "from", "to"], "y"), (X @ WEIGHT)[1:4]),
        (node("Clip", ["a", "low"], "y"), np.maximum(X @ WEIGHT, 0.2)),
        (node("Clip", ["a"], "y"), X @ WEIGHT),
    ):
        saved = {name: np.asarray(constants[name]) for name in ("w", *last.input[1:])}
        with Network(model([node("MatMul", "xw", "a"), last], {"x": [6, 8]}, "y", saved, opset=22)) as network:
            np.testing.assert_allclose(network.run({"x": X})["y"], expected, rtol=1e-5, atol=2e-6)


NORM = {"g": reals(4, seed=3) + 1.0, "h": reals(4, seed=4), "m": reals(4, seed=5), "v": reals(4, seed=6) ** 2}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("after", ["", "Add", "Add Relu", "wide Add", "Relu"])
def test_a_normalization_of_constants_is_in_the_weights(bias: bool, after: str, steady: Gpu) -> None:
    image, weights = reals(1, 6, 5, 7, seed=7), reals(4, 3, 3, 3, seed=8)
    inputs = {"x": [1, 6, 5, 7], **({"r": [3 if "wide" in after else 1, 4, 3, 5]} if "Add" in after else {})}
    fed = {"x": image, **({"r": reals(*inputs["r"], seed=9)} if "r" in inputs else {})}
    nodes = [
        node("Conv", ["x", "w", *(["b"] if bias else [])], "c", group=2),
        node("BatchNormalization", ["c", *NORM], "n", epsilon=1e-3, momentum=0.7),
        *([node("Add", ["n", "r"], "s")] if "Add" in after else []),
        *([node("Relu", "s" if "Add" in after else "n", "t")] if "Relu" in after else []),
    ]
    nodes[-1].output[0] = "y"
    constants = {"w": weights, **NORM, **({"b": reals(4, seed=2)} if bias else {})}
    proto = model(nodes, inputs, "y", constants, opset=22)
    (expected,) = ReferenceEvaluator(proto).run(None, fed)
    with Network(proto) as network:
        assert len(network.program(fed).plan) == (2 if "wide" in after else 1)
        np.testing.assert_allclose(network.run(fed)["y"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["given weights", "given statistics", "shown"])
def test_a_normalization_that_needs_its_own_kernel_has_it(case: str, steady: Gpu) -> None:
    image, weights = reals(1, 3, 5, 7, seed=7), reals(4, 3, 3, 3, seed=8)
    inputs, fed = {"x": [1, 3, 5, 7]}, {"x": image}
    constants = {"w": weights, **NORM}
    if case.startswith("given"):
        name = "w" if case == "given weights" else "v"
        fed[name] = constants.pop(name)
        inputs[name] = list(fed[name].shape)
    nodes = [node("Conv", "xw", "c"), node("BatchNormalization", ["c", *NORM], "y")]
    outputs = ["y", "c"] if case == "shown" else "y"
    proto = model(nodes, inputs, outputs, constants, opset=22)
    with Network(proto) as network:
        assert len(network.program(fed).plan) == 2
        results = ReferenceEvaluator(proto).run(None, fed)
        for name, expected in zip(outputs, results, strict=True):
            np.testing.assert_allclose(network.run(fed)[name], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("attribute", "value"), [("training_mode", 1), ("spatial", 0), ("unknown", 1)])
def test_a_normalization_that_is_not_plain_is_not_fused(attribute: str, value: int) -> None:
    nodes = [node("Conv", "xw", "c"), node("BatchNormalization", ["c", *NORM], "y")]
    known = {name: constant(array) for name, array in {"w": reals(4, 3, 3, 3), **NORM}.items()}
    assert tail.tail_of(nodes[0], {"c": [nodes[1]]}, known).norm
    nodes[1].attribute.append(helper.make_attribute(attribute, value))
    assert not tail.tail_of(nodes[0], {"c": [nodes[1]]}, known).nodes
