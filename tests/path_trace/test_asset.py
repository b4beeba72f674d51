"""Path-traced assets: textures, normals, coats and glass against formulas in float64, each a square of one image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vertigrad.models.data.assets.content import (
    BLEND,
    CLAMP,
    MASK,
    MIRROR,
    REPEAT,
    TRANSMISSIVE,
    Coat,
    Map,
    Material,
    Transmission,
)
from vertigrad.path_trace import gather
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.view import sun_in_world

from ..renderer.light_reference import direct_light, sky_reflectance
from ..renderer.test_asset import POINT, one
from ..renderer.test_energy import reflected
from .test_liquid import CORNERS, FACES, fresnel

WHITE = {"sky_color": (1, 1, 1), "horizon_color": (1, 1, 1), "ground_color": (1, 1, 1), "sun_color": (1, 1, 1)}
FURNACE = View(sun=0.0, sky=0.5, **WHITE)
CELL = 12  # pixels of a square
RNG = np.random.default_rng(7)


def light_of(texels: np.ndarray) -> np.ndarray:
    """sRGB bytes as light."""
    c = texels / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


class Squares:
    """Squares of two units in a row, each with a material, wrapping texture coordinates from `low` to `high`."""

    def __init__(self) -> None:
        self.materials: list[Material] = []
        self.corners: list[np.ndarray] = []
        self.texcoords: list[np.ndarray] = []
        self.tangents: list[list[float]] = []

    def add(self, material: Material, low: float = 0.0, high: float = 1.0, tangent: Any = (0, 0, 0, 0)) -> int:
        number = len(self.materials)
        self.materials.append(material)
        self.corners.append(
            np.float32([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) + np.float32([2 * number, 0, 0])
        )
        self.texcoords.append(np.float32([[low, high], [high, high], [high, low], [low, low]]))
        self.tangents.append([list(tangent)] * 4)
        return number

    def attributes(self, **maps: np.ndarray) -> dict[str, np.ndarray]:
        count = len(self.materials)
        quad = np.uint32([[0, 1, 2], [0, 2, 3]])
        uv = np.concatenate(self.texcoords)
        return {
            "position": np.concatenate(self.corners),
            "normal": np.tile(np.float32([0, 0, 1]), (4 * count, 1)),
            "tangent": np.float32(self.tangents).reshape(-1, 4),
            "texcoord": np.concatenate([uv, uv], axis=1),
            "material": np.repeat(np.arange(count, dtype=np.float32), 4),
            "index": np.concatenate([quad + 4 * number for number in range(count)]),
            "materials": np.float32([material.floats(TRANSMISSIVE) for material in self.materials]),
            **maps,
        }

    def camera(self) -> OrbitCamera:
        count = len(self.materials)
        return OrbitCamera(target=(count - 1.0, 0, 0), distance=4.0, fov=28.0725, orthographic=True)


def cell(image: np.ndarray, number: int) -> np.ndarray:
    return image[:, CELL * number : CELL * (number + 1)]


def interpolated(texels: np.ndarray, uv: np.ndarray, wraps: tuple[int, int]) -> np.ndarray:
    """A bilinear sample of light (rows, columns, 3) at uv (n, 2), v downwards (glTF 2.0, section 3.8.4)."""
    sizes, found = texels.shape[1::-1], 0.0
    at = uv * sizes - 0.5
    low = np.floor(at).astype(int)
    for step in np.ndindex(2, 2):
        cells, weight = low + step, np.prod(np.where(step, at - low, 1 - at + low), axis=1)
        wrapped = [
            {REPEAT: c % n, CLAMP: np.clip(c, 0, n - 1), MIRROR: np.where(c % (2 * n) < n, c % n, n - 1 - c % n)}[wrap]
            for c, n, wrap in zip(cells.T, sizes, wraps, strict=True)
        ]
        found = found + weight[:, None] * texels[wrapped[1], wrapped[0]]
    return np.asarray(found)


def expected_cell(texels: np.ndarray, low: float, high: float, wraps: tuple[int, int]) -> np.ndarray:
    """The mean of a texture over each pixel of a square."""
    fine = (np.arange(CELL * 8) + 0.5) / (CELL * 8)
    u, v = np.meshgrid(low + (high - low) * fine, low + (high - low) * fine)
    values = interpolated(texels, np.stack([u.ravel(), v.ravel()], axis=1), wraps)
    return values.reshape(CELL, 8, CELL, 8, -1).mean(axis=(1, 3))


WRAPS = [(REPEAT, REPEAT), (CLAMP, MIRROR), (MIRROR, CLAMP)]


def matt(**values: Any) -> Material:
    """A material that only scatters: its index of refraction is that of air."""
    return Material(**{"metallic": 0.0, "ior": 1.0, **values})


@pytest.fixture(scope="module")
def colors() -> np.ndarray:
    """Two textures (2, 3, 4, 4), the second with an alpha that varies."""
    maps = RNG.integers(0, 256, (2, 3, 4, 4), np.uint8)
    maps[0, ..., 3] = 255
    return maps


@pytest.fixture
def row(layer, trace):
    """The image of squares."""

    def draw(squares: Squares, view: View = FURNACE, samples: int = 16, style: Any = None, **maps: Any) -> np.ndarray:
        asset = layer("asset", style, **squares.attributes(**maps))
        size = (CELL * len(squares.materials), CELL)
        assert not gather([asset]).left_out
        return trace([asset], squares.camera(), view, size, samples)

    return draw


def test_textures(row, colors):
    """Each texel within 4 sigma of 64 samples of a pixel: of unlit, lit, shining, masked and blended squares."""
    squares, base, light = Squares(), {"base_color": Map(0)}, light_of(colors[..., :3])
    wraps = [squares.add(Material(unlit=True, maps={"base_color": Map(0, wrap=wrap)}), -0.8, 1.7) for wrap in WRAPS]
    turned = squares.add(Material(unlit=True, maps={"base_color": Map(0, transform=((0, 2, 0.3), (-1, 0, 1)))}))
    lit = squares.add(matt(base_color=(0.9, 0.5, 0.7, 1.0), maps=base))
    glow = squares.add(matt(base_color=(0, 0, 0, 1), emissive=(0.5, 1.0, 2.0), maps={"emissive": Map(0)}))
    alpha = {"base_color": Map(1)}
    masked = squares.add(Material(unlit=True, alpha_mode=MASK, alpha_cutoff=0.4, maps=alpha))
    blended = squares.add(Material(unlit=True, alpha_mode=BLEND, maps=alpha))
    image = row(squares, samples=64, color_maps=colors)
    for number, wrap in zip(wraps, WRAPS, strict=True):
        assert np.abs(cell(image, number)[..., :3] - expected_cell(light[0], -0.8, 1.7, wrap)).max() < 0.16
        assert np.abs(cell(image, number)[..., :3] - expected_cell(light[0], -0.8, 1.7, wrap)).mean() < 0.02
    plain = expected_cell(light[0], 0, 1, WRAPS[0])
    assert np.abs(cell(image, lit)[..., :3] - 0.5 * plain * [0.9, 0.5, 0.7]).mean() < 0.01
    assert np.abs(cell(image, glow)[..., :3] - plain * [0.5, 1.0, 2.0]).mean() < 0.02
    fine = np.stack(np.meshgrid(*2 * [(np.arange(96) + 0.5) / 96]), axis=-1).reshape(-1, 2)
    moved = interpolated(light[0], np.stack([2 * fine[:, 1] + 0.3, 1 - fine[:, 0]], axis=1), WRAPS[0])
    moved = moved.reshape(CELL, 8, CELL, 8, 3).mean(axis=(1, 3))
    assert np.abs(cell(image, turned)[..., :3] - moved).mean() < 0.02
    opacity = interpolated(colors[1, ..., 3:] / 255.0, fine, WRAPS[0]).reshape(CELL, 8, CELL, 8)
    assert np.abs(cell(image, masked)[..., 3] - (opacity >= 0.4).mean(axis=(1, 3))).mean() < 0.02
    assert np.abs(cell(image, blended)[..., 3] - opacity.mean(axis=(1, 3))).mean() < 0.05


def test_normals_roughness_metals_and_coats_under_the_sun(row):
    """The light of the formula of each square within 4 %, of a coat within 10 %, which are 3 sigma."""
    view = View(sun=1.0, sky=0.0, sun_azimuth=0.0, sun_elevation=60.0, sun_angle=0.5, **WHITE)
    texels = np.concatenate([one(150, 190, 220), one(0, 180, 200)])
    normal = np.array([0.5, 1.0, 1.0]) * (2 * np.array([150, 190, 220]) / 255 - 1)
    squares, bump, base = Squares(), {"normal": Map(0)}, np.array([0.8, 0.3, 0.1])
    common: dict[str, Any] = {"base_color": (*base, 1.0), "metallic": 0.0}
    plain = squares.add(Material(**common))
    mapped = squares.add(Material(**common, normal_scale=0.5, maps=bump))
    tangents = squares.add(Material(**common, normal_scale=0.5, maps=bump), tangent=(0, 1, 0, 1))
    metal = squares.add(Material((*base, 1.0), metallic=0.9, roughness=0.8, maps={"metallic_roughness": Map(1)}))
    coats = [Coat(0.9, 0.7), Coat(0.9, 0.9, 0.5, {"roughness": Map(1), "normal": Map(0)})]
    coated = [squares.add(matt(base_color=(0, 0, 0, 1), coat=coat)) for coat in coats]
    image = row(squares, view, 64, data_maps=texels)
    sun, eye, up = np.array(sun_in_world(view, squares.camera())), np.array([0.0, 0, 1]), np.array([0.0, 0, 1])

    def expected(normal: np.ndarray, color: Any = base, metallic: float = 0.0, roughness: float = 1.0) -> np.ndarray:
        return direct_light(np.asarray(color), metallic, roughness, normal / np.linalg.norm(normal), eye, sun)

    def found(number: int) -> np.ndarray:
        return cell(image, number)[..., :3].mean(axis=(0, 1))

    assert found(plain) == pytest.approx(expected(up), rel=0.04)
    assert np.abs(expected(normal) / expected(up) - 1.0).min() > 0.1
    assert found(mapped) == pytest.approx(expected(normal * [0.5 / 0.5, 0.5, 1]), rel=0.04)
    x, y, z = normal * [1, 0.5, 1]
    assert found(tangents) == pytest.approx(expected(np.array([-y, x, z])), rel=0.04)
    assert found(metal) == pytest.approx(expected(up, base, 0.9 * 200 / 255, 0.8 * 180 / 255), rel=0.04)
    x, y, z = normal * [1, 0.5, 1]
    for number, coat_normal, roughness in ((coated[0], up, 0.7), (coated[1], np.array([x, y, z]), 0.9 * 180 / 255)):
        cosine = (coat_normal / np.linalg.norm(coat_normal)) @ eye
        part = 0.9 * (0.04 + 0.96 * (1 - cosine) ** 5)
        exact = sum(sky_reflectance(roughness, cosine)) / reflected(roughness, 1.0, cosine)  # the reference has a fit
        mirror = exact * expected(coat_normal, np.ones(3), 1.0, roughness)
        assert found(number) == pytest.approx(part * mirror, rel=0.1)


def test_glass(layer, trace, colors):
    """Boxes one unit thick, and a pane: Fresnel's equations, Beer-Lambert's law and colors within 0.015."""
    white, tint = (1.0, 1.0, 1.0, 1.0), np.array([0.8, 0.5, 0.2])
    absorbing = Transmission(1.0, 1.0, 2.0, (0.3, 0.3, 0.3))
    thick = Material(white, metallic=0.0, roughness=0.0, ior=1.5, transmission=absorbing)
    tinted = Material((*tint, 1.0), metallic=0.0, roughness=0.0, ior=1.8, transmission=Transmission(1.0, 1.0))
    pane = Material((*tint, 1.0), metallic=0.25, roughness=0.0, transmission=Transmission(0.6))
    squares = Squares()
    for one_material in (thick, tinted, pane, matt(maps={"base_color": Map(0)})):
        squares.add(one_material)
    found = squares.attributes(color_maps=colors)
    boxes = np.concatenate([np.float32(CORNERS * (1, 1, 0.5)) + np.float32([2 * at, 0, 0]) for at in range(2)])
    count = len(found["position"])
    more = {
        "position": boxes,
        "normal": np.float32(boxes * 0 + [0, 0, 1]),
        "tangent": np.zeros((16, 4), np.float32),
        "texcoord": np.zeros((16, 4), np.float32),
        "material": np.repeat(np.float32([0, 1]), 8),
        "index": np.concatenate([FACES, FACES + 8]) + np.uint32(count),
    }
    found |= {name: np.concatenate([found[name], values]) for name, values in more.items()}
    found["index"] = found["index"][4:]  # boxes instead of the first two squares
    asset = layer("asset", **found)
    image = trace([asset], squares.camera(), FURNACE, (4 * CELL, CELL), 64)
    f, a = fresnel(1.0, 1.5), math.sqrt(0.3)
    mirrored = f + (1 - f) ** 2 * f * a * a / (1 - f * f * a * a) * (1 + f * a)
    assert cell(image, 0)[..., 0].mean() == pytest.approx(0.5 * mirrored, abs=0.01)
    assert cell(image, 0)[..., 3].mean() == pytest.approx(1 - (1 - f) ** 2 * a, abs=0.015)
    f = fresnel(1.0, 1.8)
    assert cell(image, 1)[..., 3].mean() == pytest.approx(1 - (1 - f) ** 2 * (tint**2).mean(), abs=0.015)
    assert cell(image, 2)[..., 3].mean() == pytest.approx(1 - 0.75 * 0.6 * 0.96 * tint.mean(), abs=0.015)


@pytest.mark.parametrize(("roughness", "thickness", "lost"), [(0.0, 1.0, 0.0), (0.5, 1.0, 0.06), (0.5, 0.0, 0.06)])
def test_a_glass_ball_disappears_in_a_white_furnace(layer, trace, roughness, thickness, lost):
    """White glass with a clear coat; rough facets lose what they reflect to each other."""
    down, around = np.meshgrid(np.linspace(0, np.pi, 17), np.linspace(0, 2 * np.pi, 33), indexing="ij")
    ball = np.stack([np.sin(down) * np.cos(around), np.cos(down), -np.sin(down) * np.sin(around)], axis=-1)
    at = (np.arange(16)[:, None] * 33 + np.arange(32)).reshape(-1)
    index = np.concatenate([np.stack(one, axis=1) for one in ((at, at + 33, at + 34), (at, at + 34, at + 1))])
    glass = Material(metallic=0.0, roughness=roughness, transmission=Transmission(1.0, thickness), coat=Coat(1.0, 0.4))
    asset = layer(
        "asset",
        position=np.float32(ball.reshape(-1, 3)),
        normal=np.float32(ball.reshape(-1, 3)),
        index=np.uint32(index),
        materials=np.float32([glass.floats(TRANSMISSIVE)]),
    )
    view = FURNACE.model_copy(update={"environment_backdrop": True, "environment": "gradient"})
    found = trace([asset], OrbitCamera(distance=4.0, fov=30.0), view, (16, 16), 150, bounces=32)[5:11, 5:11]
    shown = found[..., 0].mean() + 0.5 * (1.0 - found[..., 3].mean())
    assert 0.5 * (1.0 - lost) - 0.005 < shown < 0.505


@pytest.mark.parametrize("kind", ["directional", "point", "range", "spot"])
def test_lights(layer, trace, colors, kind):
    """KHR_lights_punctual on a square of which the image shows a spot, within 2 %: as those of the renderer."""
    light, toward = np.array(POINT), np.array([0.0, 1.0, 2.0])
    light[3] = {"directional": 0, "spot": 2}.get(kind, 1)
    strength = 1.0 if kind == "directional" else 0.2
    if kind == "directional":
        light[4:7] = -toward / math.sqrt(5.0)
    if kind == "range":
        light[7], strength = 4.0, (1 - (math.sqrt(5.0) / 4.0) ** 4) / 5.0
    if kind == "spot":
        light[4:7] = np.array([0.0, -1.0, -1.0]) / math.sqrt(2.0)
        angle = -toward / math.sqrt(5.0) @ light[4:7]
        light[11:13], strength = (angle + 0.02, angle - 0.06), 0.2 * 0.75**2
    squares, base = Squares(), np.array([0.8, 0.6, 0.4])
    squares.add(Material((*base, 1.0), metallic=0.2, roughness=0.6))
    squares.add(matt(maps={"base_color": Map(0)}))
    asset = layer("asset", **squares.attributes(color_maps=colors, lights=np.float32([light])))
    camera = OrbitCamera(distance=1.0, fov=1.0, orthographic=True)
    found = trace([asset], camera, View(sun=0.0, sky=0.0), (8, 8), 32, bounces=0)[..., :3].mean(axis=(0, 1))
    up = np.array([0.0, 0, 1])
    expected = direct_light(base, 0.2, 0.6, up, up, toward / math.sqrt(5.0))
    assert found == pytest.approx(light[8:11] * strength / math.pi * expected, rel=0.02)


@pytest.mark.parametrize("distance", [30.0, 20000.0])
def test_a_point_far_away_has_the_light_of_its_intensity(layer, trace, colors, distance):
    """A sphere whose radius is less than a millionth of its distance; within 2 %."""
    light, toward = np.array(POINT), np.array([0.0, 1.0, 2.0]) / math.sqrt(5.0)
    light[:3], light[8:11] = distance * toward, 3.0 * distance**2
    squares, base = Squares(), np.array([0.8, 0.6, 0.4])
    squares.add(Material((*base, 1.0), metallic=0.2, roughness=0.6))
    squares.add(matt(maps={"base_color": Map(0)}))
    asset = layer("asset", **squares.attributes(color_maps=colors, lights=np.float32([light])))
    camera = OrbitCamera(distance=1.0, fov=1.0, orthographic=True)
    found = trace([asset], camera, View(sun=0.0, sky=0.0), (8, 8), 32, bounces=0)[..., :3].mean(axis=(0, 1))
    up = np.array([0.0, 0, 1])
    assert found == pytest.approx(3.0 / math.pi * direct_light(base, 0.2, 0.6, up, up, toward), rel=0.02)


def test_the_sun_shines_through_a_pane_in_its_color(layer, trace, colors):
    """Onto matt ground below it: the part that is no metal and transmits, less Fresnel's, in its color; within 3 %."""
    squares, tint = Squares(), np.array([0.8, 0.5, 0.2])
    squares.add(Material((*tint, 1.0), metallic=0.25, roughness=0.0, transmission=Transmission(0.6)))
    squares.add(matt(maps={"base_color": Map(0)}))
    found = squares.attributes(color_maps=colors)
    found["position"] = (found["position"] * np.float32([3, 3, 1]))[:, [0, 2, 1]]
    pane = layer("asset", **found)
    level = np.float32([[-9, -3, -9], [9, -3, -9], [9, -3, 9], [-9, -3, 9]])
    ground = layer("surface", {"roughness": 1.0}, position=level, index=np.uint32([0, 1, 2, 0, 2, 3]), color=(0.5,) * 3)
    camera = OrbitCamera.from_position((0.0, -1.5, 3.0), (0.0, -3.0, 0.0), 4.0)
    view = View(sun=1.0, sky=0.0, sun_elevation=90.0, sun_angle=0.5, **WHITE)
    bright, dark = (
        trace(layers, camera, view, (12, 12), 64, bounces=0)[..., :3].mean(axis=(0, 1))
        for layers in ([ground], [ground, pane])
    )
    assert dark / bright == pytest.approx(0.75 * 0.6 * 0.96 * tint, rel=0.03)
