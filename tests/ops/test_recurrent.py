"""Recurrent layers against the equations of the ONNX standard, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Gpu, Plan
from vertigrad.tensor.doubles import on_gpu

from .layouts import values

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
FUNCTIONS = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "affine": lambda x, a, b: a * x + b,
    "scaled_tanh": lambda x, a, b: a * np.tanh(b * x),
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "leaky_relu": lambda x, a: np.where(x < 0, a * x, x),
}
DEFAULTS = {"rnn": ["tanh"], "gru": ["sigmoid", "tanh"], "lstm": ["sigmoid", "tanh", "tanh"]}


def called(activation: Any, x: np.ndarray) -> np.ndarray:
    name, *parameters = (activation,) if isinstance(activation, str) else activation
    return FUNCTIONS[name](x, *parameters)


def one_direction(kind: str, arrays: dict[str, Any], d: int, how: dict[str, Any], backwards: bool) -> list[np.ndarray]:
    """States at all steps, the last state, and the last cell state."""
    x, w, r = arrays["x"], arrays["weights"][d], arrays["recurrence"][d]
    size = r.shape[1]
    b = arrays["bias"][d] if "bias" in arrays else np.zeros(2 * len(w))
    h = arrays["initial"][d] if "initial" in arrays else np.zeros((x.shape[1], size))
    c = arrays["initial_cell"][d] if "initial_cell" in arrays else np.zeros_like(h)
    p = np.split(arrays["peepholes"][d] if "peepholes" in arrays else np.zeros(3 * size), 3)
    lengths = arrays.get("lengths", np.full(x.shape[1], len(x)))
    functions = how.get("activations") or DEFAULTS[kind] * 2
    each = len(DEFAULTS[kind])
    functions = functions[d * each : d * each + each] if len(functions) > each else functions
    bound = how.get("clip") or np.inf
    f = [lambda v, a=a: called(a, np.clip(v, -bound, bound)) for a in functions]
    wb, rb = np.split(b, 2)
    y = np.zeros((*x.shape[:2], size))
    for t in reversed(range(len(x))) if backwards else range(len(x)):
        a = np.split(x[t] @ w.T + wb, GATES[kind], -1)
        s = np.split(h @ r.T + rb, GATES[kind], -1)
        new_c = c
        if kind == "rnn":
            new = f[0](a[0] + s[0])
        elif kind == "gru":
            z, reset = f[0](a[0] + s[0]), f[0](a[1] + s[1])
            if how.get("linear_before_reset"):
                new = f[1](a[2] + reset * s[2])
            else:
                new = f[1](a[2] + (reset * h) @ r[2 * size :].T + rb[2 * size :])
            new = (1 - z) * new + z * h
        else:
            i = f[0](a[0] + s[0] + p[0] * c)
            forget = 1 - i if how.get("coupled") else f[0](a[2] + s[2] + p[2] * c)
            new_c = forget * c + i * f[1](a[3] + s[3])
            new = f[0](a[1] + s[1] + p[1] * new_c) * called(functions[2], new_c)
        runs = (t < lengths)[:, None]
        h, c = np.where(runs, new, h), np.where(runs, new_c, c)
        y[t] = np.where(runs, new, 0)
    return [y, h, c]


def reference(kind: str, arrays: dict[str, Any], how: dict[str, Any]) -> list[np.ndarray]:
    wide = {name: value.astype(np.float64) for name, value in arrays.items()}
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[
        how.get("direction", "forward")
    ]
    parts = [one_direction(kind, wide, d, how, backwards) for d, backwards in enumerate(directions)]
    y = np.stack([part[0] for part in parts], 1)
    return [y, *(np.stack([part[i] for part in parts]) for i in (1, 2))][: 3 if kind == "lstm" else 2]


def drawn(kind: str, directions: int = 1, steps: int = 5, members: int = 3, inputs: int = 4, size: int = 6) -> dict:
    gates = GATES[kind] * size
    shapes = {
        "x": (steps, members, inputs),
        "weights": (directions, gates, inputs),
        "recurrence": (directions, gates, size),
        "bias": (directions, 2 * gates),
        "initial": (directions, members, size),
        "initial_cell": (directions, members, size),
        "peepholes": (directions, 3 * size),
    }
    if kind != "lstm":
        del shapes["initial_cell"], shapes["peepholes"]
    return {name: values(shape, "f32", i) / 4 for i, (name, shape) in enumerate(shapes.items())}


def check(kind: str, arrays: dict[str, Any], tolerance: float = 3e-6, **how: Any) -> None:
    named = {name: value for name, value in arrays.items() if name not in ("x", "weights", "recurrence")}
    got = getattr(ops, kind)(arrays["x"], arrays["weights"], arrays["recurrence"], **named, **how)
    want = reference(kind, arrays, how)
    assert len(got) == len(want)
    for ours, exact in zip(got, want, strict=True):
        assert ours.shape == exact.shape
        np.testing.assert_allclose(ours.numpy().astype(float), exact, rtol=tolerance, atol=tolerance * 3)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions_with_all_optional_inputs(kind: str, direction: str) -> None:
    check(kind, drawn(kind, 2 if direction == "bidirectional" else 1), direction=direction)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_sequences_of_different_lengths(kind: str, direction: str) -> None:
    arrays = drawn(kind, 2 if direction == "bidirectional" else 1, members=4)
    check(kind, arrays | {"lengths": np.array([5, 0, 2, 4], np.int32)}, direction=direction)


@pytest.mark.parametrize("kind", GATES)
def test_only_required_inputs(kind: str) -> None:
    least = {name: value for name, value in drawn(kind).items() if name in ("x", "weights", "recurrence")}
    check(kind, least)
    check(kind, least | {"x": least["x"][:, :1]})


def test_variants() -> None:
    check("gru", drawn("gru"), linear_before_reset=True)
    check("gru", drawn("gru", 2), direction="bidirectional", linear_before_reset=True, clip=0.3)
    check("lstm", drawn("lstm"), coupled=True)
    check("lstm", drawn("lstm"), clip=0.2)
    check("rnn", drawn("rnn"), clip=0.2)


@pytest.mark.parametrize(
    ("kind", "activations"),
    [
        ("rnn", ["relu"]),
        ("rnn", [("affine", 0.5, 0.25)]),
        ("gru", [("hard_sigmoid", 0.3, 0.4), ("scaled_tanh", 1.5, 0.5)]),
        ("lstm", [("hard_sigmoid", 0.2, 0.5), "softsign", ("leaky_relu", 0.1)]),
        ("lstm", ["sigmoid", "tanh", "tanh", ("hard_sigmoid", 0.2, 0.5), "softsign", "relu"]),
    ],
)
def test_other_activations(kind: str, activations: list[Any]) -> None:
    directions = len(activations) // len(DEFAULTS[kind])
    how = {"direction": "bidirectional"} if directions == 2 else {}
    check(kind, drawn(kind, directions), activations=activations, **how)


def test_batch_first_by_views_and_in_a_plan() -> None:
    arrays = drawn("lstm")
    want = reference("lstm", arrays, {})
    whole = Tensor.zeros((3, 5, 1, 6))
    x = Tensor.from_numpy(np.ascontiguousarray(arrays["x"].transpose(1, 0, 2)))
    parts = [Tensor.from_numpy(arrays[name]) for name in ("weights", "recurrence", "bias")]
    named = {name: Tensor.from_numpy(arrays[name]) for name in ("initial", "initial_cell", "peepholes")}
    with Plan() as plan:
        with plan.recording():
            _, last, cell = ops.lstm(x.permute(1, 0, 2), *parts, **named, out=whole.permute(1, 2, 0, 3))
        for _ in range(2):  # the state is reset at each replay
            plan.replay()
        np.testing.assert_allclose(whole.numpy(), want[0].transpose(2, 0, 1, 3), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last.numpy(), want[1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(cell.numpy(), want[2], rtol=1e-5, atol=1e-6)


def test_half_precision(gpu: Gpu) -> None:
    if "shader-f16" not in gpu.features:
        pytest.skip(f"{gpu.adapter} has no f16")
    check("gru", {name: value.astype(np.float16) for name, value in drawn("gru").items()}, 5e-3)


@pytest.mark.parametrize("kind", GATES)
def test_f64(f64_gpu: Gpu, kind: str) -> None:
    """With every option, and activations of each form."""
    arrays: dict[str, Any] = {name: value.astype(np.float64) / 3 for name, value in drawn(kind, 2).items()}
    own = {"rnn": ["softsign"], "gru": ["sigmoid", ("scaled_tanh", 1.5, 0.5)]}
    own["lstm"] = [("hard_sigmoid", 0.2, 0.5), "tanh", ("affine", 0.5, 0.25)]
    lengths = Tensor.from_numpy(np.array([5, 0, 2], np.int32))
    for how in ({}, {"activations": own[kind] * 2, "clip": 0.3}):
        ready = {name: on_gpu(value) for name, value in arrays.items()} | {"lengths": lengths}
        x, weights, recurrence = (ready.pop(name) for name in ("x", "weights", "recurrence"))
        got = getattr(ops, kind)(x, weights, recurrence, **ready, direction="bidirectional", **how)
        want = reference(kind, arrays | {"lengths": lengths.numpy()}, how | {"direction": "bidirectional"})
        for ours, exact in zip(got, want, strict=True):
            np.testing.assert_allclose(ours.numpy(), exact, rtol=1e-13, atol=1e-15)


def test_no_steps() -> None:
    arrays = drawn("lstm", steps=0)
    starts = {"initial": arrays["initial"], "initial_cell": arrays["initial_cell"]}
    y, last, cell = ops.lstm(arrays["x"], arrays["weights"], arrays["recurrence"], **starts)
    assert y.shape == (0, 1, 3, 6)
    assert np.array_equal(last.numpy(), arrays["initial"]) and np.array_equal(cell.numpy(), arrays["initial_cell"])


def test_invalid_arguments() -> None:
    arrays = drawn("gru")
    x, w, r = arrays["x"], arrays["weights"], arrays["recurrence"]
    with pytest.raises(ShapeError, match="direction 'both'"):
        ops.gru(x, w, r, direction="both")
    with pytest.raises(ShapeError, match="weights of shape"):
        ops.gru(x, w, r, direction="bidirectional")
    with pytest.raises(ShapeError, match="bias of shape"):
        ops.gru(x, w, r, w[:, 0])
    with pytest.raises(ShapeError, match="1 activations; 2"):
        ops.gru(x, w, r, activations=["relu"])
    with pytest.raises(DtypeError, match="lengths is f32"):
        ops.gru(x, w, r, lengths=np.zeros(3, np.float32))
    with pytest.raises(ShapeError, match="must be"):
        ops.gru(x[0], w, r)
