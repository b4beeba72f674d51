"""The surface of a liquid: shape, Fresnel's equations, absorption, refraction, depth, rows that are not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vertigrad.gpu import shader
from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers import liquid_tiles
from vertigrad.renderer.picking import Picker
from vertigrad.renderer.target import handles_samples

SIZE = (96, 72)
MIDDLE = (slice(31, 41), slice(41, 55))
SPACING = 0.1
SLAB = {"size": 0.5 * SPACING}
WHITE = {"sky_color": "#ffffff", "horizon_color": "#ffffff", "ground_color": "#ffffff"}
SKY = View(bloom=0.0, vignette=0.0, background="#000000", tone_map="none", sun=0.0, sky=1.0, **WHITE)
CLEAR = {"absorption_color": "#ffffff", "scattering": 0.0}
BLACK = {"absorption_color": "#000000", "absorption_distance": 0.02, "scattering": 0.0}


@pytest.fixture(autouse=True)
def by_samples(gpu):
    if not handles_samples(gpu):
        pytest.skip("liquids are refused there")


def from_above(pitch: float = 90.0, orthographic: bool = True) -> OrbitCamera:
    return OrbitCamera(distance=4.0, pitch=math.radians(min(pitch, 89.99)), fov=20.0, orthographic=orthographic)


def slab(layers: int = 4, across: int = 26) -> np.ndarray:
    """Particles on a lattice; water at rest would end half a spacing above the upper ones, at y = 0."""
    x, y, z = np.meshgrid(np.arange(across), np.arange(layers), np.arange(across), indexing="ij")
    middle = (across - 1) / 2
    return SPACING * np.stack([x - middle, -y - 0.5, z - middle], axis=-1).reshape(-1, 3).astype(np.float32)


def plate(height: float, left: float = -4.0) -> np.ndarray:
    corners = [[[left, height, -4], [4, height, -4]], [[left, height, 4], [4, height, 4]]]
    return np.float32(corners)


def light(image: np.ndarray) -> np.ndarray:
    """The mean of linear light over the channels, for each pixel of an image drawn without a tone map."""
    table = np.array([linear((n / 255.0,))[0] for n in range(256)])
    return table[image].mean(axis=-1)


def fresnel(degrees: float, ior: float) -> float:
    """The fraction of unpolarized light that is reflected, by the angles of Snell's law."""
    outside = math.radians(degrees)
    inside = math.asin(math.sin(outside) / ior)
    if degrees == 0.0:
        return ((ior - 1) / (ior + 1)) ** 2
    across = math.sin(outside - inside) / math.sin(outside + inside)
    along = math.tan(outside - inside) / math.tan(outside + inside)
    return 0.5 * (across**2 + along**2)


@pytest.mark.parametrize(("ior", "reflected"), [(1.333, 0.0204), (1.6, 0.0533)])
def test_light_that_is_reflected_at_normal_incidence(layer, render, ior, reflected):
    ink = layer("liquid", {**BLACK, "ior": ior}, position=slab(), **SLAB)
    found = light(render([ink], from_above(), SKY, SIZE))[MIDDLE]
    assert abs(fresnel(0.0, ior) - reflected) < 1e-4
    assert abs(found - reflected).max() < 0.003  # a step of 8 bits is 0.0012 here


def test_a_plane_of_particles_is_flat(layer, render):
    angles = np.linspace(40.0, 89.0, 491)
    table = [fresnel(angle, 1.333) for angle in angles]
    ink = layer("liquid", BLACK, position=slab(2, 44), **SLAB)
    found = light(render([ink], from_above(pitch=20.0), SKY, SIZE))[MIDDLE]
    incidence = np.interp(found, table, angles)
    assert abs(incidence - 70.0).max() < 2.0
    rough = layer("liquid", {**BLACK, "smoothing": 0.0}, position=slab(2, 44), **SLAB)
    spheres = np.interp(light(render([rough], from_above(pitch=20.0), SKY, SIZE))[MIDDLE], table, angles)
    assert spheres.std() > 5.0


def test_a_plane_is_flat_and_without_a_pattern_where_spheres_are_large_in_the_image(layer, render):
    """A radius of 130 pixels is more than the filter has taps: those that are apart leave no trace."""
    angles = np.linspace(40.0, 89.0, 491)
    uneven = slab(3, 44) + np.random.default_rng(0).uniform(-0.2, 0.2, (3 * 44 * 44, 3)).astype(np.float32) * SPACING
    ink = layer("liquid", BLACK, position=uneven, **SLAB)
    camera = OrbitCamera(distance=2.6, pitch=math.radians(20.0), fov=20.0, orthographic=True)
    assert 0.5 * SPACING * 10.0 / camera.pixel(300) > 130.0
    found = light(render([ink], camera, SKY, (400, 300)))[130:170, 130:270]
    incidence = np.interp(found, [fresnel(angle, 1.333) for angle in angles], angles)
    assert incidence.std() < 0.4 and abs(incidence.mean() - 70.0) < 0.3
    for axis in (0, 1):
        assert abs(np.diff(incidence, axis=axis)).max() < 0.8, "no comb"


def test_a_plane_is_flat_up_to_a_slanted_outline(layer, render):
    """What is beyond the outline, whose steps are whole pixels, bends nothing and leaves no lines."""
    angles = np.linspace(40.0, 89.0, 491)
    camera = OrbitCamera(distance=4.0, yaw=math.radians(30), pitch=math.radians(20), fov=20.0, orthographic=True)
    ink = layer("liquid", BLACK, position=slab(2, 14), **SLAB)
    found = light(render([ink], camera, SKY, (192, 144)))[:72]
    upper = np.pad(found > 0.01, 8)
    inside = np.all([np.roll(upper, (y, x), (0, 1)) for y in range(-8, 9, 8) for x in range(-8, 9, 8)], axis=0)[
        8:-8, 8:-8
    ]
    inside[62:] = False  # where the front is near
    incidence = np.interp(found[inside], [fresnel(angle, 1.333) for angle in angles], angles)
    assert inside.sum() > 100
    assert abs(incidence - 70.0).max() < 3.0


def test_the_far_rim_of_a_pool_is_straight(layer, render):
    camera = OrbitCamera(distance=4.0, pitch=math.radians(20), fov=20.0, orthographic=True)
    milk = layer("liquid", {**CLEAR, "scattering": 100.0}, position=slab(2, 14), **SLAB)
    found = light(render([milk], camera, SKY, (384, 288)))[:, 130:254]
    rim = 288 - (found[:144] / found[144].mean()).clip(0, 1).sum(axis=0)
    assert rim.std() < 0.03 * 0.05 / camera.pixel(288)  # of a row of spheres a tenth of a size


def test_a_plane_of_uneven_particles_is_flat_next_to_its_outline(layer, render):
    """Where particles are on one side only: from two to six pixels within a rim that is an uneven row of spheres."""
    angles = np.linspace(40.0, 89.9, 491)
    camera = OrbitCamera(distance=4.0, yaw=math.radians(30), pitch=math.radians(20), fov=20.0, orthographic=True)
    uneven = slab(2, 14) + np.random.default_rng(0).uniform(-0.02, 0.02, (2 * 14 * 14, 3)).astype(np.float32)
    ink = layer("liquid", BLACK, position=uneven, **SLAB)
    found = light(render([ink], camera, SKY, (384, 288)))[:140]
    covered = [found > 0.01]
    for _ in range(6):
        padded = np.pad(covered[-1], 1)
        covered.append(
            np.all([np.roll(padded, step, axis)[1:-1, 1:-1] for step in (-1, 0, 1) for axis in (0, 1)], axis=0)
        )
    rim = covered[1] & ~covered[6]
    rim[110:] = False  # where the front is near
    incidence = np.interp(found[rim], [fresnel(angle, 1.333) for angle in angles], angles)
    assert rim.sum() > 1000
    assert abs(incidence - 70.0).mean() < 2.0


def test_the_fragments_that_cover_the_image_read_what_was_computed():
    """GPUs for computing run fragments on few of their multiprocessors: record 0174."""
    source = shader.render("draw/liquid_cover.wgsl", {})
    fragment = source[source.index("fn cover_fragment") :]
    assert fragment.count("textureLoad(") == 2 and "for " not in fragment


@pytest.mark.parametrize("layers", [2, 4])
def test_a_slab_absorbs_by_its_thickness(layer, render, layers):
    floor = layer("surface", position=plate(-SPACING * layers), color="#ffffff")
    open_ = light(render([floor], from_above(), SKY, SIZE))[MIDDLE].mean()
    style = {"absorption_color": "#808080", "absorption_distance": 0.3, "scattering": 0.0}
    wet = layer("liquid", style, position=slab(layers), **SLAB)
    found = light(render([floor, wet], from_above(), SKY, SIZE))[MIDDLE].mean()
    lost = fresnel(0.0, 1.333)
    expected = lost + (1 - lost) * linear((128 / 255,))[0] ** (SPACING * layers / 0.3) * open_
    assert abs(found / expected - 1.0) < 0.05


def test_what_scatters_is_as_bright_as_a_white_sky(layer, render):
    milk = layer("liquid", {**CLEAR, "scattering": 100.0}, position=slab(), **SLAB)
    assert light(render([milk], from_above(), SKY, SIZE))[MIDDLE].min() > 0.98


def test_an_edge_on_the_floor_is_seen_where_light_is_refracted(layer, render):
    camera, depth = (
        OrbitCamera(distance=4.0, yaw=math.radians(90), pitch=math.radians(40), fov=20.0, orthographic=True),
        0.4,
    )
    floor = layer("surface", position=plate(-depth, left=0.0), color="#ffffff")
    wet = layer("liquid", CLEAR, position=slab(), **SLAB)
    edges = []
    for layers in ([floor], [floor, wet]):
        column = light(render(layers, camera, SKY, SIZE))[:, 48]
        edges.append(np.argmax(column > 0.5 * column.max()))
    outside = math.radians(50.0)
    inside = math.asin(math.sin(outside) / 1.333)
    moved = depth * (math.tan(outside) - math.tan(inside)) * math.sin(math.radians(40))
    assert moved / camera.pixel(SIZE[1]) > 5.0
    assert abs(edges[0] - edges[1] - moved / camera.pixel(SIZE[1])) < 1.5  # upward: what is under water seems raised


def ball_of_water(radius: float, to_eye: np.ndarray, radiance, samples: int = 61) -> float:
    """Mean light over the disc of a ball of clear water, traced through up to 4 reflections inside; in parallel light.

    `radiance` is that of the surroundings, far away, by directions (n, 3).
    """
    x, y = np.meshgrid(*[np.linspace(-1, 1, samples) * 0.999] * 2)
    x, y = x[x**2 + y**2 < 0.995], y[x**2 + y**2 < 0.995]
    right = np.cross([0.0, 1.0, 0.0], to_eye)
    right /= np.linalg.norm(right)
    normal = x[:, None] * right + y[:, None] * np.cross(to_eye, right) + np.sqrt(1 - x**2 - y**2)[:, None] * to_eye
    incidence = np.degrees(np.arccos(normal @ to_eye))
    part = np.array([fresnel(angle, 1.333) for angle in incidence])
    found = part * radiance(2 * (normal @ to_eye)[:, None] * normal - to_eye)
    inside = np.arcsin(np.sin(np.radians(incidence)) / 1.333)
    across = to_eye - (normal @ to_eye)[:, None] * normal  # away from which light is bent, in the plane of incidence
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    left = (1 - part) ** 2
    for bounce in range(4):
        turned = (bounce + 1) * (np.pi - 2 * inside)  # of the normal, from entry to exit
        exit_normal = np.cos(turned)[:, None] * normal - np.sin(turned)[:, None] * across
        tangent = -np.sin(turned)[:, None] * normal - np.cos(turned)[:, None] * across
        outside = np.radians(incidence)
        found += left * radiance(np.cos(outside)[:, None] * exit_normal + np.sin(outside)[:, None] * tangent)
        left = left * part
    return float(found.mean())


@pytest.mark.parametrize("albedo", ["#ffffff", "#aaaaaa"])
def test_a_drop_is_as_bright_as_a_ball_of_water(layer, render, albedo):
    camera = from_above(pitch=25.0)
    view = SKY.model_copy(update={"ground_color": tuple(int(albedo[k : k + 2], 16) / 255 for k in (1, 3, 5))})
    floor = layer("surface", position=40 * plate(-0.05), color=albedo)
    drop = layer("liquid", CLEAR, position=np.zeros((1, 3), np.float32), size=0.25)
    without, found = (light(render(layers, camera, view, (192, 144))) for layers in ([floor], [floor, drop]))
    y, x = np.mgrid[:144, :192]
    disc = np.hypot(x - 95.5, y - 71.5) < 0.25 * 1.6 / camera.pixel(144) - 1
    ground = without[disc].mean()
    to_eye = np.array([0.0, math.sin(math.radians(25)), math.cos(math.radians(25))])
    expected = ball_of_water(0.4, to_eye, lambda to: np.where(to[:, 1] > 0, 1.0, ground))
    assert abs(found[disc].mean() / expected - 1) < 0.08


def test_water_is_seen_behind_a_sheet(layer, render):
    camera = from_above(pitch=20.0)
    x, y = np.meshgrid(np.arange(-6, 7), np.arange(4, 13))
    sheet = SPACING * np.stack([x, y, 8 + 0 * x], axis=-1).reshape(-1, 3).astype(np.float32)
    wet = layer("liquid", CLEAR, position=np.concatenate([slab(2, 44), sheet]), **SLAB)
    found = light(render([wet], camera, SKY, SIZE))[8:26, 30:66]
    expected = fresnel(20.0, 1.333) + (1 - fresnel(20.0, 1.333)) * fresnel(70.0, 1.333)
    assert abs(found.mean() / expected - 1) < 0.05  # the sheet alone reflects a seventh of that


def test_particles_that_fly_alone_are_smaller(layer, render):
    """By their density: there are some alone, and some at rest, which are drawn as without a density."""
    style = {**CLEAR, "scattering": 100.0, "drop_size": 0.5}
    covered = {}
    for density in (318.0, 1000.0, None):
        bound = {} if density is None else {"density": np.full(1, density, np.float32)}
        drop = layer("liquid", style, position=np.zeros((1, 3), np.float32), size=0.3, **bound)
        covered[density] = (light(render([drop], from_above(), SKY, SIZE)) > 0.1).sum()
    assert covered[1000.0] == covered[None] > 900
    assert abs(covered[318.0] / covered[None] - 0.25) < 0.03


def test_opaque_objects_hide_it_and_are_hidden_by_it(layer, render):
    ink = layer("liquid", BLACK, position=slab(), **SLAB)
    above, below = (
        layer("points", position=np.float32([[0.0, height, 0.0]]), size=0.2, color="#ffffff") for height in (0.5, -1.0)
    )
    alone = light(render([above], from_above(), SKY, SIZE))
    over = light(render([ink, above], from_above(), SKY, SIZE))
    assert abs(alone - over)[34:38, 46:50].max() < 0.01
    under = light(render([below, ink], from_above(), SKY, SIZE))
    assert under[MIDDLE].max() < 0.03


def test_it_is_hidden_by_transparent_objects_above_it_only(layer, render):
    milk = layer("liquid", {**CLEAR, "scattering": 100.0}, position=slab(), **SLAB)
    images = []
    for height in (0.3, -0.6):
        glass = layer("surface", position=plate(height), color=(0.0, 0.0, 0.0, 0.5))
        images.append(light(render([milk, glass], from_above(), SKY, SIZE))[MIDDLE].mean())
    assert images[0] < 0.7 and images[1] > 0.97


SUN = {"sun": 1.0, "sky": 0.0, "shadows": 1.0, "sun_elevation": 60.0, "sun_azimuth": 90.0, "sun_angle": 0.5}
INKY = {"absorption_color": "#bcbcbc", "absorption_distance": 0.4, "scattering": 0.0}  # half the light after 0.4


def near_sun(across: int = 18) -> np.ndarray:
    """A slab of uneven particles that shades the middle of a floor at y = 0, behind the eye."""
    uneven = np.random.default_rng(0).uniform(-0.02, 0.02, (4 * across * across, 3))
    return np.float32(slab(across=across) + uneven + [1.5 / math.tan(math.radians(60.0)), 1.5, 0.0])


def near_eye() -> np.ndarray:
    return slab(across=12) + np.random.default_rng(0).uniform(-0.02, 0.02, (4 * 12 * 12, 3)).astype(np.float32)


@pytest.mark.parametrize("fov", [20.0, 3.0])
def test_its_shadow_is_even_and_that_of_the_length_of_liquid(layer, render, fov):
    """From the sun to the floor, as exp(-optical depth); also near by, where each particle is many texels wide."""
    view = SKY.model_copy(update=SUN)
    camera = OrbitCamera(distance=1.1, pitch=math.radians(89.99), fov=fov, orthographic=True)
    floor = layer("surface", position=plate(0.0), color="#ffffff")
    bright = light(render([floor], camera, view, SIZE)).max()
    for strength in (1.0, 0.5):
        wet = layer("liquid", {**INKY, "shadow": strength}, position=near_sun(), **SLAB)
        shaded = light(render([floor, wet], camera, view, SIZE)) / bright
        expected = 0.5 ** (strength / math.sin(math.radians(60.0)))  # 0.4 deep, along a slanted line
        assert abs(shaded.mean() / expected - 1) < 0.04
        assert shaded.std() < 0.05 * expected


@pytest.mark.parametrize("orthographic", [False, True])
def test_an_eye_in_a_liquid_sees_the_same_whatever_the_order_of_rows(layer, render, orthographic):
    """Some spheres begin behind the eye, others before it."""
    camera = OrbitCamera(
        target=(0, -0.4, 0), distance=0.3, fov=50.0, pitch=math.radians(80.0), orthographic=orthographic
    )
    images = []
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(near_eye())
        images.append(render([layer("liquid", CLEAR, position=rows, **SLAB)], camera, SKY, SIZE))
    assert images[0].std() > 1.0
    assert all((one == images[0]).all() for one in images[1:])


@pytest.mark.parametrize("orthographic", [False, True])
def test_particles_are_picked_and_rows_that_are_not_finite_are_not_drawn(gpu, layer, render, orthographic):
    camera = from_above(orthographic=orthographic)
    position = np.float32([[math.nan, 0, 0], [math.inf, 0, 0], [0, 0, 0], [0, -1, 0]])
    drop = layer("liquid", {**CLEAR, "scattering": 100.0}, position=position, size=0.3)
    one = layer("liquid", {**CLEAR, "scattering": 100.0}, position=position[2:], size=0.3)
    images = [render([each], camera, SKY, SIZE) for each in (drop, one)]
    assert (images[0] == images[1]).all()
    assert light(images[0])[36, 48] > 0.9 and light(images[0])[0, 0] == 0.0
    picked = []
    reading = Picker(gpu).pick([drop], camera, SIZE, (48, 36), picked.append)
    gpu.submit()
    gpu.readback.wait(reading)
    assert picked[0].row == 2 and abs(picked[0].depth - (4.0 - 0.3 * 1.6)) < 0.01


@pytest.mark.turns(2)
def test_an_image_with_more_pairs_than_there_is_memory_for_has_larger_tiles(layer, render, monkeypatch):
    """The first image is right, and later ones have memory for small tiles."""
    water = layer("liquid", CLEAR, position=slab(), **SLAB)
    whole = render([water], from_above(pitch=30.0), SKY, SIZE)
    monkeypatch.setattr(liquid_tiles, "PAIRS", 1)
    monkeypatch.setattr(liquid_tiles, "PAIRS_A_ROW", 1)
    short = layer("liquid", CLEAR, position=slab(), **SLAB)
    rows = len(slab())
    tiles = short.drawing._tiles
    assert tiles.report()["capacity"] == rows
    images = [render([short], from_above(pitch=30.0), SKY, SIZE) for _ in range(4)]
    assert tiles.report()["capacity"] > 1.2 * rows
    monkeypatch.setattr(liquid_tiles, "MOST_PAIRS", rows + 1)
    crowded = layer("liquid", CLEAR, position=slab(), **SLAB)
    images += [render([crowded], from_above(pitch=30.0), SKY, SIZE) for _ in range(4)]
    assert crowded.drawing._tiles.report()["capacity"] == rows + 1
    for image in images:
        assert np.array_equal(image, whole)


def test_images_are_the_same_if_several_invocations_share_the_particles_of_a_tile(layer, render, monkeypatch):
    uneven = slab() + np.random.default_rng(0).uniform(-0.05, 0.05, slab().shape).astype(np.float32)
    above = np.random.default_rng(1).uniform(-1.0, 1.0, (200, 3)).astype(np.float32) + np.float32([0.0, 1.2, 0.0])
    images = []
    for parts in (1, 4):
        monkeypatch.setattr(liquid_tiles, "SOFTWARE_PARTS", parts)
        monkeypatch.setattr(liquid_tiles, "PARTS", parts)
        water = layer("liquid", position=np.concatenate([uneven, above]), **SLAB)
        images.append(render([water], from_above(pitch=30.0), SKY, SIZE))
    assert np.array_equal(*images) and images[0].std() > 10.0


def test_a_small_image_of_many_particles_has_no_holes(layer, render):
    """Tiles with 20,000 particles: more than llvmpipe takes in one loop of an invocation."""
    position = np.random.default_rng(3).uniform(-0.5, 0.5, (20000, 3)).astype(np.float32)
    camera = OrbitCamera(distance=8.0, pitch=0.0, yaw=0.0, fov=40.0)
    images = [
        light(render([layer("liquid", BLACK, position=rows, size=0.05)], camera, SKY, (48, 36)))
        for rows in (position, position[::-1], position[:2000])
    ]
    assert np.array_equal(images[0], images[1])
    covered = [image > 0.002 for image in images]
    assert covered[2].sum() > 20 and np.all(covered[0] >= covered[2])


@pytest.mark.parametrize("orthographic", [False, True])
def test_a_particle_that_reaches_around_the_eye_or_is_cut_off(layer, render, orthographic):
    """Particles behind, around and before the eye, and a clip plane through the one that is before it."""
    position = np.float32([[0, 0, 0], [0, 0, 3.98], [0, 0, 6], [0.02, 0, 3.2]])
    camera = OrbitCamera(distance=4.0, pitch=0.0, yaw=0.0, fov=20.0, orthographic=orthographic)
    style = {**BLACK, "smoothing": 0.0, "sphere_scale": 1.6}
    ball = layer("liquid", style, position=position[:1], size=0.2)
    every = layer("liquid", style, position=position[:3], size=0.2)
    alone, among = (light(render([one], camera, SKY, SIZE)) for one in (ball, every))
    assert (alone > 0.002).sum() > 100
    if not orthographic:  # the eye is nowhere, and what is behind the image's plane is before it
        assert np.array_equal(alone, among)
    cut = View(**{**vars(SKY), "clip_normal": (1.0, 0.0, 0.0)})
    half = light(render([ball], camera, cut, SIZE))
    assert (half[:, :47] > 0.002).sum() > 40 and half[:, 49:].max() < 0.002


def test_one_layer_is_drawn_into_images_of_any_size(layer, render):
    milk = layer("liquid", {**CLEAR, "scattering": 100.0}, position=slab(across=10), **SLAB)
    covered = [
        (light(render([milk], from_above(), SKY, size)) > 0.5).mean() for size in ((97, 73), (200, 151), (97, 73))
    ]
    assert abs(covered[0] - covered[1]) < 0.02 and covered[0] == covered[2] and covered[0] > 0.2
    assert render([milk], from_above(), SKY, (1, 1)).shape == (1, 1, 3)
