"""Resampling against the reference of the ONNX standard, and by properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.ops.resize import COORDINATES, ROUNDING

from .layouts import examples, layouts, seeds, values


def reference(x: np.ndarray, **attributes: Any) -> np.ndarray:
    """One Resize node, computed by `onnx.reference`."""
    given = {"X": x} | {name: attributes.pop(name) for name in ("roi", "scales", "sizes") if name in attributes}
    inputs = [name if name in given else "" for name in ("X", "roi", "scales", "sizes")]
    node = onnx.helper.make_node("Resize", inputs, ["Y"], **attributes)
    kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype) for name, v in given.items()}
    described = [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()]
    result = onnx.helper.make_tensor_value_info("Y", kinds["X"], None)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", described, [result]))
    return ReferenceEvaluator(model).run(None, given)[0]


def close(got: Tensor, want: np.ndarray) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5 * np.abs(want).max(initial=1))


@pytest.mark.turns(3)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", sorted(set(COORDINATES) - {"tf_half_pixel_for_nn"}))
@examples
@given(st.data(), seeds)
def test_resize_equals_the_reference_of_the_standard(
    mode: str, coordinates: str, data: st.DataObject, seed: int
) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    layout = data.draw(layouts(shape))
    a, x = layout.both(values(layout.whole, "f32", seed))
    how: dict[str, Any] = {}
    options: dict[str, Any] = {"coordinate_transformation_mode": coordinates, "mode": mode}
    if data.draw(st.booleans()):
        sizes = [data.draw(st.integers(1, 12)) for _ in shape]
        how["size"], options["sizes"] = sizes, np.array(sizes, np.int64)
    else:
        scales = [data.draw(st.sampled_from([0.5, 0.6, 0.8, 1.0, 1.7, 2.0, 3.0])) for _ in shape]
        scales = [s if int(s * n) else 1.0 for s, n in zip(scales, shape, strict=True)]
        how["scale"] = [float(np.float32(s)) for s in scales]
        options["scales"] = np.array(scales, np.float32)
    for n, m, s in _axes(shape, how):
        position = COORDINATES[coordinates](np.arange(m, dtype=np.float64), n, m, s)
        near = np.abs(2 * position - np.round(2 * position))
        assume(not ((near > 0) & (near < 1e-6)).any())  # there the reference reads a wrong element
    if mode == "nearest":
        how["rounding"] = options["nearest_mode"] = data.draw(st.sampled_from(sorted(ROUNDING)))
    else:
        how["antialias"] = data.draw(st.booleans())
        how["exclude_outside"] = mode == "cubic" and data.draw(st.booleans())
        options |= {"antialias": int(how["antialias"]), "exclude_outside": int(how["exclude_outside"])}
        how["cubic"] = options["cubic_coeff_a"] = data.draw(st.sampled_from([-0.75, -0.5]))
    close(ops.resize(x, mode=mode, coordinates=coordinates, **how), reference(a, **options))


def _axes(shape: tuple[int, ...], how: dict[str, Any]) -> list[tuple[int, int, float]]:
    """Sizes before and after, and the scale, of each axis."""
    if "size" in how:
        return [(n, m, m / n) for n, m in zip(shape, how["size"], strict=True)]
    return [(n, int(s * n), s) for n, s in zip(shape, how["scale"], strict=True)]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_slice_of_x(mode: str) -> None:
    a = values((1, 2, 6, 8), "f32", 1)
    region = [(0.4, 1.2), (0.6, -0.1)]
    got = ops.resize(a, (5, 4), axes=(2, 3), mode=mode, coordinates="tf_crop_and_resize", region=region, outside=9.0)
    roi = np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, -0.1])
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": mode, "extrapolation_value": 9.0}
    close(got, reference(a, roi=roi, sizes=np.array([1, 2, 5, 4]), **options))


@pytest.mark.parametrize("keep", ["not_larger", "not_smaller"])
def test_the_aspect_ratio_can_be_preserved(keep: str) -> None:
    a = values((3, 4, 6), "f32", 1)
    got = ops.resize(a, (7, 8), axes=(1, 2), keep=keep)
    want = reference(a, sizes=np.array([7, 8]), axes=[1, 2], mode="linear", keep_aspect_ratio_policy=keep)
    close(got, want)


@pytest.mark.parametrize("dtype", ["i32", "u8", "bool", "f16"])
def test_the_nearest_element_of_any_type(dtype: str) -> None:
    a = values((3, 5), dtype, 1)
    got = ops.resize(a, (6, 10), mode="nearest", coordinates="asymmetric", rounding="floor")
    assert got.dtype.name == dtype and np.array_equal(got.numpy(), a.repeat(2, 0).repeat(2, 1))


def test_many_taps_go_axis_by_axis() -> None:
    a = values((2, 60, 50), "f32", 1)
    got = ops.resize(a, (6, 5), axes=(1, 2), antialias=True)
    close(got, reference(a, sizes=np.array([2, 6, 5]), mode="linear", antialias=1))
    flat = ops.resize(Tensor.full((40, 30), 3.0, "f16"), (7, 4), mode="cubic", antialias=True)
    np.testing.assert_allclose(flat.numpy(), 3, rtol=1e-3)


def test_out_and_the_same_size() -> None:
    a = values((4, 5), "f32", 1)
    whole = Tensor.full((8, 12), 7.0)
    ops.resize(a, (8, 5), out=whole[:, 2:7])
    close(whole[:, 2:7], reference(a, sizes=np.array([8, 5]), mode="linear"))
    assert (whole.numpy()[:, [0, 1, 7]] == 7).all()
    assert np.array_equal(ops.resize(a, (4, 5)).numpy(), a)


def test_invalid_arguments() -> None:
    x = Tensor.zeros((2, 3))
    with pytest.raises(ShapeError, match="a size or a scale"):
        ops.resize(x)
    with pytest.raises(ShapeError, match="a size or a scale"):
        ops.resize(x, (2,))
    with pytest.raises(ShapeError, match="mode 'area'"):
        ops.resize(x, (2, 2), mode="area")
    with pytest.raises(ShapeError, match="needs the part"):
        ops.resize(x, (2, 2), coordinates="tf_crop_and_resize")
    with pytest.raises(ShapeError, match="positive"):
        ops.resize(x, scale=(0.0, 1.0))
    with pytest.raises(DtypeError, match="linear of i32"):
        ops.resize(x.to("i32"), (2, 2))
    with pytest.raises(ShapeError, match="no elements"):
        ops.resize(x[:0], (2, 2))
    assert ops.resize(x, (0, 3)).shape == (0, 3)
