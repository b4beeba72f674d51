"""Splats against Gaussians projected in float64, their order against a painter's, and what is dropped and refused."""

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


def to_eye(camera, place):
    return (camera.view() @ [*place, 1.0])[:3]


def alpha_of(camera, place, scale, q, opacity):
    """The alpha of one splat in every pixel: its covariance projected by the derivative of the projection itself."""
    width, height = SIZE

    def screen(eye):
        clip = camera.projection(width / height) @ [*eye, 1.0]
        return (clip[:2] / clip[3] * 0.5 + 0.5) * SIZE

    eye, step = to_eye(camera, place), 1e-5
    jacobian = np.stack([(screen(eye + d) - screen(eye - d)) / (2 * step) for d in step * np.eye(3)], axis=1)
    axes = camera.view()[:3, :3] @ turned(q) * scale
    covariance = jacobian @ axes @ axes.T @ jacobian.T + BLUR * np.eye(2)
    x, y = np.meshgrid(np.arange(width) + 0.5, height - np.arange(height) - 0.5)
    beside = np.stack([x, y], axis=-1) - screen(eye)
    distance = np.einsum("...i,ij,...j", beside, np.linalg.inv(covariance), beside)
    alpha = np.minimum(0.99, opacity * np.exp(-0.5 * distance))
    return np.where(alpha < 1 / 255, 0.0, alpha)[..., None]


def painted(camera, splats):
    """Of (place, scale, q, opacity, color), the farthest first, by Kerbl et al. 2023: sRGB colors blend as they are."""
    shown = np.zeros((SIZE[1], SIZE[0], 3))
    for place, scale, q, opacity, color in sorted(splats, key=lambda splat: to_eye(camera, splat[0])[2]):
        alpha = alpha_of(camera, place, scale, q, opacity)
        shown = shown * (1 - alpha) + alpha * np.array(color)
    return displayed(shown)


def some(count, seed=3):
    rng = np.random.default_rng(seed)
    given = {
        "position": rng.uniform(-0.8, 0.8, (count, 3)),
        "scale": rng.uniform(0.03, 0.3, (count, 3)),
        "rotation": rng.normal(size=(count, 4)),
        "opacity": rng.uniform(0.3, 0.95, count),
        "color": rng.uniform(0.1, 1.0, (count, 3)),
    }
    return {name: array.astype(np.float32) for name, array in given.items()}


def rows(given):
    return list(zip(*given.values(), strict=True))


def test_a_splat_far_beside_the_picture_does_not_smear_across_it(layer, picture):
    """There the projection is not linear over a splat: it is taken where the picture ends, or hardly further."""
    camera = OrbitCamera(distance=4.0, fov=40.0)
    for x in (6.0, -6.0):
        eye = np.array([x, 0.0, -0.5])  # near the eye's plane, 12 times as far aside as deep
        place = np.linalg.inv(camera.view()) @ [*eye, 1.0]
        given = {"position": place[None, :3], "scale": np.full((1, 3), 0.3), "color": np.ones((1, 3))}
        given = {name: array.astype(np.float32) for name, array in given.items()}
        assert picture([layer("splats", **given)], camera, VIEW).max() <= 1


@pytest.mark.parametrize("camera", [CAMERA, PARALLEL])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_one_splat_is_the_projected_gaussian(layer, picture, camera, seed):
    given = some(1, seed)
    got = picture([layer("splats", **given)], camera, VIEW)
    expected = painted(camera, rows(given))
    assert expected.max() > 60
    assert np.abs(got - expected).max() <= 1.0  # the background alone is dithered


@pytest.mark.parametrize("scale", [(0.04, 0.4, 0.1), (0.4, 0.04, 0.1), (0.2, 0.2, 0.2)])
def test_one_splat_along_the_axes_of_the_screen(layer, picture, scale):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    place, none = np.zeros((1, 3), np.float32), np.array([0.0, 0.0, 0.0, 1.0])
    got = picture([layer("splats", position=place, scale=scale, color="#ffffff")], camera, VIEW)
    assert np.abs(got - painted(camera, [(place[0], np.array(scale), none, 0.8, (1, 1, 1))])).max() <= 1.0


def test_many_are_those_of_a_painter(layer, picture):
    given = some(40)
    splats = layer("splats", **given)
    for camera in (CAMERA, OrbitCamera(distance=4.0, yaw=3.4, pitch=-0.4, fov=40.0)):
        got, expected = picture([splats], camera, VIEW), painted(camera, rows(given))
        assert np.abs(got - expected).max() < 1.5 and np.abs(got - expected).mean() < 0.3
    assert np.abs(painted(camera, rows(given)[::-1]) - painted(CAMERA, rows(given))).mean() > 2.0


def test_sizes_and_opacities_have_a_factor(layer, picture):
    given = some(3)
    factors = {**given, "scale": 0.5 * given["scale"], "opacity": np.float32(0.4) * given["opacity"]}
    got = picture([layer("splats", {"size": 0.5, "opacity_scale": 0.4}, **given)], CAMERA, VIEW)
    assert np.abs(got - painted(CAMERA, rows(factors))).max() <= 1.0


@pytest.mark.parametrize("count", [1, 129, 9000])
def test_the_order_is_that_of_numpy(layer, count):
    position = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
    splats = layer("splats", position=position)
    forward = np.float32([0.6, -0.48, 0.64])
    splats.prepare(Moment((0, 1, 0), (0, 1, 0), 0.0, tuple(float(f) for f in forward)))
    depth = (position.astype(float) @ forward)[splats.drawing.order.numpy()]
    assert np.all(np.diff(depth) <= 1e-6)
    assert sorted(splats.drawing.order.numpy()) == list(range(count))


def test_rows_that_are_not_finite_are_dropped_and_counted(layer, picture):
    given = some(12)
    kept = {name: array[4:] for name, array in given.items()}
    given["position"][0, 1], given["scale"][1, 2], given["rotation"][2, 0] = np.nan, np.inf, np.nan
    given["opacity"][3] = np.nan
    splats = layer("splats", **given)
    assert np.array_equal(picture([splats], CAMERA, VIEW), picture([layer("splats", **kept)], CAMERA, VIEW))
    assert list(splats.drawing.size.numpy()) == [4, 8, 0, 0]
    assert set(splats.drawing.order.numpy()[8:]) == {0, 1, 2, 3}


def test_nothing_finite_draws_nothing(layer, picture):
    splats = layer("splats", position=np.full((5, 3), np.nan, np.float32))
    assert picture([splats], CAMERA, VIEW).max() <= 1
    assert splats.drawing.size.numpy()[1] == 0


def test_constants_scalars_and_columns_of_a_state(gpu, layer, picture):
    given = some(30)
    plain = {"position": given["position"], "opacity": given["opacity"], "color": np.linspace(0, 1, 30, dtype="f4")}
    expected = picture([layer("splats", scale=(0.1, 0.2, 0.05), **plain)], CAMERA)
    state = np.zeros((30, 7), np.float32)
    state[:, 1:4], state[:, 4], state[:, 6] = plain["position"], plain["opacity"], plain["color"]
    with Tensor.from_numpy(state) as whole, whole[:, 1:4] as a, whole[:, 4] as b, whole[:, 6] as c:
        splats = layer("splats", {"size": 0.1}, position=a, opacity=b, color=c, scale=(1.0, 2.0, 0.5))
        before = gpu.meter.read()["geometry"]
        assert np.abs(picture([splats], CAMERA).astype(int) - expected).max() <= 1
        assert gpu.meter.read()["geometry"] == before
        report = splats.report()
        assert report["color"] == {**report["position"], "offset": 24, "format": "float32"}
        assert report["position"]["block"] == whole.block.id
        splats.close()


def test_solid_things_hide_and_show_splats(layer, picture):
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=0.3, color="#202020")
    front, behind = (CAMERA.rotation()[:, 2] * way for way in (0.8, -0.8))
    for place, seen in ((front, True), (behind, False)):
        splat = layer("splats", position=place[None].astype("f4"), scale=0.05, color="#ffffff", opacity=0.9)
        assert (picture([ball, splat], CAMERA, VIEW)[60, 80].min() > 150) == seen


def test_picking(gpu, layer):
    position = np.float32([[-0.6, 0, 0], [0.6, 0, 0], [0.6, 0, 0.4]])
    splats = layer("splats", position=position, scale=0.1)
    camera, got = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0), []
    for x in (-0.6, 0.6, 0.0):
        cursor = SIZE[0] / 2 + x / 4 / camera.pixel(SIZE[1]), SIZE[1] / 2
        Picker(gpu).pick([splats], camera, SIZE, cursor, got.append)
    gpu.wait_idle()
    assert [seen and seen.row for seen in got] == [0, 2, None]


@pytest.mark.parametrize(
    ("given", "error", "message"),
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
def test_what_cannot_be_drawn_is_refused(layer, given, error, message):
    with pytest.raises(error, match=message):
        layer("splats", **given)


def test_what_is_given_back(gpu, layer, picture):
    given = some(8)
    picture([layer("splats", **given)], CAMERA)  # what is made once
    gpu.wait_idle()
    live = {block.id for block in gpu.tracker.live}
    tensors = {name: Tensor.from_numpy(array) for name, array in given.items()}
    splats = layer("splats", **tensors)
    picture([splats], CAMERA)
    splats.close()
    for tensor in tensors.values():
        tensor.close()
    gpu.wait_idle()
    assert {block.id for block in gpu.tracker.live} == live


def test_a_range_found_on_the_gpu_comes_and_goes(layer, picture):
    place = np.random.default_rng(4).uniform(-0.8, 0.8, (40, 3)).astype(np.float32)
    value = np.linspace(3, 8, 40, dtype=np.float32)
    splats = layer("splats", {"range": (3.0, 8.0)}, position=place, color=value, scale=0.1)
    given = picture([splats], CAMERA, VIEW, SIZE)
    for range_, alike in (("auto", True), ((0.0, 30.0), False), ("auto", True)):
        splats.style.change("range", range_)
        assert np.array_equal(picture([splats], CAMERA, VIEW, SIZE), given) == alike
