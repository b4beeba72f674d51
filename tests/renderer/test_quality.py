"""Every quality level shows the same image at a different cost."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer, point_splatting
from vertigrad.renderer.quality import HIGH, LEVELS, NAMES, Level
from vertigrad.renderer.themes import THEMES
from vertigrad.renderer.view_uniforms import view_uniform

from .conftest import PLAIN, read
from .test_renderer import wgsl_fields

CAMERA = OrbitCamera(distance=5.0, yaw=0.6, pitch=0.45)
FORMAT = "rgba8unorm"
SIZE = (201, 141)  # odd, so that half of it is not an integer
FULL: dict[str, Any] = {**THEMES["studio"], "theme": "studio", "bloom": 0.1, "axes": True, "scale_bar": True}


@pytest.fixture
def balls(layer: Callable[..., Layer]) -> Layer:
    rng = np.random.default_rng(4)
    positions = rng.uniform(-1.0, 1.0, (60, 3)).astype(np.float32)
    return layer("points", position=positions, size=0.22, color=(0.8, 0.35, 0.2))


@pytest.fixture
def levels(render: Callable[..., np.ndarray], balls: Layer) -> Iterator[dict[str, np.ndarray]]:
    """An image with all effects of a theme, for each quality level."""
    yield {name: render([balls], CAMERA, View(**FULL, quality=name), SIZE).astype(np.float32) for name in NAMES}


def test_every_level_shows_the_same_image(levels: dict[str, np.ndarray]) -> None:
    high = levels["high"]
    assert np.array_equal(levels["auto"], high)
    assert high.std() > 20.0
    for name, most in {"low": 12.0, "medium": 6.0, "ultra": 2.0}.items():
        difference = np.abs(levels[name] - high).mean()
        assert 0.0 < difference < most, (name, difference)
        assert abs(levels[name].mean() - high.mean()) < 4.0, name  # effects such as shadows exist


def test_cheaper_levels_differ_more_from_the_finest(levels: dict[str, np.ndarray]) -> None:
    off = [float(np.abs(levels[name] - levels["ultra"]).mean()) for name in ("low", "medium", "high")]
    assert off[0] > off[1] > off[2] > 0.0


def test_a_scene_without_effects_only_has_fewer_pixels_at_lower_levels(
    render: Callable[..., np.ndarray], balls: Layer
) -> None:
    low, high, ultra = (render([balls], CAMERA, View(**PLAIN, quality=q), SIZE) for q in ("low", "high", "ultra"))
    assert np.array_equal(high, ultra)
    # An outline is blurred over two pixels: the mean over blocks of them is the same.
    blocks = [p[:140, :200].reshape(70, 2, 100, 2, 3).mean(axis=(1, 3)) for p in (low, high)]
    assert np.abs(blocks[0] - blocks[1]).mean() < 3.0


def test_text_and_highlights_are_sharp_at_every_level(render: Callable[..., np.ndarray], balls: Layer) -> None:
    view = {**PLAIN, "sun": 0.0, "sky": 0.0, "scale_bar": True, "labels": "here 0 1.3 0"}
    low, high = (render([balls], CAMERA, View(**view, quality=q), SIZE).astype(int) for q in ("low", "high"))
    assert (high > 200).sum() > 60  # only text is bright
    assert np.abs(low - high)[high.max(axis=2) > 30].max() <= 2


@pytest.mark.parametrize("kind", ["lines", "marks"])
def test_widths_in_pixels_are_those_of_the_screen(
    kind: str, render: Callable[..., np.ndarray], layer: Callable[..., Layer]
) -> None:
    ends = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], np.float32)
    if kind == "lines":
        drawn = layer("lines", position=ends, width=8.0, color=(1.0, 1.0, 1.0))
    else:
        drawn = layer("marks", {"pixels": True}, position=ends[:1] * 0.0, size=6.0, color=(1.0, 1.0, 1.0))
    camera = OrbitCamera(distance=5.0, pitch=0.0)
    light = {}
    for quality in ("low", "medium", "high"):
        column = render([drawn], camera, View(**PLAIN, quality=quality), (200, 140))[:, 100, 0] / 255.0
        light[quality] = float((column**2.2).sum())  # of one column, about its number of white pixels
    assert light["high"] > 6.0
    assert all(abs(width / light["high"] - 1.0) < 0.12 for width in light.values()), light


def test_the_floor_has_the_same_position_at_every_level(render: Callable[..., np.ndarray], balls: Layer) -> None:
    view = {**PLAIN, "floor": "height", "floor_height": -1.2, "background": "#204060"}
    low, high = (render([balls], CAMERA, View(**view, quality=q), (200, 140)).astype(float) for q in ("low", "high"))
    blocks = [p.reshape(35, 4, 50, 4, 3).mean(axis=(1, 3)) for p in (low, high)]
    lines = np.corrcoef(*(b[22:].ravel() for b in blocks))[0, 1]  # below the balls
    assert lines > 0.8


def test_images_with_fewer_pixels_are_interpolated_smoothly(render: Callable[..., np.ndarray], balls: Layer) -> None:
    low = render([balls], CAMERA, View(**PLAIN, quality="low"), (200, 140)).astype(float)
    steps = np.abs(np.diff(low, axis=1)).mean(axis=(0, 2))
    assert 0.6 < steps[0::2].mean() / steps[1::2].mean() < 1.6  # otherwise squares of two by two pixels are visible


def test_bloom_has_the_same_radius_at_every_level(
    render: Callable[..., np.ndarray], layer: Callable[..., Layer]
) -> None:
    style = {"emissive": 1.0, "brightness": 200.0}
    lamp = layer("points", style, position=np.zeros((1, 3), np.float32), size=0.25, color=(1.0, 1.0, 1.0))
    view = {**PLAIN, "bloom": 0.3}
    glow = {}
    for quality in ("low", "medium", "high"):
        shown = render([lamp], CAMERA, View(**view, quality=quality), (320, 240)).astype(float)
        glow[quality] = np.array([shown[120, 160 + away : 168 + away].mean() for away in (30, 50, 80)])
    assert glow["high"][0] > 20.0
    for quality in ("low", "medium"):
        np.testing.assert_allclose(glow[quality], glow["high"], rtol=0.25, atol=3.0)


def test_volumes_are_marched_through_in_steps_of_the_level(
    render: Callable[..., np.ndarray], layer: Callable[..., Layer]
) -> None:
    positions = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 8)] * 3), axis=-1)
    density = np.exp(-3.0 * (positions**2).sum(axis=-1)).astype(np.float32)
    cloud, finer = (layer("volume", {"steps_per_cell": detail}, density=density) for detail in (0.75, 1.5))
    usual, ultra = (render([cloud], CAMERA, View(**PLAIN, quality=quality)) for quality in ("high", "ultra"))
    assert np.array_equal(render([finer], CAMERA, View(**PLAIN)), ultra) and not np.array_equal(usual, ultra)


@pytest.mark.parametrize(
    "finer", [{"sun_texels": 16.0}, {"sun_maps": 2}, {"sun_taps": 32}, {"sky_planes": 6}, {"sky_steps": 6}]
)
def test_each_part_of_a_level_refines_the_image(finer: dict[str, int], gpu: Gpu, balls: Layer) -> None:
    view = View(**PLAIN, shadows=1.0, occlusion=1.0)
    usual, other = (drawn(Renderer(gpu, FORMAT), gpu, balls, view, level) for level in (HIGH, HIGH._replace(**finer)))
    assert 0.0 < np.abs(usual.astype(float) - other).mean() < 3.0


def test_the_lowest_level_has_no_occlusion(render: Callable[..., np.ndarray], balls: Layer) -> None:
    low, without, high = (
        render([balls], CAMERA, View(**PLAIN, occlusion=occlusion, quality=quality))
        for occlusion, quality in ((1.0, "low"), (0.0, "low"), (1.0, "high"))
    )
    assert np.array_equal(low, without)
    assert np.abs(render([balls], CAMERA, View(**PLAIN, quality="high")).astype(int) - high).max() > 5


def test_the_shaders_receive_the_values_of_the_level() -> None:
    fields, _ = wgsl_fields(resources.shader("common/view.wgsl"), "View")
    reported = {}
    for name, level in LEVELS.items():
        packed = view_uniform(View(shadows=1.0, occlusion=1.0), CAMERA, (1920, 1080), 0.0, level)
        taps = [struct.unpack_from("<I", packed, fields[key])[0] for key in ("shadow_taps", "occlusion_taps")]
        (maps,) = struct.unpack_from("<I", packed, fields["sun_map_count"])
        assert maps == level.sun_maps
        texel = struct.unpack_from("<12f", packed, fields["sun_maps"])[4 * maps - 1]  # of the largest map
        scale = struct.unpack_from("<2f", packed, fields["scale"])
        reported[name] = texel
        assert taps == [level.sun_taps, 4 if level.sky_planes else 0]
        assert scale == (level.scale, level.scale)
    assert [reported["low"] / reported[name] for name in LEVELS] == pytest.approx(
        [1.0, 2.0, 2.0, 4.0]
    )  # 1024, 2048, 2048 and 4096 texels


def test_levels_can_change_from_image_to_image(gpu: Gpu, balls: Layer, render: Callable[..., np.ndarray]) -> None:
    renderer = Renderer(gpu, FORMAT)
    for name in ("high", "low", "ultra", "low", "medium", "high"):
        shown = drawn(renderer, gpu, balls, View(**FULL), LEVELS[name])
        assert np.array_equal(shown, render([balls], CAMERA, View(**FULL, quality=name), SIZE)), name


def drawn(renderer: Renderer, gpu: Gpu, layer: Layer, view: View, level: Level) -> np.ndarray:
    """An image by a reused renderer, at a level that differs from the view's."""
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(*SIZE, 1), format=FORMAT, usage=usage)
    renderer.draw([layer], CAMERA, view, texture.create_view(), SIZE, level=level)
    return read(gpu, texture)[..., :3]


@pytest.mark.turns(2)
def test_the_cost_of_levels_is_in_their_order(gpu: Gpu, layer: Callable[..., Layer]) -> None:
    if gpu.adapter.kind != "software":
        pytest.skip(f"{gpu.adapter} draws an image of this size in no measurable time")
    size = (320, 240)
    rng = np.random.default_rng(1)
    crowd = layer("points", position=rng.uniform(-1.0, 1.0, (80, 3)).astype(np.float32), size=0.3)
    texture = gpu.device.create_texture(size=(*size, 1), format=FORMAT, usage=wgpu.TextureUsage.RENDER_ATTACHMENT)
    target, renderers = texture.create_view(), {name: Renderer(gpu, FORMAT) for name in LEVELS}
    best = dict.fromkeys(LEVELS, np.inf)
    for _ in range(3):  # interleaved, so that other load affects all of them
        for name, renderer in renderers.items():
            for block in crowd.blocks():
                block.note_write()  # as after a step: else the light is that of the image before
            gpu.wait_idle()
            begun = time.perf_counter()
            renderer.draw([crowd], CAMERA, View(**FULL), target, size, level=LEVELS[name])
            gpu.submit()
            gpu.wait_idle()
            best[name] = min(best[name], time.perf_counter() - begun)
    assert best["low"] < 0.75 * best["high"] < 1.2 * best["ultra"], best
    assert best["low"] < 1.1 * best["medium"] < 1.3 * best["high"], best


@pytest.mark.parametrize("times", [2, 3])
def test_pixels_are_means_of_many_that_were_drawn(
    gpu: Gpu, layer: Callable[..., Layer], render: Callable[..., np.ndarray], times: int
) -> None:
    """The exact coverage of a disc is known: finer levels are closer to it."""

    def drawn(size: tuple[int, int], level: Level) -> np.ndarray:
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = gpu.device.create_texture(size=(*size, 1), format=FORMAT, usage=usage)
        view = View(bloom=0.0, vignette=0.0)
        Renderer(gpu, FORMAT, transparent=True).draw([ball], front, view, texture.create_view(), size, level=level)
        return read(gpu, texture)[..., 3].astype(float) / 255.0

    front = OrbitCamera(distance=4.0, fov=40.0)
    ball = layer("points", {"emissive": 1.0}, position=np.zeros((1, 3), np.float32), color=(0.5, 0.5, 0.5), size=0.9)
    size, fine = (60, 45), 16
    exact = drawn((size[0] * fine, size[1] * fine), HIGH).reshape(size[1], fine, size[0], fine).mean(axis=(1, 3))
    once, often = (drawn(size, level) for level in (HIGH, HIGH.supersampled(times)))
    off = [float(np.abs(shown - exact).sum()) for shown in (once, often)]
    assert off[1] < off[0] / times**0.5
    assert np.abs(often - exact).max() < 0.5 / times


def test_widths_in_pixels_stay_those_of_the_image(render: Callable[..., np.ndarray], balls: Layer) -> None:
    """Axes, labels and glow too: only details finer than a pixel may differ."""
    view = View(**FULL)
    plain, fine = (
        render([balls], CAMERA, view, SIZE, level=level).astype(float) for level in (HIGH, HIGH.supersampled(2))
    )
    assert 0.0 < np.abs(plain - fine).mean() < 2.0
    assert abs(plain.mean() - fine.mean()) < 0.3


def dots(image: np.ndarray, empty: np.ndarray, count: int) -> tuple[float, float]:
    """Of dark dots in a row: the light that each absorbs, in black pixels, and its radius in pixels.

    The radius is the root of the mean squared distance to the dot's center, weighted by the light.
    """
    taken = 1.0 - (image[..., 1] / empty[..., 1].astype(float)) ** 2.2
    found = []
    for tile in np.split(taken, count, axis=1):
        rows, columns = np.mgrid[: tile.shape[0], : tile.shape[1]]
        total = tile.sum()
        y, x = (rows * tile).sum() / total, (columns * tile).sum() / total
        found.append((total, np.sqrt((((rows - y) ** 2 + (columns - x) ** 2) * tile).sum() / total)))
    mean = np.mean(found, axis=0)
    return float(mean[0]), float(mean[1])


@pytest.mark.parametrize("added_up", [False, True])
@pytest.mark.parametrize("radius", [0.7, 1.0, 1.5, 1.9, 2.2])
def test_small_points_are_as_dark_and_as_wide_at_every_level(
    radius: float,
    added_up: bool,
    render: Callable[..., np.ndarray],
    layer: Callable[..., Layer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a light background, where wider points look paler."""
    monkeypatch.setattr(point_splatting, "MANY", 1 if added_up else 1 << 30)
    count, tile = 12, 20
    size = count * tile, tile
    camera = OrbitCamera(distance=10.0, pitch=0.0, orthographic=True)
    pixel = camera.pixel(tile)
    at = (np.arange(count) - 0.5 * (count - 1)) * (tile + 0.37)  # at all subpixel positions
    positions = np.stack([at, 0.31 * np.arange(count) % 2.0, 0.0 * at], axis=1) * pixel
    points = layer("points", position=positions.astype("f4"), size=radius * pixel, color=(0.0, 0.0, 0.0))
    view = View(**{**PLAIN, "background": "#d8d8d8", "vignette": 0.0, "sun": 0.0, "sky": 0.0})
    found = {}
    for quality in LEVELS:
        shown = view.with_values({"quality": quality})
        found[quality] = dots(*(render(layers, camera, shown, size) for layers in ([points], [])), count)
    finest = found["ultra"][1] ** 2
    for quality, level in LEVELS.items():
        taken, spread = found[quality]
        assert taken == pytest.approx(np.pi * radius**2, rel=0.12), quality
        between = 1.0 / level.scale**2 / 3.0  # from interpolation between drawn pixels
        assert spread**2 - finest < 1.75 * between, quality
