"""Splats against Gaussians projected in float64, their order against the painter's algorithm, and invalid rows."""

import numpy as np
import pytest

from vertigrad.errors import LayoutError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.moment import Moment
from vertigrad.renderer.picking import Picker
from vertigrad.tensor import Tensor

from .light_reference import displayed

SIZE = (160, 120)
CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
PARALLEL = OrbitCamera(distance=4.0, yaw=-0.7, pitch=0.3, orthographic=True)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
BLUR = 0.3


def turned(q):
    """The matrix of a quaternion x, y, z, w."""
    x, y, z, w = q / np.linalg.norm(q)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def to_eye(camera, point):
    return (camera.view() @ [*point, 1.0])[:3]


def alpha_of(camera, point, scale, q, opacity):
    """The alpha of one splat in every pixel: its covariance projected by the Jacobian of the projection."""
    width, height = SIZE

    def screen(eye):
        clip = camera.projection(width / height) @ [*eye, 1.0]
        return (clip[:2] / clip[3] * 0.5 + 0.5) * SIZE

    eye, step = to_eye(camera, point), 1e-5
    jacobian = np.stack([(screen(eye + d) - screen(eye - d)) / (2 * step) for d in step * np.eye(3)], axis=1)
    axes = camera.view()[:3, :3] @ turned(q) * scale
    covariance = jacobian @ axes @ axes.T @ jacobian.T + BLUR * np.eye(2)
    x, y = np.meshgrid(np.arange(width) + 0.5, height - np.arange(height) - 0.5)
    offset = np.stack([x, y], axis=-1) - screen(eye)
    distance = np.einsum("...i,ij,...j", offset, np.linalg.inv(covariance), offset)
    alpha = np.minimum(0.99, opacity * np.exp(-0.5 * distance))
    return np.where(alpha < 1 / 255, 0.0, alpha)[..., None]


def painted(camera, splats):
    """Blend (position, scale, q, opacity, color), the farthest first, by Kerbl et al. 2023: in encoded sRGB."""
    shown = np.zeros((SIZE[1], SIZE[0], 3))
    for point, scale, q, opacity, color in sorted(splats, key=lambda splat: to_eye(camera, splat[0])[2]):
        alpha = alpha_of(camera, point, scale, q, opacity)
        shown = shown * (1 - alpha) + alpha * np.array(color)
    return displayed(shown)


def some(count, seed=3):
    rng = np.random.default_rng(seed)
    arrays = {
        "position": rng.uniform(-0.8, 0.8, (count, 3)),
        "scale": rng.uniform(0.03, 0.3, (count, 3)),
        "rotation": rng.normal(size=(count, 4)),
        "opacity": rng.uniform(0.3, 0.95, count),
        "color": rng.uniform(0.1, 1.0, (count, 3)),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def rows(arrays):
    return list(zip(*arrays.values(), strict=True))


def test_a_splat_far_outside_the_image_does_not_smear_across_it(layer, render):
    """There the projection is not linear over a splat: it is clamped near the border of the image."""
    camera = OrbitCamera(distance=4.0, fov=40.0)
    for x in (6.0, -6.0):
        eye = np.array([x, 0.0, -0.5])  # near the eye's plane, 12 times as far sideways as deep
        point = np.linalg.inv(camera.view()) @ [*eye, 1.0]
        arrays = {"position": point[None, :3], "scale": np.full((1, 3), 0.3), "color": np.ones((1, 3))}
        arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
        assert render([layer("splats", **arrays)], camera, VIEW).max() <= 1


@pytest.mark.parametrize("camera", [CAMERA, PARALLEL])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_one_splat_is_the_projected_gaussian(layer, render, camera, seed):
    arrays = some(1, seed)
    got = render([layer("splats", **arrays)], camera, VIEW)
    expected = painted(camera, rows(arrays))
    assert expected.max() > 60
    assert np.abs(got - expected).max() <= 1.25  # only the background is dithered; 1.07 on an NVIDIA GPU


@pytest.mark.parametrize("scale", [(0.04, 0.4, 0.1), (0.4, 0.04, 0.1), (0.2, 0.2, 0.2)])
def test_one_splat_along_the_axes_of_the_screen(layer, render, scale):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    point, none = np.zeros((1, 3), np.float32), np.array([0.0, 0.0, 0.0, 1.0])
    got = render([layer("splats", position=point, scale=scale, color="#ffffff")], camera, VIEW)
    assert np.abs(got - painted(camera, [(point[0], np.array(scale), none, 0.8, (1, 1, 1))])).max() <= 1.0


def test_many_splats_equal_the_painters_algorithm(layer, render):
    arrays = some(40)
    splats = layer("splats", **arrays)
    for camera in (CAMERA, OrbitCamera(distance=4.0, yaw=3.4, pitch=-0.4, fov=40.0)):
        got, expected = render([splats], camera, VIEW), painted(camera, rows(arrays))
        assert np.abs(got - expected).max() < 1.5 and np.abs(got - expected).mean() < 0.3
    assert np.abs(painted(camera, rows(arrays)[::-1]) - painted(CAMERA, rows(arrays))).mean() > 2.0


def test_sizes_and_opacities_have_a_factor(layer, render):
    arrays = some(3)
    factors = {**arrays, "scale": 0.5 * arrays["scale"], "opacity": np.float32(0.4) * arrays["opacity"]}
    got = render([layer("splats", {"size": 0.5, "opacity_scale": 0.4}, **arrays)], CAMERA, VIEW)
    assert np.abs(got - painted(CAMERA, rows(factors))).max() <= 1.0


@pytest.mark.parametrize("count", [1, 129, 9000])
def test_the_order_is_that_of_numpy(layer, count, monkeypatch):
    """Of splats that are rasterized; tiles find it when they are drawn."""
    monkeypatch.setattr("vertigrad.renderer.layers.splats.blends_in_tiles", lambda gpu, rows: False)
    position = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
    splats = layer("splats", position=position)
    forward = np.float32([0.6, -0.48, 0.64])
    splats.prepare(Moment((0, 1, 0), (0, 1, 0), 0.0, tuple(float(f) for f in forward)))
    depth = (position.astype(float) @ forward)[splats.drawing.order.numpy()]
    assert np.all(np.diff(depth) >= -1e-6)
    assert sorted(splats.drawing.order.numpy()) == list(range(count))


def test_rows_that_are_not_finite_are_dropped_and_counted(layer, render):
    arrays = some(12)
    remaining = {name: array[4:] for name, array in arrays.items()}
    arrays["position"][0, 1], arrays["scale"][1, 2], arrays["rotation"][2, 0] = np.nan, np.inf, np.nan
    arrays["opacity"][3] = np.nan
    splats = layer("splats", **arrays)
    assert np.array_equal(render([splats], CAMERA, VIEW), render([layer("splats", **remaining)], CAMERA, VIEW))
    assert list(splats.drawing.size.numpy()) == [4, 8, 0, 0]
    assert set(splats.drawing.order.numpy()[8:]) == {0, 1, 2, 3}


def test_only_non_finite_rows_draw_nothing(layer, render):
    splats = layer("splats", position=np.full((5, 3), np.nan, np.float32))
    assert render([splats], CAMERA, VIEW).max() <= 1
    assert splats.drawing.size.numpy()[1] == 0


def test_constants_scalars_and_columns_of_a_state(gpu, layer, render):
    arrays = some(30)
    plain = {"position": arrays["position"], "opacity": arrays["opacity"], "color": np.linspace(0, 1, 30, dtype="f4")}
    expected = render([layer("splats", scale=(0.1, 0.2, 0.05), **plain)], CAMERA)
    state = np.zeros((30, 7), np.float32)
    state[:, 1:4], state[:, 4], state[:, 6] = plain["position"], plain["opacity"], plain["color"]
    with Tensor.from_numpy(state) as whole, whole[:, 1:4] as a, whole[:, 4] as b, whole[:, 6] as c:
        splats = layer("splats", {"size": 0.1}, position=a, opacity=b, color=c, scale=(1.0, 2.0, 0.5))
        before = gpu.meter.read()["geometry"]
        assert np.abs(render([splats], CAMERA).astype(int) - expected).max() <= 1
        assert gpu.meter.read()["geometry"] == before
        report = splats.report()
        assert report["color"] == {**report["position"], "offset": 24, "format": "float32"}
        assert report["position"]["block"] == whole.block.id
        splats.close()


def test_splats_are_occluded_by_and_blend_over_solid_layers(layer, render):
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=0.3, color="#202020")
    front, behind = (CAMERA.rotation()[:, 2] * side for side in (0.8, -0.8))
    for point, visible in ((front, True), (behind, False)):
        splat = layer("splats", position=point[None].astype("f4"), scale=0.05, color="#ffffff", opacity=0.9)
        assert (render([ball, splat], CAMERA, VIEW)[60, 80].min() > 150) == visible


def test_picking(gpu, layer):
    position = np.float32([[-0.6, 0, 0], [0.6, 0, 0], [0.6, 0, 0.4]])
    splats = layer("splats", position=position, scale=0.1)
    camera, got = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0), []
    for x in (-0.6, 0.6, 0.0):
        cursor = SIZE[0] / 2 + x / 4 / camera.pixel(SIZE[1]), SIZE[1] / 2
        Picker(gpu).pick([splats], camera, SIZE, cursor, got.append)
    gpu.wait_idle()
    assert [visible and visible.row for visible in got] == [0, 2, None]


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ({}, ParameterError, "position must be a tensor"),
        ({"position": np.zeros((0, 3), np.float32)}, LayoutError, "has no rows"),
        ({"position": np.zeros((4, 3), np.int32)}, LayoutError, "splats take f32: cast it"),
        (
            {"position": np.zeros((4, 3), np.float32), "scale": -1.0},
            ParameterError,
            "scale must be one or three",
        ),
        ({"position": np.zeros((4, 3), np.float32), "rotation": (0, 0, 0, 1)}, ParameterError, "rotation must be"),
        (
            {"position": np.zeros((4, 3), np.float32), "opacity": np.zeros(3, np.float32)},
            LayoutError,
            "4 rows, got 3",
        ),
    ],
)
def test_invalid_attributes_are_rejected(layer, arrays, error, message):
    with pytest.raises(error, match=message):
        layer("splats", **arrays)


def test_released_memory(gpu, layer, render):
    arrays = some(8)
    render([layer("splats", **arrays)], CAMERA)  # created once
    gpu.wait_idle()
    live = {block.id for block in gpu.tracker.live}
    tensors = {name: Tensor.from_numpy(array) for name, array in arrays.items()}
    splats = layer("splats", **tensors)
    render([splats], CAMERA)
    splats.close()
    for tensor in tensors.values():
        tensor.close()
    gpu.wait_idle()
    assert {block.id for block in gpu.tracker.live} == live


def test_an_automatic_range_is_added_and_removed(layer, render):
    point = np.random.default_rng(4).uniform(-0.8, 0.8, (40, 3)).astype(np.float32)
    value = np.linspace(3, 8, 40, dtype=np.float32)
    splats = layer("splats", {"range": (3.0, 8.0)}, position=point, color=value, scale=0.1)
    arrays = render([splats], CAMERA, VIEW, SIZE)
    for range_, alike in (("auto", True), ((0.0, 30.0), False), ("auto", True)):
        splats.style.change("range", range_)
        assert np.array_equal(render([splats], CAMERA, VIEW, SIZE), arrays) == alike
