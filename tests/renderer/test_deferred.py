"""Deferred shading, against the same layers lit by their own fragments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer import deferred as deferred_module
from vertigrad.renderer.bindings import bind_group, hidden_layout
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.layers.drawing import Drawing
from vertigrad.renderer.layers.meshes import IndexedDrawing
from vertigrad.renderer.layers.points import PointsDrawing

from .layers.kinds import CAMERA, PLAIN, drawn, random

SIZE = (160, 120)
VIEW: dict[str, Any] = {**PLAIN, "shadows": 0.8, "occlusion": 0.7, "tone_map": "none"}
FACING = OrbitCamera.from_position((0.0, 0.0, 4.0), (0.0, 0.0, 0.0), fov=40.0)


@contextmanager
def forward() -> Iterator[None]:
    """Every layer is lit by its own fragments."""
    with pytest.MonkeyPatch.context() as patch:
        for drawing in (Drawing, PointsDrawing):
            patch.setattr(drawing, "is_deferred", property(lambda self: False))
        yield


@pytest.fixture
def both(render: Callable[..., np.ndarray]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """The image of layers by deferred and by forward shading, as signed numbers."""

    def draw(layers: list[Layer], camera: OrbitCamera = CAMERA, **view: Any) -> tuple[np.ndarray, np.ndarray]:
        assert all(layer.drawing.is_deferred for layer in layers if layer.casts)
        deferred = render(layers, camera, View(**{**VIEW, **view}), SIZE)
        with forward():
            return deferred.astype(int), render(layers, camera, View(**{**VIEW, **view}), SIZE).astype(int)

    return draw


def assert_alike(deferred: np.ndarray, forward: np.ndarray) -> None:
    """But for rounding, and for pixels on outlines, which are lit at the middle of what is covered."""
    difference = np.abs(deferred - forward).max(axis=-1)
    assert forward.max() > 60
    assert (difference > 2).mean() < 0.008, f"{(difference > 2).mean():.4f} of the pixels, up to {difference.max()}"
    assert (difference > 24).mean() < 0.0015


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("kind", "orthographic"),
    [
        *((kind, False) for kind in ("points", "surface", "instances", "arrows", "birds", "isosurface")),
        ("points", True),
    ],
)
def test_images_are_those_of_forward_shading(layer: Any, both: Any, kind: str, orthographic: bool) -> None:
    style, attributes = drawn(kind)
    style |= {"metallic": 0.5, "roughness": 0.3}
    camera = OrbitCamera.from_position((1.2, 1.5, 3.0), (0, 0, 0), fov=45, orthographic=orthographic)
    assert_alike(*both([layer(kind, style, **attributes)], camera, environment="sky"))


def test_area_lights_are_those_of_forward_shading(layer: Any, both: Any) -> None:
    style, attributes = drawn("surface")
    lamp = layer("light", {"shape": "sphere", "position": (0.0, 2.5, 1.0)})
    assert_alike(*both([layer("surface", style, **attributes), lamp], sun=0.0, sky=0.1))


def test_parallel_planes_of_one_color_are_lit_apart(layer: Any, both: Any) -> None:
    """Their samples store the same, but for the depth: one is in the shadow of the other."""
    square = np.float32([[-1, -1, 0], [1, -1, 0], [-1, 1, 0], [1, 1, 0]])
    behind, before = square * 1.6 - np.float32([0, 0, 0.8]), square * 0.5 + np.float32([0, 0, 0.6])
    index = np.uint32([[0, 1, 2], [2, 1, 3], [4, 5, 6], [6, 5, 7]])
    surface = layer("surface", {}, position=np.concatenate([behind, before]), index=index, color="#bbbbbb")
    assert_alike(*both([surface], FACING, sun_azimuth=20.0, sun_elevation=30.0, sky=0.1, shadows=1.0))


def test_layers_that_are_lit_by_fragments_are_in_front_and_behind(layer: Any, both: Any) -> None:
    """Balls that are deferred, lines that are not, and glowing balls, at depths that take turns."""
    depth = np.linspace(-1, 1, 9, dtype=np.float32)
    ball = np.stack([np.zeros(9), np.zeros(9), depth], axis=-1).astype(np.float32)
    balls = layer("points", {}, position=ball[::2].copy(), size=0.35, color="#c05040")
    across = np.float32([[[-1.5, 0.1 * n, z], [1.5, 0.1 * n, z]] for n, z in enumerate(depth[1::2], -2)])
    lines = layer("lines", {}, position=across, width=5.0, color="#40c080")
    glowing = layer("points", {"emissive": 1.0}, position=ball[1::2] + np.float32([0.4, 0, 0]), size=0.2)
    assert not lines.drawing.is_deferred and not glowing.drawing.is_deferred
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(lines), "casts", False)
        patch.setattr(type(glowing), "casts", False)
        assert_alike(*both([balls, lines, glowing], FACING))


def test_each_visible_surface_of_a_pixel_is_lit_once(layer: Any, render: Any, gpu: Gpu) -> None:
    """A plane that fills the image costs one dispatch, and no layer is drawn into the image itself."""
    square = np.float32([[[-9, -9, 0], [9, -9, 0]], [[-9, 9, 0], [9, 9, 0]]])
    plane, drawn_in = layer("surface", {}, position=square, color="#808080"), []
    plain = Drawing.draw
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Drawing, "draw", lambda self, pass_, frame: (drawn_in.append(frame.drawn), plain(self, pass_, frame))
        )
        image = render([plane], FACING, View(**{**PLAIN, "sky": 1.0}), SIZE)
    assert drawn_in.count("gbuffer") == 1 and "color" not in drawn_in
    assert image.min() > 60 and np.ptp(image[..., 0].astype(int)) < 20


def test_colors_beyond_white_are_not_limited(layer: Any, both: Any) -> None:
    """A base color is not limited to 1, and what is behind adds nothing."""
    near = layer("points", {"roughness": 1.0}, position=np.float32([[0, 0, 0.5]]), size=0.5, color=(2.0, 0.5, 0.1))
    far = layer("points", {}, position=np.float32([[0, 0, -1.0]]), size=0.4, color=(0.0, 1.0, 0.0))
    assert_alike(*both([near, far], FACING, sun=0.4, sky=0.2))


def test_balls_behind_others_are_skipped_and_those_in_gaps_are_not(layer: Any, render: Any) -> None:
    size, color = 0.1 + 0.05 * random(800, seed=5), random(800, 3, low=0.0)
    cloud = layer("points", {}, position=random(800, 3), size=size, color=color)
    skipped = render([cloud], CAMERA, View(**VIEW), SIZE).astype(int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PointsDrawing, "skips_hidden", False)
        assert_alike(skipped, render([cloud], CAMERA, View(**VIEW), SIZE).astype(int))


def stones(layer: Any, count: int = 150) -> Any:
    """Boxes that fill the image several times over, at all angles."""
    turns = random(count, 4, seed=3)
    size = 0.06 + 0.25 * random(count, 3, seed=4, low=0.0)
    color = random(count, 3, seed=6, low=0.0)
    position = random(count, 3, seed=5)
    return layer("instances", {"shape": "cube"}, position=position, direction=turns, size=size, color=color)


def test_triangles_behind_others_are_skipped_and_those_in_gaps_are_not(layer: Any, render: Any) -> None:
    pile = stones(layer)
    skipped = render([pile], CAMERA, View(**VIEW), SIZE).astype(int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexedDrawing, "skips_hidden", False)
        assert_alike(skipped, render([pile], CAMERA, View(**VIEW), SIZE).astype(int))


def test_triangles_that_are_known_to_be_hidden_are_not_drawn(layer: Any, render: Any, gpu: Gpu) -> None:
    """Where something fills the image at the near plane, whatever it was."""
    usage = wgpu.TextureUsage.COPY_DST | wgpu.TextureUsage.TEXTURE_BINDING
    near = gpu.create_texture(size=(1, 1, 1), format="r32float", usage=usage)
    gpu.device.queue.write_texture({"texture": near}, np.float32([1.0]), {"bytes_per_row": 4}, (1, 1, 1))
    group = bind_group(gpu, hidden_layout(gpu), [near.create_view()])
    pile, nothing = stones(layer), render([], CAMERA, View(**VIEW), SIZE)
    assert not np.array_equal(render([pile], CAMERA, View(**VIEW), SIZE), nothing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deferred_module.Hidden, "record", lambda self, depths: group)
        assert np.array_equal(render([pile], CAMERA, View(**VIEW), SIZE), nothing)


def test_what_was_hidden_is_drawn_once_it_is_not(layer: Any, gpu: Gpu) -> None:
    """A ball before another one is moved away, in images that have no ambient occlusion, and so no depths before."""
    front, renderer, images = np.float32([[0, 0, 1.5]]), Renderer(gpu, FORMAT), []
    near, far = (layer("points", {}, position=z, size=0.4) for z in (front, np.float32([[0, 0, -1.0]])))
    for layers, occlusion in (([near, far], 0.7), ([far], 0.0)):
        target = Offscreen(gpu, SIZE)
        with gpu.frames.frame():
            renderer.draw(layers, FACING, View(**{**VIEW, "occlusion": occlusion}), target.view, SIZE)
            target.read(lambda image: images.append(np.array(image)))
        gpu.sync()
    assert images[0][60, 80, 0] > 40 and images[1][60, 80, 0] > 40


def test_of_very_large_images_each_fragment_is_lit(layer: Any, render: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they do not take three times the memory."""
    ball = layer("points", {}, position=random(6, 3), size=0.4)
    with forward():
        expected = render([ball], CAMERA, View(**VIEW), SIZE)
    monkeypatch.setattr(deferred_module, "MOST_PIXELS", SIZE[0] * SIZE[1] - 1)
    assert np.array_equal(render([ball], CAMERA, View(**VIEW), SIZE), expected)


def test_a_renderer_that_draws_another_size_draws_what_a_new_one_does(layer: Any, gpu: Gpu) -> None:
    ball, renderer = layer("points", {}, position=random(6, 3), size=0.4), Renderer(gpu, FORMAT)
    images = []
    for size in ((64, 48), (96, 72), (64, 48)):
        target = Offscreen(gpu, size)
        with gpu.frames.frame():
            renderer.draw([ball], CAMERA, View(**VIEW), target.view, size)
            target.read(lambda image: images.append(np.array(image)))
        gpu.sync()
    assert images[1].shape[:2] == (72, 96)
    assert images[0].max() > 60 and np.array_equal(images[0], images[2])
