"""Pictures against those kept in `golden/`, on the software adapter only: others may round in their own way.

On failure the picture, the one kept and their difference, eight times as strong, are written to out/golden/. If the
change is meant, look at the new picture; `make golden` keeps those that differ, and tells which. Git has the old ones.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.looks import LOOKS
from vertigrad.renderer.moment import Moment
from vertigrad.renderer.view import view_of
from vertigrad.tensor import Tensor

KEPT = Path(__file__).parent / "golden"
FAILED = Path(__file__).parents[2] / "out" / "golden"
SIZE = (256, 192)
MEAN, WORST = 0.35, 24  # levels of 255: on the whole, and in any one pixel of an outline


def check(shown, name):
    file, renewing = KEPT / f"{name}.png", "VERTIGRAD_KEEP_GOLDEN" in os.environ
    if renewing and not file.exists():
        Image.fromarray(shown).save(file)
    kept = np.asarray(Image.open(file).convert("RGB")).astype(int)
    difference = np.abs(shown.astype(int) - kept)
    if difference.mean() > MEAN or np.quantile(difference.max(axis=-1), 0.999) > WORST:
        FAILED.mkdir(parents=True, exist_ok=True)
        strong = np.clip(8 * difference, 0, 255).astype(np.uint8)
        side_by_side = np.concatenate([shown, kept.astype(np.uint8), strong], axis=1)
        Image.fromarray(shown).save(FAILED / f"{name}.png")
        Image.fromarray(side_by_side).save(FAILED / f"{name}-difference.png")
        if renewing:
            Image.fromarray(shown).save(file)
        pytest.fail(f"{name}: off by {difference.mean():.2f} levels on average, see {FAILED / name}-difference.png")


@pytest.fixture(autouse=True)
def software_only(gpu):
    if gpu.adapter.kind != "software" or gpu.adapter.backend != "Vulkan":
        pytest.skip(f"pictures are kept of the software adapter on Vulkan; this is {gpu.adapter}")


def spiral(n, seed):
    """Stars of a disc with two arms, and how bright each is."""
    rng = np.random.default_rng(seed)
    radius = rng.exponential(0.45, n) + 0.02
    angle = rng.choice([0, np.pi], n) + 2.4 * np.log(radius + 0.15) + rng.normal(0, 0.35, n)
    height = rng.normal(0, 0.03, n)
    position = np.stack([radius * np.cos(angle), height, radius * np.sin(angle)], axis=-1)
    return position.astype(np.float32), (1 / np.sqrt(radius + 0.1)).astype(np.float32)


def hills(n):
    x, z = np.meshgrid(np.linspace(-2, 2, n), np.linspace(-2, 2, n))
    waves = ((1.3, 0.4, 0.3), (-2.1, 1.7, 0.14), (3.9, 3.1, 0.06), (-5.2, 7.7, 0.03))
    height = sum(a * np.sin(u * x + v * z + 3 * a) for u, v, a in waves)
    along = sum(a * u * np.cos(u * x + v * z + 3 * a) for u, v, a in waves)
    across = sum(a * v * np.cos(u * x + v * z + 3 * a) for u, v, a in waves)
    normal = np.stack([-along, np.ones_like(x), -across], axis=-1)
    return (a.astype(np.float32) for a in (np.stack([x, height, z], axis=-1), normal, height))


def test_glowing_points(layer, picture):
    position, brightness = spiral(3000, 4)
    style = {"emissive": 1.0, "brightness": 8.0, "colormap": "inferno", "range": (0.2, 2.4)}
    stars = layer("points", style, position=position, color=brightness, size=0.009)
    camera = OrbitCamera.from_position((0.6, 1.7, 2.4), (0, 0, 0), fov=45)
    check(picture([stars], camera, View(background="#05060a", bloom=0.1), SIZE), "points-glowing")


def test_lit_points(layer, picture):
    position, brightness = spiral(400, 9)
    near = position[np.linalg.norm(position, axis=-1) < 1.6]
    color = brightness[: len(near)]
    size = np.linspace(0.03, 0.12, len(near), dtype=np.float32)
    balls = layer("points", {"colormap": "viridis", "roughness": 0.3}, position=near, color=color, size=size)
    camera = OrbitCamera.from_position((0.5, 1.4, 2.2), (0, 0, 0), fov=45)
    check(picture([balls], camera, View(background="#20242c"), SIZE), "points-lit")


def test_surface(layer, picture):
    position, normal, height = hills(96)
    style = {"colormap": "batlow", "range": (-0.45, 0.45), "contours": 0.1}
    land = layer("surface", style, position=position, normal=normal, color=height)
    camera = OrbitCamera.from_position((2.2, 2.1, 3.4), (0, -0.1, 0), fov=40)
    check(picture([land], camera, View(background="#c8d2de"), SIZE), "surface")


def test_surface_of_metal_without_normals(layer, picture):
    position, _, _ = hills(24)
    land = layer("surface", {"metallic": 1.0, "roughness": 0.35}, position=position, color="#d9a441")
    camera = OrbitCamera.from_position((2.2, 1.6, 3.4), (0, -0.1, 0), fov=40)
    check(picture([land], camera, View(), SIZE), "surface-metal")


def lumps(n):
    """Some blobs in a box: how much of them there is at each sample of a grid."""
    rng = np.random.default_rng(11)
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, n)], indexing="ij")
    found = np.zeros_like(x)
    for _ in range(14):
        a, b, c = rng.normal(0, 0.33, 3)
        found += np.exp(-((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) / (2 * rng.uniform(0.1, 0.22) ** 2))
    return found.astype(np.float32)


def test_isosurface(layer, picture):
    values = lumps(40)
    style = {"level": 0.7, "colormap": "lapaz", "roughness": 0.25, "contours": 0.25}
    blobs = layer("isosurface", style, values=values, color=np.roll(values, 7, axis=1))
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, 0, 0), fov=28)
    check(picture([blobs], camera, View(background="#20242c"), SIZE), "isosurface")


def test_volume_of_smoke_around_balls(layer, picture):
    smoke = layer("volume", {"extinction": 25.0, "density_range": (0.3, 1.4)}, density=lumps(32))
    place = np.float32([[0.45, 0.2, 0.55], [-0.5, 0.35, -0.2], [-0.2, -0.5, 0.5]])
    balls = layer("points", position=place, size=0.22, color="#c8643c")
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, 0, 0), fov=28)
    check(picture([smoke, balls], camera, View(background="#5a7aa5"), SIZE), "volume")


def test_volume_that_shines(layer, picture):
    density = lumps(32)
    style = {"extinction": 10.0, "emissive": 1.0, "brightness": 4.0, "density_range": (0.2, 1.6), "colormap": "inferno"}
    fire = layer("volume", style, density=density, color=density)
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, 0, 0), fov=28)
    check(picture([fire], camera, View(background="#05060a", bloom=0.1), SIZE), "volume-shining")


def test_instances(layer, picture):
    rng = np.random.default_rng(5)
    position, turn = rng.normal(0, 0.55, (60, 3)), rng.normal(size=(60, 4))
    given = {"position": position.astype(np.float32), "direction": turn.astype(np.float32)}
    shade = rng.uniform(0, 1, 60).astype(np.float32)
    bricks = layer("instances", {"roughness": 0.35}, color=shade, size=(0.13, 0.05, 0.08), **given)
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, 0, 0), fov=38)
    check(picture([bricks], camera, View(background="#20242c"), SIZE), "instances")


def test_arrows(layer, picture):
    x, z = (axis.ravel() for axis in np.meshgrid(np.linspace(-1.2, 1.2, 13), np.linspace(-1, 1, 11)))
    position = np.stack([x, 0.25 * np.sin(2 * x) * np.cos(2 * z), z], axis=-1).astype(np.float32)
    vector = np.stack([-z, 0.4 * np.sin(3 * x), x], axis=-1).astype(np.float32)
    style = {"scale": 0.2, "anchor": "middle", "colormap": "viridis"}
    field = layer("arrows", style, position=position, direction=vector, color=np.linalg.norm(vector, axis=1))
    camera = OrbitCamera.from_position((1.0, 1.9, 2.4), (0, 0, 0), fov=38)
    check(picture([field], camera, View(background="#20242c"), SIZE), "arrows")


def test_lines(layer, picture):
    t = np.linspace(0, 2 * np.pi, 200)
    curves = [
        np.stack([np.sin(2 * t + k), 0.5 * np.sin(3 * t), np.cos(2 * t + k) * (1 - 0.06 * k)], -1) for k in range(9)
    ]
    position = np.stack(curves).astype(np.float32)
    color, width = np.tile(t.astype(np.float32), (9, 1)), np.linspace(1, 5, 1800, dtype=np.float32)
    curves = layer("lines", {"colormap": "twilight"}, position=position, color=color, width=width.reshape(9, 200))
    camera = OrbitCamera.from_position((1.0, 1.5, 2.6), (0, 0, 0), fov=40)
    check(picture([curves], camera, View(background="#14171d"), SIZE), "lines")


def test_trails(layer, picture):
    angle, radius = np.random.default_rng(8).uniform((0, 0.3), (6.28, 1.2), (120, 2)).T
    with Tensor.zeros((120, 3), name="stars") as stars:
        style = {"length": 40, "brightness": 2.0, "colormap": "plasma"}
        trails = layer("trails", style, position=stars, color=radius.astype(np.float32), width=2.5)
        for step in range(45):
            turned = angle + 0.02 * step / radius**1.5
            place = [radius * np.cos(turned), 0.15 * np.sin(3 * turned), radius * np.sin(turned)]
            with Tensor.from_numpy(np.stack(place, axis=-1).astype(np.float32)) as now:
                stars[...] = now
            trails.prepare(Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), 0.02 * step - 1.0))  # the picture's time is 0
        camera = OrbitCamera.from_position((0.6, 1.4, 2.4), (0, 0, 0), fov=45)
        check(picture([trails], camera, View(background="#05060a", bloom=0.1), SIZE), "trails")


@pytest.mark.parametrize("look", LOOKS)
def test_looks(layer, picture, look):
    """Solid, transparent and shining things, shadows between them."""
    position, _, height = hills(48)
    land = layer("surface", {"colormap": "batlow"}, position=position * np.float32([0.7, 0.5, 0.7]), color=height)
    place = np.float32([[0.5, 0.75, 0.2], [-0.7, 0.7, 0.5], [0.0, 0.55, 1.0], [-0.1, 0.9, -0.6]])
    balls = layer("points", {"roughness": 0.3}, position=place, size=0.28, color="#c8643c")
    glass = layer("points", position=place[[1, 2]] + np.float32([0.45, 0, 0.1]), size=0.25, color=(0.3, 0.5, 0.8, 0.4))
    camera = OrbitCamera.from_position((1.7, 1.9, 3.4), (0, 0.2, 0), fov=34)
    check(picture([land, balls, glass], camera, view_of(look), SIZE), f"look-{look}")
