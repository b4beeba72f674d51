"""An addition and an activation after a product are fused into its kernel, with their attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network, tail
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
