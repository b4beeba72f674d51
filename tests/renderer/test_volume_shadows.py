"""Shadows of volumes and on them, against exp(-optical depth)."""

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.sun import PLANES, OpacityCamera

from .test_ambient_occlusion import DARK, PLANE, SIZE, light, occlusion, on_screen

ABOVE = {"sky": 0.0, "sun": 1.0, "shadows": 1.0, "sun_angle": 0.3, "sun_elevation": 90.0}
SIDE = OrbitCamera(target=(0.0, 0.6, 0.0), distance=6.0, pitch=0.25, fov=40.0)
BOX = {"low": (-0.8, 0.8, -0.8), "high": (0.8, 1.8, 0.8), "density_range": (0.0, 1.0), "samples": "nodes"}
BLACK = (0.0, 0.0, 0.0)


@pytest.fixture
def floor(layer):
    return layer("surface", {"roughness": 1.0}, position=PLANE, color=(0.8, 0.8, 0.8))


def box(layer, extinction, density=1.0, **style):
    values = np.full((2, 2, 2), density, np.float32)
    return layer("volume", {**BOX, "extinction": extinction, "shadow": 1.0, **style}, density=values, color=BLACK)


def fraction(render, layers, position, alone, **values):
    """Light at a position, as a part of that without the volumes."""
    x, y = on_screen(SIDE, position)
    shown, without = (occlusion(render, some, SIDE, **{**ABOVE, **values})[y, x] for some in (layers, alone))
    assert without > 0.3
    return shown / without


@pytest.mark.parametrize(("extinction", "density"), [(0.5, 1.0), (1.5, 0.6), (6.0, 1.0)])
def test_the_floor_behind_a_box_gets_exp_of_its_optical_depth(layer, render, floor, extinction, density):
    layers = [floor, box(layer, extinction, density)]
    expected = np.exp(-extinction * density)
    assert fraction(render, layers, (0.0, 0.0, 0.9 * 0.8), [floor]) == pytest.approx(expected, abs=0.012)
    assert fraction(render, layers, (1.1, 0.0, 0.3), [floor]) == pytest.approx(1.0, abs=0.01)


def test_two_boxes_multiply_and_a_slanted_sun_goes_the_longer_way(layer, render, floor):
    lower = {"low": (-0.8, 0.3, -0.8), "high": (0.8, 0.7, 0.8)}
    layers = [floor, box(layer, 0.8), box(layer, 1.0, **lower)]
    assert fraction(render, layers, (0.3, 0.0, 0.72), [floor]) == pytest.approx(np.exp(-1.2), abs=0.012)
    slanted = {"sun_elevation": 60.0, "sun_azimuth": 180.0}  # behind: the shadow falls toward the eye
    where = (0.0, 0.0, 1.3 / np.tan(np.pi / 3))
    found = fraction(render, [floor, layers[1]], where, [floor], **slanted)
    assert found == pytest.approx(np.exp(-0.8 / np.sin(np.pi / 3)), abs=0.015)


def test_what_is_inside_is_behind_a_part_of_it(layer, render):
    """A level square in the middle of a box is behind half of it; `shadow` is a factor of the optical depth."""
    shelf = layer("surface", {"roughness": 1.0}, position=PLANE / 10.0 + np.float32([0.0, 1.3, 0.0]), color=(0.8,) * 3)
    camera = OrbitCamera(target=(0.0, 1.3, 0.0), distance=5.0, pitch=0.4, fov=30.0)
    for strength in (1.0, 0.4):
        # It is seen through the box: what is in front of it takes light away too.
        smoke = box(layer, 1.2, shadow=strength)
        x, y = on_screen(camera, (0.0, 1.3, 0.0))
        shown = {s: occlusion(render, [shelf, smoke], camera, **{**ABOVE, "shadows": s})[y, x] for s in (0.0, 1.0)}
        assert shown[1.0] / shown[0.0] == pytest.approx(np.exp(-1.2 * 0.5 * strength), abs=0.02)


def test_a_ball_shades_the_volume_below_it(layer, render):
    """White smoke below a ball, seen from the side: dark in its shadow, and as without it elsewhere."""
    smoke = layer("volume", {**BOX, "extinction": 3.0, "shadow": 0.0}, density=np.ones((2, 2, 2), np.float32))
    ball = layer("points", position=np.float32([[0.0, 2.4, 0.78]]), size=0.3)
    camera = OrbitCamera(target=(0.0, 1.3, 0.0), distance=6.0, pitch=0.0, fov=30.0)
    lit, shaded = (occlusion(render, layers, camera, **ABOVE) for layers in ([smoke], [smoke, ball]))
    x, y = on_screen(camera, (0.0, 1.3, 0.8))
    assert shaded[y, x] < 0.4 * lit[y, x]
    x, y = on_screen(camera, (0.6, 1.3, 0.8))
    assert shaded[y, x] == pytest.approx(lit[y, x], abs=0.01)


@pytest.mark.parametrize("shadow", [0.0, 1.0])
def test_a_volume_shades_another_one_below_it_but_not_itself(layer, render, shadow):
    """White smoke below a black box, from the side: exp(-1.2) of its light alone."""
    low, high = (-0.8, 0.0, -0.8), (0.8, 0.4, 0.8)
    thin = {**BOX, "low": low, "high": high, "extinction": 1.5, "shadow": shadow, "anisotropy": 0.0}
    smoke = layer("volume", thin, density=np.ones((2, 2, 2), np.float32), color=(1.0, 1.0, 1.0))
    above, elsewhere = box(layer, 1.2), box(layer, 1.2, low=(2.0, 0.8, -0.8), high=(3.0, 1.8, 0.8))
    camera = OrbitCamera(target=(0.0, 0.2, 0.0), distance=6.0, pitch=0.0, fov=30.0)
    x, y = on_screen(camera, (0.3, 0.2, 0.0))
    alone = occlusion(render, [smoke], camera, **ABOVE | {"shadows": 0.0})[y, x]
    images = (occlusion(render, layers, camera, **ABOVE) for layers in ([above, smoke], [smoke], [smoke, elsewhere]))
    shaded, *others = (image[y, x] / alone for image in images)
    assert alone > 0.1
    assert shaded == pytest.approx(np.exp(-1.2), abs=0.02)
    assert others == pytest.approx([1.0, 1.0], abs=0.01)


def test_a_volume_without_a_shadow_costs_no_map(layer, render, floor):
    clear = box(layer, 5.0, shadow=0.0)
    assert not clear.drawing.attenuates
    assert fraction(render, [floor, clear], (1.1, 0.0, 0.3), [floor]) == pytest.approx(1.0, abs=0.01)
    x, y = on_screen(SIDE, (0.0, 0.0, 0.72))
    assert light(render([floor, clear], SIDE))[y, x] > 0.1


def test_the_map_is_around_the_boxes_and_its_depth_is_counted_in_planes():
    sun, camera = np.array([0.48, 0.6, 0.64]), OrbitCamera(target=(0.0, 0.0, 0.0), distance=5.0)
    corners = ((-1.0, 0.0, -0.5), (1.0, 2.0, 0.7))
    found = OpacityCamera(camera, sun, [corners], 64)
    grid = np.stack(np.meshgrid(*zip(*corners, strict=True)), axis=-1).reshape(-1, 3)
    places = np.concatenate([grid, np.ones((8, 1))], axis=1) @ found.to_map().T
    assert places[:, :2].min() > -1e-9 and places[:, :2].max() < 1.0 + 1e-9
    assert np.ptp(places[:, :2], axis=0).max() == pytest.approx(1.0)
    assert (places[:, 2].min(), places[:, 2].max()) == pytest.approx((0.0, PLANES))
    nearest = grid[np.argmax(grid @ sun)]
    assert (found.to_map() @ [*nearest, 1.0])[2] == pytest.approx(0.0)


# splats -------------------------------------------------------------------------------------------------------------


def veil(layer, opacity, height=1.0, shadow=1.0, rows=24, seed=0, **attributes):
    """A level sheet of overlapping splats, 1.6 wide; their order, on which the noise depends, is random."""
    across = np.linspace(-0.8, 0.8, rows)
    order = np.random.default_rng(seed).permutation(rows * rows)
    x, z = (axis.reshape(-1)[order] for axis in np.meshgrid(across, across))
    position = np.stack([x, np.full_like(x, height), z], axis=1).astype(np.float32)
    style = {"shadow": shadow, "blur": 0.0}
    return layer("splats", style, position=position, scale=0.07, opacity=opacity, color=(1.0, 1.0, 1.0), **attributes)


@pytest.mark.parametrize(("opacity", "shadow"), [(0.05, 1.0), (0.25, 1.0), (0.9, 1.0), (0.9, 0.0)])
def test_splats_let_through_what_their_alphas_say(layer, render, floor, opacity, shadow):
    """The mean over the floor below six sheets, against the product of 1 - alpha at each position; 3 sigma are 0.03."""
    sheets = [[floor, veil(layer, opacity, shadow=shadow, seed=seed)] for seed in range(6)]
    camera = OrbitCamera(target=(0.0, 0.0, 0.0), distance=6.0, pitch=0.1, fov=40.0)
    across = np.linspace(-0.8, 0.8, 24)
    x, z = np.meshgrid(np.linspace(-0.3, 0.3, 40), np.linspace(0.2, 0.6, 40))
    through = np.ones_like(x)
    for a in across:
        for b in across:
            alpha = opacity * np.exp(-((x - a) ** 2 + (z - b) ** 2) / (2.0 * 0.07**2))
            through *= 1.0 - np.where(alpha < 1.0 / 255.0, 0.0, alpha) * shadow
    left, top = on_screen(camera, (-0.3, 0.0, 0.2))
    right, bottom = on_screen(camera, (0.3, 0.0, 0.6))
    sun = {**ABOVE, "sun_angle": 2.0}
    *dark, lit = (
        occlusion(render, layers, camera, **sun)[top : bottom + 1, left : right + 1] for layers in (*sheets, [floor])
    )
    assert np.mean(dark) / lit.mean() == pytest.approx(through.mean(), abs=0.03)


@pytest.mark.parametrize("rows", [12, 20])
def test_a_ball_shades_splats_and_a_sheet_does_not_shade_itself(layer, render, rows, monkeypatch):
    """Few rows are rasterized, many are blended in tiles."""
    monkeypatch.setattr("vertigrad.renderer.layers.splat_tiles.SOFTWARE_MANY", 256)
    sheet = veil(layer, 0.95, height=0.0, rows=rows)
    assert (sheet.drawing.tiles is not None) == (rows == 20)
    ball = layer("points", position=np.float32([[0.0, 1.5, 0.0]]), size=0.25)
    camera = OrbitCamera(target=(0.0, 0.0, 0.0), distance=5.0, pitch=0.9, fov=30.0)
    shown = {
        name: render(layers, camera, View(**{**DARK, **ABOVE, "shadows": shadows}), SIZE)[..., 1].astype(float)
        for name, layers, shadows in (("plain", [sheet], 0.0), ("alone", [sheet], 1.0), ("below", [ball, sheet], 1.0))
    }
    x, y = on_screen(camera, (0.0, 0.0, 0.0))
    assert shown["below"][y, x] < 0.2 * shown["plain"][y, x]
    assert shown["alone"][y, x] > 0.95 * shown["plain"][y, x]
    x, y = on_screen(camera, (0.6, 0.0, 0.3))
    assert shown["below"][y, x] > 0.95 * shown["plain"][y, x]
