"""The lowest and highest value, found on the GPU, against NumPy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad.renderer.extent import Extent
from vertigrad.renderer.layers.styles import SYMMETRIC, ends_among
from vertigrad.renderer.vertex_layout import vertex_layout
from vertigrad.tensor import Tensor


def extent_of(tensor):
    """(lowest, highest), the same in a view with a pair for every row."""
    layout = vertex_layout(tensor, components=(1,))
    extent = Extent(tensor, layout)
    extent.record()
    pairs = extent.pair.expand(layout.rows, 2).numpy()
    extent.close()
    assert pairs.shape == (layout.rows, 2)
    assert (pairs == pairs[0]).all()
    return tuple(float(value) for value in pairs[0])


finite = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)
numbers = st.lists(finite | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0]), min_size=1, max_size=300)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers)
def test_nan_and_infinities_are_ignored(gpu, values):
    array = np.array(values, np.float32)
    rest = array[np.isfinite(array)]
    expected = (rest.min(), rest.max()) if rest.size else (0.0, 1.0)
    with Tensor.from_numpy(array) as tensor:
        assert extent_of(tensor) == pytest.approx(expected, rel=1e-6, abs=1e-37)


@pytest.mark.parametrize("count", [1, 127, 128, 129, 1024, 1025, 8192, 100_001])
def test_every_value_is_included(gpu, count):
    rng = np.random.default_rng(count)
    array = rng.normal(size=count).astype(np.float32)
    for low in {0, count // 2, count - 1}:
        array[low] = -50 - low
        with Tensor.from_numpy(array) as tensor:
            assert extent_of(tensor) == (array.min(), array.max())


def test_a_column_of_interleaved_state(gpu):
    state = np.random.default_rng(1).normal(size=(500, 7)).astype(np.float32)
    with Tensor.from_numpy(state) as tensor:
        for column in range(7):
            values = state[3:, column]
            assert extent_of(tensor[3:, column]) == (values.min(), values.max())


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_integers(gpu, dtype):
    array = np.arange(5, 400, dtype=dtype)
    with Tensor.from_numpy(array) as tensor:
        assert extent_of(tensor) == (5.0, 399.0)


@pytest.mark.parametrize("count", [5, 5000])
def test_a_symmetric_extent(gpu, count):
    array = np.random.default_rng(count).normal(-1.0, 2.0, count).astype(np.float32)
    array[3] = np.nan
    with Tensor.from_numpy(array) as tensor:
        extent = Extent(tensor)
        for symmetric, factor in ((True, 1.0), (False, 1.0), (True, -3.0)):  # the largest magnitude at either end
            tensor[...] = array * np.float32(factor)
            extent.symmetric = symmetric
            extent.record()
            expected = ends_among(SYMMETRIC if symmetric else "auto", array * factor)
            assert tuple(extent.pair.numpy()[0]) == pytest.approx(expected, rel=1e-6)
        tensor[...] = np.full(count, np.nan, np.float32)
        extent.record()
        assert tuple(extent.pair.numpy()[0]) == (-1.0, 1.0) == ends_among(SYMMETRIC, array[3:4])
        extent.close()


def test_the_extent_follows_the_values(gpu):
    with Tensor.from_numpy(np.arange(10, dtype=np.float32)) as tensor:
        extent = Extent(tensor, vertex_layout(tensor, components=(1,)))
        for scale in (1.0, 3.0):
            tensor[...] = tensor * scale
            extent.record()
            assert tuple(extent.pair.numpy()[0]) == (0.0, 9.0 * scale)
        extent.close()


@pytest.mark.parametrize("counts", [(5, 7), (3, 5000), (40_000, 300)])
def test_the_values_of_another_tensor_count_too(gpu, counts):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=count).astype(np.float32) for count in counts]
    for low, high in ((0, 1), (1, 0)):
        arrays[low][counts[low] // 2], arrays[high][-1] = -90.0, 80.0
        with Tensor.from_numpy(arrays[0]) as one, Tensor.from_numpy(arrays[1].reshape(1, -1)) as other:
            extent = Extent(one, alongside=other)
            for _ in range(2):
                extent.record()
                assert tuple(extent.pair.numpy()[0]) == (-90.0, 80.0)
            extent.close()
        arrays[low][counts[low] // 2] = arrays[high][-1] = 0.0
