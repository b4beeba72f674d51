"""Light from images and from the sky: directions, furnaces, the table of the split sum, and scattering in NumPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.models.data.assets.content import Material
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.sky import sun_tint, transmittance

from . import light_reference, sky_reference
from .light_reference import tone_mapped
from .test_asset import QUAD

LEVELS = 4.0  # of 255: samples of the maps, half floats, dither
SIZE = (33, 33)
PLAIN: dict[str, Any] = {"bloom": 0.0, "vignette": 0.0, "background": (0.0, 0.0, 0.0), "sun": 0.0, "sky": 1.0}
COLORS = {  # of directions, light
    **{(0, 0, -1): (1.0, 0.1, 0.1), (1, 0, 0): (0.1, 1.0, 0.1), (0, 0, 1): (0.1, 0.1, 1.0)},
    **{(-1, 0, 0): (1.0, 1.0, 0.1), (0, 1, 0): (1.0, 1.0, 1.0), (0, -1, 0): (0.02, 0.02, 0.02)},
}


def directions(rows: int = 64) -> np.ndarray:
    """Of the pixels of an equirectangular image: its middle is -z, to the right of it +x."""
    polar = np.pi * (np.arange(rows)[:, None] + 0.5) / rows
    around = 2 * np.pi * ((np.arange(2 * rows)[None] + 0.5) / (2 * rows) - 0.5)
    sine = np.sin(polar)
    return np.stack([sine * np.sin(around), np.cos(polar) + 0 * around, -sine * np.cos(around)], axis=-1)


def written(path: Path, light: np.ndarray) -> Path:
    """Radiance in RGBE, without run lengths."""
    exponent = np.ceil(np.log2(np.maximum(light.max(axis=-1), 1e-30)))
    stored = np.concatenate([light * (256 / 2.0**exponent)[..., None], exponent[..., None] + 128], axis=-1)
    head = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {light.shape[0]} +X {light.shape[1]}\n"
    path.write_bytes(head.encode() + np.clip(stored, 0, 255).astype(np.uint8).tobytes())
    return path


def sides(path: Path) -> Path:
    """Each direction has the color of the axis that it is nearest to."""
    axes = np.array(list(COLORS), float)
    nearest = (directions() @ axes.T).argmax(axis=-1)
    return written(path, np.array(list(COLORS.values()))[nearest])


def looking(direction: Any) -> OrbitCamera:
    position = -3.0 * np.array(direction, float)
    return OrbitCamera.from_position(tuple(position + np.array([0, 0, 1e-3]) * abs(direction[1])), (0, 0, 0), fov=40)


def close(got: np.ndarray, light: Any) -> bool:
    return bool(np.abs(got.astype(float) - tone_mapped(np.array(light, float))).max() < LEVELS)


def image_view(file: Path, **more: Any) -> View:
    return View(**PLAIN, environment="image", environment_file=file, **more)


@pytest.mark.parametrize("blur", [0.0, 0.25])
def test_the_backdrop_is_in_its_direction(render: Any, tmp_path: Path, blur: float) -> None:
    """Sharp it is the image, blurred the cube: both have the same directions."""
    view = image_view(sides(tmp_path / "sides.hdr"), environment_backdrop=True, environment_blur=blur)
    for direction, color in COLORS.items():
        got = render([], looking(direction), view, SIZE)[16, 16]
        nearest = min(COLORS, key=lambda one: np.abs(got - tone_mapped(np.array(COLORS[one]))).max())
        assert nearest == direction
        assert blur or close(got, color)


def test_rotation_and_intensity(render: Any, tmp_path: Path) -> None:
    view = image_view(sides(tmp_path / "sides.hdr"), environment_backdrop=True, environment_rotation=90.0)
    assert close(render([], looking((0, 0, -1)), view, SIZE)[16, 16], COLORS[1, 0, 0])
    half = view.model_copy(update={"sky": 0.5, "environment_blur": 0.25})
    assert close(render([], looking((0, 0, -1)), half, SIZE)[16, 16], 0.5 * np.array(COLORS[1, 0, 0]))


def lit(layer: Any, render: Any, material: Material, view: View, yaw: float = 0.0, pitch: float = 0.0) -> np.ndarray:
    created = layer("asset", **QUAD, materials=np.float32([material.floats()]))
    return render([created], OrbitCamera(distance=4.0, yaw=yaw, pitch=pitch, fov=40.0), view, SIZE)[16, 16]


@pytest.mark.turns(3)
@pytest.mark.parametrize("metallic", [0.0, 1.0])
@pytest.mark.parametrize("roughness", [0.0, 0.5, 1.0])
def test_white_in_a_white_furnace_is_white(
    layer: Any, render: Any, tmp_path: Path, metallic: float, roughness: float
) -> None:
    """Also seen at a slant, where a fit of the table is worst."""
    view = image_view(written(tmp_path / "white.hdr", np.full((8, 16, 3), 0.5)))
    material = Material((1.0, 1.0, 1.0, 1.0), (0, 0, 0), metallic, roughness, double_sided=True)
    for yaw in (0.0, 1.2):
        assert close(lit(layer, render, material, view, yaw), np.full(3, 0.5)), yaw


@pytest.mark.parametrize(("roughness", "yaw"), [(0.2, 0.3), (0.5, 1.1), (0.9, 0.6), (0.9, 1.4)])
def test_metals_reflect_what_the_split_sum_says(
    layer: Any, render: Any, tmp_path: Path, roughness: float, yaw: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table against an integral over facets in NumPy."""
    view = image_view(written(tmp_path / "white.hdr", np.full((8, 16, 3), 0.7)))
    base = np.array([0.9, 0.5, 0.2])
    got = lit(layer, render, Material((*base, 1.0), (0, 0, 0), 1.0, roughness), view, yaw)
    monkeypatch.setattr(light_reference, "sky_reflectance", lambda r, c: split_sum(r, float(np.squeeze(c))))
    once, often, below, _ = light_reference.shares(base, 1.0, roughness, np.array([math.cos(yaw)]))
    assert close(got, 0.7 * (once + often + below))


def split_sum(roughness: float, facing: float, count: int = 400) -> tuple[float, float]:
    """By quadrature over the half vectors of GGX: what is reflected for each unit of f0, and in addition."""
    a2 = roughness**4
    u, phi = np.meshgrid((np.arange(count) + 0.5) / count, 2 * np.pi * (np.arange(count) + 0.5) / count)
    cosine = np.sqrt((1 - u) / (1 + (a2 - 1) * u))
    sine = np.sqrt(1 - cosine**2)
    across = math.sqrt(1 - facing**2) * sine * np.cos(phi) + facing * cosine
    toward = 2 * across * cosine - facing
    sound = (toward > 0) & (across > 0)
    toward = np.where(sound, toward, 1.0)
    smith = toward * np.sqrt(facing**2 * (1 - a2) + a2) + facing * np.sqrt(toward**2 * (1 - a2) + a2)
    weight = np.where(sound, 2.0 * toward * across / cosine / smith, 0.0)
    fresnel = (1 - np.clip(across, 0, 1)) ** 5
    return float((weight * (1 - fresnel)).mean()), float((weight * fresnel).mean())


def test_a_wall_between_a_white_and_a_black_half_is_gray(layer: Any, render: Any, tmp_path: Path) -> None:
    """Diffuse light by the cosine: the whole of it for what faces up, half of it for what stands upright."""
    white_above = np.where(directions()[..., 1:2] > 0, 1.0, 1e-4) * np.ones(3)
    view = image_view(written(tmp_path / "half.hdr", white_above))
    material = Material((1.0, 1.0, 1.0, 1.0), (0, 0, 0), 0.0, 1.0)
    assert close(lit(layer, render, material, view), np.full(3, 0.5))
    flat = {"normal": np.float32([[0, 1, 0]] * 4), "position": QUAD["position"][:, [0, 2, 1]] * np.float32([1, 1, -1])}
    floor = layer("asset", **{**QUAD, **flat}, materials=np.float32([material.floats()]))
    got = render([floor], OrbitCamera(distance=4.0, pitch=1.5, fov=40.0), view, SIZE)[16, 16]
    assert close(got, np.full(3, 1.0))


@pytest.mark.turns(3)
@pytest.mark.parametrize("elevation", [50.0, 8.0])
def test_the_sky_is_single_scattering(render: Any, elevation: float) -> None:
    view = View(
        **{**PLAIN, "sun": 2.0, "sky": 0.7},
        **{"environment": "sky", "environment_backdrop": True, "sun_azimuth": 0.0, "sun_elevation": elevation},
    )
    angle = math.radians(elevation)
    sun = np.array([0.0, math.sin(angle), math.cos(angle)])
    for direction in ((0.0, 1.0, 0.001), (1.0, 0.3, 0.0), (0.3, 0.15, -1.0), (0.5, 0.5, 0.6)):
        toward = np.array(direction) / np.linalg.norm(direction)
        light = 0.7 * math.pi * 2.0 / np.mean(transmittance(90.0)) * sky_reference.sky(toward, sun)
        got = render([], looking(toward), view, SIZE)[16, 16].astype(float)
        assert np.abs(got - tone_mapped(light)).max() < 7, direction  # a face of the cube has 128 pixels or more


def test_the_sun_reddens_at_the_horizon() -> None:
    for elevation in (90.0, 30.0, 2.0):
        angle = math.radians(elevation)
        expected = sky_reference.from_sun(
            np.array([0.0, 6360.2, 0.0]), np.array([0.0, math.sin(angle), math.cos(angle)])
        )
        assert np.allclose(transmittance(elevation), expected, rtol=0.01)
    assert sun_tint(90.0) == (1.0, 1.0, 1.0) and transmittance(-5.0) == (0.0, 0.0, 0.0)
    red, _, blue = sun_tint(2.0)
    assert red > 5 * blue


def test_z_up_and_the_packaged_image(render: Any) -> None:
    file = resources.path("assets", "data", "studio.hdr")
    view = image_view(file, environment_backdrop=True)
    found = [render([], OrbitCamera(distance=3.0, yaw=0.4, pitch=-0.5, up=up), view, SIZE) for up in ("y", "z")]
    assert found[0].max() > 200
    assert np.abs(found[0].astype(int) - found[1]).max() <= 2
