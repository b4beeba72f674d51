"""Materials of assets, a pixel for each of their terms, against NumPy; and that against Appendix B of glTF 2.0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vertigrad.models.data.assets.content import BLEND, CLAMP, MASK, MIRROR, REPEAT, Map, Material
from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View

from .light_reference import appendix_b, direct_light, encoded, lit, shares, tone_mapped, unit

LEVELS = 2.5  # of 255
SIZE = (33, 33)
CAMERA = OrbitCamera(distance=4.0, yaw=0.3, pitch=0.4, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000", sun_azimuth=50.0, sun_elevation=35.0)
DARK = VIEW.model_copy(update={"sun": 0.0, "sky": 0.0})
TO_EYE = np.array([0.0, 0.0, 1.0])  # of the pixel in the middle, in eye space
QUAD = {
    "position": np.float32([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]),
    "normal": np.float32([[0, 0, 1]] * 4),
    "tangent": np.float32([[1, 0, 0, 1]] * 4),
    "texcoord": np.float32([[0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]),
    "index": np.uint32([[0, 1, 2], [0, 2, 3]]),
}


def one(*texel: int) -> np.ndarray:
    """A texture of one color."""
    return np.uint8([[[(*texel, 255)[:4]]]])


@pytest.fixture
def middle(layer: Any, render: Any) -> Any:
    """The pixel in the middle of a square with a material, seen by `camera`."""

    def draw(
        material: Material, view: View = VIEW, camera: OrbitCamera = CAMERA, style: Any = None, **attributes: Any
    ) -> np.ndarray:
        table = np.float32([material.floats()])
        created = layer("asset", style, **{**QUAD, "materials": table, **attributes})
        return render([created], camera, view, SIZE)[16, 16].astype(float)

    return draw


def turned(normal: Any, camera: OrbitCamera = CAMERA) -> np.ndarray:
    """A direction of the world in eye space."""
    return camera.rotation().T @ np.array(normal, float)


def expected(base: Any, metallic: float, roughness: float, normal: Any = (0, 0, 1), **more: Any) -> np.ndarray:
    return lit(np.array(base, float), metallic, roughness, turned(normal), TO_EYE, VIEW, CAMERA, **more)


def close(got: np.ndarray, light: np.ndarray) -> bool:
    return bool(np.abs(got - tone_mapped(np.asarray(light, float))).max() < LEVELS)


# terms --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metallic", "roughness"), [(0.0, 1.0), (0.0, 0.2), (1.0, 0.35), (1.0, 0.9), (0.5, 0.6)])
def test_factors(middle: Any, metallic: float, roughness: float) -> None:
    base = (0.8, 0.3, 0.1)
    got = middle(Material(base_color=(*base, 1.0), metallic=metallic, roughness=roughness))
    assert close(got, expected(base, metallic, roughness))


def test_base_color_is_factor_times_texture_times_vertex_color(middle: Any) -> None:
    material = Material(base_color=(0.9, 0.5, 1.0, 1.0), metallic=0.0, maps={"base_color": Map(0)})
    texel, vertex = (200, 128, 60), (0.9, 0.7, 1.0)
    got = middle(material, color_maps=one(*texel), color=np.tile(np.float32(vertex), (4, 1)))
    base = np.array([0.9, 0.5, 1.0]) * linear(np.array(texel) / 255) * linear(vertex)
    assert close(got, expected(base, 0.0, 1.0))


def test_green_is_roughness_and_blue_is_metalness(middle: Any) -> None:
    material = Material(
        base_color=(0.9, 0.6, 0.3, 1.0), metallic=0.8, roughness=0.9, maps={"metallic_roughness": Map(0)}
    )
    got = middle(material, data_maps=one(255, 102, 204))
    assert close(got, expected((0.9, 0.6, 0.3), 0.8 * 0.8, 0.9 * 0.4))


@pytest.mark.parametrize("tangents", [True, False])
@pytest.mark.parametrize("scale", [1.0, 0.4])
def test_normals_are_tilted_by_the_texture(middle: Any, tangents: bool, scale: float) -> None:
    """Red along the tangent, green up in the image; also where tangents follow from the texture coordinates."""
    material = Material(base_color=(0.7, 0.7, 0.7, 1.0), metallic=0.0, roughness=0.4, normal_scale=scale)
    material = Material(**{**vars(material), "maps": {"normal": Map(0)}})
    more = {} if tangents else {"tangent": np.zeros((4, 4), np.float32)}
    got = middle(material, data_maps=one(190, 90, 230), **more)
    x, y, z = 2 * np.array([190, 90, 230]) / 255 - 1
    assert close(got, expected((0.7, 0.7, 0.7), 0.0, 0.4, unit(np.array([scale * x, scale * y, z]))))


def test_occlusion_dims_the_sky_and_not_the_sun(middle: Any) -> None:
    material = Material((0.8, 0.8, 0.8, 1.0), (0, 0, 0), 0.0, 0.5, occlusion_strength=0.7, maps={"occlusion": Map(0)})
    got = middle(material, data_maps=one(51, 255, 255))
    assert close(got, expected((0.8, 0.8, 0.8), 0.0, 0.5, sky_open=1.0 + 0.7 * (0.2 - 1.0)))


def test_emission_is_added(middle: Any) -> None:
    material = Material((0.5, 0.5, 0.5, 1.0), (2.0, 0.4, 0.1), 0.0, 1.0, maps={"emissive": Map(0)})
    got = middle(material, color_maps=one(128, 255, 200))
    added = np.array([2.0, 0.4, 0.1]) * linear(np.array([128, 255, 200]) / 255)
    assert close(got, expected((0.5, 0.5, 0.5), 0.0, 1.0) + added)


def test_unlit_is_the_base_color(middle: Any) -> None:
    assert close(middle(Material((0.2, 0.5, 0.8, 1.0), unlit=True)), np.array([0.2, 0.5, 0.8]))


@pytest.mark.parametrize(("alpha", "cutoff", "is_drawn"), [(128, 0.4, True), (128, 0.6, False), (255, 1.0, True)])
def test_a_mask_draws_what_has_at_least_the_alpha_of_its_cutoff(
    middle: Any, alpha: int, cutoff: float, is_drawn: bool
) -> None:
    material = Material(metallic=0.0, alpha_mode=MASK, alpha_cutoff=cutoff, maps={"base_color": Map(0)})
    got = middle(material, color_maps=one(255, 255, 255, alpha))
    assert close(got, expected((1, 1, 1), 0.0, 1.0)) if is_drawn else (got == 0).all()


def test_what_blends_is_as_a_surface_of_this_alpha(middle: Any, layer: Any, render: Any) -> None:
    view = VIEW.model_copy(update={"background": (0.4, 0.5, 0.6)})
    light = expected((0.8, 0.3, 0.1), 0.0, 0.7)
    glass = Material((0.8, 0.3, 0.1, 0.25), (0, 0, 0), 0.0, 0.7, alpha_mode=BLEND)
    color = np.tile(np.float32([*encoded(np.array([0.8, 0.3, 0.1])), 0.25]), (4, 1))
    surface = layer(
        "surface", {"roughness": 0.7}, color=color, **{key: QUAD[key] for key in ("position", "normal", "index")}
    )
    assert np.abs(middle(glass, view) - render([surface], CAMERA, view, SIZE)[16, 16]).max() <= 1
    assert close(middle(glass, style={"blend": False}), light)
    opaque = Material((0.8, 0.3, 0.1, 0.25), (0, 0, 0), 0.0, 0.7)
    assert close(middle(opaque, view), light)  # its alpha means nothing


@pytest.mark.parametrize("double_sided", [True, False])
def test_the_back(middle: Any, double_sided: bool) -> None:
    camera = OrbitCamera(distance=4.0, yaw=0.3 + math.pi, pitch=0.4, fov=40.0)
    material = Material((0.8, 0.3, 0.1, 1.0), (0, 0, 0), 0.0, 0.7, double_sided=double_sided)
    got = middle(material, camera=camera)
    light = lit(np.array([0.8, 0.3, 0.1]), 0.0, 0.7, turned((0, 0, -1), camera), TO_EYE, VIEW, camera)
    assert close(got, light) if double_sided else (got == 0).all()


# textures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transform", "wrap", "texel"),
    [
        (((1, 0, 0), (0, 1, 0)), (REPEAT, REPEAT), (2, 2)),  # of 4 x 4, from the left and from above
        (((1, 0, 0.3), (0, 1, -0.3)), (REPEAT, REPEAT), (3, 1)),
        (((1, 0, 0.75), (0, 1, 0)), (REPEAT, REPEAT), (1, 2)),
        (((1, 0, 0.75), (0, 1, 0)), (CLAMP, REPEAT), (3, 2)),
        (((1, 0, 0.75), (0, 1, 0)), (MIRROR, REPEAT), (2, 2)),
        (((1, 0, 1.0), (0, 1, 0)), (MIRROR, REPEAT), (1, 2)),
        (((1, 0, 0), (0, 1, -0.75)), (REPEAT, CLAMP), (2, 0)),
        (((1, 0, 0.5), (0, 1, 0.75)), (CLAMP, MIRROR), (3, 2)),
        (((0, 1, 0.25), (-1, 0, 0.75)), (REPEAT, REPEAT), (3, 1)),
    ],
)
def test_transforms_and_what_is_beyond_the_edge(middle: Any, transform: Any, wrap: Any, texel: Any) -> None:
    """The middle of the square is between texels; a shift by an eighth puts it into the middle of one."""
    moved = tuple((a, b, shift + 0.125) for a, b, shift in transform)
    colors = np.zeros((1, 4, 4, 4), np.uint8)
    colors[0, ..., 0], colors[0, ..., 1], colors[0, ..., 3] = *(60 + 50 * np.mgrid[:4, :4][::-1]), 255
    material = Material(unlit=True, maps={"base_color": Map(0, 0, wrap, moved)})
    got = middle(material, color_maps=np.kron(colors, np.ones((1, 8, 8, 1), np.uint8)))
    column, row = texel
    assert close(got, linear(np.array([60 + 50 * column, 60 + 50 * row, 0]) / 255))


def test_maps_have_layers_and_sets_of_coordinates(middle: Any) -> None:
    colors = np.concatenate([one(255, 0, 0), np.concatenate([one(0, 255, 0), one(0, 0, 255)], axis=2)[:, :, 1:]])
    material = Material(unlit=True, maps={"base_color": Map(1)})
    assert close(middle(material, color_maps=colors), np.array([0.0, 0.0, 1.0]))
    halves = np.repeat(np.concatenate([one(255, 0, 0), one(0, 255, 0)], axis=2), 8, axis=2)
    coordinates = QUAD["texcoord"] * np.float32([0.1, 0.1, 0.1, 0.1]) + np.float32([0.2, 0.2, 0.7, 0.2])
    for texcoord, color in ((0, (1.0, 0.0, 0.0)), (1, (0.0, 1.0, 0.0))):
        material = Material(unlit=True, maps={"base_color": Map(0, texcoord)})
        assert close(middle(material, color_maps=halves, texcoord=coordinates), np.array(color))


def test_far_away_a_texture_is_its_mean(middle: Any) -> None:
    """The mean of light, not of what is stored: a board of black and white squares is as bright as half of white."""
    squares = np.uint8(255 * (np.indices((256, 256)).sum(axis=0) % 2))
    board = np.concatenate([np.repeat(squares[..., None], 3, axis=2), np.full((256, 256, 1), 255, np.uint8)], axis=2)
    far = OrbitCamera(distance=4.0, fov=60.0)
    got = middle(Material(unlit=True, maps={"base_color": Map(0)}), camera=far, color_maps=board[None])
    assert np.abs(encoded(0.5) * 255 - 188).max() < 1 and close(got, np.full(3, 0.5))


# light --------------------------------------------------------------------------------------------------------------

POINT = (0.0, 1.0, 2.0, 1.0, 0.0, 0.0, -1.0, 0.0, 30.0, 20.0, 10.0, 1.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", ["directional", "point", "range", "spot", "outside"])
def test_lights(middle: Any, kind: str) -> None:
    """KHR_lights_punctual: candela fall with the square of the distance, a cone's edge is smooth."""
    row = np.array(POINT)
    row[3] = {"directional": 0.0, "spot": 2.0, "outside": 2.0}.get(kind, 1.0)
    toward = np.array([0.0, 1.0, 2.0])
    strength = 1.0 if kind == "directional" else 1.0 / 5.0
    if kind == "directional":
        row[4:7], row[8:11] = -unit(toward), (3.0, 2.0, 1.0)
    if kind == "range":
        row[7], strength = 4.0, (1 - (5.0**0.5 / 4.0) ** 4) / 5.0
    if kind in ("spot", "outside"):
        row[4:7] = unit(np.array([0.0, -1.0, -1.0]))
        angle = unit(-toward) @ row[4:7]
        row[11], row[12] = (angle + 0.02, angle - 0.06) if kind == "spot" else (1.0, angle + 0.01)
        strength *= 0.75**2 if kind == "spot" else 0.0
    got = middle(Material((0.8, 0.6, 0.4, 1.0), (0, 0, 0), 0.2, 0.5), DARK, lights=np.float32([row]))
    direct = direct_light(np.array([0.8, 0.6, 0.4]), 0.2, 0.5, turned((0, 0, 1)), TO_EYE, turned(unit(toward)))
    assert close(got, row[8:11] * strength / math.pi * direct)


def directions() -> tuple[np.ndarray, np.ndarray]:
    spread = np.random.default_rng(0).normal(size=(2, 300, 2)) * 0.5
    return tuple(unit(np.concatenate([one, np.ones((300, 1))], axis=1)) for one in spread)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("metallic", "roughness", "bound"),
    [(0.0, 0.2, 0.06), (0.0, 0.5, 0.035), (0.0, 1.0, 0.035), (1.0, 0.2, 0.01), (1.0, 0.35, 0.06)],
)
def test_light_is_that_of_appendix_b(metallic: float, roughness: float, bound: float) -> None:
    """Apart from light that goes from facet to facet, which rough metals would lose."""
    base, normal, (to_eye, to_light) = np.array([0.8, 0.3, 0.2]), np.array([0.0, 0.0, 1.0]), directions()
    ours = direct_light(base, metallic, roughness, normal, to_eye, to_light)
    theirs = appendix_b(base, metallic, roughness, normal, to_eye, to_light)
    assert (np.abs(ours - theirs).max(axis=1) / theirs.max(axis=1)).max() < bound


def test_what_rough_metals_have_more_than_in_appendix_b_is_their_gain() -> None:
    base, normal, (to_eye, to_light) = np.array([0.8, 0.3, 0.2]), np.array([0.0, 0.0, 1.0]), directions()
    gain = shares(base, 1.0, 0.6, np.maximum(to_eye[:, 2:], 1e-4))[3]
    ours = direct_light(base, 1.0, 0.6, normal, to_eye, to_light)
    theirs = appendix_b(base, 1.0, 0.6, normal, to_eye, to_light) * gain
    assert (np.abs(ours - theirs).max(axis=1) / theirs.max(axis=1)).max() < 0.15  # facets of correlated heights
    assert (ours > appendix_b(base, 1.0, 0.6, normal, to_eye, to_light)).all()


@pytest.mark.parametrize("metallic", [0.0, 1.0])
@pytest.mark.parametrize("roughness", [0.05, 0.5, 1.0])
def test_white_in_a_white_furnace_is_white(middle: Any, metallic: float, roughness: float) -> None:
    white: dict[str, Any] = dict.fromkeys(("sky_color", "horizon_color", "ground_color"), (1.0, 1.0, 1.0))
    furnace = View(bloom=0.0, vignette=0.0, background="#000000", sun=0.0, sky=0.5, **white)
    got = middle(Material((1.0, 1.0, 1.0, 1.0), (0, 0, 0), metallic, roughness), furnace)
    assert np.abs(got - tone_mapped(np.full(3, 0.5))).max() < 2 * LEVELS
