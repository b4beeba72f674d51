"""Grid sampling against the reference of the ONNX standard, and affine grids."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError

from .layouts import values


def reference(x: np.ndarray, grid: np.ndarray, **attributes: object) -> np.ndarray:
    node = onnx.helper.make_node("GridSample", ["X", "G"], ["Y"], **attributes)
    info = [onnx.helper.make_tensor_value_info(name, 1, None) for name in ("X", "G", "Y")]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", info[:2], info[2:]))
    return ReferenceEvaluator(model).run(None, {"X": x, "G": grid})[0]


@pytest.mark.parametrize("spatial", [(5, 4), (1, 3), (3, 4, 2)])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample_equals_the_reference_of_the_standard(
    spatial: tuple[int, ...], mode: str, padding: str, corners: bool
) -> None:
    if padding == "reflection" and corners and 1 in spatial:
        pytest.skip("the reference divides by 0")
    random = np.random.default_rng(1)
    a = values((2, 2, *spatial), "f32", 1)
    grid = random.uniform(-2.3, 2.3, (*(2, 3, 5, 2)[: len(spatial) + 1], len(spatial))).astype(np.float32)
    grid = np.concatenate([grid, grid * 0.4, grid * 4.0], 1)  # far outside too, with repeated reflections
    want = reference(a, grid, mode=mode, padding_mode=padding, align_corners=int(corners))
    got = ops.grid_sample(a, grid, mode=mode, padding=padding, align_corners=corners)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4 * np.abs(a).max())


def test_strides_and_one_axis() -> None:
    a = values((2, 3, 9), "f32", 1)
    x = Tensor.from_numpy(np.ascontiguousarray(a.transpose(2, 0, 1))).permute(1, 2, 0)
    grid = np.linspace(-1, 1, 9, dtype=np.float32)[None, :, None].repeat(2, 0)
    got = ops.grid_sample(x, grid, align_corners=True)
    np.testing.assert_allclose(got.numpy(), a, rtol=1e-5, atol=1e-5)
    whole = Tensor.full((2, 3, 18), 7.0)
    ops.grid_sample(x, Tensor.from_numpy(grid)[:, ::-1], align_corners=True, out=whole[:, :, ::2])
    np.testing.assert_allclose(whole.numpy()[:, :, ::2], a[:, :, ::-1], rtol=1e-5, atol=1e-5)
    assert (whole.numpy()[:, :, 1::2] == 7).all()


@pytest.mark.parametrize("size", [(4, 5), (2, 3, 4), (6,), (1, 3)])
@pytest.mark.parametrize("corners", [False, True])
def test_affine_grids(size: tuple[int, ...], corners: bool) -> None:
    rank = len(size)
    theta = values((2, rank, rank + 1), "f32", 1)
    lines = [np.linspace(-1, 1, n) if corners else (np.arange(n) + 0.5) * 2 / n - 1 for n in size]
    lines = [np.zeros(1) if len(line) == 1 else line for line in lines]
    positions = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], -1)
    want = np.einsum("nij,...j->n...i", theta.astype(np.float64), positions)
    got = ops.affine_grid(theta, size, align_corners=corners)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5 * np.abs(theta).max())
    out = Tensor.zeros((2, *size, rank * 2))[..., ::2]
    assert ops.affine_grid(theta, size, align_corners=corners, out=out) is out
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-5 * np.abs(theta).max())


def test_an_identity_samples_every_element() -> None:
    a = values((2, 3, 5, 6), "f32", 1)
    theta = np.eye(2, 3, dtype=np.float32)[None].repeat(2, 0)
    for corners in (False, True):
        got = ops.grid_sample(a, ops.affine_grid(theta, (5, 6), align_corners=corners), align_corners=corners)
        np.testing.assert_allclose(got.numpy(), a, rtol=1e-4, atol=1e-4)


def test_invalid_arguments() -> None:
    x = Tensor.zeros((1, 2, 4, 4))
    with pytest.raises(ShapeError, match="does not fit x"):
        ops.grid_sample(x, Tensor.zeros((1, 3, 3, 3)))
    with pytest.raises(ShapeError, match="mode 'area'"):
        ops.grid_sample(x, Tensor.zeros((1, 3, 3, 2)), mode="area")
    with pytest.raises(DtypeError, match="cast them first"):
        ops.grid_sample(x.to("i32"), Tensor.zeros((1, 3, 3, 2)))
    with pytest.raises(ShapeError, match="theta"):
        ops.affine_grid(Tensor.zeros((1, 2, 3)), (2, 2, 2))
    assert ops.grid_sample(x, Tensor.zeros((1, 0, 3, 2))).shape == (1, 2, 0, 3)
