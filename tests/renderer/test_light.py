"""Images against a NumPy reference of the lighting and of the tone mapping, pixel by pixel."""

import math

import numpy as np
import pytest

from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.target import handles_samples
from vertigrad.renderer.view import TONE_MAPS, sun_direction

from .light_reference import CAMERA, SIZE, VIEW, dot, lit, rays, sphere, tone_mapped, unit

LEVELS = 2.5  # of 255: one of rounding, one of dither, and a little for half floats


# spheres ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metallic", "roughness", "color"),
    [
        (0.0, 1.0, (0.8, 0.3, 0.2)),
        (0.0, 0.2, (0.2, 0.4, 0.7)),
        (1.0, 0.35, (0.95, 0.75, 0.4)),
        (0.5, 0.6, (0.5, 0.5, 0.5)),
    ],
)
def test_a_sphere_is_lit_as_its_reference(layer, render, metallic, roughness, color):
    ball = layer(
        "points",
        {"metallic": metallic, "roughness": roughness},
        position=np.array([[0.3, -0.1, 0.2]], np.float32),
        color=color,
        size=0.9,
    )
    distance, normal = sphere((0.3, -0.1, 0.2), 0.9)
    within = sphere((0.3, -0.1, 0.2), 0.88)[0] < np.inf
    expected = tone_mapped(lit(np.array(linear(color)), metallic, roughness, normal, -rays()))
    got = render([ball], CAMERA, VIEW, SIZE).astype(float)
    assert within.sum() > 2000
    assert np.isfinite(distance[within]).all()
    assert np.abs(got - expected)[within].max() < LEVELS


def test_the_lambertian_point_that_faces_the_sun(layer, render):
    """One value computed by hand: black sky, chalk, the sun behind the camera."""
    view = View(bloom=0.0, vignette=0.0, sky=0.0, sun=0.5, sun_color=(1, 1, 1), sun_azimuth=0.0, sun_elevation=0.0)
    chalk = layer("points", {"roughness": 1.0}, position=np.zeros((1, 3), np.float32), color=(1, 1, 1), size=0.9)
    got = render([chalk], OrbitCamera(distance=4.0), view, (81, 81))[40, 40]
    # Fresnel 0.04; matt 0.5 * 0.96; gloss 0.5 * 0.04 * pi * (1 / pi) * 0.25
    assert np.abs(got - tone_mapped(np.full(3, 0.5 * 0.96 + 0.5 * 0.04 * 0.25))).max() < LEVELS


def test_exposure_is_a_gain_of_the_light(layer, render):
    ball = layer(
        "points", {"emissive": 1.0, "brightness": 0.2}, position=np.zeros((1, 3), np.float32), color=(1, 1, 1), size=0.9
    )
    middle = [
        render([ball], OrbitCamera(distance=4.0), VIEW.model_copy(update={"exposure": gain}), (81, 81))[40, 40]
        for gain in (1.0, 3.0)
    ]
    assert np.abs(middle[0] - tone_mapped(np.full(3, 0.2))).max() < LEVELS
    assert np.abs(middle[1] - tone_mapped(np.full(3, 0.6))).max() < LEVELS


@pytest.mark.parametrize("tone_map", TONE_MAPS)
def test_each_tone_map_has_its_curve(layer, render, tone_map):
    colors = [(0.46, 0.46, 0.46), (0.1, 0.55, 0.8), (0.95, 0.3, 0.1), (1, 0.8, 0.3), (0.1, 0.2, 1)]
    for color in colors:
        glow = {"emissive": 1.0, "brightness": 1.0}
        ball = layer("points", glow, position=np.zeros((1, 3), np.float32), color=color, size=0.9)
        for exposure in (1.0, 15.0):
            view = VIEW.model_copy(update={"tone_map": tone_map, "exposure": exposure})
            shown = render([ball], OrbitCamera(distance=4.0), view, (21, 21))[10, 10]
            expected = tone_mapped(np.array(linear(color)), exposure, tone_map)
            assert np.abs(shown - expected).max() < LEVELS, (color, exposure)


def test_spheres_intersect_correctly(layer, render):
    centers = np.array([[-0.3, 0.05, 0.0], [0.25, 0.0, -0.05]], np.float32)
    radii = np.array([0.7, 0.55], np.float32)
    colors = np.array([[1, 0, 0], [0, 0, 1]], np.float32)
    balls = layer("points", {"emissive": 1.0, "brightness": 1.0}, position=centers, color=colors, size=radii)
    got = render([balls], CAMERA, VIEW, SIZE).astype(float)

    (red, _), (blue, _) = (sphere(c, r) for c, r in zip(centers.astype(float), radii.astype(float), strict=True))
    expected = np.where(red < blue, 0, np.where(blue < np.inf, 2, -1))
    found = np.where(got.max(axis=-1) < 20, -1, np.where(got[..., 0] > got[..., 2], 0, 2))
    clear = (got[..., 0] > 2 * got[..., 2]) | (got[..., 2] > 2 * got[..., 0]) | (got.max(axis=-1) < 20)
    settled = same_around(expected)
    assert (expected == 0).sum() > 500
    assert (expected == 2).sum() > 500
    both = np.isfinite(red) & np.isfinite(blue)
    assert (both & (expected == 0) & settled).sum() > 100, "they do not cut each other"
    assert (found == expected)[settled].all()
    assert clear[settled].all()
    # The line is right to a pixel: the farther sphere is nowhere visible by more than one pixel's slope.
    gap = np.subtract(red, blue, out=np.zeros_like(red), where=both)
    wrong = (found != expected) & both
    assert (np.abs(gap)[wrong] <= np.hypot(*np.gradient(gap))[wrong]).all()


def same_around(classes):
    """Pixels whose eight neighbors have the same class."""
    inner = np.zeros(classes.shape, bool)
    block = np.stack(
        [classes[1 + dy : -1 + dy or None, 1 + dx : -1 + dx or None] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    )
    inner[1:-1, 1:-1] = (block == block[4]).all(axis=0)
    return inner


@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (1.1, 0.5, 0.6), (-0.8, -0.6, 2.0), (0.3, -0.2, 2.9)])
def test_the_outline_is_that_of_a_sphere_in_perspective(gpu, layer, render, center):
    if not handles_samples(gpu):
        pytest.skip("samples are averaged before the film curve here, which widens so bright an outline")
    camera = OrbitCamera(distance=4.0, fov=70.0)
    ball = layer(
        "points",
        {"emissive": 1.0, "brightness": 1000.0},
        position=np.array([center], np.float32),
        color=(1, 1, 1),
        size=0.45,
    )
    shown = render([ball], camera, VIEW, SIZE)[..., 1]
    covered = np.where(shown / 255 <= 0.04045, shown / 255 / 12.92, ((shown / 255 + 0.055) / 1.055) ** 2.4)
    expected = outline(center, 0.45, camera)
    edge = (expected > 0) & (expected < 1)
    assert (covered[expected == 1] > 0.95).all()
    assert (covered[expected == 0] < 0.01).all()
    assert covered.sum() == pytest.approx(expected.sum(), rel=0.01)
    assert edge.sum() > 50
    assert np.abs(covered - expected)[edge].mean() < 0.1


def test_the_samples_of_an_outline_are_those_of_the_rasterizer(gpu, layer, render):
    """A sphere and a wall right behind it that ends on the same outline: the wall is nowhere visible."""
    if not handles_samples(gpu):
        pytest.skip("the adapter chooses the samples itself here")
    radius, distance = 20.0, 50.0
    camera = OrbitCamera(distance=distance, fov=2 * math.degrees(math.atan(0.5 / distance)))
    glow = {"emissive": 1.0, "brightness": 1.0}
    blue = layer("points", glow, position=np.float32([[-radius, 0, 0]]), color=(0, 0, 1), size=radius)
    corners = np.float32([[[x, y, -30.0] for x in (-5, 0)] for y in (-2, 2)])
    red = layer("surface", position=corners, color=(1, 0, 0))
    size = (101, 75)  # an odd width: the line is at the center of a pixel
    middle = render([red, blue], camera, VIEW, size)[20:55, 50].astype(int)
    alone = render([blue], camera, VIEW, size)[20:55, 50].astype(int)
    assert alone[:, 2].min() > 60
    assert np.abs(middle - alone).max() <= 2
    assert render([red], camera, VIEW, size)[20:55, 50, 0].min() > 60


def outline(center, radius, camera, fine=8):
    """The coverage of each pixel by a sphere, from `fine` x `fine` samples."""
    width, height = SIZE
    center = (camera.view() @ [*center, 1.0])[:3]
    ray = rays(camera, (width * fine, height * fine))
    hit = center @ center - dot(ray, center)[..., 0] ** 2 <= radius**2
    return hit.reshape(height, fine, width, fine).mean(axis=(1, 3))


# far away -----------------------------------------------------------------------------------------------------------


def light_of_star(layer, render, radius_pixels, shift=(0.0, 0.0), size=(24, 24)):
    """The light of one emissive white star, `shift` pixels from the center: the sum over the image."""
    camera = OrbitCamera(distance=10.0, fov=30.0)
    pixel = camera.pixel(size[1]) * 10.0
    point = np.array([[shift[0] * pixel, shift[1] * pixel, 0.0]], np.float32)
    star = layer(
        "points", {"emissive": 1.0, "brightness": 1.0}, position=point, color=(1, 1, 1), size=radius_pixels * pixel
    )
    shown = render([star], camera, VIEW, size)[..., 1] / 255
    shown = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    middle_gray, white = 0.18**1.5 * (1 / 0.18 - 1), 12.0**1.5
    film = np.where(shown < 1.5 / 255 / 12.92, 0.0, shown) / ((white + middle_gray) / white)
    return ((film * middle_gray / (1 - film)) ** (2 / 3)).sum()


@pytest.mark.parametrize("radius", [0.45, 0.8])
def test_a_small_star_does_not_flicker_as_it_moves(layer, render, radius):
    shifts = [(i / 7, j / 7) for i in range(0, 8, 2) for j in range(0, 8, 3)]
    lights = [light_of_star(layer, render, radius, shift) for shift in shifts]
    assert max(lights) / min(lights) < 1.08


def test_a_stars_light_is_its_area_from_spot_to_sphere(layer, render):
    radii = np.array([0.3, 0.5, 0.7, 0.95, 1.3, 2.0, 4.0])
    lights = np.array([light_of_star(layer, render, radius, (0.3, 0.2)) for radius in radii])
    per_area = lights / (math.pi * radii**2)
    mean_glow = 0.45 + 0.55 * 2 / 3
    np.testing.assert_allclose(per_area, mean_glow, rtol=0.12)


def test_a_lit_spot_has_the_mean_light_of_a_lit_ball(layer, render):
    """Lambert's phase function against the image of a ball, with the sun from the side."""
    view = VIEW.model_copy(update={"sky": 0.0, "sun": 0.5, "sun_azimuth": 70.0, "sun_elevation": 0.0})
    camera = OrbitCamera(distance=1000.0, fov=1.0)
    phase = math.radians(70.0)
    lambert = 2 / 3 * (math.sin(phase) + (math.pi - phase) * math.cos(phase)) / math.pi
    normal = sphere((0, 0, 0), 6.0, camera)[1]
    inside = np.isfinite(sphere((0, 0, 0), 6.0, camera)[0])
    ball = np.maximum(normal @ sun_direction(view, camera), 0)[inside].mean()
    assert ball == pytest.approx(lambert, rel=0.01)

    far = layer(
        "points", {"roughness": 1.0, "min_pixels": 16.0}, position=np.zeros((1, 3), np.float32), color=(1, 1, 1),
        size=15.99 * camera.pixel(120) * 1000.0,
    )  # fmt: skip
    shown = render([far], camera, view, SIZE)[60, 80]
    peak = min(1.0, 3 * 15.99**2 / 17.0**2)
    light = 0.5 * np.array(linear(view.sun_color)) * lambert * peak
    assert np.abs(shown - tone_mapped(light)).max() < LEVELS


# surfaces -----------------------------------------------------------------------------------------------------------


def sheet(n=5, tilt=0.0):
    """A square sheet around the origin, tilted out of the plane that faces a camera at yaw and pitch 0."""
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    turn = np.array([[1, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]])
    return (np.stack([x, y, 0 * x], axis=-1) @ turn.T).astype(np.float32), turn @ [0.0, 0.0, 1.0]


@pytest.mark.parametrize("sides", [1, -1])
@pytest.mark.parametrize("winding", [True, False])
def test_a_surface_is_lit_like_its_reference_on_both_sides(layer, render, sides, winding):
    position, across = sheet(tilt=-0.6)
    normals = {"normal": np.broadcast_to(across, position.shape).astype(np.float32)} if winding else {}
    color = (0.3, 0.6, 0.5)
    ground = layer("surface", {"roughness": 0.4}, position=position, color=color, **normals)
    camera = OrbitCamera(distance=4.0, yaw=0.2 if sides > 0 else math.pi + 0.2, fov=40.0)

    ray = rays(camera)
    normal = camera.rotation().T @ across * sides
    middle = (camera.view() @ [0, 0, 0, 1.0])[:3]
    hit = ray * (middle @ normal / dot(ray, normal))
    back = (hit - middle) @ camera.rotation().T
    within = (np.abs(back[..., 0]) < 0.95) & (np.linalg.norm(back[..., 1:], axis=-1) < 0.95)
    expected = tone_mapped(
        lit(np.array(linear(color)), 0.0, 0.4, np.broadcast_to(normal, ray.shape), -ray, camera=camera)
    )
    got = render([ground], camera, VIEW, SIZE).astype(float)
    assert within.sum() > 2000
    assert np.abs(got - expected)[within].max() < LEVELS


def test_ridges_seen_edge_on_have_no_artifacts(layer, render):
    """Smooth normals of a rough landscape point away from the eye along its ridges; all of them point upward."""
    n = 200
    x, z = np.meshgrid(np.linspace(-8, 8, n), np.linspace(-8, 8, n))
    height = 1.6 * np.abs(np.sin(2.3 * x + 0.7 * z)) + 1.3 * np.abs(np.sin(2.9 * z - 1.1 * x))
    height += np.random.default_rng(3).uniform(0, 0.013, height.shape)
    dz, dx = np.gradient(height, 16 / (n - 1))
    normal = unit(np.stack([-dx, np.ones_like(x), -dz], axis=-1)).astype(np.float32)
    position = np.stack([x, height, z], axis=-1).astype(np.float32)
    view = VIEW.model_copy(update={"sun": 0.0, "sky": 1.0})
    land = layer("surface", {"roughness": 1.0}, position=position, normal=normal, color=(1, 1, 1))
    camera = OrbitCamera((0.0, 1.8, 0.0), distance=5.0, yaw=0.3, pitch=0.2, fov=50.0)
    shown = render([land], camera, view, (320, 240))[150:]
    tints = view.ground_color, view.horizon_color, view.sky_color
    level = 0.96 * sum(k * np.array(linear(tint)) for k, tint in zip((0.5, 0.2, 0.3), tints, strict=True))
    assert (shown < tone_mapped(level) * 0.9).any(axis=-1).sum() == 0


def test_a_sphere_and_a_surface_intersect_correctly(layer, render):
    """Points write their depth in the fragment shader, surfaces through the rasterizer: both are consistent."""
    position, across = sheet(tilt=0.5)
    nearer = np.array([0.0, 0.0, 0.35], np.float32)
    ground = layer("surface", position=position + nearer, color=(0, 0, 1))
    ball = layer(
        "points", {"emissive": 1.0, "brightness": 1.0}, position=np.zeros((1, 3), np.float32), color=(1, 0, 0), size=0.6
    )
    camera = OrbitCamera(distance=4.0, fov=40.0)
    got = [render(layers, camera, VIEW, SIZE).astype(float) for layers in ([ground, ball], [ball, ground])]

    ray = rays(camera)
    normal = camera.rotation().T @ across
    middle = (camera.view() @ [*nearer, 1.0])[:3]
    plane = (middle @ normal / dot(ray, normal))[..., 0]
    front = sphere((0, 0, 0), 0.6, camera)[0] < plane
    settled = same_around(front) & np.isfinite(sphere((0, 0, 0), 0.6, camera)[0])
    for shown in got:
        assert ((shown[..., 0] > shown[..., 2]) == front)[settled].all()
    assert (front & settled).sum() > 300
    assert (~front & settled).sum() > 300


def test_the_background_has_the_requested_color(render):
    view = View(background="#6080a0", vignette=0.0)
    shown = render([], CAMERA, view, (64, 65))[32, 32]
    assert np.abs(shown.astype(int) - [0x60, 0x80, 0xA0]).max() <= 1
