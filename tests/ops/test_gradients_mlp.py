"""Gradients of whole networks in one kernel, against float64."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, learn, no_grad, ops
from vertigrad.errors import DtypeError, GradientError
from vertigrad.gpu import Gpu, Kernel, Plan, shader
from vertigrad.ops.activation import PARAMETERS, derivative, parameters
from vertigrad.ops.mlp import Mlp
from vertigrad.ops.mlp_packing import pack
from vertigrad.ops.mlp_training import Backward, key, mlp_backward
from vertigrad.ops.mlp_variants import Form
from vertigrad.tensor import f32

from .activations import ACTIVATIONS
from .layouts import examples, layouts, seeds
from .test_mlp import layers, points

STEP = 1e-6


def backpropagated(
    x: np.ndarray, net: tuple[list[np.ndarray], list[np.ndarray]], activation: str, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of x and of all weights and biases concatenated, in float64; derivatives by central differences."""
    function = ACTIVATIONS[activation]
    inputs, sums = [x.astype(np.float64)], []
    for weight, bias in zip(*net, strict=True):
        sums.append(inputs[-1] @ weight.T.astype(np.float64) + bias)
        inputs.append(function(sums[-1]))
    back, found = gradient.astype(np.float64), []
    for at in reversed(range(len(sums))):
        found[:0] = [(back.T @ inputs[at]).reshape(-1), back.sum(0)]
        back = back @ net[0][at].astype(np.float64)
        if at:
            z = sums[at - 1]
            back = back * (function(z + STEP) - function(z - STEP)) / (2.0 * STEP)
    return back, np.concatenate(found)


def alike(got: Tensor | None, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got is not None and got.shape == expected.shape
    assert np.abs(got.numpy() - expected).max(initial=0.0) <= tolerance * max(1.0, np.abs(expected).max(initial=0.0))


def learned(
    sizes: Sequence[int], number: int, activation: str = "softsign", seed: int = 0
) -> tuple[Tensor, Tensor, np.ndarray, np.ndarray]:
    """The gradients of points and of parameters, ours and in float64."""
    net, x = layers(sizes, seed), points(number, sizes[0])
    gradient = np.random.default_rng(seed + 5).normal(size=(number, sizes[-1])).astype(np.float32)
    with Mlp(*net, activation, requires_grad=True) as mlp, Tensor.from_numpy(x) as tensor:
        mlp.parameters.requires_grad = tensor.requires_grad = True
        mlp(tensor).backward(Tensor.from_numpy(gradient))
        assert tensor.grad is not None and mlp.parameters.grad is not None
        return tensor.grad, mlp.parameters.grad, *backpropagated(x, net, activation, gradient)


@pytest.mark.turns(2)
@pytest.mark.parametrize("sizes", [[3, 64, 64, 64, 4], [2, 33, 50, 7, 3], [5, 4], [1, 1, 1], [130, 48, 100]])
def test_any_widths(steady: Gpu, sizes: list[int]) -> None:
    for number in (0, 77, 300):
        by_x, by_weights, expected_x, expected = learned(sizes, number)
        alike(by_x, expected_x)
        alike(by_weights, expected)


@pytest.mark.parametrize(
    ("chosen", "count"), [(Backward(32, 8, 4, 8, 3, unrolled=True), 500), (Backward(8, 4, 4, 4, 264, False), 2109)]
)
def test_as_on_a_gpu(chosen: Backward, count: int, steady: Gpu) -> None:
    """All sums in registers; points in several tiles per workgroup, and in a partial one; as many workgroups."""
    sizes = [3, 16, 16, 16, 4]
    net, x = layers(sizes), points(count, 3)
    gradient = np.random.default_rng(5).normal(size=(count, 4)).astype(np.float32)
    form = Form.of(sizes)
    assert chosen.fits(key(form), steady)
    with Mlp(*net, requires_grad=True) as mlp, closing(pack(mlp.parameters, sizes, form, f32)) as packed:
        by_x, by_weights = mlp_backward(
            Tensor.from_numpy(gradient), Tensor.from_numpy(x), packed, form, sizes, "softsign", variant=chosen
        )
    expected_x, expected = backpropagated(x, net, "softsign", gradient)
    alike(by_x, expected_x)
    alike(by_weights, expected)


def constants(name: str) -> str:
    """The parameters of an activation as WGSL."""
    first, second = parameters(name)
    return f"vec2f({first!r}, {second!r})"


def test_derivatives(steady: Gpu) -> None:
    """Of every activation, away from corners, in one kernel."""
    x = np.linspace(-8.013, 8.017, 801).astype(np.float32)
    names = sorted(PARAMETERS)
    calls = "".join(f"out[{at}u * n + i] = {derivative(name, constants(name))};\n" for at, name in enumerate(names))
    parts = "\n".join(shader.render(f"common/{part}.wgsl") for part in ("math", "activation", "derivative"))
    source = f"""{parts}
@group(0) @binding(0) var<storage, read> given: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {{
    let i = id.x;
    let n = {x.size}u;
    if i < n {{ let x = given[i]; {calls} }}
}}"""
    with Tensor.from_numpy(x) as x_tensor, Tensor.empty((len(names), x.size)) as out:
        Kernel(source, "main", "slopes")(x.size, given=x_tensor, out=out)
        for name, got in zip(names, out.numpy(), strict=True):
            wide = x.astype(np.float64)
            expected = (ACTIVATIONS[name](wide + STEP) - ACTIVATIONS[name](wide - STEP)) / (2.0 * STEP)
            assert np.abs(got - expected).max() < 2e-6, name


@examples
@given(st.data(), st.sampled_from([1, 3, 40, 70]), seeds)
def test_points_and_gradients_of_any_layout(data: st.DataObject, count: int, seed: int) -> None:
    net = layers([3, 16, 16, 5], seed % 7)
    layout, back = data.draw(layouts((count, 3))), data.draw(layouts((count, 5)))
    x, x_tensor = layout.both(points(int(np.prod(layout.whole)), 1, seed).reshape(layout.whole))
    gradient, gradient_tensor = back.both(points(int(np.prod(back.whole)), 1, seed + 1).reshape(back.whole))
    x_tensor = x_tensor.detach()
    x_tensor.requires_grad = True
    with Mlp(*net, "softsign", requires_grad=True) as mlp:
        mlp.parameters.requires_grad = True
        mlp(x_tensor).backward(gradient_tensor)
        expected_x, expected = backpropagated(x, net, "softsign", gradient)
        alike(x_tensor.grad, expected_x)
        alike(mlp.parameters.grad, expected)


def test_weights_of_any_layout(steady: Gpu) -> None:
    """Each with its own strides, one layer without biases, an activation after the last; into a tensor."""
    (weights, biases), x = layers([3, 20, 24, 2]), points(50, 3)
    held = [Tensor.from_numpy(np.ascontiguousarray(weight.T)).T.detach() for weight in weights]
    shifts = [Tensor.from_numpy(biases[0]), None, Tensor.from_numpy(biases[2])]
    for tensor in (*held, *shifts):
        if tensor is not None:
            tensor.requires_grad = True
    gradient = np.random.default_rng(5).normal(size=(50, 2)).astype(np.float32)
    out = ops.mlp(x, held, shifts, activation="gelu", last="tanh", out=Tensor.zeros((50, 2)))
    out.backward(Tensor.from_numpy(gradient))
    net = weights, [biases[0], np.zeros(24), biases[2]]
    sums = x.astype(np.float64)
    for at, (weight, bias) in enumerate(zip(*net, strict=True)):
        sums = (sums if not at else ACTIVATIONS["gelu"](sums)) @ weight.T + bias
    alike(out, np.tanh(sums))
    found = backpropagated(x, net, "gelu", gradient * (1.0 - np.tanh(sums) ** 2))[1]
    ends = np.cumsum([part.size for pair in zip(*net, strict=True) for part in pair])
    parts = np.split(found, ends[:-1])
    for at, (tensor, shift) in enumerate(zip(held, shifts, strict=True)):
        alike(tensor.grad, parts[2 * at].reshape(tensor.shape), 2e-5)
        if shift is not None:
            alike(shift.grad, parts[2 * at + 1], 2e-5)


def test_points_with_frozen_weights(steady: Gpu) -> None:
    """A network that was packed once, f16 too; weights loaded in between do not change the backward pass."""
    for dtype in (np.float32, np.float16):
        net, other, x = layers([3, 16, 16, 2], dtype=dtype), layers([3, 16, 16, 2], 3, dtype), points(40, 3)
        gradient = np.random.default_rng(5).normal(size=(40, 2)).astype(np.float32)
        held_x = Tensor.from_numpy(x)
        held_x.requires_grad = True
        with Mlp(*net, "softsign") as mlp:
            result = mlp(held_x)
            mlp.load(*other)
            result.backward(Tensor.from_numpy(gradient))
            alike(held_x.grad, backpropagated(x, net, "softsign", gradient)[0])
            with pytest.raises(GradientError, match="requires_grad=True"):
                mlp.parameters  # noqa: B018


def test_f16_points_get_f16_gradients(steady: Gpu) -> None:
    net, x = layers([3, 16, 2]), points(40, 3).astype(np.float16)
    held_x = Tensor.from_numpy(x)
    held_x.requires_grad = True
    with Mlp(*net, "tanh", requires_grad=True) as mlp:
        mlp.parameters.requires_grad = True
        mlp(held_x).sum().backward()
        by_x, by_weights = backpropagated(x, net, "tanh", np.ones((40, 2)))
        assert held_x.grad is not None and held_x.grad.dtype.name == "f16"
        alike(held_x.grad, by_x, 2e-3)
        alike(mlp.parameters.grad, by_weights, 2e-5)


def test_parameters_and_layers_share_memory(steady: Gpu) -> None:
    net, x = layers([3, 16, 2]), points(40, 3)
    with Mlp(*net, requires_grad=True) as mlp:
        before = mlp(x).numpy()
        for (weight, bias), array, shift in zip(mlp.layers, *net, strict=True):
            assert weight.block is mlp.parameters.block and np.array_equal(weight.numpy(), array)
            assert np.array_equal(bias.numpy(), shift)
        with no_grad():
            mlp.parameters.mul_(0.0)
        assert np.abs(before).max() > 0.1 and not mlp(x).numpy().any()


@pytest.mark.turns(2)
def test_training_is_recorded_and_gives_the_same_bits(steady: Gpu) -> None:
    """Two networks with the same initialization, each one plan of a whole step: the loss falls, to the same bits."""
    x = np.random.default_rng(4).uniform(-1, 1, (600, 2)).astype(np.float32)
    expected = np.sin(3.0 * x[:, :1]) * x[:, 1:]
    found = []
    for _ in range(2):
        with (
            Mlp(*layers([2, 32, 32, 1]), "tanh", requires_grad=True) as mlp,
            learn.Adam([mlp.parameters], lr=0.01) as optimizer,
            Plan("step") as plan,
        ):
            held_x, target = Tensor.from_numpy(x), Tensor.from_numpy(expected)
            with plan.recording():
                loss = learn.l2_loss(mlp(held_x), target)
                loss.backward()
                optimizer.step()
            plan.replay(**optimizer.fields())
            first = loss.item()
            for _ in range(60):
                plan.replay(**optimizer.fields())
            assert loss.item() < 0.1 * first
            found.append(mlp.parameters.numpy())
    assert np.array_equal(*found)


def test_memory_does_not_grow_with_the_number_of_steps(steady: Gpu) -> None:
    with Mlp(*layers([2, 16, 1]), requires_grad=True) as mlp, learn.Adam([mlp.parameters]) as optimizer:
        held_x, held = Tensor.from_numpy(points(8, 2)), []
        for step in range(200):
            mlp(held_x).sum().backward()
            optimizer.step()
            steady.wait_idle()
            if step in (9, 199):
                held.append((len(steady.tracker.live), steady.pool.held_bytes))
        assert held[0] == held[1]


def test_untrainable_networks_are_reported(steady: Gpu) -> None:
    weights, biases = layers([3, 16, 2], dtype=np.float16)
    with pytest.raises(DtypeError, match="that require gradients must be f32"):
        Mlp(weights, biases, requires_grad=True)
    held = [Tensor.from_numpy(weight) for weight in weights]
    held[0].requires_grad = True
    with pytest.raises(DtypeError, match="must be f32"):
        ops.mlp(points(4, 3), held)
