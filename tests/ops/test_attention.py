"""Attention against a float64 reference with explicit scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, LimitError, ShapeError
from vertigrad.gpu import Gpu, Kernel, shader
from vertigrad.ops import attention_rows, paths
from vertigrad.ops.attention import Tiling
from vertigrad.tensor.doubles import on_gpu

from .layouts import compiled_examples, layouts, seeds, values

module = import_module("vertigrad.ops.attention")  # `ops.attention` is the function
NBYTES = Tiling.nbytes


def reference(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
    left: int | None = None,
    right: int | None = None,
    offset: int | np.ndarray = 0,
    lengths: np.ndarray | None = None,
    softcap: float = 0.0,
) -> np.ndarray:
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    scores = softcap * np.tanh(scores / softcap) if softcap else scores
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    positions = np.arange(q.shape[2])[:, None] + np.reshape(offset, (-1, 1, 1, 1))
    keys = np.arange(k.shape[2])
    if left is not None:
        scores = np.where(keys >= positions - left, scores, -np.inf)
    if right is not None:
        scores = np.where(keys <= positions + right, scores, -np.inf)
    if lengths is not None:
        scores = np.where(keys < lengths[:, None, None, None], scores, -np.inf)
    if not k.shape[2]:
        return np.zeros((*q.shape[:3], v.shape[3]))
    top = scores.max(-1, keepdims=True)
    shares = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return shares / np.maximum(shares.sum(-1, keepdims=True), 1e-300) @ v


def close(got: Tensor, want: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy().astype(np.float64), want, rtol=tolerance, atol=3 * tolerance)


def three(heads: int, shared: int, queries: int, keys: int, width: int, out: int, n: int = 2) -> list[np.ndarray]:
    shapes = (n, heads, queries, width), (n, shared, keys, width), (n, shared, keys, out)
    return [values(shape, "f32", i) / 4 for i, shape in enumerate(shapes)]


@compiled_examples
@given(st.data(), seeds)
def test_any_sizes_windows_and_layouts(data: st.DataObject, seed: int) -> None:
    n, shared, times = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    queries, keys = data.draw(st.integers(1, 90)), data.draw(st.integers(0, 150))
    width, out = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    shapes = (n, shared * times, queries, width), (n, shared, keys, width), (n, shared, keys, out)
    arrays, tensors = [], []
    for i, shape in enumerate(shapes):
        layout = data.draw(layouts(shape))
        array, tensor = layout.both(values(layout.whole, "f32", seed + i) / 4)
        arrays.append(array)
        tensors.append(tensor)
    windows = st.none() | st.integers(0, 60)
    how = {"left": data.draw(windows), "right": data.draw(windows), "offset": data.draw(st.integers(-20, 100))}
    close(ops.attention(*tensors, **how), reference(*arrays, **how))


@pytest.mark.parametrize(("width", "out"), [(64, 64), (64, 48), (80, 128), (128, 128), (128, 20), (200, 256)])
def test_wide_heads(width: int, out: int) -> None:
    q, k, v = three(2, 1, 70, 140, width, out, n=1)
    close(ops.attention(q, k, v), reference(q, k, v))
    close(ops.attention(q, k, v, causal=True), reference(q, k, v, right=0))


@pytest.mark.parametrize("shape", [(2, 4, 37, 75), (1, 4, 37, 75), (2, 1, 1, 75), (37, 75), (75,), (37, 1)])
@pytest.mark.parametrize("kind", ["bool", "f32"])
def test_masks(shape: tuple[int, ...], kind: str) -> None:
    q, k, v = three(4, 2, 37, 75, 32, 32)
    mask = values(shape, kind, 9)
    close(ops.attention(q, k, v, mask), reference(q, k, v, mask))
    close(ops.attention(q, k, v, mask, causal=True, offset=5), reference(q, k, v, mask, right=0, offset=5))


@pytest.mark.turns(2)
@pytest.mark.parametrize(("width", "out"), [(64, 64), (30, 31)])
def test_many_queries_in_registers(width: int, out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three workgroups for each head, whose order turns around every two of them."""
    if not paths.subgroup_size():
        pytest.skip("this adapter has no subgroups of one size")
    for name, value in {"FEWEST": 1, "ROUND": 2}.items():
        monkeypatch.setattr(attention_rows, name, value)
    monkeypatch.setattr(paths, "is_software", lambda: False)
    q, k, v = three(4, 2, 300, 100, width, out)
    lengths = np.array([100, 33], np.int32)
    with paths.forced(subgroups=True):
        close(ops.attention(q, k, v), reference(q, k, v))
        close(ops.attention(q, k, v, causal=True, left=40, offset=-9), reference(q, k, v, right=0, left=40, offset=-9))
        got = ops.attention(q, k, v, lengths=lengths, softcap=2.0)
    close(got, reference(q, k, v, lengths=lengths, softcap=2.0))


@pytest.fixture(params=["tiles", "rows"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each of the two kernels, whatever the sizes."""
    if request.param == "tiles":
        yield
        return
    if not paths.subgroup_size():
        pytest.skip("this adapter has no subgroups of one size")
    monkeypatch.setattr(attention_rows, "FEWEST", 1)
    monkeypatch.setattr(paths, "is_software", lambda: False)
    with paths.forced(subgroups=True):
        yield


@pytest.mark.turns(2)
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (129, 33, 5, 2), (130, 1, 16, 16)])
def test_windows_and_values_at_their_limits(shape: tuple[int, int, int, int]) -> None:
    """Windows wider than all keys, lengths of 0, and elements that are not finite: their rows alone are NaN."""
    queries, keys, width, out = shape
    q, k, v = three(4, 2, queries, keys, width, out, n=3)
    for reach in (2**31 - 1, 2**40):
        close(ops.attention(q, k, v, left=reach, right=reach), reference(q, k, v))
    close(ops.attention(q, k, v, left=3, offset=10**6), np.zeros((3, 4, queries, out)))
    lengths = np.array([keys, 0, keys // 2], np.int32)
    close(ops.attention(q, k, v, lengths=lengths, right=2**31 - 1), reference(q, k, v, lengths=lengths))
    for at, value in ((0, np.nan), (1, np.inf), (2, -np.inf), (2, np.nan)):
        bad_q, bad_k, bad_v = arrays = q.copy(), k.copy(), v.copy()
        arrays[at][1, 0, -1, 0] = value
        with np.errstate(invalid="ignore"):
            want = reference(bad_q, bad_k, bad_v)
        np.testing.assert_allclose(ops.attention(*arrays).numpy(), want, rtol=1e-5, atol=1e-5)


def test_fully_masked_rows_are_0() -> None:
    q, k, v = three(2, 2, 9, 70, 16, 16)
    mask = np.zeros((9, 70), np.float32)
    mask[3] = -np.inf
    mask[4, 1:] = -np.inf
    got = ops.attention(q, k, v, mask)
    close(got, reference(q, k, v, mask))
    assert not got.numpy()[:, :, 3].any()
    np.testing.assert_allclose(got.numpy()[:, :, 4], v[:, :, 0], rtol=1e-6)
    assert not ops.attention(q, k, v, causal=True, offset=-9).numpy().any()
    assert not ops.attention(q, k[:, :, :0], v[:, :, :0]).numpy().any()
    none = Tensor.zeros((3, 2, 2, 0, 16))[2]  # whose byte 0 would be after the end of a block
    assert not ops.attention(q, none, none).numpy().any()


@pytest.mark.parametrize("causal", [False, True])
def test_each_batch_element_has_its_own_number_of_keys(causal: bool) -> None:
    q, k, v = three(2, 1, 11, 80, 24, 24, n=4)
    lengths = np.array([80, 11, 0, 40], np.int32)
    got = ops.attention(q, k, v, lengths=lengths, causal=causal)
    offset = lengths - 11 if causal else 0
    close(got, reference(q, k, v, lengths=lengths, right=0 if causal else None, offset=offset))


def test_scale_and_softcap() -> None:
    q, k, v = three(2, 2, 20, 33, 16, 16)
    mask = values((20, 33), "f32", 5)
    close(ops.attention(q, k, v, scale=3.0), reference(q, k, v, scale=3.0), 3e-5)
    close(ops.attention(q, k, v, mask, softcap=2.0), reference(q, k, v, mask, softcap=2.0))


def test_large_scores_do_not_overflow() -> None:
    q, k, v = three(1, 1, 20, 100, 16, 16)
    close(ops.attention(q * 200, k, v), reference(q * 200, k, v), 3e-4)


def test_half_precision_and_out(gpu: Gpu) -> None:
    if "shader-f16" not in gpu.features:
        pytest.skip(f"{gpu.adapter} has no f16")
    q, k, v = (t.astype(np.float16) for t in three(2, 2, 40, 50, 32, 32))
    whole = Tensor.full((2, 40, 2, 32), 7.0, "f16")
    out = whole.permute(0, 2, 1, 3)
    assert ops.attention(q, k, v, out=out) is out
    close(out, reference(q, k, v), 2e-3)


@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_f64(f64_gpu: Gpu, kind: str) -> None:
    """With heads that share keys, windows, lengths, a row that may attend nothing, and views."""
    arrays = [array.astype(np.float64) / 3 for array in three(6, 2, 9, 11, 5, 7)]
    mask = np.random.default_rng(1).normal(size=(2, 1, 9, 11))
    mask = {"none": None, "bool": (mask > -0.5) & (np.arange(9)[:, None] != 4), "float": mask}[kind]
    q, k, v = (on_gpu(array) for array in arrays)
    views = on_gpu(np.ascontiguousarray(arrays[0].swapaxes(1, 2))).permute(0, 2, 1, 3), k, v
    lengths = np.array([11, 6], np.int32)
    for how in (
        {},
        {"left": 2, "right": 1, "offset": 1},
        {"scale": 0.7, "softcap": 1.5},
        {"lengths": lengths, "left": 3},
    ):
        bias = None if mask is None else on_gpu(mask)
        end = lengths if "lengths" in how else 0
        expected = reference(*arrays, mask, **({"offset": end - 9 * ("lengths" in how)} | how))
        for operands in ((q, k, v), views):
            close(ops.attention(*operands, bias, **how), expected, 1e-13)


def test_invalid_arguments() -> None:
    q, k, v = (Tensor.from_numpy(t) for t in three(4, 2, 5, 6, 8, 8))
    with pytest.raises(ShapeError, match="do not go together"):
        ops.attention(q, k, v[:, :, :5])
    with pytest.raises(ShapeError, match="do not go together"):
        ops.attention(q[:, :3], k, v)
    with pytest.raises(ShapeError, match="must be"):
        ops.attention(q[0], k[0], v[0])
    with pytest.raises(ShapeError, match="does not expand"):
        ops.attention(q, k, v, Tensor.zeros((5, 7)))
    with pytest.raises(DtypeError, match="bools or floats"):
        ops.attention(q, k, v, Tensor.zeros((5, 6), "i32"))
    with pytest.raises(ShapeError, match="lengths"):
        ops.attention(q, k, v, lengths=Tensor.zeros((2,)))
    with pytest.raises(ShapeError, match="window"):
        ops.attention(q, k, v, left=-1)
    with pytest.raises(LimitError, match="256 at most"):
        ops.attention(*three(1, 1, 2, 2, 300, 300))


@pytest.mark.parametrize("storage", [16 << 10, 32 << 10, 48 << 10])
@pytest.mark.parametrize(("width", "width_out"), [(64, 64), (32, 128), (128, 16), (20, 12)])
def test_the_shader_declares_the_workgroup_memory_that_was_counted(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, width: int, width_out: int, storage: int
) -> None:
    texts: list[str] = []

    def load(name: str, defines: dict[str, Any]) -> Kernel:
        texts.append(shader.render(name, defines))
        return Kernel.load(name, defines=defines)

    limits = SimpleNamespace(limits={"max-compute-workgroup-storage-size": storage})
    monkeypatch.setattr(module, "gpu", lambda: limits)
    monkeypatch.setattr(module, "Kernel", SimpleNamespace(load=load))
    try:
        ops.attention(*(np.ones((1, 1, 3, n), np.float32) for n in (width, width, width_out)))
    except LimitError:
        assert storage == 16 << 10, "32 KiB hold every tile that is needed"
        return
    (text,) = texts
    declared = re.findall(r"var<workgroup> \w+: array<(vec4f|f32), (\d+)>", text)
    assert len(declared) == text.count("var<workgroup>") == 6
    nbytes = sum((16 if kind == "vec4f" else 4) * int(count) for kind, count in declared)
    counted: list[int] = []
    monkeypatch.setattr(Tiling, "nbytes", lambda *arguments: counted.append(NBYTES(*arguments)) or counted[-1])
    ops.attention(*(np.ones((1, 1, 3, n), np.float32) for n in (width, width, width_out)))
    assert nbytes == counted[-1] <= storage
