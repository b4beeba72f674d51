"""Display-referred layers: their colors are shown unchanged, without tone mapping."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera, Renderer, View, post_process
from vertigrad.renderer.annotations.annotations import bar_layouts
from vertigrad.renderer.annotations.font import font
from vertigrad.renderer.annotations.overlay import ColorBar, em_size
from vertigrad.renderer.colormap import COLORMAPS, colormap_colors
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.quality import HIGH, LOW, Level
from vertigrad.renderer.view import TONE_MAPS

from .conftest import read
from .light_reference import displayed, tone_mapped

SIZE = (160, 120)
FACING = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0, orthographic=True)
WIDTH = 256 * FACING.pixel(SIZE[1])
BYTES = np.arange(256, dtype=np.uint8).reshape(16, 16)
GRAYS = np.repeat(BYTES[..., None], 3, axis=2)
PLAIN: dict[str, Any] = {"bloom": 0.0, "vignette": 0.0, "background": "#000000"}
ENDS = np.array([[-1, 0, 0], [1, 0, 0]], np.float32)
FILLING: dict[str, Any] = {
    "placement": "behind",
    "screen_fraction": 1.0,
    "margin": 0.0,
    "anchor": "middle",
    "smooth": False,
}

Make = Callable[..., Layer]
Draw = Callable[..., np.ndarray]


def square(layer: Make, color: Any, z: float = 0.0, **style: Any) -> Layer:
    """A square of one color, facing the eye."""
    pixels = np.asarray(color, np.uint8).reshape(1, 1, -1)
    return layer("image", {"width": 1.5, "smooth": False, "center": (0.0, 0.0, z), **style}, pixels=pixels)


def ball(layer: Make, color: Any = "#ff8000", z: float = 0.0, **style: Any) -> Layer:
    return layer("points", style, position=np.array([[0.0, 0.0, z]], np.float32), size=0.3, color=color)


@pytest.mark.parametrize("format", ["rgba8unorm", "rgba8unorm-srgb"])
@pytest.mark.parametrize("view", [{}, {"exposure": 5.0}, {"bloom": 1.0, "vignette": 1.0, "tint": 1.0}])
def test_an_image_reproduces_its_bytes(layer: Make, render: Draw, view: dict[str, Any], format: str) -> None:
    rng = np.random.default_rng(4)
    for pixels in (GRAYS, rng.permutation(GRAYS.reshape(-1)).reshape(GRAYS.shape)):
        image = layer("image", FILLING, pixels=pixels)
        shown = render([image], FACING, View(**view), (16, 16), format)
        assert np.array_equal(shown, pixels)


@pytest.mark.parametrize("format", ["rgba8unorm", "rgba8unorm-srgb"])
@pytest.mark.parametrize("level", [LOW, HIGH, HIGH.supersampled(2)])
def test_what_is_computed_is_what_fragments_show(
    layer: Make, gpu: Gpu, monkeypatch: pytest.MonkeyPatch, level: Level, format: str
) -> None:
    """But for rounding, and, in a part of a target, for another dithering. Software adapters have only fragments."""
    more = {"bloom": 0.5, "vignette": 1.0, "edges": float(level is HIGH)}  # else middles are on borders of pixels
    layers = [ball(layer, z=0.5, brightness=3.0), square(layer, (200, 17, 99)), layer("image", FILLING, pixels=GRAYS)]
    usage, images = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC, []
    for kinds in (("software",), ()):
        monkeypatch.setattr(post_process, "BY_FRAGMENTS", kinds)
        renderer = Renderer(gpu, format)
        for corner, view in (((0, 0), {}), ((7, 5), more)):
            texture = gpu.device.create_texture(size=(192, 128, 1), format=format, usage=usage)  # type: ignore[arg-type]
            renderer.draw(layers, FACING, View(**view), texture.create_view(), SIZE, corner=corner, level=level)
            images.append(read(gpu, texture)[..., :3].astype(int))
    for n, most in enumerate((1, 2)):
        assert images[n][5:99, 7:161].std() > 20.0
        assert np.abs(images[n] - images[n + 2]).max() <= most


def test_a_colormap_is_read_at_its_own_entries(layer: Make, render: Draw) -> None:
    """It has a coast, where neighboring entries differ so much that half a step shows."""
    values = (BYTES / 255.0).astype(np.float32)
    image = layer("image", {**FILLING, "range": (0.0, 1.0), "colormap": "topo"}, pixels=values)
    shown = render([image], FACING, View(), (16, 16)).reshape(256, 3).astype(int)
    assert np.abs(shown - colormap_colors("topo")[:, :3].astype(int)).max() <= 1


@pytest.mark.parametrize("level", [LOW, HIGH, HIGH.supersampled(2)])
def test_at_every_level_of_quality(layer: Make, render: Draw, level: Level) -> None:
    for color in ((255, 255, 255), (34, 34, 34), (200, 17, 99)):
        assert np.array_equal(render([square(layer, color)], FACING, View(), level=level)[60, 80], color)


def patches(layer: Make) -> dict[str, tuple[Layer, float]]:
    """Layers of all types that are display-referred, each with x of a patch of the scalar 0.5, at y = 0."""
    names = ("image", "discs", "pixels", "sprites", "lines", "streamlines", "slices", "splats", "tensor")
    at = {name: 0.25 * (n - 6) for n, name in enumerate(names)}
    field, pair = np.full((2, 2, 2), 0.5, np.float32), np.full(2, 0.5, np.float32)
    along = np.zeros((2, 2, 2, 3), np.float32) + np.float32([0, 1, 0])

    def box(name: str) -> dict[str, Any]:
        return {"low": (at[name] - 0.1, -0.1, -0.1), "high": (at[name] + 0.1, 0.1, 0.1)}

    def points(name: str, count: int) -> np.ndarray:
        return np.tile(np.float32([at[name], 0, 0]), (count, 1))

    ends = points("lines", 2) + np.float32([[0, -0.1, 0], [0, 0.1, 0]])
    style = {**box("streamlines"), "length": 0.1, "vertices": 8, "width": 12.0, "taper": 0.0, "tube": False}
    grid = np.mgrid[-3:4, -3:4].reshape(2, -1).T * FACING.pixel(300)
    pixels = points("pixels", 49) + np.pad(grid, ((0, 0), (0, 1))).astype(np.float32)
    layers = {
        "image": layer("image", {"width": 0.2, "center": (at["image"], 0, 0)}, pixels=np.full((4, 4), 0.5, np.float32)),
        "discs": layer("marks", position=points("discs", 2), color=pair, size=0.1),
        "pixels": layer("marks", {"shape": "pixel"}, position=pixels, color=np.full(49, 0.5, np.float32)),
        "sprites": layer(
            "marks", {"shape": "sprite", "hardness": 1.0}, position=points("sprites", 2), color=pair, size=0.1
        ),
        "lines": layer("lines", position=ends, color=pair, width=12.0),
        "streamlines": layer("streamlines", style, vectors=along, seeds=points("streamlines", 1), color=field),
        "slices": layer("slices", {**box("slices"), "across": "z"}, values=field),
        "splats": layer("splats", position=points("splats", 8), color=np.full(8, 0.5, np.float32), scale=0.05),
        "tensor": layer(
            "tensor",
            {"center": (at["tensor"], 0, 0), "size": 0.2, "normalize": False},
            tensor=np.full((4, 4), 0.5, np.float32),
        ),
    }
    return {name: (one, at[name]) for name, one in layers.items()}


@pytest.mark.turns(4)
@pytest.mark.parametrize("tone_map", TONE_MAPS)
def test_a_color_bar_and_its_layer_have_the_same_colors(layer: Make, render: Draw, tone_map: str) -> None:
    size = (400, 300)
    shown = patches(layer)
    layers = [one for one, _ in shown.values()]
    assert all(one.drawing.display_referred for one in layers), [one.name for one in layers]
    view = View(tone_map=tone_map)
    shown["image"][0].colorbar = ColorBar(title="")
    x, top, width, height = (round(n) for n in bar_layouts(size, [""], font(em_size(view, size)))[0][:4])
    fractions = 1.0 - (np.arange(height) + 0.5) / height
    for colormap in COLORMAPS:
        table = colormap_colors(colormap)[:, :3].astype(float)
        rows = np.stack([np.interp(fractions * 255, np.arange(256), table[:, c]) for c in range(3)], axis=-1)
        for row in (height // 3, height - 1):
            for one in layers:
                one.style.change("colormap", colormap)
                one.style.change("range", (0.5 - fractions[row], 1.5 - fractions[row]))
            image = render(layers, FACING, view, size).astype(int)
            bar = image[top : top + height, x + width // 2]
            assert np.abs(bar - rows).max() <= 1.0, colormap
            for name, (_, at) in shown.items():
                color = image[size[1] // 2, round(size[0] / 2 + at / FACING.pixel(size[1]) - 0.5)]
                assert np.abs(color - bar[row]).max() <= 1, (name, colormap, color, bar[row])


def test_nearer_layers_hide_farther_ones(layer: Make, render: Draw) -> None:
    alone = render([ball(layer)], FACING, View(**PLAIN)).astype(int)[60, 80]
    for order in (1, -1):
        near = [square(layer, (10, 200, 30), -1.0), ball(layer)][::order]
        far = [square(layer, (10, 200, 30), 1.0), ball(layer)][::order]
        assert np.abs(render(near, FACING, View(**PLAIN))[60, 80] - alone).max() <= 1
        assert np.array_equal(render(far, FACING, View(**PLAIN))[60, 80], (10, 200, 30))


def test_bloom_of_a_bright_light_does_not_affect_them(layer: Make, render: Draw) -> None:
    sun = ball(layer, "#ffffff", 1.0, emissive=1.0, brightness=100.0)
    plate = square(layer, (40, 80, 120), width=0.8)
    shown, dark = (render(ones, FACING, View(bloom=0.5)).astype(int) for ones in ([plate, sun], [plate]))
    assert np.array_equal(shown[60, 65], (40, 80, 120))
    assert (shown[60, 61] > dark[60, 61] + 10).all()  # it is visible next to the plate


def test_lit_objects_are_unchanged_next_to_them(layer: Make, render: Draw) -> None:
    view = View(bloom=0.2, vignette=0.5, background=(0.25, 0.3, 0.4))
    aside = square(layer, (255, 255, 255), 0.0, width=0.2)
    aside.style.change("center", (1.5, 1.2, 0.0))
    glass = ball(layer, (0.3, 0.5, 0.8, 0.4), 0.8)
    with_it, without = (render([*ones, ball(layer), glass], FACING, view).astype(int) for ones in ((aside,), ()))
    part = np.s_[50:, :110]
    assert np.abs(with_it[part] - without[part]).max() <= 1


def test_a_transparent_one_blends_in_display_space(layer: Make, render: Draw) -> None:
    """Over a background, over a bright light and over another image."""
    over = square(layer, (200, 100, 50, 102), 1.0)
    sun = ball(layer, "#ffffff", 0.0, emissive=1.0, brightness=40.0)
    under = square(layer, (20, 40, 250), 0.0)
    for below, view in (([], View(**{**PLAIN, "background": "#336699"})), ([sun], View(**PLAIN)), ([under], View())):
        expected = displayed(
            np.array([200, 100, 50]) / 255, 0.4, render(below, FACING, view).astype(float)[60, 80] / 255
        )
        shown = render([*below, over], FACING, view)
        assert np.abs(shown[60, 80] - expected).max() <= 1.5
        if not below:
            assert np.ptp(shown[50:70, 70:90], axis=1).max() == 0, "plain colors are not dithered"


def test_transparent_layers_attenuate_what_is_behind_them(layer: Make, render: Draw) -> None:
    wall = square(layer, (255, 255, 255))
    black = ball(layer, (0.0, 0.0, 0.0, 0.5), 1.0, roughness=1.0)
    shown = render([wall, black], FACING, View(**PLAIN, sun=0.0, sky=0.0)).astype(int)
    assert np.abs(shown[60, 80] - 127.5).max() < 2 and np.array_equal(shown[60, 50], (255, 255, 255))


def test_additive_light_is_visible_in_front_of_an_image(layer: Make, render: Draw) -> None:
    wall = square(layer, (60, 60, 60))
    style = {"shape": "sprite", "pixels": True, "glow": 1.0, "tone_map": "view", "hardness": 1.0}
    glow = layer("marks", style, position=np.array([[0, 0, 1]], np.float32), color="#ff0000", size=20.0)
    shown = render([wall, glow], FACING, View(**PLAIN))
    red = shown[60, 80].astype(int)
    assert red[0] > 150 and abs(red[1] - 60) <= 30
    assert np.array_equal(shown[60, 50], (60, 60, 60))


@pytest.mark.parametrize("kind", ["marks", "lines"])
def test_tone_mapped_colors_are_light(layer: Make, render: Draw, kind: str) -> None:
    attributes: dict[str, Any] = {"position": ENDS, "color": "#ffffff"}
    if kind == "lines":
        one = layer(kind, {"tone_map": "view"}, **attributes, width=20.0)
    else:
        one = layer(kind, {"tone_map": "view", "pixels": True}, **attributes, size=90.0)
    assert np.abs(render([one], FACING, View(**PLAIN))[60, 80] - tone_mapped(np.ones(3))).max() < 2
    one.style.change("tone_map", "none")
    assert np.array_equal(render([one], FACING, View(**PLAIN))[60, 80], (255, 255, 255))


def test_without_a_background_colors_and_alpha_are_unchanged(gpu: Gpu, layer: Make) -> None:
    size = (32, 24)
    texture = gpu.device.create_texture(
        size=(*size, 1),
        format="rgba8unorm",
        usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC,
    )
    renderer = Renderer(gpu, "rgba8unorm", transparent=True)
    for color in ((200, 100, 50, 255), (200, 100, 50, 102)):
        image = square(layer, color, width=2.0)
        renderer.draw([image], FACING, View(), texture.create_view(), size)
        shown = read(gpu, texture)
        assert np.abs(shown[12, 16].astype(int) - color).max() <= 1
        assert not shown[0, 0].any()


def test_which_layers_are_display_referred(layer: Make) -> None:
    flat = np.float32([[[x, y, 0] for x in (-1, 1)] for y in (-1, 1)])
    lit = [ball(layer), layer("surface", position=flat), layer("instances", position=flat.reshape(-1, 3))]
    lit.append(layer("lines", {"tube": True}, position=ENDS, width=0.1))
    assert [one.drawing.display_referred for one in lit] == [False] * 4
    shown = [
        square(layer, (9, 9, 9)),
        layer("lines", position=ENDS, width=2.0),
        layer("marks", position=ENDS, size=0.1),
    ]
    assert [one.drawing.display_referred for one in shown] == [True] * 3


@pytest.mark.parametrize("exposure", [1.0, 2.5])
@pytest.mark.parametrize("tone_map", ["film", "agx", "neutral"])
def test_a_tone_map_of_the_layer_is_that_of_the_view(layer: Make, render: Draw, tone_map: str, exposure: float) -> None:
    """Colors of all layers are those of light through the tone map of the view; splats have only their own."""
    shown = patches(layer)
    del shown["tensor"]  # has none of its own
    layers = [one for one, _ in shown.values()]
    for one in layers:
        one.style.change("colormap", "turbo")
    for fraction in (0.1, 0.6, 0.9):
        images = {}
        for own, view in ((tone_map, "none"), ("view", tone_map)):
            for one in layers:
                one.style.change("range", (0.5 - fraction, 1.5 - fraction))
                one.style.change("brightness", 1.5)
                one.style.change("tone_map", tone_map if own == "view" and one.name == "splats" else own)
            with_exposure = View(**PLAIN, tone_map=view, exposure=exposure)
            images[own] = render(layers, FACING, with_exposure, (400, 300)).astype(int)[150]
        at = {name: round(200 + x / FACING.pixel(300) - 0.5) for name, (_, x) in shown.items()}
        expected = images["view"][at["discs"]]
        for name, column in at.items():
            assert np.abs(images[tone_map][column] - expected).max() <= 1, name
            assert np.abs(images["view"][column] - expected).max() <= 1, name


def test_without_a_tone_map_what_blends_may_be_brighter_than_white(layer: Make, render: Draw) -> None:
    bright = square(layer, (128, 128, 128), opacity=0.5, brightness=10.0)
    expected = 0.5 * (1.055 * (10.0 * ((128 / 255 + 0.055) / 1.055) ** 2.4) ** (1 / 2.4) - 0.055)
    assert np.abs(render([bright], FACING, View(**PLAIN))[60, 80] - 255 * expected).max() <= 1.0
