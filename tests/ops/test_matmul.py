"""Products of matrices against NumPy, over shapes, strides, batches and types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertigrad
from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, LayoutError, ShapeError
from vertigrad.gpu import Gpu
from vertigrad.ops.product import product
from vertigrad.ops.product_variants import LINES, TILES, Variant

from .layouts import NUMPY, broadcastable, examples, layouts, seeds, some, values

sizes = st.sampled_from([1, 2, 3, 5, 16, 17, 64, 65, 70, 0])


def compare(a: np.ndarray, b: np.ndarray, got: Tensor) -> None:
    """The error of n products and sums, correctly rounded in f32 (WGSL), is at most n ulp of the sum of magnitudes."""
    want = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert got.shape == want.shape
    if got.dtype.kind != "float":
        want = np.matmul(a, b)
        assert got.dtype.numpy == want.dtype
        assert np.array_equal(got.numpy(), want)
        return
    magnitude = np.matmul(np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64)))
    error = 2.0**-126 + a.shape[-1] * 2.0**-23 * magnitude
    if got.dtype.name == "f16":  # rounded once more; subnormal results may be flushed to 0
        error += 2.0**-10 * np.abs(want) + 2.0**-14
    assert np.all(np.abs(got.numpy() - want) <= error)


@examples
@given(st.data(), sizes, sizes, sizes, st.lists(st.sampled_from([1, 2, 3]), max_size=3), seeds)
def test_any_layout_and_batch(data: st.DataObject, rows: int, inner: int, columns: int, batch: list[int], seed: int):
    shapes = [(*data.draw(broadcastable(tuple(batch))), *matrix) for matrix in ((rows, inner), (inner, columns))]
    pairs = []
    for shape in shapes:
        layout = data.draw(layouts(shape))
        pairs.append(layout.both(values(layout.whole, "f32", seed)))
    (a, x), (b, y) = pairs
    compare(a, b, x @ y)


@pytest.mark.parametrize(
    ("left", "right"),
    [((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((5,), (2, 5, 3)), ((2, 1, 4, 5), (5,)), ((1, 5), (5, 1))],
)
def test_operands_of_one_axis(left: tuple[int, ...], right: tuple[int, ...]):
    a, b = values(left, "f32", 1), values(right, "f32", 2)
    compare(a, b, ops.matmul(Tensor.from_numpy(a), Tensor.from_numpy(b)))


@pytest.mark.parametrize(
    "types", ["f16 f16", "i32 i32", "u32 u32", "f16 f32", "f32 i32", "u32 u8", "f32 bool", "i32 u32"]
)
def test_types(types: str):
    a, b = (values(shape, dtype, 3) for shape, dtype in zip([(20, 33), (33, 70)], types.split(), strict=True))
    got = ops.matmul(Tensor.from_numpy(a), Tensor.from_numpy(b))
    kind = NUMPY[got.dtype.name]
    compare(a.astype(kind), b.astype(kind), got)


def test_integers_wrap():
    a, b = values((9, 40), "i32", 4) * 40_000_000, values((40, 8), "i32", 5)
    compare(a, b, ops.matmul(Tensor.from_numpy(a), Tensor.from_numpy(b)))


def test_transposes_are_read_in_place_by_one_dispatch():
    gpu = vertigrad.gpu()
    a, b = values((130, 70), "f32", 6), values((90, 130), "f32", 7)
    x, y = Tensor.from_numpy(a), Tensor.from_numpy(b)
    before, copied = gpu.recorder.dispatches, gpu.meter.read()["geometry"]["device_to_device"]
    product = x.T @ y.T
    assert gpu.recorder.dispatches == before + 1
    assert gpu.meter.read()["geometry"]["device_to_device"] == copied
    compare(a.T, b.T, product)


def test_nothing_outside_the_operands_is_multiplied():
    around = np.full((2, 90, 90), np.nan, np.float32)
    around[:, 5:75, 8:53] = values((2, 70, 45), "f32", 8)
    x = Tensor.from_numpy(around)[0, 5:75, 8:53]
    y = Tensor.from_numpy(around)[1, 5:75, 8:53]
    compare(around[0, 5:75, 8:53], around[1, 5:75, 8:53].T, x @ y.T)


def test_an_empty_inner_axis_gives_zeros():
    out = Tensor.full((3, 4), 7.0)
    ops.matmul(Tensor.zeros((3, 0)), Tensor.zeros((0, 4)), out=out)
    assert not out.numpy().any()


def test_out():
    a, b = values((2, 20, 30), "f32", 10), values((30, 40), "f32", 11)
    x, y = Tensor.from_numpy(a), Tensor.from_numpy(b)
    whole = Tensor.zeros((40, 2, 22))
    view = whole[:, :, 1:21].permute(1, 2, 0)
    assert ops.matmul(x, y, out=view) is view
    compare(a, b, view)
    assert not whole.numpy()[:, :, [0, 21]].any()
    square = values((25, 25), "f32", 12)
    z = Tensor.from_numpy(square)
    compare(square, square.T, ops.matmul(z, z.T, out=z))  # reads what it writes: as if read first


@pytest.mark.parametrize("name", some(TILES.variants))
def test_every_tile_that_fits_the_adapter(steady: Gpu, name: str):
    tile = TILES.variants[name]
    if not TILES.fits(tile, "", steady):
        pytest.skip(f"{name} does not fit {steady.adapter}")
    for rows, inner, columns, turned in ((140, 72, 132, False), (133, 37, 70, True)):
        multiply(rows, inner, columns, turned, tile)


@pytest.mark.parametrize("name", some(LINES.variants))
def test_every_variant_for_few_rows_that_fits_the_adapter(steady: Gpu, name: str):
    lines = LINES.variants[name]
    if not LINES.fits(lines, "", steady):
        pytest.skip(f"{name} does not fit {steady.adapter}")
    for rows, inner, columns, turned in ((1, 1500, 68, False), (3, 77, 33, True)):
        multiply(rows, inner, columns, turned, lines)


@pytest.mark.parametrize("orders", ["nn", "nt", "tn", "tt"])
def test_many_small_products(orders: str):
    for rows, inner, columns in ((12, 8, 16), (9, 5, 13), (16, 16, 9)):
        pairs = []
        for shape, order in (((7, rows, inner), orders[0]), ((7, inner, columns), orders[1])):
            layout = np.ascontiguousarray(values(shape, "f32", 1).swapaxes(1, 2))
            x_view = Tensor.from_numpy(layout if order == "t" else np.ascontiguousarray(layout.swapaxes(1, 2)))
            pairs.append((layout.swapaxes(1, 2), x_view.permute(0, 2, 1) if order == "t" else x_view))
        (a, x), (b, y) = pairs
        compare(a, b, x @ y)


def multiply(rows: int, inner: int, columns: int, turned: bool, variant: Variant) -> None:
    """Multiply with one variant, with both operands transposed in memory if `turned`."""
    a, b = values((rows, inner), "f32", 1), values((inner, columns), "f32", 2)
    left, right = (np.ascontiguousarray(m.T) if turned else m for m in (a, b))
    with Tensor.from_numpy(left) as x, Tensor.from_numpy(right) as y, Tensor.full((rows, columns), np.nan) as out:
        product(x.T if turned else x, y.T if turned else y, out, variant=variant)
        compare(a, b, out)


@pytest.mark.parametrize("types", ["f16 f16", "f16 f32"])
@pytest.mark.parametrize("shape", [(70, 64, 40), (5, 300, 64), (12, 8, 12)])
def test_half_precision_is_summed_in_f32(types: str, shape: tuple[int, int, int]):
    """Ones with a large number among them: a sum in f16 would stop increasing at 2048."""
    rows, inner, columns = shape
    first, second = (NUMPY[name] for name in types.split())
    a = np.ones((rows, inner), first)
    a[:, 0] = 4096
    got = ops.matmul(a, np.ones((inner, columns), second)).numpy()
    assert np.array_equal(got, np.full((rows, columns), 4096 + inner - 1, got.dtype))


@pytest.mark.turns(2)
def test_a_long_inner_axis_with_few_results_is_split():
    gpu = vertigrad.gpu()
    for shape, dispatches in (((40, 4096, 30), 3), ((1, 16384, 3), 3), ((40, 4099, 30), 1), ((700, 1024, 700), 1)):
        a, b = values(shape[:2], "f32", 1), values(shape[1:], "f32", 2)
        x, y = Tensor.from_numpy(a), Tensor.from_numpy(b)
        before = gpu.recorder.dispatches
        got = x[::-1] @ y
        assert gpu.recorder.dispatches - before == dispatches
        compare(a[::-1], b, got)


def test_a_batch_of_one_matrix_on_the_right_is_one_product_of_more_rows():
    a, b = values((3, 4, 9, 20), "f32", 1), values((20, 30), "f32", 2)
    whole = Tensor.zeros((3, 4, 9, 40))
    compare(a, b, ops.matmul(Tensor.from_numpy(a), Tensor.from_numpy(b), out=whole[..., 5:35]))
    contiguous = np.ascontiguousarray(a.transpose(0, 2, 1, 3))
    compare(a, b, Tensor.from_numpy(contiguous).permute(0, 2, 1, 3) @ Tensor.from_numpy(b))
    row = values((50, 1, 20), "f32", 3)
    compare(row, b, Tensor.from_numpy(row) @ Tensor.from_numpy(b))


def test_batches_of_six_axes_that_do_not_merge():
    a, b = values((3, 2, 3, 2, 3, 2, 5, 7), "f32", 1), values((3, 2, 3, 2, 3, 2, 7, 4), "f32", 2)
    every_other = (slice(None, None, 2), slice(None)) * 3
    compare(a[every_other], b[every_other], Tensor.from_numpy(a)[every_other] @ Tensor.from_numpy(b)[every_other])


def test_invalid_operands_are_reported():
    x = Tensor.zeros((2, 3))
    with pytest.raises(ShapeError, match=r"inner sizes of \(2, 3\) and \(2, 3\) differ"):
        x @ x
    with pytest.raises(ShapeError, match="at least one axis"):
        ops.matmul(x, Tensor.zeros(()))
    with pytest.raises(ShapeError, match="do not broadcast"):
        ops.matmul(Tensor.zeros((2, 4, 3)), Tensor.zeros((3, 3, 1)))
    with pytest.raises(DtypeError, match="cast one"):
        ops.matmul(x.to("u8"), x.T.to("u8"))
    with pytest.raises(DtypeError, match="not the number"):
        ops.matmul(x, 2.0)
    with pytest.raises(LayoutError, match="repeats elements"):
        ops.matmul(x, x.T, out=Tensor.zeros((1, 2)).expand(2, 2))
