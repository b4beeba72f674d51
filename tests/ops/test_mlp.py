"""Whole networks in one kernel against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, InputError, LayoutError, ShapeError
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops import mlp_pairs, paths
from vertigrad.ops.encoding import HashEncoding, PositionalEncoding
from vertigrad.ops.mlp import Mlp
from vertigrad.ops.mlp_variants import NETWORKS, Form

from .activations import ACTIVATIONS
from .layouts import examples, layouts, seeds, some
from .test_encoding import frequencies, hashed

Layers = tuple[list[np.ndarray], list[np.ndarray]]


def layers(sizes: Sequence[int], seed: int = 0, dtype: type = np.float32) -> Layers:
    """Random weights that keep signals of moderate size, and biases."""
    random = np.random.default_rng(seed)
    weights = [(random.normal(size=(n, m)) * (2.0 / m) ** 0.5).astype(dtype) for m, n in pairwise(sizes)]
    return weights, [random.normal(size=n).astype(np.float32) for n in sizes[1:]]


def expected(x: np.ndarray, net: Layers, activation: str | None, last: str | None = None) -> np.ndarray:
    signal = x.astype(np.float64)
    for number, (weight, bias) in enumerate(zip(*net, strict=True)):
        function = last if number == len(net[0]) - 1 else activation
        signal = signal @ weight.T.astype(np.float64) + bias
        signal = signal if function is None else ACTIVATIONS[function](signal)
    return signal


def close(got: Tensor, want: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got.shape == want.shape
    if want.size:
        assert np.abs(got.numpy() - want).max() <= tolerance * max(1.0, np.abs(want).max())


def points(count: int, dimensions: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)


@pytest.mark.parametrize(
    "sizes",
    [
        *([3, 64, 64, 64, 4], [2, 33, 50, 7, 3], [5, 4], [5, 40], [1, 1], [1, 1, 1], [3, 16, 17], [40, 16, 20]),
        *([63, 48, 48, 16], [130, 128, 128, 128], [256, 32, 1], [16, 96, 80, 2]),
    ],
)
def test_any_widths(steady: Gpu, sizes: list[int]) -> None:
    net = layers(sizes)
    with Mlp(*net) as mlp:
        for count in (0, 1, 77, 500):
            x = points(count, sizes[0])
            with Tensor.full((count, sizes[-1]), np.nan) as out, Tensor.from_numpy(x) as x_tensor:
                assert mlp(x_tensor, out=out) is out
                close(out, expected(x, net, "relu"))


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("sizes", "last"), [([3, 64, 64, 4], None), ([2, 16, 16, 16, 3], "sigmoid"), ([21, 32, 9], "tanh")]
)
def test_many_points_in_pairs(sizes: list[int], last: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tiles, one of them not full, by one workgroup."""
    if not paths.subgroup_size():
        pytest.skip("this adapter has no subgroups of one size")
    for name, value in {"FEWEST": 1, "FEWEST_SHALLOW": 1, "LEAST_BUSY": 0, "NARROWEST": 16, "WORKGROUPS": 1}.items():
        monkeypatch.setattr(mlp_pairs, name, value)
    monkeypatch.setattr(paths, "is_software", lambda: False)
    net, x = layers(sizes), points(700, sizes[0])
    with Mlp(*net, last=last) as mlp, Tensor.full((700, sizes[-1] + 2), 7.0) as whole, paths.forced(subgroups=True):
        assert mlp_pairs.suits(mlp.form, 700)
        mlp(x, out=whole[:, 1:-1])
        close(whole[:, 1:-1], expected(x, net, "relu", last))
        assert (whole.numpy()[:, [0, -1]] == 7).all()


def test_pairs_are_for_many_points_and_narrow_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    large = {"max-compute-workgroup-storage-size": 49152, "max-compute-invocations-per-workgroup": 1024}
    monkeypatch.setattr(mlp_pairs, "gpu", lambda: SimpleNamespace(limits=large))
    monkeypatch.setattr(paths, "is_software", lambda: False)
    deep, shallow = Form.of([3, 64, 64, 64, 4]), Form.of([3, 64, 4])
    tiles = mlp_pairs.WORKGROUPS * 2 * mlp_pairs.THREADS  # points of a round of all workgroups
    with paths.forced(subgroups=True):
        if paths.path().subgroup < 2:
            pytest.skip("this adapter has no subgroups of one size")
        assert [mlp_pairs.suits(deep, 1 << bits) for bits in (16, 17, 18, 20)] == [False, True, True, True]
        assert [mlp_pairs.suits(shallow, 1 << bits) for bits in (18, 19)] == [False, True]
        assert mlp_pairs.suits(deep, 3 * tiles) and not mlp_pairs.suits(deep, 3 * tiles + 1)  # a round for one point
        assert not mlp_pairs.suits(Form.of([3, 80, 4]), 1 << 20)
        assert not mlp_pairs.suits(Form.of([64, *[64] * 4, 4]), 1 << 20), "no room for the weights"


@pytest.mark.parametrize(
    ("variant", "sizes"),
    [
        *((variant, [3, 32, 32, 4]) for variant in some(NETWORKS.variants)),
        *((v, [32, 32, 20]) for v in some(name for name, one in NETWORKS.variants.items() if one.each_points == 4)),
    ],
)
def test_every_variant_that_fits(steady: Gpu, variant: str, sizes: list[int]) -> None:
    net, x, chosen = layers(sizes), points(700, sizes[0]), NETWORKS.variants[variant]
    with Mlp(*net) as mlp, Tensor.from_numpy(x) as x_tensor, Tensor.full((700, sizes[-1]), np.nan) as out:
        if not chosen.fits(mlp.form.key, steady):
            pytest.skip(f"{variant} does not fit {mlp.form.key} here")
        mlp.run(x_tensor, out, chosen)
        close(out, expected(x, net, "relu"))


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", ["relu", "sine", "tanh", "gelu", "silu", "sigmoid", "softplus"])
def test_activations(name: str) -> None:
    net, x = layers([3, 16, 16, 2]), points(40, 3)
    close(ops.mlp(x, *net, activation=name, last=None), expected(x, net, name))
    close(ops.mlp(x, *net, activation="relu", last=name), expected(x, net, "relu", name))


def test_activations_of_layers_narrower_than_a_tile() -> None:
    wide, x = layers([3, 20, 30]), points(40, 3)
    close(ops.mlp(x, *wide, activation="sine", last="tanh"), expected(x, wide, "sine", "tanh"))


@examples
@given(st.data(), st.sampled_from([1, 3, 40, 70]), seeds)
def test_points_and_results_of_any_layout(data: st.DataObject, count: int, seed: int) -> None:
    net = layers([3, 16, 16, 5], seed % 7)
    layout = data.draw(layouts((count, 3)))
    x, x_tensor = layout.both(points(int(np.prod(layout.whole)), 1, seed).reshape(layout.whole))
    where = data.draw(layouts((count, 5)))
    whole = Tensor.full(where.whole, -7.0)
    out = where.tensor(whole)
    ops.mlp(x_tensor, *net, out=out)
    want = np.full(where.whole, -7.0)
    where.array(want)[...] = expected(x, net, "relu")
    close(whole, want)


def test_types() -> None:
    net, x = layers([3, 32, 32, 4], dtype=np.float16), points(50, 3)
    got = ops.mlp(x, *net)  # f16 in memory, multiplied in f32: as exact as f32 on the same numbers
    assert got.dtype.name == "f32"
    close(got, expected(x, net, "relu"))
    half = x.astype(np.float16)
    got = ops.mlp(half, *net)
    assert got.dtype.name == "f16"
    want = expected(half, net, "relu")
    assert np.abs(got.numpy() - want).max() <= 2.0**-10 * np.abs(want).max()
    close(ops.mlp(half, *net, out=Tensor.empty((50, 4))), want)
    biases = [b.astype(np.float16) for b in net[1]]
    close(ops.mlp(x, net[0], biases), expected(x, (net[0], biases), "relu"))


def test_layers_without_biases() -> None:
    (weights, biases), x = layers([3, 24, 24, 20, 2]), points(9, 3)
    some = [biases[0], None, biases[2], None]
    zeros = [np.zeros_like(b) if s is None else s for b, s in zip(biases, some, strict=True)]
    close(ops.mlp(x, weights, some), expected(x, (weights, zeros), "relu"))
    close(ops.mlp(x, weights), expected(x, (weights, [np.zeros_like(b) for b in biases]), "relu"))


@pytest.mark.parametrize("sizes", [[3, 32, 2], [3, 32, 32, 20]])
def test_other_weights_of_the_same_sizes(sizes: list[int]) -> None:
    first, second, x = layers(sizes), layers(sizes, 9), points(30, 3)
    with Mlp(*first) as mlp:
        close(mlp(x), expected(x, first, "relu"))
        mlp.load(*second)
        close(mlp(x), expected(x, second, "relu"))
        mlp.load(second[0])
        close(mlp(x), expected(x, (second[0], [np.zeros_like(b) for b in second[1]]), "relu"))
        with pytest.raises(ShapeError, match="do not replace"):
            mlp.load(*layers([3, 33, 2]))


@pytest.mark.parametrize("include", [True, False])
def test_frequency_encoding_before_the_network(include: bool) -> None:
    encoding = PositionalEncoding(6, include)
    x = points(100, 2)
    features = frequencies(x, 6, include)
    net = layers([features.shape[1], 32, 3])
    close(ops.mlp(x, *net, encoding=encoding), expected(features, net, "relu"))


@pytest.mark.parametrize(("shape", "dimensions"), [((8, 256, 2), 3), ((5, 100, 4), 2), ((20, 512, 1), 3)])
def test_hash_encoding_before_the_network(shape: tuple[int, int, int], dimensions: int) -> None:
    tables = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    x = np.random.default_rng(3).uniform(-0.1, 1.1, size=(90, dimensions)).astype(np.float32)
    encoding = HashEncoding(Tensor.from_numpy(tables), 3, 40)
    features = hashed(x, tables, encoding.resolutions)
    net = layers([features.shape[1], 32, 32, 3])
    close(ops.mlp(x, *net, activation="silu", encoding=encoding), expected(features, net, "silu"), 2e-5)


def test_a_network_is_one_dispatch_and_replays_without_allocating(steady: Gpu) -> None:
    net, x = layers([3, 32, 32, 4]), points(300, 3)
    with Mlp(*net) as mlp, Tensor.from_numpy(x) as x_tensor, Tensor.empty((300, 4)) as out, Plan("test") as plan:
        with plan.recording():
            mlp(x_tensor, out=out)
        assert len(plan) == 1
        plan.replay()
        close(out, expected(x, net, "relu"))
        ops.assign(x_tensor, -x)
        blocks = {block.id for block in steady.tracker.live}
        plan.replay()
        assert {block.id for block in steady.tracker.live} <= blocks
        close(out, expected(-x, net, "relu"))


def test_the_result_can_overwrite_the_input() -> None:
    net, x = layers([4, 16, 4]), points(60, 4)
    both = Tensor.from_numpy(x)
    ops.mlp(both, *net, out=both)
    close(both, expected(x, net, "relu"))


def test_nan_stays_with_its_point() -> None:
    net, x = layers([3, 32, 32, 2]), points(40, 3)
    x[7, 1] = np.nan
    got = ops.mlp(x, *net).numpy()
    assert np.isnan(got[7]).all() and np.isfinite(np.delete(got, 7, axis=0)).all()


def refused(error: type[Exception], complaint: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=complaint):
        call()


def test_invalid_operands_are_reported() -> None:
    net, x = layers([3, 16, 2]), Tensor.zeros((4, 3))
    refused(ShapeError, "at least one layer", lambda: ops.mlp(x, []))
    refused(
        ShapeError, r"layer 0 of shape \(outputs, inputs\), got \(3,\)", lambda: ops.mlp(x, [np.zeros(3, np.float32)])
    )
    refused(ShapeError, "layer 1 takes 3 inputs; the one before it gives 2", lambda: ops.mlp(x, net[0][::-1]))
    refused(ShapeError, "points have 4 features; the first layer takes 3", lambda: ops.mlp(Tensor.zeros((2, 4)), *net))
    refused(ShapeError, r"must be \(points, 3\)", lambda: ops.mlp(Tensor.zeros((3,)), *net))
    refused(ShapeError, "use ops.linear", lambda: ops.mlp(x, *layers([3, 129, 2])))
    refused(ShapeError, "use ops.linear", lambda: ops.mlp(x, *layers([257, 2])))
    refused(ShapeError, "2 layers have 1 biases", lambda: ops.mlp(x, net[0], net[1][:1]))
    refused(ShapeError, r"layer 1 of shape \(2,\), got \(16,\)", lambda: ops.mlp(x, net[0], net[1][:1] * 2))
    mixed = [net[0][0], net[0][1].astype(np.float16)]
    refused(DtypeError, "all must be f32, or all f16", lambda: ops.mlp(x, mixed))
    refused(DtypeError, "points are i32", lambda: ops.mlp(x.to("i32"), *net))
    refused(InputError, "no activation 'rule'", lambda: ops.mlp(x, *net, activation="rule"))
    refused(LayoutError, "repeats elements", lambda: ops.mlp(x, *net, out=Tensor.zeros((1, 2)).expand(4, 2)))
    refused(ShapeError, "points have 15 features", lambda: ops.mlp(x, *net, encoding=PositionalEncoding(2)))
