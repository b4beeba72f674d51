"""Volumes against the formulas of emission and absorption, and their layouts."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from vertigrad.errors import LayoutError, LimitError, ParameterError
from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View, black_body
from vertigrad.renderer.bounds import Bounds
from vertigrad.renderer.colormap import colormap_colors
from vertigrad.renderer.target import handles_samples
from vertigrad.tensor import Tensor

from .light_reference import CAMERA, SIZE, VIEW, rays, sphere, tone_mapped

LEVELS = 3.0
GLOW = {"emissive": 1.0, "brightness": 2.0, "density_range": (0.0, 1.0)}
BOX = {"low": (-0.9, -0.6, -0.8), "high": (0.7, 0.8, 0.9)}
COLOR = (0.8, 0.5, 0.3)


@pytest.fixture(autouse=True)
def by_samples(gpu):
    if not handles_samples(gpu):
        pytest.skip("volumes are refused there")


def through(low, high, camera=CAMERA, size=SIZE):
    """Distances at which each ray enters and leaves a box in world space, 0 and 0 where it misses."""
    rotation, (x, y, z) = camera.rotation(), camera.position
    ray = rays(camera, size) @ rotation.T
    ends = np.stack([(np.array(low) - (x, y, z)) / ray, (np.array(high) - (x, y, z)) / ray])
    enters, leaves = ends.min(axis=0).max(axis=-1), ends.max(axis=0).min(axis=-1)
    enters = np.maximum(enters, 0.0)
    hit = leaves > enters
    return np.where(hit, enters, 0.0), np.where(hit, leaves, 0.0)


def inner(mask):
    """Without a margin: pixels at outlines are partly covered."""
    for axis in (0, 1):
        mask = mask & np.roll(mask, 1, axis) & np.roll(mask, -1, axis)
    return mask


def off(got, expected, where):
    assert where.sum() > 200
    return np.abs(got.astype(float) - expected)[where].max()


@pytest.mark.parametrize("extinction", [0.4, 2.0, 30.0])
def test_uniform_density_emits_by_the_formula(layer, render, extinction):
    fog = layer(
        "volume", {**GLOW, **BOX, "extinction": extinction}, density=np.ones((3, 4, 5), np.float32), color=COLOR
    )
    enters, leaves = through(BOX["low"], BOX["high"])
    covered = 1.0 - np.exp(-extinction * (leaves - enters))[..., None]
    expected = tone_mapped(2.0 * covered * np.array(linear(COLOR)))
    assert off(render([fog], CAMERA), expected, inner(leaves > 0)) < LEVELS
    nothing = inner(leaves == 0)
    assert render([fog], CAMERA)[nothing].max() <= 1


def test_a_ramp_is_integrated(layer, render):
    """Density increases along x from 0 to 1: interpolated trilinearly, the mean along a ray is that at its center."""
    ramp = np.broadcast_to(np.linspace(0, 1, 9, dtype=np.float32), (3, 4, 9)).copy()
    style = {**GLOW, **BOX, "extinction": 3.0, "samples": "nodes", "steps_per_cell": 8.0}
    fog = layer("volume", style, density=ramp, color=COLOR)
    enters, leaves = through(BOX["low"], BOX["high"])
    ray = rays() @ CAMERA.rotation().T
    x = CAMERA.position[0] + 0.5 * (enters + leaves) * ray[..., 0]
    mean = (x - BOX["low"][0]) / (BOX["high"][0] - BOX["low"][0])
    covered = 1.0 - np.exp(-3.0 * mean * (leaves - enters))[..., None]
    expected = tone_mapped(2.0 * covered * np.array(linear(COLOR)))
    assert off(render([fog], CAMERA), expected, inner(leaves > 0)) < LEVELS


def test_solid_layers_end_the_ray_march(layer, render):
    ball = {"position": np.float32([[0.1, 0.2, 0.0]]), "size": 0.45, "color": (0.2, 0.4, 0.9)}
    lamp = layer("points", {"emissive": 1.0, "brightness": 1.0}, **ball)
    fog = layer("volume", {**GLOW, **BOX, "extinction": 2.0}, density=np.ones((4, 4, 4), np.float32), color=COLOR)
    distance, normal = sphere((0.1, 0.2, 0.0), 0.45)
    enters, leaves = through(BOX["low"], BOX["high"])
    on = inner(np.isfinite(distance))
    clear = np.exp(-2.0 * (np.minimum(distance, leaves) - enters))[..., None]
    facing = -np.sum(normal * rays(), axis=-1, keepdims=True)
    surface = (0.45 + 0.55 * facing) * np.array(linear((0.2, 0.4, 0.9)))
    light = clear * np.where(on[..., None], surface, 0.0) + 2.0 * (1 - clear) * np.array(linear(COLOR))
    assert off(render([fog, lamp], CAMERA), tone_mapped(light), on) < LEVELS
    assert off(render([lamp, fog], CAMERA), tone_mapped(light), on) < LEVELS  # the order of the layers does not matter


def test_an_outline_shows_no_fringe(layer, render):
    """A ball of the fog's own color inside thick fog is invisible, including its outline."""
    thick = layer("volume", {**GLOW, **BOX, "extinction": 300.0}, density=np.ones((4, 4, 4), np.float32), color=COLOR)
    black = layer("points", position=np.float32([[0.1, 0.2, 0.0]]), size=0.3, color=(0, 0, 0))
    hidden = render([thick, black], CAMERA).astype(int)
    assert np.abs(hidden - render([thick], CAMERA)).max() <= 1


def test_each_sample_of_an_outline_has_its_own_ray_march(layer, render):
    """In front of thin fog a black ball removes whole samples of it, and nothing else."""
    thin = layer("volume", {**GLOW, **BOX, "extinction": 0.8}, density=np.ones((4, 4, 4), np.float32), color="#ffffff")
    black = {"position": np.float32([[0.1, 0.3, 2.0]]), "size": 0.2, "color": (0, 0, 0)}
    ball = layer("points", {"emissive": 1.0, "brightness": 0.0}, **black)
    shown, fog = render([thin, ball], CAMERA, VIEW), render([thin], CAMERA, VIEW)
    share = light_of(shown) / np.maximum(light_of(fog), 1e-3)
    distance, _ = sphere((0.1, 0.3, 2.0), 0.2)
    around = ~inner(~np.isfinite(distance)) & ~inner(np.isfinite(distance)) & (fog[..., 1] > 120)
    quarters = 4 * share[around]
    assert around.sum() > 30 and np.abs(quarters - np.round(quarters)).max() < 0.2
    assert {1, 2, 3} <= set(np.round(quarters)) <= {0, 1, 2, 3, 4}
    assert share[inner(np.isfinite(distance)) & (fog[..., 1] > 120)].max() < 0.02


def light_of(render):
    encoded = render[..., 1] / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def test_an_eye_inside(layer, render):
    camera = OrbitCamera(distance=0.3, yaw=0.3, pitch=0.4, fov=60.0)
    fog = layer("volume", {**GLOW, **BOX, "extinction": 1.5}, density=np.ones((3, 3, 3), np.float32), color=COLOR)
    enters, leaves = through(BOX["low"], BOX["high"], camera)
    assert (leaves > 0).all()
    expected = tone_mapped(2.0 * (1.0 - np.exp(-1.5 * (leaves - enters)))[..., None] * np.array(linear(COLOR)))
    assert off(render([fog], camera), expected, leaves > 0) < LEVELS


def test_parallel_lines_of_sight(layer, render):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0, orthographic=True)
    fog = layer("volume", {**GLOW, **BOX, "extinction": 0.7}, density=np.ones((3, 3, 3), np.float32), color=COLOR)
    got = render([fog], camera)
    length = BOX["high"][2] - BOX["low"][2]
    expected = tone_mapped(2.0 * (1 - np.exp(-0.7 * length)) * np.array([linear(COLOR)]))[0]
    assert np.abs(got[55:65, 75:85].astype(float) - expected).max() < LEVELS


def test_scalars_use_the_colormap(layer, render):
    density, heat = np.ones((4, 4, 4), np.float32), np.full((5, 3, 4), 7.0, np.float32)
    heat[0, 0, 0] = 5.0
    for style, entry in (({"range": (7.0, 9.0)}, 0), ({"range": (3.0, 7.0)}, 255), ({"range": "auto"}, 255)):
        full = {**GLOW, **BOX, "extinction": 300.0, "colormap": "viridis", **style}
        got = render([layer("volume", full, density=density, color=heat)], CAMERA)
        expected = tone_mapped(2.0 * np.array([linear(colormap_colors("viridis")[entry, :3] / 255)]))[0]
        assert np.abs(got[58:62, 78:82].astype(float) - expected).max() < 4


def test_colors_of_three_components(layer, render):
    colors = np.tile(np.float32(COLOR), (3, 3, 3, 1))
    style = {**GLOW, **BOX, "extinction": 2.0}
    one = render([layer("volume", style, density=np.ones((4, 4, 4), np.float32), color=COLOR)], CAMERA)
    each = render([layer("volume", style, density=np.ones((4, 4, 4), np.float32), color=colors)], CAMERA)
    assert np.abs(one.astype(int) - each).max() <= 1


def test_the_same_values_in_any_layout(layer, render):
    rng = np.random.default_rng(3)
    values = rng.uniform(0, 1, (6, 5, 7)).astype(np.float32)
    style = {**GLOW, **BOX, "density_range": "auto", "extinction": 6.0, "colormap": "viridis"}
    expected = render([layer("volume", style, density=values, color=values)], CAMERA)
    assert np.ptp(expected) > 60
    wide = np.full((9, 9, 16), 50.0, np.float32)
    wide[2:8, 1:6, 1:15:2] = values
    turned = np.ascontiguousarray(values.transpose(2, 0, 1))
    backward = np.ascontiguousarray(values[::-1, :, ::-1])
    with Tensor.from_numpy(wide) as a, Tensor.from_numpy(turned) as b, Tensor.from_numpy(backward) as c:
        for strided in (a[2:8, 1:6, 1:15:2], b.permute(1, 2, 0), c[::-1, :, ::-1]):
            got = render([layer("volume", style, density=strided, color=strided)], CAMERA)
            assert np.array_equal(got, expected)


def test_a_symmetric_range(layer, render):
    """Of the color, whether the density has the same extent or its own, and of the density."""
    values = np.random.default_rng(4).uniform(-1, 3, (5, 5, 5)).astype(np.float32)
    most = float(np.abs(values).max())
    extents = {"auto": (float(values.min()), float(values.max())), "symmetric": (-most, most)}
    style = {**GLOW, **BOX, "extinction": 6.0, "colormap": "vik", "opacity_curve": "0:1 0.5:0 1:1"}
    drawn = layer("volume", style, density=values, color=values)
    fixed = layer("volume", style, density=values, color=values)
    for color, density in (("auto", "symmetric"), ("symmetric", "symmetric"), ("symmetric", "auto")):
        drawn.style.change("range", color)
        drawn.style.change("density_range", density)
        fixed.style.change("range", extents[color])
        fixed.style.change("density_range", extents[density])
        expected = render([fixed], CAMERA)
        assert np.ptp(expected) > 60
        assert np.abs(render([drawn], CAMERA).astype(int) - expected).max() <= 1


def test_a_nan_is_transparent(layer, render):
    values = np.zeros((4, 4, 4), np.float32)
    values[1, 1, 1], values[2, 2, 2] = np.nan, np.inf
    assert render([layer("volume", {**GLOW, "extinction": 90.0}, density=values)], CAMERA).max() <= 1


def test_a_volume_shadows_itself(layer, render):
    """A ball of smoke under a sun from the left is darker on its right, and not without shadows."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, 20)], indexing="ij")
    ball = (x * x + y * y + z * z < 0.6).astype(np.float32)
    view = View(bloom=0.0, vignette=0.0, background="#000000", sun_azimuth=-90.0, sun_elevation=0.0)
    camera = OrbitCamera(distance=5.0, yaw=0.0, pitch=0.0, fov=40.0)
    sides = []
    for shadow in (1.0, 0.0):
        smoke = layer("volume", {"extinction": 12.0, "shadow": shadow, "anisotropy": 0.0}, density=ball)
        got = render([smoke], camera, view).astype(float).sum(axis=-1)
        sides.append((got[50:70, 62:68].mean(), got[50:70, 92:98].mean()))
    assert sides[0][0] > 1.4 * sides[0][1]
    assert abs(sides[1][0] - sides[1][1]) < 0.03 * sides[1][0]


def test_light_has_no_stripes_on_an_opaque_slope(layer, render):
    """A tilted plane that begins within a cell of the grid of light is evenly bright, up to a slow trend."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, 40)], indexing="ij")
    slope = np.clip(0.5 - (z + 0.18 * x - 0.11 * y) / 0.1, 0.0, 1.0).astype(np.float32)
    view = View(bloom=0.0, vignette=0.0, background="#000000", sun_azimuth=60.0, sun_elevation=25.0, sun=1.5)
    camera = OrbitCamera(distance=5.0, yaw=0.0, pitch=0.0, fov=30.0)
    bone = layer("volume", {"extinction": 40.0, "shadow": 1.0, "anisotropy": 0.0}, density=slope)
    image = render([bone], camera, view).astype(float).sum(axis=-1)
    blocks = image[40:80, 60:100].reshape(10, 4, 10, 4).mean(axis=(1, 3))  # the beginnings of the marches are dithered
    row, column = np.indices(blocks.shape).reshape(2, -1) / 10.0
    trend = np.stack([np.ones_like(row), row, column, row * row, row * column, column * column], axis=1)
    fitted = trend @ np.linalg.lstsq(trend, blocks.ravel())[0]
    assert (blocks.ravel() - fitted).std() < 0.02 * blocks.mean()


def test_light_in_cells_is_computed_when_what_it_depends_on_has_changed(layer, render):
    """Not when the camera moves."""
    view, turned = View(sun_azimuth=60.0), View(sun_azimuth=61.0)
    density = np.random.default_rng(3).random((8, 8, 8)).astype(np.float32)
    smoke = layer("volume", BOX, density=density)

    def is_computed(camera=CAMERA, view=view):
        before = smoke.drawing._light.block.revision
        render([smoke], camera, view)
        return smoke.drawing._light.block.revision != before

    assert is_computed() and not is_computed()
    assert not is_computed(OrbitCamera(distance=3.0, yaw=1.0, pitch=0.4, fov=40.0))
    assert is_computed(view=turned) and is_computed()
    smoke.style.change("extinction", 3.0)
    assert is_computed() and not is_computed()


BETWEEN = "0:0 0.4:0 0.5:1 0.6:0 1:0"  # a curve with extinction between 0 and 1 only


@pytest.mark.parametrize("samples", ["cells", "nodes"])
def test_cells_without_extinction_are_empty(layer, render, samples):
    """Against extinctions at random positions."""
    random = np.random.default_rng(5)
    density = (random.random((7, 9, 12)) > 0.97).astype(np.float32)
    style = {**BOX, "samples": samples, "density_range": (0.0, 1.0), "opacity_curve": BETWEEN}
    smoke = layer("volume", style, density=density)
    render([smoke], CAMERA)
    z, y, x = size = smoke.drawing._light_size[::-1]
    empty = smoke.drawing._light.numpy()[2, :, 1].reshape(size) > 0.0
    within, gap = random.random((200_000, 3)), 0.5 if samples == "cells" else 0.0
    value = map_coordinates(
        density, (within * (np.array(density.shape) - 1.0 + 2.0 * gap) - gap).T, order=1, mode="nearest"
    )
    cells = (within * size).astype(int)[np.abs(value - 0.5) < 0.09]
    filled = np.bincount(np.ravel_multi_index(cells.T, size), minlength=x * y * z).reshape(size) > 0
    assert not (empty & filled).any()
    assert (empty | filled).mean() > 0.5 and empty.mean() > 0.1


@pytest.mark.parametrize("camera", [CAMERA, OrbitCamera(distance=0.3, yaw=0.4, pitch=0.2, fov=70.0)])
def test_empty_cells_are_stepped_over_exactly(layer, render, camera):
    """The image is that of a volume with so little extinction everywhere that every step is taken."""
    density = (np.random.default_rng(6).random((10, 12, 14)) > 0.98).astype(np.float32)
    style = {**BOX, "density_range": (0.0, 1.0), "extinction": 60.0, "steps_per_cell": 0.5}
    sparse, nowhere_empty = (
        render([layer("volume", style | {"opacity_curve": curve}, density=density)], camera).astype(int)
        for curve in (BETWEEN, BETWEEN.replace(":0 ", ":1e-8 ").replace("1:0", "1:1e-8"))
    )
    assert sparse.std() > 20.0
    assert np.abs(sparse - nowhere_empty).max() <= 1


def test_the_camera_finds_the_box(gpu, layer):
    fog = layer("volume", {**BOX}, density=np.ones((3, 3, 3), np.float32))
    fog.prepare()
    low, high = found(gpu, fog)
    assert np.allclose(low, BOX["low"]) and np.allclose(high, BOX["high"])
    fog.style.change("low", (-3.0, 0.0, 0.0))
    fog.prepare()
    assert np.allclose(found(gpu, fog)[0], (-3.0, 0.0, 0.0))
    long = layer("volume", density=np.ones((2, 4, 8), np.float32))
    long.prepare()
    assert np.allclose(found(gpu, long), [(-1, -0.5, -0.25), (1, 0.5, 0.25)])


def found(gpu, layer):
    bounds = Bounds([layer])
    gpu.wait_idle()
    return bounds.result()


def test_it_copies_no_geometry_and_releases_its_memory(gpu, layer, render):
    with Tensor.from_numpy(np.ones((5, 5, 5), np.float32)) as density:
        live = {block.id for block in gpu.tracker.live}
        fog = layer("volume", density=density, color=density)
        render([fog], CAMERA)
        before = gpu.meter.read()["geometry"]
        render([fog], CAMERA)
        assert gpu.meter.read()["geometry"] == before
        assert {density.block} < set(fog.blocks())
        report = fog.report()["density"]
        assert (report["block"], report["offset"], report["stride"]) == (density.block.id, 0, 4)
        fog.close()
        gpu.wait_idle()
        assert {block.id for block in gpu.tracker.live} == live


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({}, ParameterError, "density must be a tensor"),
        ({"density": 1.0}, ParameterError, "density must be a tensor"),
        ({"density": np.ones((4, 4), np.float32)}, LayoutError, r"\(4, 4\).*\(nz, ny, nx\)"),
        ({"density": np.ones((1, 4, 4), np.float32)}, LayoutError, "2 samples"),
        ({"density": np.ones((4, 4, 4), np.int32)}, LayoutError, "i32.*cast"),
        ({"density": np.ones((4, 4, 4), np.float32), "color": np.ones((4, 4, 4, 2), np.float32)}, LayoutError, "color"),
        ({"density": np.ones((4, 4, 4), np.float32), "hue": 1}, ParameterError, "hue"),
    ],
)
def test_invalid_attributes_are_rejected(layer, attributes, error, message):
    with pytest.raises(error, match=message):
        layer("volume", **attributes)


def test_more_than_the_binding_limit_is_rejected(gpu, layer, monkeypatch):
    monkeypatch.setattr(gpu, "limits", {**gpu.limits, "max-storage-buffer-binding-size": 100})
    with pytest.raises(LimitError, match="spans 256 bytes; this GPU binds 100"):
        layer("volume", density=np.ones((4, 4, 4), np.float32))


def test_the_opacity_curve_says_which_densities_are_seen(layer, render):
    """Of two blocks with different densities, a curve shows one, the other, both or none."""
    density = np.zeros((4, 4, 8), np.float32)
    density[:, :, :3], density[:, :, 5:] = 0.3, 1.0
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    style = {"density_range": (0.0, 1.0), "extinction": 100.0, "emissive": 1.0, "steps_per_cell": 4.0}
    volume = layer("volume", style, density=density, color="#ffffff")
    shown = {}
    for curve in ("0:0 1:1", "0:0 0.8:0 0.9:1 1:1", "0:0 0.2:1 0.4:1 0.45:0 1:0", "0:0 1:0"):
        volume.style.take(volume.style.with_values({"opacity_curve": curve}))
        image = render([volume], camera).mean(axis=2) > 60
        shown[curve] = bool(image[55:65, 50:70].any()), bool(image[55:65, 95:110].any())
    assert list(shown.values()) == [(True, True), (False, True), (True, False), (False, False)]


def test_planck_s_law_has_the_colors_of_the_standard_illuminants():
    """A at 2,856 K (CIE 15), and Planck's locus at 6,500 K."""
    for kelvin, chromaticity in ((2856.0, (0.4476, 0.4074)), (6500.0, (0.3135, 0.3237))):
        found = black_body.tristimulus(np.array([kelvin]))[0]
        assert found[:2] / found.sum() == pytest.approx(chromaticity, abs=2e-3)
    unit = black_body.radiance(np.array([black_body.UNIT]))[0]
    assert unit @ [0.2126, 0.7152, 0.0722] == pytest.approx(1.0, abs=0.02)  # but for the blue that is cut off


@pytest.mark.parametrize("kelvin", [1500.0, 2000.0])
def test_a_hot_volume_emits_as_a_black_body(layer, render, kelvin):
    style = {**BOX, "density_range": (0.0, 1.0), "extinction": 1.5, "brightness": 0.3}
    hot = np.full((3, 4, 5), kelvin - 293.0, np.float32)
    fire = layer("volume", style, density=np.ones((3, 4, 5), np.float32), color=(0.0, 0.0, 0.0), temperature=hot)
    enters, leaves = through(BOX["low"], BOX["high"])
    covered = 1.0 - np.exp(-1.5 * (leaves - enters))[..., None]
    expected = tone_mapped(0.3 * covered * black_body.radiance(np.array([kelvin])))
    assert (
        off(render([fire], CAMERA, View(bloom=0.0, vignette=0.0, background="#000000")), expected, inner(leaves > 0))
        < LEVELS
    )


def test_a_cold_volume_does_not_glow(layer, render):
    cold = np.full((3, 4, 5), 20.0, np.float32)
    smoke = layer("volume", BOX, density=np.ones((3, 4, 5), np.float32), color=(0.0, 0.0, 0.0), temperature=cold)
    assert render([smoke], CAMERA).max() <= 1  # which is dither
    with pytest.raises(
        ParameterError, match="temperature must be a tensor; leave it out for a volume that does not glow"
    ):
        layer("volume", BOX, density=np.ones((3, 4, 5), np.float32), temperature=900.0)
