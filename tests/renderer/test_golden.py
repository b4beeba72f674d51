"""Images of layers and themes against those in `golden/`, on the software adapter only: others may round
differently.

On failure the image, the expected one and their difference, eight times as strong, are written to out/golden/. If the
change is intended, check the new image; `make golden` renews those that differ, and lists them. Git has the old ones.
"""

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.moment import Moment
from vertigrad.renderer.themes import THEMES
from vertigrad.renderer.view import themed_view
from vertigrad.tensor import Tensor

from .golden_images import SIZE, check, software_only

__all__ = ["software_only"]
pytestmark = pytest.mark.usefixtures("software_only")


def spiral(n, seed):
    """Stars of a disc with two arms, and their brightness."""
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


def test_glowing_points(layer, render):
    position, brightness = spiral(3000, 4)
    style = {"emissive": 1.0, "brightness": 8.0, "colormap": "inferno", "range": (0.2, 2.4)}
    stars = layer("points", style, position=position, color=brightness, size=0.009)
    camera = OrbitCamera.from_position((0.6, 1.7, 2.4), (0, 0, 0), fov=45)
    check(render([stars], camera, View(background="#05060a", bloom=0.1), SIZE), "points-glowing")


def test_lit_points(layer, render):
    position, brightness = spiral(400, 9)
    near = position[np.linalg.norm(position, axis=-1) < 1.6]
    color = brightness[: len(near)]
    size = np.linspace(0.03, 0.12, len(near), dtype=np.float32)
    balls = layer("points", {"colormap": "viridis", "roughness": 0.3}, position=near, color=color, size=size)
    camera = OrbitCamera.from_position((0.5, 1.4, 2.2), (0, 0, 0), fov=45)
    check(render([balls], camera, View(background="#20242c"), SIZE), "points-lit")


def test_surface(layer, render):
    position, normal, height = hills(96)
    style = {"colormap": "batlow", "range": (-0.45, 0.45), "contours": 0.1}
    land = layer("surface", style, position=position, normal=normal, color=height)
    camera = OrbitCamera.from_position((2.2, 2.1, 3.4), (0, -0.1, 0), fov=40)
    check(render([land], camera, View(background="#c8d2de"), SIZE), "surface")


def test_surface_of_metal_without_normals(layer, render):
    position, _, _ = hills(24)
    land = layer("surface", {"metallic": 1.0, "roughness": 0.35}, position=position, color="#d9a441")
    camera = OrbitCamera.from_position((2.2, 1.6, 3.4), (0, -0.1, 0), fov=40)
    check(render([land], camera, View(), SIZE), "surface-metal")


def lumps(n):
    """Some blobs in a box: their density at each sample of a grid."""
    rng = np.random.default_rng(11)
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, n)], indexing="ij")
    found = np.zeros_like(x)
    for _ in range(14):
        a, b, c = rng.normal(0, 0.33, 3)
        found += np.exp(-((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) / (2 * rng.uniform(0.1, 0.22) ** 2))
    return found.astype(np.float32)


def test_isosurface(layer, render):
    values = lumps(40)
    style = {"level": 0.7, "colormap": "lapaz", "roughness": 0.25, "contours": 0.25}
    blobs = layer("isosurface", style, values=values, color=np.roll(values, 7, axis=1))
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, -0.08, 0), fov=39)
    check(render([blobs], camera, View(background="#20242c"), SIZE), "isosurface")


def test_volume_of_smoke_around_balls(layer, render):
    smoke = layer("volume", {"extinction": 25.0, "density_range": (0.3, 1.4)}, density=lumps(32))
    point = np.float32([[0.45, 0.2, 0.55], [-0.5, 0.35, -0.2], [-0.2, -0.5, 0.5]])
    balls = layer("points", position=point, size=0.22, color="#c8643c")
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, -0.08, 0), fov=39)
    check(render([smoke, balls], camera, View(background="#5a7aa5"), SIZE), "volume")


def test_emissive_volume(layer, render):
    density = lumps(32)
    style = {"extinction": 10.0, "emissive": 1.0, "brightness": 4.0, "density_range": (0.2, 1.6), "colormap": "inferno"}
    fire = layer("volume", style, density=density, color=density)
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, -0.08, 0), fov=39)
    check(render([fire], camera, View(background="#05060a", bloom=0.1), SIZE), "volume-shining")


def test_instances(layer, render):
    rng = np.random.default_rng(5)
    position, turn = rng.normal(0, 0.55, (60, 3)), rng.normal(size=(60, 4))
    arrays = {"position": position.astype(np.float32), "direction": turn.astype(np.float32)}
    shade = rng.uniform(0, 1, 60).astype(np.float32)
    bricks = layer("instances", {"roughness": 0.35}, color=shade, size=(0.13, 0.05, 0.08), **arrays)
    camera = OrbitCamera.from_position((1.5, 1.3, 2.6), (0, 0, 0), fov=52)
    check(render([bricks], camera, View(background="#20242c"), SIZE), "instances")


def test_arrows(layer, render):
    x, z = (axis.ravel() for axis in np.meshgrid(np.linspace(-1.2, 1.2, 13), np.linspace(-1, 1, 11)))
    position = np.stack([x, 0.25 * np.sin(2 * x) * np.cos(2 * z), z], axis=-1).astype(np.float32)
    vector = np.stack([-z, 0.4 * np.sin(3 * x), x], axis=-1).astype(np.float32)
    style = {"scale": 0.2, "anchor": "middle", "colormap": "viridis"}
    field = layer("arrows", style, position=position, direction=vector, color=np.linalg.norm(vector, axis=1))
    camera = OrbitCamera.from_position((1.0, 1.9, 2.4), (0, 0, 0), fov=38)
    check(render([field], camera, View(background="#20242c"), SIZE), "arrows")


def test_lines(layer, render):
    t = np.linspace(0, 2 * np.pi, 200)
    curves = [
        np.stack([np.sin(2 * t + k), 0.5 * np.sin(3 * t), np.cos(2 * t + k) * (1 - 0.06 * k)], -1) for k in range(9)
    ]
    position = np.stack(curves).astype(np.float32)
    color, width = np.tile(t.astype(np.float32), (9, 1)), np.linspace(1, 5, 1800, dtype=np.float32)
    curves = layer("lines", {"colormap": "twilight"}, position=position, color=color, width=width.reshape(9, 200))
    camera = OrbitCamera.from_position((1.0, 1.5, 2.6), (0, 0, 0), fov=40)
    check(render([curves], camera, View(background="#14171d"), SIZE), "lines")


def test_trails(layer, render):
    angle, radius = np.random.default_rng(8).uniform((0, 0.3), (6.28, 1.2), (120, 2)).T
    with Tensor.zeros((120, 3), name="stars") as stars:
        style = {"length": 40, "brightness": 2.0, "tone_map": "view", "colormap": "plasma"}
        trails = layer("trails", style, position=stars, color=radius.astype(np.float32), width=2.5)
        for step in range(45):
            turned = angle + 0.02 * step / radius**1.5
            point = [radius * np.cos(turned), 0.15 * np.sin(3 * turned), radius * np.sin(turned)]
            with Tensor.from_numpy(np.stack(point, axis=-1).astype(np.float32)) as now:
                stars[...] = now
            trails.prepare(Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), 0.02 * step - 1.0))  # the image's time is 0
        camera = OrbitCamera.from_position((0.6, 1.4, 2.4), (0, 0, 0), fov=45)
        check(render([trails], camera, View(background="#05060a", bloom=0.1), SIZE), "trails")


def test_marks(layer, render):
    """Discs and soft sprites in world units, and single pixels behind them."""
    position, brightness = spiral(1500, 4)
    stars = layer("marks", {"shape": "pixel", "colormap": "ice"}, position=position[400:], color=brightness[400:])
    style = {"shape": "sprite", "glow": 0.8, "brightness": 0.5, "colormap": "inferno", "range": (0.2, 2.6)}
    clouds = layer("marks", style, position=position[:300], color=brightness[:300], size=0.07)
    chosen = position[300:400][brightness[300:400] < 1.3]
    discs = layer("marks", {"colormap": "viridis"}, position=chosen, color=chosen[:, 0].copy(), size=0.035)
    camera = OrbitCamera.from_position((0.5, 1.4, 2.0), (0, 0, 0), fov=45)
    check(render([stars, clouds, discs], camera, View(background="#0b0e14", bloom=0.05), SIZE), "marks")


def shell(n):
    """Splats on a sphere, flat along its normals, and their quaternions."""
    height, angle = 1 - 2 * (np.arange(n) + 0.5) / n, 2.399963 * np.arange(n)
    ring = np.sqrt(1 - height**2)
    normal = np.stack([ring * np.cos(angle), height, ring * np.sin(angle)], axis=-1)
    turn = np.stack([-normal[:, 1], normal[:, 0], 0 * angle, 1 + normal[:, 2]], axis=-1)  # from z to the normal
    return normal.astype(np.float32), (turn / np.linalg.norm(turn, axis=1, keepdims=True)).astype(np.float32)


def test_splats_and_a_ball_among_them(layer, render):
    normal, turn = shell(900)
    lit = np.clip(normal @ np.float32([0.4, 0.7, 0.6]), 0, 1)[:, None]
    bands = np.where(np.sin(9 * normal[:, 1:2]) > 0, np.float32([[0.95, 0.62, 0.25]]), np.float32([[0.2, 0.5, 0.75]]))
    scale = np.tile(np.float32([0.06, 0.06, 0.01]), (900, 1))
    arrays = {
        "rotation": turn,
        "scale": scale,
        "opacity": np.full(900, 0.95, np.float32),
        "color": (bands * (0.35 + 0.65 * lit)).astype(np.float32),
    }
    away = normal[:, 0] + normal[:, 2] < 0.85  # a hole to look in
    splats = layer("splats", position=normal[away], **{name: value[away] for name, value in arrays.items()})
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=0.45, color="#d8d4cc")
    camera = OrbitCamera.from_position((1.9, 1.3, 2.4), (0, 0, 0), fov=40)
    check(render([splats, ball], camera, View(background="#14171d"), SIZE), "splats")


def test_images_in_the_world_and_on_the_screen(layer, render):
    y, x = np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-4, 4, 80), indexing="ij")
    waves = (np.sin(3 * np.hypot(x - 1, y)) + np.sin(3 * np.hypot(x + 1, y))).astype(np.float32)
    pond = layer("image", {"plane": "xz", "width": 2.6, "colormap": "lapaz", "range": (-2, 2)}, pixels=waves)
    checks = (np.indices((6, 8)).sum(axis=0) % 2).astype(np.float32)
    tiles = np.stack([0.85 - 0.5 * checks, 0.55 + 0.2 * checks, 0.3 + 0.5 * checks], axis=-1).astype(np.float32)
    style = {"placement": "front", "anchor": "upper right", "screen_fraction": 0.3, "smooth": False}
    inset = layer("image", style, pixels=tiles)
    glass = layer("image", {"width": 0.9, "center": (-0.3, 0.36, 0.2), "opacity": 0.55}, pixels=tiles)
    ball = layer("points", position=np.float32([[0.55, 0.25, 0.1]]), size=0.25, color="#c8643c")
    camera = OrbitCamera.from_position((0.7, 1.5, 2.5), (0, 0.05, 0), fov=42)
    check(render([pond, inset, glass, ball], camera, View(background="#20242c"), SIZE), "image")


def whirl(n):
    """A flow that rotates around the vertical axis and rises in its center, (n, n, n, 3)."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, n)], indexing="ij")
    near = np.exp(-2 * (x**2 + z**2))
    return np.stack([-z - 0.35 * x * y, 1.3 * near - 0.35, x - 0.35 * z * y], axis=-1).astype(np.float32)


def test_streamlines_that_end_in_fine_tips(layer, render):
    style = {"count": 70, "length": 1.8, "width": 0.035, "taper": 0.5, "colormap": "viridis", "vertices": 64}
    lines = layer("streamlines", style, vectors=whirl(16))
    camera = OrbitCamera.from_position((1.5, 1.5, 2.9), (0, -0.05, 0), fov=42)
    check(render([lines], camera, themed_view("studio"), SIZE), "streamlines")


def test_strokes_along_streamlines(layer, render):
    style = {"count": 160, "length": 1.6, "width": 0.02, "dashes": 1.0, "dash_spacing": 0.7, "colormap": "plasma"}
    lines = layer("streamlines", {**style, "tube": True}, vectors=whirl(16))
    camera = OrbitCamera.from_position((1.5, 1.5, 2.9), (0, -0.05, 0), fov=42)
    check(render([lines], camera, View(background="#14171d"), SIZE), "streamlines-strokes")


def test_vectors(layer, render):
    field = layer("vectors", {"count": 5, "scale": 0.26, "thickness": 0.12, "colormap": "viridis"}, vectors=whirl(16))
    camera = OrbitCamera.from_position((1.6, 1.5, 2.9), (0, 0, 0), fov=42)
    check(render([field], camera, themed_view("studio"), SIZE), "vectors")


def test_tubes_cast_shadows(layer, render):
    t = np.linspace(0, 2 * np.pi, 160)
    knot = [
        (0.62 + 0.25 * np.cos(3 * t)) * np.cos(2 * t),
        0.25 * np.sin(3 * t),
        (0.62 + 0.25 * np.cos(3 * t)) * np.sin(2 * t),
    ]
    position = np.stack(knot, axis=-1).astype(np.float32)
    tube = layer(
        "lines", {"tube": True, "colormap": "twilight"}, position=position, color=t.astype(np.float32), width=0.13
    )
    ground = np.float32([[[-4, -0.45, -4], [4, -0.45, -4]], [[-4, -0.45, 4], [4, -0.45, 4]]])
    table = layer("surface", {"roughness": 0.8}, position=ground, color="#cfc8bb")
    camera = OrbitCamera.from_position((0.9, 1.7, 2.1), (0, -0.1, 0), fov=42)
    view = View(background="#c8d2de", shadows=0.9, occlusion=0.7, sun_elevation=48.0, sun_azimuth=70.0)
    check(render([tube, table], camera, view, SIZE), "tubes")


@pytest.mark.parametrize("theme", THEMES)
def test_themes(layer, render, theme):
    """Solid, transparent and emissive objects, with shadows."""
    position, _, height = hills(48)
    land = layer("surface", {"colormap": "batlow"}, position=position * np.float32([0.7, 0.5, 0.7]), color=height)
    point = np.float32([[0.5, 0.75, 0.2], [-0.7, 0.7, 0.5], [0.0, 0.55, 1.0], [-0.1, 0.9, -0.6]])
    balls = layer("points", {"roughness": 0.3}, position=point, size=0.28, color="#c8643c")
    glass = layer("points", position=point[[1, 2]] + np.float32([0.45, 0, 0.1]), size=0.25, color=(0.3, 0.5, 0.8, 0.4))
    camera = OrbitCamera.from_position((1.7, 1.9, 3.4), (0, 0.2, 0), fov=34)
    check(render([land, balls, glass], camera, themed_view(theme), SIZE), f"theme-{theme}")
