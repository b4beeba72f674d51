"""Products of packed weights with one vector and with several, against NumPy."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu, Plan
from vertigrad.language.linear import Linear, Norm, Parts, Shape
from vertigrad.language.packing import Packed, as_f32, pack, quantize
from vertigrad.ops import paths

RANDOM = np.random.default_rng(5)
INNER = 1024


def packed(rows: int, format: Any) -> tuple[Packed, np.ndarray]:
    """A matrix, and the values that it has then."""
    weights = (RANDOM.normal(size=(rows, INNER)) / 32).astype(np.float32)
    if format == "int4":
        found = quantize(weights)
        return pack(found, format), found.values()
    values = (
        weights.astype(np.float16) if format == "f16" else (as_f32(weights).view(np.uint32) >> 16).astype(np.uint16)
    )
    return pack(values, format), as_f32(values)


def normalized(x: np.ndarray, kind: str, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
    x = x.astype(float)
    if kind == "layer":
        x = x - x.mean()
    scaled = x / np.sqrt((x**2).mean() + 1e-5) * gain
    return scaled + shift if kind == "layer" else scaled


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("subgroups", [False, True])
@pytest.mark.parametrize("sections", [1, 2])
@pytest.mark.parametrize(
    ("format", "norm", "then"),
    [("f16", "rms", "store"), ("int4", "rms", "gate"), ("bf16", "layer", "activate"), ("int4", "layer", "add")],
)
def test_a_product_with_one_vector(
    format: str, norm: str, then: Any, sections: int, subgroups: bool, steady: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    if subgroups and not paths.subgroup_size():
        pytest.skip("this adapter has no subgroups of one size")
    monkeypatch.setattr(Linear, "_section", lambda self, shape, parts: INNER // sections)
    rows = 38  # no multiple of what a workgroup makes
    matrix, values = packed(rows, format)
    x, gain, shift = (RANDOM.normal(size=INNER).astype(np.float32) for _ in range(3))
    bias, before = (RANDOM.normal(size=rows).astype(np.float32) for _ in range(2))
    with ExitStack() as stack, paths.forced(subgroups):
        source, out, *parts = (stack.enter_context(Tensor.from_numpy(a)) for a in (x, before, gain, shift))
        normal = Norm(norm, parts[0], parts[1] if norm == "layer" else None, 1e-5)
        linear = Linear.of(stack, "linear", matrix, bias, then, "silu" if then in ("gate", "activate") else "")
        plan = stack.enter_context(Plan("product"))
        linear.add_vector(plan, source, out, normal, shape=Shape(64, 16, 3 - sections, 2))
        plan.replay()
        found = out.numpy()
    expected = values.astype(float) @ normalized(x, norm, gain, shift) + bias
    results = {
        "store": expected,
        "add": before + expected,
        "activate": silu(expected),
        "gate": silu(expected[0::2]) * expected[1::2],
    }
    np.testing.assert_allclose(found[: len(results[then])], results[then], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("format", "then"), [("f16", "store"), ("int4", "gate"), ("bf16", "add"), ("int4", "store")])
def test_products_with_several_vectors(format: str, then: Any, steady: Gpu) -> None:
    rows, tokens = 70, 67
    matrix, values = packed(rows, format)
    x = RANDOM.normal(size=(tokens, INNER)).astype(np.float32)
    bias = RANDOM.normal(size=rows).astype(np.float32)
    before = RANDOM.normal(size=(tokens, rows // 2 if then == "gate" else rows)).astype(np.float32)
    with ExitStack() as stack:
        source, out = (stack.enter_context(Tensor.from_numpy(array)) for array in (x, before))
        linear = Linear.of(stack, "linear", matrix, bias, then, "silu" if then == "gate" else "")
        plan = stack.enter_context(Plan("products"))
        linear.add_matrix(plan, source, out)
        plan.replay(count=tokens)
        found = out.numpy()
    expected = x.astype(float) @ values.astype(float).T + bias
    if then == "gate":
        expected = silu(expected[:, 0::2]) * expected[:, 1::2]
    elif then == "add":
        expected += before
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("length", [1, 128, 300, 1024])
def test_a_product_adds_up_the_parts_of_an_attention(length: int, steady: Gpu) -> None:
    """With more heads than a workgroup has invocations; parts that this length does not have are not read."""
    heads, head, splits, tile = 64, 16, 8, 128
    matrix, values = packed(38, "f16")
    found = -(-length // (tile * max(1, -(-length // (tile * splits)))))
    parts = RANDOM.normal(size=(splits, heads, head)).astype(np.float32)
    sums = np.stack([RANDOM.normal(size=(splits, heads)), RANDOM.uniform(1, 9, (splits, heads))], -1).astype(np.float32)
    parts[found:], sums[found:] = np.nan, np.nan
    weights = np.exp(sums[:found, :, 0].astype(float))
    mean = (weights[..., None] * parts[:found]).sum(0) / (weights * sums[:found, :, 1]).sum(0)[:, None]
    with ExitStack() as stack:
        source, total, out = (stack.enter_context(Tensor.from_numpy(a)) for a in (parts, sums, np.ones(38, np.float32)))
        linear = Linear.of(stack, "linear", matrix, None, "add")
        plan = stack.enter_context(Plan("product"))
        linear.add_vector(plan, source, out, parts=Parts(total, splits, heads, head, tile), shape=Shape(32, 16, 2, 2))
        plan.replay(position=length - 1)
        np.testing.assert_allclose(out.numpy(), 1 + values.astype(float) @ mean.reshape(-1), rtol=2e-4, atol=2e-4)


def int4_product(
    x: np.ndarray,
    weights: np.ndarray,
    group: int,
    norm: tuple[str, np.ndarray, np.ndarray] | None = None,
    shape: Shape | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Of weights in groups of int4 with a vector, by the kernel; and the values that the weights then have."""
    matrix = quantize(weights, group)
    with ExitStack() as stack:
        source, out = (stack.enter_context(Tensor.from_numpy(a)) for a in (x, np.zeros(len(weights), np.float32)))
        linear = Linear.of(stack, "linear", pack(matrix, "int4"))
        normal = None
        if norm is not None:
            gain, shift = (stack.enter_context(Tensor.from_numpy(a)) for a in norm[1:])
            normal = Norm(norm[0], gain, shift if norm[0] == "layer" else None, 1e-5)
        plan = stack.enter_context(Plan("product"))
        linear.add_vector(plan, source, out, normal, shape=shape or Shape(64, 16, 1, 2))
        plan.replay()
        return out.numpy(), matrix.values().astype(float)


def steps(x: np.ndarray) -> np.ndarray:
    """Of each element of a vector for int4: the largest of 32 elements has 32,639 of them."""
    return np.repeat(np.abs(x.reshape(-1, 32)).max(1).astype(float) / 32639, 32)


def test_each_chunk_of_a_vector_for_int4_has_a_range_of_its_own(steady: Gpu) -> None:
    """Each row has weights for one chunk: zeros, denormals, 3e35, all sizes in one, and others."""
    x = RANDOM.normal(size=(32, 32)) * 10.0 ** np.linspace(-28, 30, 32)[:, None]
    x[10], x[11], x[12], x[13] = 0.0, RANDOM.normal(size=32) * 1e-40, 1e-31, -7.5
    x[14, ::2], x[15], x[16, 1:] = 3e35, RANDOM.normal(size=32) * 10.0 ** RANDOM.integers(-38, 36, 32), x[16, 1:] * 1e-4
    weights = (np.eye(32)[:, :, None] * RANDOM.normal(size=(32, 1, 32)) / 32).reshape(32, INNER).astype(np.float32)
    vector = x.astype(np.float32).reshape(-1)
    found, values = int4_product(vector, weights, 32)
    bound = np.abs(values) @ (steps(vector) / 2 + 1e-6 * np.abs(vector.astype(float)) + 1e-30)
    np.testing.assert_array_less(np.abs(found - values @ vector.astype(float)), bound)
    assert found[10] == 0


@pytest.mark.parametrize("norm", [None, "rms", "layer"])
@pytest.mark.parametrize(("group", "section"), [(32, INNER), (64, 384), (128, INNER), (256, 640)])
def test_a_product_of_int4_is_that_of_a_rounded_vector(
    group: int, section: int, norm: str | None, steady: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with sections of the vector of which the last is shorter, and with elements of very different sizes."""
    monkeypatch.setattr(Linear, "_section", lambda self, shape, parts: section)
    weights = (RANDOM.normal(size=(38, INNER)) / 32).astype(np.float32)
    x = (RANDOM.normal(size=INNER) * 10.0 ** RANDOM.integers(-3, 1, INNER)).astype(np.float32)
    gain, shift = (RANDOM.normal(size=INNER).astype(np.float32) for _ in range(2))
    given = None if norm is None else (norm, gain, shift)
    found, values = int4_product(x, weights, group, given, Shape(32, 4, 1, 2))
    vector = x.astype(float) if norm is None else normalized(x, norm, gain, shift)
    rounded = np.rint(vector / steps(vector)) * steps(vector)
    np.testing.assert_array_less(np.abs(found - values @ rounded), 1e-6 * np.abs(values) @ np.abs(vector))


@pytest.mark.parametrize("norm", [None, "rms", "layer"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_in_a_vector_for_int4_shows(value: float, norm: str | None, steady: Gpu) -> None:
    weights, x = RANDOM.normal(size=(38, INNER)).astype(np.float32), RANDOM.normal(size=INNER).astype(np.float32)
    x[INNER // 2 + 5] = value
    given = None if norm is None else (norm, np.ones_like(x), np.ones_like(x))
    assert not np.isfinite(int4_product(x, weights, 64, given)[0]).any()
