"""Path-traced light against formulas: furnaces, the sun, volumes, and the renderer."""

import math

import numpy as np
import pytest

from vertigrad.path_trace import TracedImage, flat_view
from vertigrad.path_trace.reflectance import table
from vertigrad.renderer import OrbitCamera, View, black_body

from ..renderer.light_reference import CAMERA, SIZE, lit, rays, sphere
from ..renderer.test_energy import reflected

WHITE = {"sky_color": (1, 1, 1), "horizon_color": (1, 1, 1), "ground_color": (1, 1, 1), "sun_color": (1, 1, 1)}
FURNACE = View(sun=0.0, sky=0.5, **WHITE)
SUN = View(sun=0.8, sky=0.0, sun_azimuth=40.0, sun_elevation=30.0, sun_angle=0.5, **WHITE)
ABOVE = View(sun=1.0, sky=0.0, sun_elevation=90.0, sun_angle=0.5, **WHITE)
BALL = np.zeros((1, 3), np.float32)
SQUARE = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
INDEX = np.array([0, 1, 2, 0, 2, 3], np.uint32)
FRONT = OrbitCamera(distance=4.0, fov=28.0, orthographic=True)  # 2 by 2 units: a square and a box fill the image
LEVEL = SQUARE[:, [0, 2, 1]]


def box(size: float) -> dict:
    return {"low": (-size, -size, -size), "high": (size, size, size), "samples": "nodes", "density_range": (0.0, 1.0)}


@pytest.mark.parametrize(("metallic", "roughness"), [(0.0, 1.0), (1.0, 1.0), (1.0, 0.3), (0.0, 0.1)])
def test_white_disappears_in_a_white_furnace(layer, trace, metallic, roughness):
    """Within 1.5 %, and nowhere brighter than that: no material creates light."""
    ball = layer("points", {"metallic": metallic, "roughness": roughness}, position=BALL, color=(1, 1, 1), size=1.0)
    found = trace([ball], OrbitCamera(distance=4.0, fov=35.0), FURNACE, samples=24)
    inside = found[..., 3] > 0.999
    assert inside.mean() > 0.4
    assert found[inside][:, :3].mean() == pytest.approx(0.5, rel=0.015)
    rings = found[inside][np.argsort(np.hypot(*(np.argwhere(inside) - 11.5).T))][:, 0]
    assert all(part.mean() < 0.5 * 1.04 for part in np.array_split(rings, 4))  # of 70 pixels each: 3 sigma are 3.5 %


def test_the_table_of_facets_is_the_integral():
    for row, column in ((31, 31), (16, 20), (24, 8), (9, 3)):
        per_f0, offset = table()[row, column]
        for f0 in (0.04, 1.0):
            assert f0 * per_f0 + offset == pytest.approx(reflected(row / 31, f0, column / 31), abs=0.01)
    assert table()[31, 31].sum() == pytest.approx(1.0 - math.log(2.0), abs=2e-3)  # known of GGX of width 1


@pytest.mark.parametrize(("metallic", "roughness"), [(0.0, 1.0), (1.0, 0.5)])
def test_a_ball_under_the_sun_has_the_light_of_the_formula(layer, trace, metallic, roughness):
    """The mean over the ball within 2 %, and each pixel within 6 % of the brightest."""
    ball = layer("points", {"metallic": metallic, "roughness": roughness}, position=BALL, color=(0.7,) * 3, size=1.0)
    found = trace([ball], CAMERA, SUN, SIZE, samples=12, bounces=0)[..., 0]
    normal = sphere((0, 0, 0), 1.0)[1]
    base = np.full(3, ((0.7 + 0.055) / 1.055) ** 2.4)
    expected = lit(base, metallic, roughness, normal, -rays(), SUN)[..., 0]
    inside = sphere((0, 0, 0), 0.95)[0] < np.inf
    assert inside.sum() > 3000
    assert found[inside].mean() == pytest.approx(expected[inside].mean(), rel=0.02)
    assert np.abs(found - expected)[inside].max() < 0.06 * expected[inside].max()


def test_what_a_volume_covers_is_beer_lambert(layer, trace):
    """1 - exp(-extinction * thickness), 2 units thick; 3 sigma are 0.01."""
    smoke = layer("volume", {**box(1.0), "extinction": 0.6}, density=np.ones((2, 2, 2), np.float32), color=(0, 0, 0))
    found = trace([smoke], FRONT, ABOVE, samples=64)
    assert found[..., 3].mean() == pytest.approx(1.0 - math.exp(-1.2), abs=0.01)
    assert found[..., :3].max() < 1e-6


def test_half_the_density_at_half_the_curve_has_that_extinction(layer, trace):
    style = {**box(1.0), "extinction": 4.0, "opacity_curve": "0:0 0.5:0.25 1:1"}
    smoke = layer("volume", style, density=np.full((3, 2, 2), 0.5, np.float32), color=(0, 0, 0))
    assert trace([smoke], FRONT, ABOVE, samples=64)[..., 3].mean() == pytest.approx(1.0 - math.exp(-2.0), abs=0.01)


def test_a_volume_that_shines_has_the_light_of_what_it_covers(layer, trace):
    style = {**box(1.0), "extinction": 0.6, "emissive": 1.0, "brightness": 3.0}
    glow = layer("volume", style, density=np.ones((2, 2, 2), np.float32), color=(1, 1, 1))
    found = trace([glow], FRONT, ABOVE, samples=64)
    assert found[..., :3].mean() == pytest.approx(3.0 * (1.0 - math.exp(-1.2)), rel=0.02)


def test_a_volume_takes_away_light_of_the_sun(layer, trace):
    """A level square below a box of smoke, seen from below the box: exp(-extinction * thickness), within 3 %."""
    ground = layer(
        "surface", {"roughness": 1.0}, position=3.0 * LEVEL - np.float32([0, 3.0, 0]), index=INDEX, color=(0.5,) * 3
    )
    style = {**box(1.0), "extinction": 0.8}
    smoke = layer("volume", style, density=np.ones((2, 2, 2), np.float32), color=(0, 0, 0))
    camera = OrbitCamera.from_position((0.0, -1.5, 3.0), (0.0, -3.0, 0.0), 4.0)
    bright, dark = (
        trace(layers, camera, ABOVE, (16, 16), 200)[..., 0].mean() for layers in ([ground], [ground, smoke])
    )
    assert dark / bright == pytest.approx(math.exp(-1.6), rel=0.03)  # 3 sigma are 2.4 %


def test_white_smoke_in_a_white_furnace_loses_little(layer, trace):
    """Light that is scattered more often than the limit is lost: 2 % of it here."""
    smoke = layer("volume", {**box(1.0), "extinction": 2.0}, density=np.ones((2, 2, 2), np.float32), color=(1, 1, 1))
    found = trace([smoke], FRONT, FURNACE, (16, 16), 24)
    shown = found[..., 0].sum() / found[..., 3].sum()
    assert 0.48 < shown < 0.51


def test_a_hot_volume_has_the_light_of_a_black_body(layer, trace):
    """The renderer's table, for what it covers: within 2 %; cold parts of it are dark."""
    style = {**box(1.0), "extinction": 0.6, "brightness": 0.5}
    heat = np.full((2, 2, 2), 1500.0, np.float32)
    fire = layer("volume", style, density=np.ones((2, 2, 2), np.float32), color=(0, 0, 0), temperature=heat)
    found = trace([fire], FRONT, View(sun=0.0, sky=0.0), samples=64)[..., :3].mean(axis=(0, 1))
    expected = 0.5 * (1.0 - math.exp(-1.2)) * black_body.radiance(np.array([1793.0]))[0]
    assert found == pytest.approx(expected, rel=0.02)
    cold = layer("volume", style, density=np.ones((2, 2, 2), np.float32), color=(0, 0, 0), temperature=0.1 * heat)
    assert not trace([cold], FRONT, View(sun=0.0, sky=0.0), samples=2)[..., :3].any()


@pytest.mark.parametrize("distance", [2.0, 3.0, 6.0])
def test_a_point_out_of_focus_is_a_disc_of_the_size_of_the_formula(layer, trace, distance):
    """Its radius is that of the lens times |1 / distance - 1 / focus|, at distance 1; point and pixel blur too."""
    camera = OrbitCamera(target=(0.0, 0.0, -3.0), distance=3.0, fov=20.0)
    glow = {"emissive": 1.0, "brightness": 1.0}
    point = layer("points", glow, position=np.float32([[0.0, 0.0, -distance]]), size=0.01 * distance)
    view = View(sun=0.0, sky=0.0, aperture=0.2, focus=(0.0, 0.0, -3.0))
    light = trace([point], camera, view, (32, 32), 256)[..., 0]
    pixel = 2.0 * math.tan(math.radians(10.0)) / 32
    across = (np.arange(32) - 15.5) * pixel
    found = math.sqrt((light * (across[:, None] ** 2 + across**2)).sum() / light.sum())
    disc = 0.3 * abs(1.0 / distance - 1.0 / 3.0)
    expected = math.sqrt((disc**2 + 0.01**2) / 2.0 + pixel**2 / 6.0)  # root mean squares
    assert found == pytest.approx(expected, rel=0.08)


def test_what_is_transparent_covers_its_alpha(layer, trace):
    glass = layer("surface", position=SQUARE, index=INDEX, color=(1.0, 1.0, 1.0, 0.3))
    assert trace([glass], FRONT, FURNACE, samples=32)[..., 3].mean() == pytest.approx(0.3, abs=0.02)


def test_what_is_beyond_a_clip_plane_is_cut_off(layer, trace):
    square = layer("surface", position=SQUARE, index=INDEX)
    view = View(sky=0.5, clip_normal=(1.0, 0.0, 0.0), clip_origin=(0.25, 0.0, 0.0))
    cover = trace([square], FRONT, view, (16, 16), 4)[..., 3]
    assert cover[:, :10].all() and not cover[:, 11:].any()


def test_an_orthographic_camera_sees_what_is_behind_it(layer, trace):
    square = layer("surface", position=SQUARE + np.float32([0, 0, 9]), index=INDEX)
    assert (trace([square], FRONT, FURNACE, (8, 8), 2)[..., 3] == 1.0).all()


def test_the_renderer_draws_the_same_direct_light(gpu, layer, render, tracer):
    """A ball and its shadow on a square, without a sky: the mean difference is below 1.5 of 255 levels."""
    look = {"bloom": 0.0, "vignette": 0.0, "background": "#000000", "tone_map": "none"}
    view = View(sun=0.7, sky=0.0, shadows=1.0, sun_angle=1.0, sun_elevation=50.0, **look)
    ball = layer("points", {"roughness": 0.6}, position=BALL + np.float32([0, 0.5, 0]), color="#d07040", size=0.5)
    ground = layer("surface", {"roughness": 0.9}, position=2.0 * LEVEL, index=INDEX, color="#b0b8c0")
    camera, size = OrbitCamera(distance=5.0, pitch=0.5), (96, 64)
    drawn = render([ball, ground], camera, view, size).astype(float)
    traced = tracer([ball, ground], camera, view, size, 16, bounces=0)
    shown = render([TracedImage(gpu, traced)], camera, flat_view(view), size).astype(float)
    assert drawn.max() > 100
    assert np.abs(drawn - shown).mean() < 1.5
    dark = (drawn.max(axis=2) < 8) & (np.abs(np.arange(64)[:, None] - 32) < 16)
    assert dark.sum() > 20 and shown[dark].mean() < 10  # the shadow is where the shadow map has it


def test_the_renderer_draws_the_same_birds(gpu, layer, render, tracer):
    """In flight, banked, with wings that beat, at a time: the mean difference is below 0.6 of 255 levels."""
    look = {"bloom": 0.0, "vignette": 0.0, "background": "#101418", "tone_map": "none"}
    camera, size, view = OrbitCamera(distance=5.0, pitch=0.4), (96, 64), View(sun=0.7, sky=0.0, **look)
    flock = {
        "position": np.float32([[-1.2, 0, 0], [1.1, 0.3, 0], [0, -0.6, 0.5], [np.nan, 0, 0]]),
        "direction": np.float32([[1, 0.2, 0.3], [0, 0, 2], [-1, 1, 0], [1, 0, 0]]),
        "bank": np.float32([0.5, -0.3, 0, 0]),
        "size": np.float32([1.0, 1.2, 0.8, 1.0]),
        "color": np.float32([[0.8, 0.5, 0.3], [0.4, 0.6, 0.8], [0.9, 0.9, 0.9], [1, 0, 0]]),
    }
    birds = layer("birds", {"glide": 0.0}, **flock)
    drawn = [render([birds], camera, view, size, time=time).astype(float) for time in (0.0, 0.53)]
    traced = tracer([birds], camera, view, size, 16, time=0.53, bounces=0)
    shown = render([TracedImage(gpu, traced)], camera, flat_view(view), size).astype(float)
    assert np.abs(drawn[1] - drawn[0]).mean() > 3.0
    assert np.abs(drawn[1] - shown).mean() < 0.6
