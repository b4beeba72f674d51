"""Path-traced liquids against Snell's law, Fresnel's equations and Beer-Lambert's law in float64, and a furnace."""

import math

import numpy as np
import pytest

from vertigrad.export import Geometry
from vertigrad.path_trace import Gathered, PathTracer, gather
from vertigrad.path_trace.shapes import Surface, triangles
from vertigrad.renderer import OrbitCamera, View

WHITE = {"sky_color": (1, 1, 1), "horizon_color": (1, 1, 1), "ground_color": (1, 1, 1), "sun_color": (1, 1, 1)}
FURNACE = View(sun=0.0, sky=0.5, **WHITE)
FRONT = OrbitCamera(distance=4.0, fov=28.0725, orthographic=True)  # 2 by 2 units
CORNERS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], float)
FACES = np.uint32(  # counterclockwise as seen from outside
    [
        *((0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4)),
        *((2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5)),
    ]
)
SQUARE = np.float32([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
INDEX = np.uint32([0, 1, 2, 0, 2, 3])


def turned(degrees: float) -> np.ndarray:
    """About the y axis."""
    angle = math.radians(degrees)
    return np.array([[math.cos(angle), 0, math.sin(angle)], [0, 1, 0], [-math.sin(angle), 0, math.cos(angle)]])


def liquid(corners: np.ndarray, index: np.ndarray, ior: float, absorption: float = 0.0, scattering: float = 0.0):
    mesh = Geometry("water", "triangles", corners.astype(np.float32), np.ones((len(corners), 3), np.float32), index)
    return triangles(mesh, [Surface(roughness=0.0, absorption=(absorption,) * 3, ior=ior, scattering=scattering)])


def slab(degrees: float, ior: float, absorption: float = 0.0):
    """One unit thick, wider than the image, and turned from the line of sight."""
    return liquid(CORNERS * (40.0, 40.0, 0.5) @ turned(degrees).T, FACES, ior, absorption)


def fresnel(cosine: float, ior: float) -> float:
    inside = math.sqrt(max(1.0 - (1.0 - cosine**2) / ior**2, 0.0))
    across, along = (cosine - ior * inside) / (cosine + ior * inside), (ior * cosine - inside) / (ior * cosine + inside)
    return 0.5 * (across**2 + along**2)


@pytest.fixture
def light(gpu):
    """Mean light and coverage of what was gathered."""

    def of(shapes, layers=(), camera=FRONT, view=FURNACE, size=(16, 16), samples=64, **options):
        found = gather(layers) if layers else Gathered((), (), ())
        tracer = PathTracer(gpu, found._replace(shapes=[*found.shapes, *shapes]), view, camera, size, **options)
        while tracer.samples < samples:
            tracer.advance(samples)
        image = tracer.light()
        tracer.close()
        return image

    return of


@pytest.mark.parametrize(("degrees", "ior", "absorption"), [(0, 1.333, 0.0), (45, 1.5, 0.4), (75, 1.333, 0.2)])
def test_a_slab_mirrors_and_transmits_as_the_formulas_say(light, degrees, ior, absorption):
    """Light from around is mirrored, once or more often within; what passes uncovers the background."""
    cosine = math.cos(math.radians(degrees))
    f = fresnel(cosine, ior)
    path = 1.0 / math.sqrt(1.0 - (1.0 - cosine**2) / ior**2)
    a = math.exp(-absorption * path)
    image = light([slab(degrees, ior, absorption)], samples=100)
    mirrored = f + (1.0 - f) ** 2 * f * a * a / (1.0 - f * f * a * a) * (1.0 + f * a)
    assert image[..., 0].mean() == pytest.approx(0.5 * mirrored, abs=0.006)  # 3 sigma
    assert image[..., 3].mean() == pytest.approx(1.0 - (1.0 - f) ** 2 * a, abs=0.009)


@pytest.mark.parametrize("degrees", [40.0, 60.0])
def test_a_slab_moves_what_is_behind_it_by_snells_law(layer, light, degrees):
    """The edge of a black half plane, by thickness * sin(in - out) / cos(out), within 2 %."""
    edge = layer(
        "surface", {"roughness": 1.0}, position=20 * SQUARE + np.float32([20, 0, -45]), index=INDEX, color="#000000"
    )
    angle = math.radians(degrees)
    refracted = math.asin(math.sin(angle) / 1.5)
    covers = []
    for turn in (degrees, -degrees):
        cover = light([slab(turn, 1.5)], [edge], view=View(sun=0.0, sky=0.0), size=(16, 16), samples=48)[..., 3]
        covers.append(cover.mean(axis=0))
    lost = 1.0 - (1.0 - fresnel(math.cos(angle), 1.5)) ** 2
    widths = [2.0 * (cover.mean() - lost) / (1.0 - lost) for cover in covers]  # of the half plane in the image
    shift = math.sin(angle - refracted) / math.cos(refracted)
    assert widths[1] - widths[0] == pytest.approx(2.0 * shift, rel=0.02)


@pytest.mark.parametrize("ior", [1.333, 1.5])
def test_a_prism_mirrors_everything_beyond_the_critical_angle(light, ior):
    """At 45 degrees: of glass, 41.8 is critical, of water, 48.6."""
    prism = CORNERS.copy()
    prism[(CORNERS[:, 0] > 0) & (CORNERS[:, 2] < 0), 2] = 1.0  # the far side is at 45 degrees
    cover = light([liquid(4.0 * prism, FACES, ior)], size=(16, 16), samples=64)[..., 3].mean()
    out = 1.0 if ior == 1.5 else fresnel(math.sqrt(0.5), 1.0 / ior)
    assert cover == pytest.approx(1.0 - (1.0 - fresnel(1.0, ior)) * (1.0 - out), abs=0.008)


def test_light_of_the_sun_goes_through_a_slab_and_back(layer, light):
    """To a matt square behind it, straight and at 30 degrees: (1 - F)^2 exp(-a); and to the eye."""
    ground = layer(
        "surface", {"roughness": 1.0}, position=20 * SQUARE - np.float32([0, 0, 4]), index=INDEX, color="#808080"
    )
    view = View(sun=1.0, sky=0.0, sun_azimuth=0.0, sun_elevation=30.0, sun_angle=0.5, **WHITE)
    bare, below = (light(shapes, [ground], view=view, bounces=0)[..., 0].mean() for shapes in ([], [slab(0, 1.5, 0.3)]))
    f, a, cosine = fresnel(1.0, 1.5), math.exp(-0.3), math.cos(math.radians(30.0))
    brought = (1.0 - fresnel(cosine, 1.5)) ** 2 * math.exp(-0.3 / cosine)
    assert below / bare == pytest.approx(brought * (1.0 - f) ** 2 * a / (1.0 - f * f * a * a), rel=0.02)


@pytest.mark.parametrize("scattering", [0.0, 1.0])
def test_white_in_a_clear_liquid_disappears_in_a_white_furnace(layer, light, scattering):
    """A white ball in a cube: no light is lost or created where it is refracted, mirrored or scattered."""
    ball = layer("points", {"roughness": 1.0}, position=np.zeros((1, 3), np.float32), color="#ffffff", size=0.5)
    cube = liquid(CORNERS, FACES, 1.333, scattering=scattering)
    camera = OrbitCamera.from_position((1.5, 1.2, 2.5), (0.0, 0.0, 0.0), 30.0)
    view = FURNACE.model_copy(update={"environment_backdrop": True, "environment": "gradient"})
    found = light([cube], [ball], camera, view, (20, 20), 64, bounces=64)
    inside = found[5:15, 5:15]
    assert inside[..., 3].mean() > 0.5
    shown = inside[..., 0].mean() + 0.5 * (1.0 - inside[..., 3].mean())
    assert shown == pytest.approx(0.5, rel=0.03)


def test_the_layer_has_the_optics_of_its_style(layer):
    style = {"ior": 1.4, "absorption_color": (0.5, 0.5, 0.5), "absorption_distance": 2.0, "scattering": 0.7}
    water = layer("liquid", style, position=np.zeros((1, 3), np.float32), size=0.1)
    (shapes,) = gather([water]).shapes
    (surface,) = shapes.materials
    assert (surface.ior, surface.scattering) == (1.4, 0.7)
    assert surface.absorption == pytest.approx((-math.log(((0.5 + 0.055) / 1.055) ** 2.4) / 2.0,) * 3)
    assert len(shapes.primitives) > 20
    # Closed, with corners counterclockwise as seen from outside: the volume is above 0.
    a, b, c = (shapes.primitives[:, corner, :3].view(np.float32).astype(float) for corner in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0.0
