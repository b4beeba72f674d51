"""Products with bias, residual, activation and factors in one kernel, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vertigrad
from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, InputError, LayoutError, ShapeError
from vertigrad.gpu import kernel as kernel_module
from vertigrad.ops.activation import PARAMETERS, expression

from .activations import ACTIVATIONS
from .layouts import NUMPY, broadcastable, examples, layouts, seeds, values

sizes = st.sampled_from([1, 2, 3, 5, 8, 16, 17, 64, 70])


def close(got: Tensor, want: np.ndarray, magnitude: np.ndarray, inner: int) -> None:
    """n products and sums, each correctly rounded in f32, have an error of at most n ulp of the sum of magnitudes."""
    assert got.shape == want.shape
    error = 2.0**-120 + (inner + 3) * 2.0**-23 * (magnitude + np.abs(want))
    if got.dtype.name == "f16":
        error += 2.0**-10 * np.abs(want) + 2.0**-14
    difference = np.abs(got.numpy() - want)
    assert np.all(difference <= error), (difference - error).max()


@settings(examples, max_examples=examples.max_examples // 2)
@given(st.data(), sizes, sizes, sizes, st.lists(st.sampled_from([1, 2, 3]), max_size=2), seeds)
def test_linear_of_any_layout(
    data: st.DataObject, rows: int, inner: int, columns: int, batch: list[int], seed: int
) -> None:
    result = (*batch, rows, columns)
    shapes = [(*batch, rows, inner), (columns, inner), (columns,), data.draw(broadcastable(result))]
    dtypes = [data.draw(st.sampled_from(["f32", "f32", "f32", "f16"]))] * len(shapes)
    pairs = []
    for number, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        layout = data.draw(layouts(shape))
        pairs.append(layout.both(values(layout.whole, dtype, seed + number)))
    (x, tx), (w, tw), (b, tb), (r, tr) = [(a.astype(np.float64), t) for a, t in pairs]
    with_bias, with_residual = data.draw(st.booleans()), data.draw(st.booleans())
    got = ops.linear(tx, tw, tb if with_bias else None, residual=tr if with_residual else None)
    want, magnitude = x @ w.T + with_bias * b, np.abs(x) @ np.abs(w.T) + with_bias * np.abs(b)
    want, magnitude = want + with_residual * r, magnitude + with_residual * np.abs(r)
    assert got.dtype.name == ("f16" if dtypes[:2] == ["f16", "f16"] else "f32")
    close(got, want, magnitude, inner)


@settings(examples, max_examples=examples.max_examples // 2)
@given(st.data(), sizes, sizes, sizes, st.booleans(), st.booleans(), seeds)
def test_gemm_as_in_onnx(
    data: st.DataObject, rows: int, inner: int, columns: int, trans_a: bool, trans_b: bool, seed: int
) -> None:
    alpha, beta = data.draw(st.sampled_from([(1.0, 1.0), (0.5, 1.0), (1.0, -2.0), (-0.25, 0.0)]))
    a = values((inner, rows) if trans_a else (rows, inner), "f32", seed)
    b = values((columns, inner) if trans_b else (inner, columns), "f32", seed + 1)
    c = values(
        data.draw(st.sampled_from([(), (1,), (columns,), (rows, 1), (1, columns), (rows, columns)])), "f32", seed
    )
    got = ops.gemm(a, b, Tensor.from_numpy(c), alpha=alpha, beta=beta, trans_a=trans_a, trans_b=trans_b)
    left, right = (m.astype(np.float64).T if t else m.astype(np.float64) for m, t in ((a, trans_a), (b, trans_b)))
    want = alpha * (left @ right) + beta * c.astype(np.float64)
    close(got, want, np.abs(alpha) * (np.abs(left) @ np.abs(right)) + np.abs(beta * c), inner)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_activation(name: str) -> None:
    """To 2e-6 of the value or of the argument; in the tails, where values vanish, absolutely."""
    near = np.linspace(-12.0, 12.0, 4801)
    x = np.concatenate([near, np.geomspace(1e-12, 80.0, 200), -np.geomspace(1e-12, 80.0, 200)]).astype(np.float32)
    got = ops.linear(x[:, None], np.ones((1, 1), np.float32), activation=name).numpy()[:, 0]
    want = ACTIVATIONS[name](x.astype(np.float64))
    assert np.all(np.abs(got - want) <= 2e-6 * np.abs(want) + 2e-7 * np.minimum(np.abs(x), 1.0))


@pytest.mark.parametrize("name", PARAMETERS)
def test_activations_of_nan_and_infinities(name: str) -> None:
    got = ops.linear(np.array([[np.nan], [np.inf]], np.float32), np.ones((1, 1), np.float32), activation=name).numpy()[
        :, 0
    ]
    assert np.isnan(got[0])
    if name not in ("sine", "cosine", "softsign"):
        limit = ACTIVATIONS[name](np.float64(1e30))
        assert got[1] == (np.inf if limit > 1e29 else limit)


def test_parameters_of_activations() -> None:
    x = np.linspace(-3, 3, 13, dtype=np.float32)[:, None]
    one = np.ones((1, 1), np.float32)
    wide = x.astype(np.float64)
    for activation, want in (
        (("leaky_relu", 0.25), np.where(wide < 0, 0.25 * wide, wide)),
        (("elu", 2.0), np.where(wide < 0, 2.0 * np.expm1(wide), wide)),
        (("clip", -1, 2), np.clip(wide, -1.0, 2.0)),
        (("hard_sigmoid", 0.3, 0.4), np.clip(0.3 * wide + 0.4, 0.0, 1.0)),
    ):
        assert np.allclose(ops.linear(x, one, activation=activation), want, rtol=1e-6, atol=1e-7)
    for activation, complaint in (
        ("rilu", "no activation 'rilu'; there are"),
        (("relu", 1.0), "relu takes 0 parameters, not 1"),
        (("clip", 0.0), "clip takes 2 parameters, not 1"),
        (("elu", "wide"), "must be finite numbers"),
        (("elu", float("inf")), "must be finite numbers"),
    ):
        with pytest.raises(InputError, match=complaint):
            expression(activation)  # type: ignore[arg-type]


def test_one_kernel_serves_all_parameters_of_an_activation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters are uniforms: after the first of each kernel nothing is compiled."""
    x, w, image = values((40, 6), "f32", 1), values((5, 6), "f32", 2), values((1, 3, 6, 6), "f32", 3)
    window, weights = values((8, 3, 3, 3), "f32", 4), [values((16, 6), "f32", 5), values((2, 16), "f32", 6)]
    gates = values((1, 4, 6), "f32", 7), values((1, 4, 4), "f32", 8)

    def results(slope: float) -> list[np.ndarray]:
        activation = ("leaky_relu", slope)
        return [
            ops.linear(x, w, activation=activation).numpy(),
            ops.conv(image, window, activation=activation).numpy(),
            ops.mlp(x, weights, [np.zeros(16, np.float32), None], activation=activation, last=activation).numpy(),
            ops.rnn(x[:, None], *gates, activations=[("affine", slope, 0.5)])[0].numpy(),
        ]

    first = results(0.25)
    monkeypatch.setattr(kernel_module, "_compiled", lambda *_: pytest.fail("a kernel was compiled"))
    second = results(-0.5)
    assert [np.array_equal(a, b) for a, b in zip(first, second, strict=True)] == [False] * 4
    hidden = x.astype(float) @ weights[0].T
    outputs = np.where(hidden < 0, 0.25 * hidden, hidden) @ weights[1].T
    two = ops.mlp(x, weights, None, activation=("leaky_relu", 0.25), last=("leaky_relu", -0.5)).numpy()
    np.testing.assert_allclose(two, np.where(outputs < 0, -0.5 * outputs, outputs), rtol=1e-4, atol=1e-4)
    sums = x.astype(float) @ w.T
    np.testing.assert_allclose(second[0], np.where(sums < 0, -0.5 * sums, sums), rtol=1e-5, atol=1e-5)


def test_the_activation_is_applied_after_all_additions() -> None:
    x, w = values((9, 6), "f32", 1), values((5, 6), "f32", 2)
    b, r = values((5,), "f32", 3), values((9, 5), "f32", 4)
    want = np.maximum(x.astype(float) @ w.T + b + r, 0.0)
    assert np.allclose(ops.linear(x, w, b, activation="relu", residual=r), want, rtol=1e-5, atol=1e-4)
    want = np.tanh(0.01 * (x.astype(float) @ w.T) - 0.02 * r)
    assert np.allclose(ops.gemm(x, w, r, alpha=0.01, beta=-0.02, trans_b=True, activation="tanh"), want, atol=1e-6)


def test_everything_is_one_dispatch() -> None:
    gpu = vertigrad.gpu()
    x, w, b = (Tensor.from_numpy(values(s, "f32", 5)) for s in ((4, 70, 30), (90, 30), (90,)))
    residual = Tensor.from_numpy(values((4, 70, 90), "f32", 6))
    before = gpu.recorder.dispatches
    ops.linear(x, w, b, activation="gelu", residual=residual)
    assert gpu.recorder.dispatches == before + 1


def test_out_can_be_an_operand() -> None:
    x, w = values((20, 20), "f32", 7), values((20, 20), "f32", 8)
    for name in ("x", "weight", "residual"):
        given: dict[str, Tensor] = {
            "x": Tensor.from_numpy(x),
            "weight": Tensor.from_numpy(w),
            "residual": Tensor.from_numpy(x),
        }
        out = given[name]
        assert ops.linear(**given, out=out) is out
        close(out, x.astype(float) @ w.T + x, np.abs(x) @ np.abs(w.T) + np.abs(x), 20)


def test_one_axis_and_empty_axes() -> None:
    w, b = values((5, 6), "f32", 1), values((5,), "f32", 2)
    x = values((6,), "f32", 3)
    got = ops.linear(x, w, b, residual=b)
    close(got, x.astype(float) @ w.T + 2.0 * b, np.abs(x) @ np.abs(w.T) + np.abs(b), 6)
    assert ops.linear(np.zeros((0, 6), np.float32), w, b).shape == (0, 5)
    nothing = ops.linear(np.zeros((3, 0), np.float32), np.zeros((5, 0), np.float32), b, activation="relu")
    assert np.array_equal(nothing, np.broadcast_to(np.maximum(b, 0), (3, 5)))
    scaled = ops.gemm(np.zeros((2, 0), np.float32), np.zeros((0, 5), np.float32), b, beta=2.0)
    assert np.array_equal(scaled, np.broadcast_to(2 * b, (2, 5)))


@pytest.mark.parametrize("types", ["f16 f16 f16", "f16 f32 f16", "f32 f16 f32", "f16 f16 f32"])
def test_types(types: str) -> None:
    kinds = types.split()
    x, w, b = (values(s, k, 9) for s, k in zip([(40, 24), (12, 24), (12,)], kinds, strict=True))
    got = ops.linear(x, w, b, activation="relu")
    assert got.dtype.numpy == np.promote_types(NUMPY[kinds[0]], NUMPY[kinds[1]])
    want = x.astype(float) @ w.T.astype(float) + b
    close(got, np.maximum(want, 0), np.abs(x.astype(float)) @ np.abs(w.T) + np.abs(b), 24)


def refused(error: type[Exception], complaint: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=complaint):
        call()


def test_invalid_operands_are_reported() -> None:
    x, w, b = Tensor.zeros((4, 3)), Tensor.zeros((5, 3)), Tensor.zeros((5,))
    refused(ShapeError, r"linear: x \(4, 3\) and weight \(3, 5\)", lambda: ops.linear(x, w.T))
    refused(ShapeError, r"expected a bias of shape \(5,\), got \(4,\)", lambda: ops.linear(x, w, Tensor.zeros((4,))))
    refused(ShapeError, "does not broadcast to", lambda: ops.linear(x, w, residual=Tensor.zeros((2, 4, 5))))
    refused(ShapeError, "broadcast", lambda: ops.linear(x, w, residual=Tensor.zeros((3, 5))))
    refused(DtypeError, "must be f32 or f16", lambda: ops.linear(x.to("i32"), w.to("i32")))
    refused(DtypeError, "must be f32 or f16", lambda: ops.linear(x, w, b.to("i32")))
    refused(LayoutError, "repeats elements", lambda: ops.linear(x, w, out=Tensor.zeros((1, 5)).expand(4, 5)))
    refused(ShapeError, "not written to a tensor of shape", lambda: ops.linear(x, w, out=Tensor.zeros((5, 4))))
    refused(ShapeError, "both must be matrices", lambda: ops.gemm(x, b))
    refused(ShapeError, "inner sizes", lambda: ops.gemm(x, w))
    refused(InputError, "no activation", lambda: ops.linear(x, w, activation="swash"))
