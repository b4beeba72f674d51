"""Fused linear layers: which are fused, and that they compute the same as separate layers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vertigrad import Tensor, no_grad
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu, Plan
from vertigrad.learn import fused
from vertigrad.learn.fused import LEAST_ROWS, runs_of
from vertigrad.learn.layers import Activation, Flatten, Layer, Linear
from vertigrad.learn.network import Network
from vertigrad.learn.weights import Weights

LINEAR, SILU, TANH = Linear(8, 8), Activation("silu"), Activation("tanh")
FIXED = Linear(8, 8, fixed=(np.eye(8, dtype=np.float32), np.ones(8, np.float32)))
DEEP: list[Layer] = [FIXED, TANH, Linear(8, 6), SILU, Linear(6, 2)]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([LINEAR, SILU, LINEAR], [(0, 3)]),
        ([Flatten(), LINEAR, SILU, LINEAR, SILU, LINEAR, LINEAR, SILU, LINEAR], [(1, 6), (6, 9)]),
        ([LINEAR, SILU, LINEAR, TANH, LINEAR], [(0, 3)]),
        ([FIXED, SILU, LINEAR, SILU, LINEAR, SILU], [(2, 5)]),
        ([LINEAR, SILU, FIXED], []),
        ([Linear(8, 200), SILU, Linear(200, 8)], []),
        ([Linear(300, 8), SILU, LINEAR], []),
        ([LINEAR, LINEAR], []),
        ([LINEAR], []),
    ],
)
def test_which_layers_are_fused(gpu: Gpu, layers: list[Layer], expected: list[tuple[int, int]]) -> None:
    assert [(run.first, run.last) for run in runs_of(layers, "always", 1).values()] == expected
    assert runs_of(layers, "never", 1) == {}


@pytest.mark.parametrize(
    ("kind", "inputs", "width", "rows", "learns"),
    [
        ("software", 16, 64, 64, True),
        ("software", 17, 64, 1 << 20, False),
        ("software", 2, 128, 1 << 20, False),
        ("discrete", 96, 128, LEAST_ROWS, True),
        ("discrete", 96, 128, LEAST_ROWS - 1, False),
    ],
)
def test_the_backward_pass_is_fused_where_that_is_faster(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, kind: str, inputs: int, width: int, rows: int, learns: bool
) -> None:
    layers = [Linear(inputs, width), SILU, Linear(width, 3)]
    monkeypatch.setattr(fused, "gpu", lambda: SimpleNamespace(adapter=SimpleNamespace(kind=kind)))
    assert (
        runs_of(layers, "auto", rows)[0].backward_fused is learns and runs_of(layers, "always", rows)[0].backward_fused
    )


def test_fused_layers_compute_the_same_as_separate_ones(steady: Gpu) -> None:
    random = np.random.default_rng(5)
    x = random.normal(size=(70, 8)).astype(np.float32)
    network = Network(DEEP, (8,)).fused("always", 70)
    start = {name: array + np.float32(0.02) for name, array in network.init(random).items()}
    gradient = random.normal(size=(70, 2)).astype(np.float32)
    with Weights(start, network.trainable(start)) as weights, Tensor.from_numpy(x) as x_tensor:
        for end in (2, 3, 4, 5):  # only the last is the end of the fused layers
            with no_grad():
                found = network.apply(x_tensor, weights, 0, end).numpy()
            np.testing.assert_allclose(found, Network(DEEP[:end], (8,)).reference(x, start), rtol=1e-4, atol=1e-5)
        leaves = weights.leaves()
        with Tensor.from_numpy(gradient) as pulled:
            network.apply(x_tensor, leaves).backward(pulled)
        expected = network.gradients(x, start, gradient)
        parts = [expected[name].ravel() for name in network.trainable(start)]
        np.testing.assert_allclose(leaves.gradient().numpy(), np.concatenate(parts), rtol=1e-3, atol=1e-4)


def test_an_activation_after_a_linear_layer_is_fused_into_its_kernel(steady: Gpu) -> None:
    network = Network([LINEAR, TANH, LINEAR, SILU, LINEAR], (8,))
    start = network.init(np.random.default_rng(5))
    for last, dispatches in ((1, 1), (2, 1), (3, 2), (4, 2), (5, 3)):
        with Weights(start, start) as weights, Tensor.zeros((3, 8)) as x, Plan("layers") as plan:
            with plan.recording(), no_grad():
                network.apply(x, weights, 0, last)
            assert len(plan) == dispatches


def test_weights_are_views_of_one_tensor_and_a_part_without_a_gradient_is_reported(steady: Gpu) -> None:
    network = Network(DEEP, (8,))
    start = network.init(np.random.default_rng(5))
    with Weights(start, network.trainable(start)) as weights, Tensor.from_numpy(np.ones((3, 8), np.float32)) as x:
        assert list(weights) == list(start) and len(weights) == len(start)
        assert all(np.array_equal(weights[name].numpy(), array) for name, array in start.items())
        weights.row.fill_(2.0)
        assert (weights["4.bias"].numpy() == 2.0).all() and weights["0.weight"].numpy().sum() == 8.0
        leaves = weights.leaves()
        network.apply(x, leaves, 0, 3).sum().backward()
        with pytest.raises(GradientError, match="apply the whole network"):
            leaves.gradient()
