"""Order-independent transparency against sorted blending."""

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View

from .light_reference import tone_mapped

SIZE = (65, 49)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000", sun=0.0, sky=0.0)
CAMERA = OrbitCamera(distance=5.0, fov=30.0)
# Of the light of a pixel. Weights approximate the order, and fall to a thousandth over a scene as deep as it is far.
TOLERANCE = 0.16


def glowing(layer, colors, positions, size=1.0, brightness=0.6):
    """Emissive balls behind each other; in the center their light is their color times the brightness."""
    style = {"emissive": 1.0, "brightness": brightness}
    return layer("points", style, position=np.float32(positions), color=np.float32(colors), size=size)


def middle(render, layers, camera=CAMERA, view=VIEW):
    return render(layers, camera, view, SIZE)[24, 32].astype(float)


def sorted_light(colors, alphas):
    """Blend from the farthest on; the first is the nearest."""
    light = np.zeros(3)
    for color, alpha in zip(reversed(colors), reversed(alphas), strict=True):
        light = light * (1 - alpha) + alpha * np.array(color)
    return light


def linear(color):
    c = np.asarray(color, float)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def test_one_ball_is_blended_correctly(layer, render):
    ball = glowing(layer, [[0.8, 0.6, 0.3, 0.4]], [[0, 0, 0]])
    expected = tone_mapped(0.4 * 0.6 * linear([0.8, 0.6, 0.3]))
    assert np.abs(middle(render, [ball]) - expected).max() < 3


@pytest.mark.parametrize("count", [2, 5, 12])
def test_balls_of_one_color_equal_the_sorted_result(layer, render, count):
    """The transmittance is a product, so this is exact for any weights."""
    alphas = np.linspace(0.15, 0.6, count)
    colors = [[0.7, 0.7, 0.7, alpha] for alpha in alphas]
    balls = glowing(layer, colors, [[0, 0, 1.5 - 3 * i / count] for i in range(count)], size=0.3)
    expected = tone_mapped((1 - np.prod(1 - alphas)) * 0.6 * linear([0.7] * 3))
    assert np.abs(middle(render, [balls]) - expected).max() < 3


def test_the_order_of_rows_and_layers_does_not_matter(layer, render):
    rng = np.random.default_rng(3)
    positions, colors = rng.uniform(-0.8, 0.8, (40, 3)), rng.uniform(0.1, 0.9, (40, 4))
    first = glowing(layer, colors, positions, size=0.3)
    last = glowing(layer, colors[::-1], positions[::-1], size=0.3)
    one, other = (render([balls], CAMERA, VIEW, SIZE).astype(int) for balls in (first, last))
    assert one.max() > 60
    assert np.abs(one - other).max() <= 2
    halves = [glowing(layer, colors[part], positions[part], size=0.3) for part in (slice(20), slice(20, 40))]
    for layers in (halves, halves[::-1]):
        assert np.abs(render(layers, CAMERA, VIEW, SIZE).astype(int) - one).max() <= 2


@pytest.mark.parametrize("seed", range(6))
def test_many_colors_are_near_the_sorted_result(layer, render, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    depths = np.sort(rng.uniform(-2.5, 2.5, count))[::-1]
    colors, alphas = rng.uniform(0.1, 0.9, (count, 3)), rng.uniform(0.1, 0.7, count)
    rows = np.concatenate([colors, alphas[:, None]], axis=1)
    balls = glowing(layer, rows, [[0, 0, depth] for depth in depths], size=0.2)
    found = middle(render, [balls])
    exact = 0.6 * sorted_light([linear(c) for c in colors], alphas)
    levels = np.linspace(0, 1, 2000)
    light = np.interp(found, tone_mapped(levels[:, None].repeat(3, axis=1))[:, 1], levels)
    assert np.abs(light - exact).max() < TOLERANCE * 0.6
    unsorted = 0.6 * sorted_light([linear(c) for c in colors[::-1]], alphas[::-1])
    if np.abs(unsorted - exact).max() > 0.2:
        assert np.abs(light - exact).max() < np.abs(unsorted - exact).max()


def test_solid_layers_occlude_transparent_ones_behind_and_are_visible_through_ones_in_front(layer, render):
    wall = glowing(layer, [[0.9, 0.1, 0.1]], [[0, 0, 0]], size=0.5)
    veil = {"emissive": 1.0, "brightness": 0.6}
    behind = layer("points", veil, position=np.float32([[0, 0, -1.5]]), color=(0.1, 0.1, 0.9, 0.5), size=0.4)
    before = layer("points", veil, position=np.float32([[0, 0, 1.5]]), color=(0.1, 0.1, 0.9, 0.5), size=0.4)
    alone = middle(render, [wall])
    assert np.abs(middle(render, [behind, wall]) - alone).max() <= 1
    expected = tone_mapped(0.6 * (0.5 * linear([0.9, 0.1, 0.1]) + 0.5 * linear([0.1, 0.1, 0.9])))
    assert np.abs(middle(render, [before, wall]) - expected).max() < 3


@pytest.mark.parametrize("kind", ["surface", "instances", "isosurface"])
def test_triangle_layers_are_transparent_too(layer, render, kind):
    levels = {
        "surface": {"position": np.float32([[[x, y, 0.5] for x in (-1, 1)] for y in (-1, 1)])},
        "instances": {"position": np.float32([[0, 0, 0]]), "size": 0.5},
        "isosurface": {"values": np.linalg.norm(np.indices((16, 16, 16)) / 7.5 - 1, axis=0).astype(np.float32)},
    }[kind]
    style = {"level": 0.5} if kind == "isosurface" else {}
    view = VIEW.model_copy(update={"sky": 1.0})
    back = glowing(layer, [[0.1, 0.9, 0.1]], [[0, 0, -1.5]], size=0.5)
    shown = [
        middle(render, [layer(kind, style, color=(0.8, 0.2, 0.2, alpha), **levels), back], view=view)
        for alpha in (1.0, 0.5, 0.02)
    ]
    assert shown[0][0] > shown[0][1]
    assert shown[2][1] > shown[2][0]
    assert shown[0][0] > shown[1][0] > shown[2][0]
    assert shown[0][1] < shown[1][1] < shown[2][1]


def test_very_many_layers_stay_finite(layer, render):
    rng = np.random.default_rng(1)
    positions = np.concatenate([rng.normal(0, 0.05, (400, 2)), rng.uniform(-2, 2, (400, 1))], axis=1)
    colors = np.tile(np.float32([1.0, 0.5, 0.2, 0.5]), (400, 1))
    balls = glowing(layer, colors, positions, size=0.3, brightness=1e4)
    shown = render([balls], CAMERA, VIEW.model_copy(update={"bloom": 1e-4}), SIZE)
    assert shown[24, 32, 0] > 200
    assert shown[24, 32, 0] >= shown[24, 32, 1] >= shown[24, 32, 2]
    assert shown[2, 2].max() < 60, "light that is not finite spreads over the image"
