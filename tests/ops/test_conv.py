"""Convolution and its transpose against a float64 reference, over shapes, windows, groups and layouts."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops import conv_patches, conv_tiles, paths
from vertigrad.ops.conv_patches import FEW, MANY, Patches
from vertigrad.ops.conv_tiles import ON_A_CPU, SPLIT, TILES, Tile, choose

from . import references
from .layouts import compiled_examples, layouts, seeds, some, values


def close(got: Tensor, want: np.ndarray, inner: int, dtype: str = "f32") -> None:
    assert got.shape == want.shape
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    tolerance = {"f32": 1e-6 * max(4, inner**0.5), "f16": 2e-3}[dtype]
    np.testing.assert_allclose(got.numpy().astype(np.float64), want, rtol=tolerance, atol=tolerance * scale)


@st.composite
def cases(draw: st.DrawFn, rank: int) -> dict:
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inputs, results = draw(st.sampled_from([1, 2, 5, 16])), draw(st.sampled_from([1, 3, 6, 20]))
    largest = {1: 40, 2: 12, 3: 6}[rank]
    size = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    dilation = tuple(draw(st.lists(st.sampled_from([1, 1, 2, 3]), min_size=rank, max_size=rank)))
    stride = tuple(draw(st.lists(st.sampled_from([1, 1, 2, 3]), min_size=rank, max_size=rank)))
    pads = tuple(draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=rank, max_size=rank)))
    spatial = tuple(draw(st.lists(st.integers(1, largest), min_size=rank, max_size=rank)))
    return {
        "x": (draw(st.integers(1, 3)), inputs * groups, *spatial),
        "w": (results * groups, inputs, *size),
        **{"stride": stride, "pads": pads, "dilation": dilation, "groups": groups},
    }


@pytest.mark.parametrize("rank", [1, 2, 3])
@compiled_examples
@given(st.data(), seeds)
def test_any_window_over_any_layout(rank: int, data: st.DataObject, seed: int) -> None:
    case = data.draw(cases(rank))
    a, x = _drawn(data, case["x"], seed)
    b, w = _drawn(data, case["w"], seed + 1)
    how = {name: case[name] for name in ("stride", "dilation", "groups")}
    want = references.conv(a.astype(np.float64), b.astype(np.float64), pads=case["pads"], **how)
    bias = values((case["w"][0],), "f32", seed + 2)
    residual = values(want.shape, "f32", seed + 3)
    got = ops.conv(x, w, padding=case["pads"], **how)
    close(got, want, b[0].size)
    want = np.maximum(want + bias.reshape(-1, *[1] * rank) + residual, 0)
    more = {"bias": Tensor.from_numpy(bias), "residual": Tensor.from_numpy(residual), "activation": "relu"}
    close(ops.conv(x, w, padding=case["pads"], **how, **more), want, b[0].size)


@pytest.mark.parametrize("rank", [1, 2, 3])
@compiled_examples
@given(st.data(), seeds)
def test_the_transpose_of_any_window(rank: int, data: st.DataObject, seed: int) -> None:
    case = data.draw(cases(rank))
    shape = (case["x"][1], case["w"][0] // case["groups"], *case["w"][2:])
    more = tuple(data.draw(st.integers(0, max(s - 1, 0))) for s in case["stride"])
    a, x = _drawn(data, case["x"], seed)
    b, w = _drawn(data, shape, seed + 1)
    how = {name: case[name] for name in ("stride", "dilation", "groups")}
    full = [
        (n - 1) * s + (k - 1) * d + 1 + p
        for n, s, k, d, p in zip(case["x"][2:], case["stride"], shape[2:], case["dilation"], more, strict=True)
    ]
    pads = [(p, q) if p + q <= n else (0, 0) for (p, q), n in zip(case["pads"], full, strict=True)]
    want = references.conv_transpose(a.astype(np.float64), b.astype(np.float64), pads=pads, more=more, **how)
    bias = values((want.shape[1],), "f32", seed + 2)
    got = ops.conv_transpose(x, w, Tensor.from_numpy(bias), padding=pads, output_padding=more, **how)
    close(got, want + bias.reshape(-1, *[1] * rank), b[:, 0].size)


def _drawn(data: st.DataObject, shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, Tensor]:
    layout = data.draw(layouts(shape))
    return layout.both(values(layout.whole, "f32", seed))


@pytest.mark.parametrize(
    ("tile", "channels", "packed"),
    some(product([*TILES, ON_A_CPU, SPLIT, SPLIT._replace(rows=16, split=2)], [32, 5], [False, True])),
)
def test_every_tile(tile: Tile, channels: int, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_tiles, "choose", lambda *sizes: tile)
    a, b = values((2, channels, 9, 23), "f32", 1), values((70, channels, 3, 2), "f32", 2)
    x, w = Tensor.from_numpy(a), Tensor.from_numpy(b)
    got = ops.conv(x, ops.pack_conv_weights(w) if packed else w, padding=1)
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (1, 1), [(1, 1), (1, 1)], (1, 1), 1)
    close(got, want, b[0].size)


def test_a_software_adapter_wastes_no_positions() -> None:
    """For small images; for large ones, with tiles for all positions, both variants take the same time."""
    for positions in (4, 49, 784):
        assert choose(512, positions, 1, is_software=True) == ON_A_CPU != choose(512, positions, 1, is_software=False)
    assert choose(64, 1 << 16, 1, True) == choose(64, 1 << 16, 1, False) != ON_A_CPU
    assert choose(16, 1024, 1, True).rows == 16  # and no channels either


@pytest.mark.parametrize("results", [8, 16, 64, 512])
@pytest.mark.parametrize("positions", [49, 784, 1 << 16])
def test_tiles_fit_into_the_memory_of_a_workgroup(results: int, positions: int) -> None:
    for is_software in (False, True):
        assert choose(results, positions, 1, is_software, 16384).nbytes <= 16384


@pytest.mark.parametrize("is_software", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_long_inner_axis_is_sliced_on_a_gpu(groups: int, is_software: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "is_software", lambda: is_software)
    a, b = values((1, 64 * groups, 7, 7), "f32", 1), values((64, 64, 2, 3), "f32", 2)
    bias, residual = values((64,), "f32", 3), values((1, 64, 8, 7), "f32", 4)
    with Plan() as plan:
        with plan.recording():
            more = {"bias": Tensor.from_numpy(bias), "residual": Tensor.from_numpy(residual)}
            x, w = Tensor.from_numpy(a), Tensor.from_numpy(b)
            got = ops.conv(x, w, padding=1, groups=groups, activation=("leaky_relu", 0.2), **more)
        assert len(plan) == (1 if is_software else 2)
        plan.replay()
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (1, 1), [(1, 1), (1, 1)], (1, 1), groups)
    want = want + bias[:, None, None] + residual
    close(got, np.where(want < 0, 0.2 * want, want), b[0].size)


@pytest.mark.turns(2)
@pytest.mark.parametrize(("patches", "slices", "groups"), [(MANY, 1, 1), (FEW, 3, 2)])
def test_windows_of_3_by_3_by_fewer_multiplications(
    patches: Patches, slices: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And their transpose; odd sizes, so that patches and tiles are cut off, and channels that end within a step."""
    monkeypatch.setattr(paths, "is_software", lambda: False)
    monkeypatch.setattr(conv_patches, "choose", lambda *sizes: (patches, slices))
    a, b = values((2, 35 * groups, 9, 7), "f32", 1), values((70 * groups, 35, 3, 3), "f32", 2)
    bias, residual = values((70 * groups,), "f32", 3), values((2, 70 * groups, 9, 7), "f32", 4)
    pads, x, w = [(2, 0), (1, 1)], Tensor.from_numpy(a), ops.pack_conv_weights(Tensor.from_numpy(b))
    more: dict[str, Any] = {"bias": Tensor.from_numpy(bias), "residual": Tensor.from_numpy(residual)}
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (1, 1), pads, (1, 1), groups)
    want = np.maximum(want + bias[:, None, None] + residual, 0)
    with Tensor.full((2, 70 * groups, 10, 8), 7.0) as whole:
        out = whole[:, :, :9, :7]
        close(ops.conv(x, w, padding=pads, groups=groups, activation="relu", out=out, **more), want, b[0].size)
        assert (whole.numpy()[:, :, 9:] == 7).all() and (whole.numpy()[..., 7:] == 7).all()
    c = values((35 * groups, 40, 3, 3), "f32", 5)
    want = references.conv_transpose(a.astype(np.float64), c.astype(np.float64), (1, 1), pads, (1, 1), groups, (0, 0))
    close(ops.conv_transpose(x, Tensor.from_numpy(c), padding=pads, groups=groups), want, c[:, 0].size)


@pytest.mark.turns(2)
@compiled_examples
@given(st.data(), seeds)
def test_windows_of_3_by_3_over_any_layout(data: st.DataObject, seed: int) -> None:
    """Images of a pixel, padding wider than they are, results and channels that fill no tile, slices and strides."""
    groups, channels, results = (data.draw(st.sampled_from(sizes)) for sizes in ([1, 1, 2], [1, 5, 12], [5, 9, 40]))
    spatial = tuple(data.draw(st.lists(st.integers(1, 9), min_size=2, max_size=2)))
    pads = [(2 + b, e) for b, e in data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=2, max_size=2))]
    a, x = _drawn(data, (data.draw(st.integers(1, 3)), channels * groups, *spatial), seed)
    b, w = _drawn(data, (results * groups, channels, 3, 3), seed + 1)
    chosen = FEW, data.draw(st.integers(1, -(-channels // conv_patches.CHANNELS)))
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (1, 1), pads, (1, 1), groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "is_software", lambda: False)
        patch.setattr(conv_patches, "choose", lambda *sizes: chosen)
        close(ops.conv(x, w, padding=pads, groups=groups), want, b[0].size)


@pytest.mark.turns(2)
@pytest.mark.parametrize("groups", [1, 2])
def test_residues_of_wide_strides_by_fewer_multiplications(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transposed window of 6 x 6 at stride 2 is four of 3 x 3, whose results are every other one."""
    chosen: list[tuple[int, ...]] = []
    monkeypatch.setattr(paths, "is_software", lambda: False)
    monkeypatch.setattr(conv_patches, "choose", lambda *sizes: chosen.append(sizes) or (FEW, 2))
    a, b = values((2, 10 * groups, 7, 5), "f32", 1), values((10 * groups, 11, 6, 6), "f32", 2)
    pads = [(2, 1), (0, 3)]
    want = references.conv_transpose(a.astype(np.float64), b.astype(np.float64), (2, 2), pads, (1, 1), groups, (0, 1))
    close(ops.conv_transpose(a, b, stride=2, padding=pads, groups=groups, output_padding=(0, 1)), want, b[:, 0].size)
    assert len(chosen) == 4


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays_in_its_patches(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of other patches, members of the batch and groups are as they were; those of its patches may be NaN."""
    monkeypatch.setattr(paths, "is_software", lambda: False)
    monkeypatch.setattr(conv_patches, "choose", lambda *sizes: (FEW, 2))
    a, b = values((2, 24, 9, 9), "f32", 1), values((12, 12, 3, 3), "f32", 2)
    before = ops.conv(a, b, padding=1, groups=2).numpy()
    a[1, 5, 4, 4] = value
    after = ops.conv(a, b, padding=1, groups=2).numpy()
    assert not np.isfinite(after[1, :6, 3:6, 3:6]).any() or value == 3e38
    after[1, :6, 2:6, 2:6] = before[1, :6, 2:6, 2:6]
    np.testing.assert_array_equal(after, before)


@pytest.mark.turns(2)
@pytest.mark.parametrize("patches", [None, FEW])
@pytest.mark.parametrize(("of_x", "of_w"), [("u8", "f32"), ("f32", "u8"), ("bool", "f16"), ("i32", "u32")])
def test_operands_of_other_types(
    patches: Patches | None, of_x: str, of_w: str, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "f16" in (of_x, of_w) and "shader-f16" not in gpu.features:
        pytest.skip("this adapter has no f16")
    monkeypatch.setattr(paths, "is_software", lambda: False)
    monkeypatch.setattr(conv_patches, "choose", lambda *sizes: patches and (patches, 1))
    a, b = values((2, 6, 5, 7), of_x, 1), values((9, 6, 3, 3), of_w, 2)
    got = ops.conv(Tensor.from_numpy(a), Tensor.from_numpy(b), padding=1)
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (1, 1), [(1, 1), (1, 1)], (1, 1), 1)
    assert got.dtype.kind == "float"
    close(got, want, b[0].size, got.dtype.name)


def test_fewer_multiplications_are_for_gpus_and_many_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of integers that `integer_conv` computes in f32 have fewer channels: 28 x 9 products of bytes."""
    limits = (1 << 15, 1024)
    assert conv_patches.choose(64, 1 << 14, 64, 1, *limits) == (MANY, 1)
    assert conv_patches.choose(512, 16, 512, 1, *limits) == (FEW, 16)
    assert conv_patches.choose(64, 784, 64, 1, *limits) == (FEW, 1)
    assert conv_patches.choose(64, 1 << 14, 28, 1, *limits) is None
    assert (
        conv_patches.choose(64, 1 << 14, 64, 1, 1 << 14, 1024)
        is conv_patches.choose(64, 1, 64, 1, 1 << 15, 256)
        is None
    )
    assert max(MANY.nbytes, FEW.nbytes) <= 1 << 15


def test_half_precision_is_summed_in_single(gpu: Gpu) -> None:
    if "shader-f16" not in gpu.features:
        pytest.skip(f"{gpu.adapter} has no f16")
    a, b = values((1, 48, 8, 8), "f16", 1), values((33, 48, 3, 3), "f16", 2)
    got = ops.conv(Tensor.from_numpy(a), Tensor.from_numpy(b), padding=1)
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (1, 1), [(1, 1), (1, 1)], (1, 1), 1)
    assert got.dtype.name == "f16"
    close(got, want, b[0].size, "f16")


@pytest.mark.parametrize(
    ("left", "right", "result"), [("i32", "i32", "i32"), ("u8", "u8", "u32"), ("u8", "i32", "i32")]
)
def test_integers(left: str, right: str, result: str) -> None:
    a, b = values((1, 4, 6, 6), left, 1), values((8, 4, 2, 2), right, 2)
    got = ops.conv(Tensor.from_numpy(a), Tensor.from_numpy(b))
    assert got.dtype.name == result
    want = references.conv(a.astype(np.int64), b.astype(np.int64), (1, 1), [(0, 0), (0, 0)], (1, 1), 1)
    assert np.array_equal(got.numpy(), want)


@pytest.mark.parametrize("rule", ["same_upper", "same_lower", "valid"])
@pytest.mark.parametrize(("n", "size", "stride", "dilation"), [*product([5, 6], [2, 3], [1, 2], [1, 2])])
def test_padding_by_name(rule: str, n: int, size: int, stride: int, dilation: int) -> None:
    a, b = values((1, 2, n), "f32", 1), values((3, 2, size), "f32", 2)
    got = ops.conv(Tensor.from_numpy(a), Tensor.from_numpy(b), padding=rule, stride=stride, dilation=dilation)
    total = max((-(-n // stride) - 1) * stride + (size - 1) * dilation + 1 - n, 0) if rule != "valid" else 0
    less, more = total // 2, total - total // 2
    pads = [(more, less) if rule == "same_lower" else (less, more)]
    want = references.conv(a.astype(np.float64), b.astype(np.float64), (stride,), pads, (dilation,), 1)
    assert rule == "valid" or got.shape[2] == -(-n // stride)
    close(got, want, 8)


def test_the_output_shape_of_a_transpose_can_be_specified() -> None:
    a, b = values((1, 1, 3, 3), "f32", 1), values((1, 2, 3, 3), "f32", 2)
    x, w = Tensor.from_numpy(a), Tensor.from_numpy(b)
    whole = references.conv_transpose(*(v.astype(np.float64) for v in (a, b)), (3, 2), [(0, 0)] * 2, (1, 1), 1, (0, 0))
    assert whole.shape[2:] == (9, 7)
    got = ops.conv_transpose(x, w, stride=(3, 2), output_shape=(10, 8))
    want = np.pad(whole, [(0, 0), (0, 0), (1, 0), (1, 0)])  # total -1: begin floor(-1 / 2) = -1, end 0
    close(got, want, 9)
    got = ops.conv_transpose(x, w, stride=(3, 2), output_shape=(8, 6))
    close(got, whole[:, :, :8, :6], 9)
    got = ops.conv_transpose(x, w, stride=(3, 2), output_shape=(8, 6), padding="same_lower")
    close(got, whole[:, :, 1:, 1:], 9)
    assert ops.conv_transpose(x, w, stride=(3, 2), padding="same_upper").shape == (1, 2, 9, 6)


def test_out_and_nothing_else_is_written() -> None:
    a, b = values((1, 8, 6, 6), "f32", 1), values((20, 8, 3, 3), "f32", 2)
    whole = Tensor.full((1, 24, 9, 9), 7.0)
    view = whole[:, 2:22, 1:9:2, 2:6]
    x, w = Tensor.from_numpy(a), Tensor.from_numpy(b)
    assert ops.conv(x, w, out=view) is view
    want = np.full((1, 24, 9, 9), 7.0)
    want[:, 2:22, 1:9:2, 2:6] = references.conv(a, b, (1, 1), [(0, 0), (0, 0)], (1, 1), 1)
    np.testing.assert_allclose(whole.numpy(), want, rtol=1e-4, atol=1e-4)


def test_empty_input_gives_empty_output() -> None:
    x, w = Tensor.zeros((0, 3, 5, 5)), Tensor.zeros((4, 3, 3, 3))
    assert ops.conv(x, w).shape == (0, 4, 3, 3)
    assert ops.conv(Tensor.zeros((1, 3, 2, 2)), w).shape == (1, 4, 0, 0)
    empty = ops.conv(Tensor.zeros((1, 0, 5, 5)), Tensor.zeros((4, 0, 3, 3)), Tensor.full((4,), 2.0), activation="relu")
    assert (empty.numpy() == 2).all()


def test_invalid_arguments_are_reported() -> None:
    x, w = Tensor.zeros((1, 4, 5, 5)), Tensor.zeros((6, 4, 3, 3))
    with pytest.raises(ShapeError, match="x has 4 channels, the weights are for 8"):
        ops.conv(x, w, groups=2)
    with pytest.raises(ShapeError, match="must both be"):
        ops.conv(x, w[0])
    with pytest.raises(ShapeError, match="bias of shape"):
        ops.conv(x, w, Tensor.zeros((4,)))
    with pytest.raises(ShapeError, match="residual of shape"):
        ops.conv(x, w, residual=x)
    with pytest.raises(ShapeError, match="stride 0"):
        ops.conv(x, w, stride=0)
    with pytest.raises(ShapeError, match="padding 'same'"):
        ops.conv(x, w, padding="same")
    with pytest.raises(ShapeError, match="number or a pair"):
        ops.conv(x, w, padding=[1])
    with pytest.raises(ShapeError, match="leaves nothing"):
        ops.conv_transpose(x, Tensor.zeros((4, 2, 1, 1)), padding=9)
    with pytest.raises(DtypeError, match="activation"):
        ops.conv(x.to("i32"), w.to("i32"), activation="relu")
    with pytest.raises(ShapeError, match="4 spatial axes"):
        ops.conv(Tensor.zeros((1, 1, 2, 2, 2, 2)), Tensor.zeros((1, 1, 1, 1, 1, 1)))


@pytest.mark.parametrize("window", [(1, 400, 300), (1, 70000, 1), (70000, 1, 1), (3, 50000, 1)])
def test_more_products_of_a_result_than_iterations_of_llvmpipe(gpu: Gpu, window: tuple[int, int, int]) -> None:
    """It ends all loops of an invocation after 65,535 iterations: the last product of these windows comes later."""
    array = np.zeros((1, *window), np.float32)
    array.flat[-1] = 3.0
    for results in (1, 5):
        weights = np.ones((results, *window), np.float32)
        assert ops.conv(Tensor.from_numpy(array), Tensor.from_numpy(weights)).numpy().tolist() == [[[[3.0]]] * results]
