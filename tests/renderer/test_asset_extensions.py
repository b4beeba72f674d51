"""Clear coats, transmission, volumes and the index of refraction of assets: a pixel each, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad.models.data.assets.content import COATED, TRANSMISSIVE, Coat, Map, Material, Transmission
from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View

from .light_reference import direct_light, encoded, lit, shares, tone_mapped, unit
from .test_asset import CAMERA, DARK, LEVELS, POINT, QUAD, SIZE, TO_EYE, VIEW, close, one, turned

BEHIND = np.array([0.6, 0.3, 0.15])
NORMAL = turned((0, 0, 1))
FACING = float(NORMAL @ TO_EYE)


@pytest.fixture
def drawn(layer: Any, render: Any) -> Any:
    """The pixel in the middle of a square with a material, in front of other layers."""

    def draw(material: Material, view: View = VIEW, camera: OrbitCamera = CAMERA, behind: Any = (), **more: Any) -> Any:
        table = np.float32([material.floats(material.columns)])
        created = layer("asset", None, **{**QUAD, "materials": table, **more})
        return render([created, *behind], camera, view, SIZE)[16, 16].astype(float)

    return draw


@pytest.fixture
def wall(layer: Any) -> Any:
    """A square that shines with light (3,), or (n, n, 3) in cells, `depth` behind the other one."""

    def create(light: Any = BEHIND, depth: float = 0.5) -> Any:
        light = np.broadcast_to(light, (1, 1, 3)) if np.ndim(light) == 1 else light
        cells = np.concatenate([255 * encoded(light), np.full((*light.shape[:2], 1), 255)], axis=2)
        maps = np.repeat(np.repeat(np.uint8(np.round(cells)), 64 // len(cells), axis=0), 64 // len(cells), axis=1)
        table = np.float32([Material(unlit=True, maps={"base_color": Map(0)}).floats()])
        moved = {"position": QUAD["position"] * np.float32([3, 3, 1]) - np.float32([0, 0, depth])}
        return layer("asset", None, **{**QUAD, **moved, "materials": table, "color_maps": maps[None]})

    return create


# index and coat -----------------------------------------------------------------------------------------------------


def fresnel(cosine: float, f0: float = 0.04) -> float:
    return f0 + (1.0 - f0) * (1.0 - cosine) ** 5


def mirror(roughness: float, normal: Any = NORMAL, view: View = VIEW) -> np.ndarray:
    """What a white mirror reflects of sun and sky."""
    return lit(np.ones(3), 1.0, roughness, normal, TO_EYE, view, CAMERA)


BASE = np.array([0.8, 0.3, 0.1])
BRIGHT = VIEW.model_copy(update={"sun": 15 * VIEW.sun, "sky": 15 * VIEW.sky})  # what a coat reflects is little


@pytest.mark.parametrize(("strength", "roughness"), [(1.0, 0.1), (0.6, 0.5)])
def test_a_clear_coat_is_a_mirror_over_what_it_dims(drawn: Any, strength: float, roughness: float) -> None:
    """KHR_materials_clearcoat: base and emission times 1 - c F, and c F of the coat; F by Schlick with f0 = 0.04."""
    material = Material((*BASE, 1.0), (0.3, 0.2, 0.1), 0.0, 0.7, coat=Coat(strength, roughness))
    below = lit(BASE, 0.0, 0.7, NORMAL, TO_EYE, VIEW, CAMERA) + np.array([0.3, 0.2, 0.1])
    reflected = strength * fresnel(FACING)
    assert reflected > 0.02
    assert close(drawn(material), below * (1 - reflected) + mirror(roughness) * reflected)


def test_maps_of_a_coat(drawn: Any) -> None:
    """Red is its strength, green its roughness; its normals are its own, and without a map those of the surface."""
    maps = {"strength": Map(0), "roughness": Map(1), "normal": Map(2)}
    material = Material((0.0, 0.0, 0.0, 1.0), (0, 0, 0), 0.0, 0.7, ior=1.0, coat=Coat(0.9, 0.8, 0.5, maps))
    texels = np.concatenate([one(128, 0, 0), one(0, 64, 0), one(90, 20, 200)])
    x, y, z = 2 * np.array([90, 20, 200]) / 255 - 1
    normal = turned(unit(np.array([0.5 * x, 0.5 * y, z])))
    reflected = 0.9 * 128 / 255 * fresnel(float(normal @ TO_EYE))
    below = lit(np.zeros(3), 1.0, 0.7, NORMAL, TO_EYE, BRIGHT, CAMERA)
    above = mirror(0.8 * 64 / 255, normal, BRIGHT)
    light = below * (1 - reflected) + above * reflected
    assert close(drawn(material, BRIGHT, data_maps=texels), light)


def test_a_coat_reflects_the_lights_of_the_asset(drawn: Any) -> None:
    row = np.array(POINT)
    toward, roughness = turned(unit(np.array([0.0, 1.0, 2.0]))), 0.4
    below = direct_light(BASE, 0.0, 0.7, NORMAL, TO_EYE, toward)
    above = direct_light(np.ones(3), 1.0, roughness, NORMAL, TO_EYE, toward)
    reflected = fresnel(FACING)
    light = row[8:11] / 5 / np.pi * (below * (1 - reflected) + above * reflected)
    got = drawn(Material((*BASE, 1.0), (0, 0, 0), 0.0, 0.7, coat=Coat(1.0, roughness)), DARK, lights=np.float32([row]))
    assert close(got, light)


def test_white_with_a_coat_in_a_white_furnace_is_white(drawn: Any) -> None:
    white: dict[str, Any] = dict.fromkeys(("sky_color", "horizon_color", "ground_color"), (1.0, 1.0, 1.0))
    furnace = View(bloom=0.0, vignette=0.0, background="#000000", sun=0.0, sky=0.5, **white)
    got = drawn(Material((1.0, 1.0, 1.0, 1.0), (0, 0, 0), 0.0, 0.5, coat=Coat(1.0, 0.6)), furnace)
    assert np.abs(got - tone_mapped(np.full(3, 0.5))).max() < 2 * LEVELS


@pytest.mark.parametrize(("ior", "f0"), [(1.5, 0.04), (1.0, 0.0), (2.42, 0.1724), (0.0, 1.0)])
def test_the_index_of_refraction_is_the_reflection_head_on(ior: float, f0: float) -> None:
    assert Material(ior=ior).dielectric == pytest.approx(f0, abs=1e-4)
    assert Material(ior=ior).floats()[15] == pytest.approx(f0, abs=1e-4)


def dielectric_light(f0: float, roughness: float) -> np.ndarray:
    """What a black dielectric reflects: that of a metal of the color f0."""
    return lit(np.full(3, f0), 1.0, roughness, NORMAL, TO_EYE, VIEW, CAMERA)


def test_a_dielectric_of_a_high_index_reflects_more(drawn: Any) -> None:
    got = drawn(Material((0.0, 0.0, 0.0, 1.0), (0, 0, 0), 0.0, 0.4, ior=2.42))
    assert close(got, dielectric_light(0.1724, 0.4))
    assert not close(got, dielectric_light(0.04, 0.4))


# transmission -------------------------------------------------------------------------------------------------------


def glass(
    base: Any, fraction: float, roughness: float, light: np.ndarray, absorbed: Any = 1.0, camera: OrbitCamera = CAMERA
) -> np.ndarray:
    """What leaves a dielectric in front of a wall: the diffuse part of the model, a fraction of it from behind."""
    base, normal = np.asarray(base, float), turned((0, 0, 1), camera)
    _, _, below, _ = shares(base, 0.0, roughness, np.array([float(normal @ TO_EYE)]))
    opaque = lit(base, 0.0, roughness, normal, TO_EYE, VIEW, camera)
    clear = lit(np.zeros(3), 0.0, roughness, normal, TO_EYE, VIEW, camera)
    return opaque + fraction * (clear - opaque) + fraction * below * absorbed * light


@pytest.mark.parametrize(("fraction", "base"), [(1.0, (1.0, 1.0, 1.0)), (1.0, (0.9, 0.5, 0.7)), (0.4, (0.9, 0.5, 0.7))])
def test_a_thin_surface_lets_light_through_straight(drawn: Any, wall: Any, fraction: float, base: Any) -> None:
    """KHR_materials_transmission: the diffuse reflection is mixed with the light behind times the base color."""
    material = Material((*base, 1.0), (0, 0, 0), 0.0, 0.0, transmission=Transmission(fraction))
    assert material.columns == TRANSMISSIVE
    wall_light = linear(np.round(255 * encoded(BEHIND)) / 255)
    got = drawn(material, behind=[wall()])
    assert close(got, glass(base, fraction, 0.0, np.asarray(wall_light)))


def test_red_of_a_map_is_the_fraction_and_metal_lets_nothing_through(drawn: Any, wall: Any) -> None:
    mapped = Transmission(0.8, maps={"fraction": Map(0)})
    got = drawn(
        Material((*BASE, 1.0), (0, 0, 0), 0.0, 0.0, transmission=mapped), behind=[wall()], data_maps=one(128, 0, 0)
    )
    assert close(got, glass(BASE, 0.8 * 128 / 255, 0.0, BEHIND))
    metal = drawn(Material((*BASE, 1.0), (0, 0, 0), 1.0, 0.3, transmission=Transmission(1.0)), behind=[wall()])
    assert close(metal, lit(BASE, 1.0, 0.3, NORMAL, TO_EYE, VIEW, CAMERA))


def test_a_volume_absorbs_by_the_law_of_beer_and_lambert(drawn: Any, wall: Any) -> None:
    """KHR_materials_volume: the color to the power of the path by the attenuation distance; green is the thickness."""
    color = np.array([0.2, 0.7, 0.9])
    volume = Transmission(1.0, 0.3, 0.25, tuple(color), {"thickness": Map(0)})
    material = Material((1.0, 1.0, 1.0, 1.0), (0, 0, 0), 0.0, 0.0, transmission=volume)
    got = drawn(material, behind=[wall()], data_maps=one(0, 128, 0))
    assert close(got, glass((1, 1, 1), 1.0, 0.0, BEHIND, color ** (0.3 * 128 / 255 / 0.25)))


@pytest.mark.parametrize("behind", [BEHIND, np.zeros(3)])
def test_a_clear_coat_over_glass_dims_what_comes_through_it(drawn: Any, wall: Any, behind: np.ndarray) -> None:
    """KHR_materials_clearcoat is the outermost layer: 1 - c F also of the light from behind, and c F of the coat.

    At a slant, where F is large; and before a black wall, where little is under the coat.
    """
    camera, color = OrbitCamera(distance=4.0, yaw=1.25, fov=40.0), np.array([0.5, 0.8, 0.9])
    normal, base = turned((0, 0, 1), camera), np.array([0.9, 0.6, 0.8])
    reflected = 0.9 * fresnel(float(normal @ TO_EYE))
    assert reflected > 0.1
    through = Transmission(0.8, 0.1, 0.25, tuple(color))
    material = Material((*base, 1.0), (0, 0, 0), 0.0, 0.0, coat=Coat(0.9, 0.3), transmission=through)
    below = glass(base, 0.8, 0.0, behind, color ** (0.1 / 0.25), camera)
    above = lit(np.ones(3), 1.0, 0.3, normal, TO_EYE, VIEW, camera)
    got = drawn(material, VIEW, camera, behind=[wall(behind)])
    assert close(got, below * (1 - reflected) + above * reflected)
    assert not close(got, below + above * reflected) and not close(got, below * (1 - reflected))


def test_light_is_refracted_by_the_law_of_snell(drawn: Any, wall: Any) -> None:
    """Seen at a slant, the light comes from where the bent ray leaves the volume; at right angles from straight on."""
    camera = OrbitCamera(distance=6.0, yaw=1.0, pitch=0.0, fov=40.0)
    halves = np.concatenate(
        [np.tile(np.float64([0.8, 0, 0]), (2, 1, 1)), np.tile(np.float64([0, 0.8, 0]), (2, 1, 1))], 1
    )
    # The camera is at the right: straight on, the ray goes to the left half, which is red.
    view = DARK

    def color(thickness: float, ior: float) -> np.ndarray:
        sheet = Transmission(1.0, thickness)
        material = Material((1, 1, 1, 1), (0, 0, 0), 0.0, 0.0, True, transmission=sheet, ior=ior)
        return drawn(material, view, camera, behind=[wall(halves, 0.2)])

    straight, bent = color(0.0, 1.5), color(2.0, 2.0)
    assert straight[0] > 100 and straight[1] < 20
    # In eye space the ray bends toward the normal: it leaves where the image is green.
    sight, normal = np.array([0.0, 0.0, -1.0]), turned((0, 0, 1), camera)
    cosine = -float(sight @ normal)
    inside = sight / 2.0 + (cosine / 2.0 - np.sqrt(1 - (1 - cosine**2) / 4.0)) * normal
    leaves = np.array([0.0, 0.0, -6.0]) + 2.0 * inside
    toward_exit = camera.rotation() @ (leaves / -leaves[2])
    eye = camera.rotation() @ np.array([0.0, 0.0, 6.0])
    at_wall = eye + toward_exit * (-0.2 - eye[2]) / toward_exit[2]
    assert at_wall[0] > 0.1  # of the green half
    assert bent[1] > 100 and bent[0] < 20


def test_rough_glass_blurs_what_is_behind(drawn: Any, wall: Any) -> None:
    cells = np.zeros((16, 16, 3))
    cells[::2, ::2] = cells[1::2, 1::2] = 1.0
    camera = OrbitCamera(target=(0.19, 0.19, 0.0), distance=4.0, fov=40.0)  # the middle of a cell is behind
    found = []
    for roughness in (0.0, 0.9):
        material = Material((1, 1, 1, 1), (0, 0, 0), 0.0, roughness, transmission=Transmission(1.0), ior=1.5)
        pixels = [drawn(material, DARK, camera, behind=[wall(np.roll(cells, shift, axis=1))])[0] for shift in (0, 1)]
        found.append(abs(pixels[0] - pixels[1]))
    assert found[1] < 0.25 * found[0]


def test_the_background_shines_through_where_nothing_is_behind(drawn: Any) -> None:
    view = DARK.model_copy(update={"background": (0.5, 0.5, 0.5)})
    got = drawn(Material((1, 1, 1, 1), (0, 0, 0), 0.0, 0.0, transmission=Transmission(1.0)), view)
    nothing = drawn(Material((1, 1, 1, 1)), view, OrbitCamera(distance=4.0, yaw=3.4, pitch=0.4, fov=40.0))
    assert np.abs(got - nothing).max() < 12  # but 4 % that are reflected


def test_tables_have_the_columns_that_their_materials_need() -> None:
    assert Material().columns == 76 and Material(coat=Coat(0.5)).columns == COATED
    assert len(Material(coat=Coat(0.5)).floats(COATED)) == COATED
    assert len(Material().floats(TRANSMISSIVE)) == TRANSMISSIVE
    lengths = Material(transmission=Transmission(1.0, 2.0, 4.0)).floats(TRANSMISSIVE, 0.5)[116:120]
    assert lengths == [1.0, 1.0, 2.0, 1.0]
