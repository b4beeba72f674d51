"""Chains of elementwise operations as one kernel."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, LayoutError, ShapeError
from vertigrad.gpu import Gpu, Kernel, Plan
from vertigrad.ops import Expression

from .layouts import broadcastable, examples, layouts, seeds, shapes, values


def drawn(data: st.DataObject, shape: tuple[int, ...], dtype: str, seed: int) -> tuple[np.ndarray, Tensor]:
    layout = data.draw(layouts(data.draw(broadcastable(shape))))
    return layout.both(values(layout.whole, dtype, seed))


@examples
@given(st.data(), seeds)
def test_operands_are_broadcast_with_any_layout(data: st.DataObject, seed: int) -> None:
    shape = data.draw(shapes())
    (a, x), (b, y), (c, z) = (drawn(data, shape, "f32", seed + i) for i in range(3))
    got = ops.fused(lambda x, y, z: ops.maximum(x * 2 + y, z - 1) * y, x, y, z)
    want = np.maximum(a * np.float32(2) + b, c - np.float32(1)) * b
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-5)


OPERATORS = [np.add, np.subtract, np.multiply, np.maximum, np.minimum]


@examples
@given(st.data(), st.sampled_from(["i32", "u32", "u8"]), seeds)
def test_integers_wrap_as_in_separate_operations(data: st.DataObject, dtype: str, seed: int) -> None:
    a, b = values((50,), dtype, seed), values((50,), dtype, seed + 1)
    chosen = data.draw(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=6))

    def chain(library: Any, x: Any, y: Any) -> Any:
        for function in chosen:
            x, y = getattr(library, function.__name__)(x, y), x
        return x

    with np.errstate(over="ignore"):
        want = chain(np, a, b)
    got = ops.fused(lambda x, y: chain(ops, x, y), a, b)
    assert got.dtype.name == dtype and np.array_equal(got.numpy(), want)


def count(call: Any) -> int:
    """The number of kernels of a call."""
    with Plan() as plan:
        with plan.recording():
            call()
        return len(plan)


def test_it_is_one_kernel_compiled_once_for_a_structure() -> None:
    x, y = Tensor.from_numpy(values((3, 4), "f32", 1)), Tensor.from_numpy(values((4,), "f32", 2))
    loaded: list[Kernel] = []
    for factor, other in ((2.0, y), (3.0, x[0]), (5.0, y)):
        assert count(lambda f=factor, o=other: ops.fused(lambda a, b: ops.relu(a * f + b), x, o)) == 1
        loaded.append(_last_kernel(lambda f=factor, o=other: ops.fused(lambda a, b: ops.relu(a * f + b), x, o)))
    assert loaded[0] is loaded[1] is loaded[2]


def _last_kernel(call: Any) -> Kernel:
    with Plan() as plan:
        with plan.recording():
            call()
        return plan._dispatches[-1].kernel


def test_types_are_those_of_separate_operations() -> None:
    i, f, u = (Tensor.from_numpy(values((9,), dtype, 3)) for dtype in ("i32", "f32", "u8"))
    cases = [
        (lambda a, b: a * b, (i, i), "i32"),
        (lambda a, b: a / b, (i, i), "f32"),
        (lambda a, b: (a > b) & (b > 0), (i, i), "bool"),
        (lambda a, b: ops.where(a > 0, a, b), (i, f), "f32"),
        (lambda a, b: ops.where(a, b, 0), (f, i), "i32"),
        (lambda a, b: a + b + 200, (u, u), "u8"),
        (lambda a, b: (a * 2).to("f32") + b * 2 + 2.0, (i, f), "f32"),
        (lambda a, b: a.to("u8") + b.to("i32"), (f, i), "i32"),
        (lambda a, b: ops.exp(a.to("f16")) * b, (f, f), "f32"),
        (lambda a, b: a.to("bool"), (f, f), "bool"),
    ]
    for function, operands, dtype in cases:
        one, by_one = ops.fused(function, *operands), function(*operands)
        assert one.dtype.name == by_one.dtype.name == dtype
        tolerance = 0 if dtype != "f32" else 2e-3 if function is cases[8][0] else 1e-6
        np.testing.assert_allclose(one.numpy().astype(float), by_one.numpy().astype(float), rtol=tolerance)


def test_a_numeric_condition_is_true_unless_it_is_0() -> None:
    x = Tensor.from_numpy(np.array([0.3, 0.0, -0.0, np.nan], np.float32))
    assert ops.where(x, 1, 2).numpy().tolist() == [1, 2, 2, 1]
    assert ops.where(0.3, x.to("i32"), 7).numpy().tolist() == [0, 0, 0, 0]


def test_half_precision_is_rounded_once_at_the_end(gpu: Gpu) -> None:
    if "shader-f16" not in gpu.features:
        pytest.skip(f"{gpu.adapter} has no f16")
    a = np.array([60000, 1, 0.1], np.float16)
    got = ops.fused(lambda x: x * 4 / 4, a)
    assert got.dtype.name == "f16" and np.array_equal(got.numpy(), a)
    out = Tensor.zeros((3,), "f32")
    ops.fused(lambda x: x / 3, a, out=out)
    assert np.array_equal(out.numpy(), (a.astype(np.float32) / 3).astype(np.float16).astype(np.float32))


def test_repeated_tensors_are_read_once_and_common_subexpressions_computed_once() -> None:
    x = Tensor.from_numpy(values((8,), "f32", 1))

    def chain(a: Any) -> Any:
        shared = ops.exp(a)
        return shared * shared + shared + a

    kernel = _last_kernel(lambda: ops.fused(chain, x))
    assert len(kernel.bindings) == 2 and kernel.source.count("precise_exp(t0_)") == 1
    e = np.exp(x.numpy().astype(float))
    np.testing.assert_allclose(ops.fused(chain, x).numpy(), e * e + e + x.numpy(), rtol=2e-6)


def test_more_tensors_than_a_kernel_binds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["vertigrad.ops.elementwise"], "_most_tensors", lambda: 3)
    arrays = [values((5,), "f32", i) for i in range(9)]

    def chain(*terms: Any) -> Any:
        left = terms[0]
        for term in terms[1:5]:
            left = left * 0.5 + term
        right = terms[5]
        for term in terms[6:]:
            right = ops.maximum(right, term)
        return left + right

    left = arrays[0].astype(float)
    for term in arrays[1:5]:
        left = left * 0.5 + term
    want = left + np.max(arrays[5:], 0)
    np.testing.assert_allclose(ops.fused(chain, *arrays).numpy(), want, rtol=1e-5, atol=1e-5)


def test_out_in_place_and_overlapping() -> None:
    a = np.arange(12, dtype=np.float32)
    x = Tensor.from_numpy(a)
    assert ops.fused(lambda v: v * 2 + v, x, out=x) is x
    assert np.array_equal(x.numpy(), 3 * a)
    ops.fused(lambda v, w: v + w, x[1:], x[:-1], out=x[1:])
    assert x.numpy().tolist() == [0, *(3 * a[1:] + 3 * a[:-1])]
    with pytest.raises(LayoutError, match="repeats elements"):
        ops.fused(lambda v: v + 1, x, out=Tensor.zeros((1,)).expand(12))


def test_expressions_can_be_built_explicitly() -> None:
    x = Tensor.from_numpy(np.array([[1.0, 2.0]], np.float32))
    node = ops.elementwise("multiply", Expression.of(x), 3)
    assert isinstance(node, Expression)
    node = ops.elementwise("add", x.permute(1, 0), node)
    assert node.shape == (2, 2) and node.dtype.name == "f32"
    assert ops.evaluate(node).numpy().tolist() == [[4, 7], [5, 8]]
    assert ops.assign(Tensor.zeros((2, 2), "i32"), node).numpy().tolist() == [[4, 7], [5, 8]]


def test_the_identity_function() -> None:
    x = Tensor.from_numpy(np.arange(3, dtype=np.int32))
    copy = ops.fused(lambda v: v, x)
    copy.fill_(9)
    assert x.numpy().tolist() == [0, 1, 2]
    assert ops.fused(lambda v: 7, x).numpy() == 7


def test_invalid_expressions() -> None:
    x = Tensor.zeros((2, 3))
    with pytest.raises(ShapeError, match="do not broadcast"):
        ops.fused(lambda a, b: a + b, x, Tensor.zeros((2,)))
    with pytest.raises(ShapeError, match="does not fit out"):
        ops.fused(lambda a: a + 1, x, out=Tensor.zeros((3,)))
    with pytest.raises(DtypeError, match="bitwise_and is not defined for f32"):
        ops.fused(lambda a: a & 1.0, x)
    with pytest.raises(DtypeError, match=r"use \.to\(\) first"):
        ops.fused(lambda a: a + 1, x, out=Tensor.zeros((2, 3), "i32"))
    with pytest.raises(DtypeError, match="ndarray in an expression"):
        ops.fused(lambda a: a + np.ones(3, np.float32), x)
    with pytest.raises(DtypeError, match="gave str"):
        ops.fused(lambda a: "no", x)
    with pytest.raises(DtypeError, match="not <Expression"):
        ops.fused(lambda a: ops.sum(a), x)
    with pytest.raises(DtypeError, match="does not fit u8"):
        ops.fused(lambda a: a + 300, x.to("u8"))


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "bool", "u8"])
@pytest.mark.parametrize(
    "shape",
    [(4096, 8), (64, 3, 100), (1 << 15,), (2, 64, 129), (130, 128)],
    ids=lambda shape: "x".join(map(str, shape)),
)
def test_large_results_of_any_layout(shape: tuple[int, ...], dtype: str, gpu: Gpu) -> None:
    """With and without four results per invocation."""
    if dtype == "f16" and "shader-f16" not in gpu.features:
        pytest.skip(f"{gpu.adapter} has no f16")
    a = values(shape, dtype, 1)
    x = Tensor.from_numpy(a)
    wide = np.concatenate([a, a, a], -1)
    y = Tensor.from_numpy(wide)
    n = shape[-1]
    uneven = Tensor.from_numpy(np.concatenate([a, a[..., :1]], -1))
    views = [
        (x, a),
        (uneven[..., :n], a),
        (x[::-1], a[::-1]),
        (y[..., n : 2 * n], a),
        (y[..., 1 : n + 1], wide[..., 1 : n + 1]),
    ]
    views += [(y[..., ::3], wide[..., ::3]), (x[:1], a[:1]), (x[..., :1], a[..., :1])]
    function, reference = (ops.logical_xor, np.logical_xor) if dtype == "bool" else (ops.maximum, np.maximum)
    for left, exact in views:
        got = ops.fused(lambda p, q: function(p, q), left, x)
        assert np.array_equal(got.numpy(), reference(exact, a)), left.layout
    out = Tensor.from_numpy(np.zeros_like(wide))
    ops.fused(lambda p: function(p, p), x, out=out[..., 1 : n + 1])
    want = np.zeros_like(wide)
    want[..., 1 : n + 1] = reference(a, a)
    assert np.array_equal(out.numpy(), want)
    ops.fused(lambda p, q: function(p, q), y, x[..., :1], out=y)
    assert np.array_equal(y.numpy(), reference(wide, a[..., :1]))
