"""Splats blended in tiles against the same as quads, and images with more pairs than there is memory for."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers import splat_tiles
from vertigrad.renderer.picking import Picker

SIZE = (150, 110)  # not whole tiles
CAMERA = OrbitCamera(distance=3.0, yaw=0.4, pitch=0.3, fov=50.0)
VIEW = {"bloom": 0.0, "vignette": 0.0, "background": "#203040"}
COUNT = 300


def cloud(seed=5, count=COUNT):
    rng = np.random.default_rng(seed)
    arrays = {
        "position": rng.normal(0.0, 0.6, (count, 3)),
        "scale": np.exp(rng.uniform(-4.5, -1.5, (count, 3))),
        "rotation": rng.normal(size=(count, 4)),
        "opacity": rng.uniform(0.05, 1.0, count),
        "color": rng.uniform(0.0, 1.0, (count, 3)),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def tiles_from(monkeypatch, count):
    for adapter in ("MANY", "SOFTWARE_MANY"):
        monkeypatch.setattr(splat_tiles, adapter, count)


CASES = {
    "perspective": (CAMERA, {}, {}, {}),
    "orthographic": (OrbitCamera(distance=3.0, yaw=0.4, pitch=0.3, orthographic=True), {}, {}, {}),
    "clipped": (CAMERA, {"clip_normal": (1.0, 0.3, 0.0), "clip_origin": (0.1, 0.0, 0.0)}, {}, {}),
    "cropped": (CAMERA, {}, {"crop_low": (-0.5, -9.0, -9.0), "min_opacity": 0.3, "antialiased": True}, {}),
    "scalars": (CAMERA, {}, {}, {"color": np.linspace(2.0, 5.0, COUNT, dtype=np.float32)}),
    "constant": (CAMERA, {}, {"brightness": 0.8}, {"color": "#ff8040", "scale": 0.05}),
    "not finite": (CAMERA, {}, {}, {"opacity": np.where(np.arange(COUNT) % 3, 0.7, np.nan).astype(np.float32)}),
}


@pytest.mark.parametrize("case", CASES)
def test_tiles_and_quads_give_the_same_image(layer, render, monkeypatch, case):
    camera, view, style, attributes = CASES[case]
    images = []
    for count in (COUNT + 1, COUNT):
        tiles_from(monkeypatch, count)
        images.append(render([layer("splats", style, **(cloud() | attributes))], camera, View(**VIEW | view), SIZE))
    assert images[0].std() > 10
    difference = np.abs(images[1].astype(int) - images[0])
    assert difference.max() <= 3 and difference.mean() < 0.4


def test_edges_of_a_mesh_in_front_and_behind(layer, render, monkeypatch):
    """Each sample of a pixel is hidden or not: pixels at edges have no seam."""
    ball = {"position": np.float32([[0, 0, 0], [0.7, 0.2, -0.3]]), "size": 0.4, "color": "#ffffff"}
    images = []
    for count in (COUNT + 1, COUNT):
        tiles_from(monkeypatch, count)
        images.append(render([layer("points", **ball), layer("splats", **cloud())], CAMERA, View(**VIEW), SIZE))
    difference = np.abs(images[1].astype(int) - images[0])
    assert difference.max() <= 4 and difference.mean() < 0.4


def test_memory_for_pairs_grows(gpu, layer, render, monkeypatch):
    monkeypatch.setattr(splat_tiles, "PAIRS", 64)
    monkeypatch.setattr(splat_tiles, "PAIRS_A_ROW", 0)
    tiles_from(monkeypatch, COUNT)
    splats = layer("splats", **cloud())
    images, quads = [], []
    for _ in range(3):
        images.append(render([splats], CAMERA, View(**VIEW), SIZE).astype(int))
        gpu.wait_idle()
        quads.append(int(splats.drawing.size.numpy()[1]))
    assert quads[0] > 0 and quads[-1] == 0, "the first image is of quads, the last one of tiles"
    report = splats.drawing.tiles.report()
    assert report["capacity"] >= report["pairs"] > 64
    assert np.abs(images[0] - images[-1]).max() <= 3


def test_a_click_finds_a_splat_in_tiles(gpu, layer, render, monkeypatch):
    tiles_from(monkeypatch, 2)
    splats = layer("splats", position=np.float32([[-0.6, 0, 0], [0.6, 0, 0]]), scale=0.1)
    camera, got = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0), []
    render([splats], camera, View(**VIEW), SIZE)
    for x in (-0.6, 0.6, 0.0):
        cursor = SIZE[0] / 2 + x / 4 / camera.pixel(SIZE[1]), SIZE[1] / 2
        Picker(gpu).pick([splats], camera, SIZE, cursor, got.append)
    gpu.wait_idle()
    assert [visible and visible.row for visible in got] == [0, 1, None]


def test_released_memory(gpu, layer, render, monkeypatch):
    tiles_from(monkeypatch, COUNT)
    render([layer("splats", **cloud())], CAMERA, View(**VIEW), SIZE)
    gpu.wait_idle()
    live = {block.id for block in gpu.tracker.live}
    splats = layer("splats", **cloud())
    render([splats], CAMERA, View(**VIEW), SIZE)
    splats.close()
    gpu.wait_idle()
    alive = [block for block in gpu.tracker.live if block.id not in live]
    assert len(alive) == 5, "the tensors of the attributes, which the fixture closes"
