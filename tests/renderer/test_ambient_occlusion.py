"""Shadows and ambient occlusion at positions with known values."""

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.sun import SunCamera
from vertigrad.renderer.view import sun_in_world

from .light_reference import tone_mapped

SIZE = (120, 90)
DARK = {"bloom": 0.0, "vignette": 0.0, "background": "#000000"}
DOWN = OrbitCamera(distance=6.0, pitch=1.5, fov=40.0)  # almost straight down onto the floor
PLANE = np.float32([[[x, 0.0, z] for x in (-6, 6)] for z in (-6, 6)])


def light(shown):
    """The light of these gray values, before tone mapping."""
    levels = np.linspace(0, 4, 2000)
    return np.interp(shown[..., 1].astype(float), tone_mapped(levels[:, None].repeat(3, axis=1))[:, 1], levels)


def on_screen(camera, position, size=SIZE):
    clip = camera.projection(size[0] / size[1]) @ camera.view() @ [*position, 1.0]
    x, y = clip[:2] / clip[3]
    return int((x + 1) / 2 * size[0]), int((1 - y) / 2 * size[1])


@pytest.fixture
def floor(layer):
    return layer("surface", {"roughness": 1.0}, position=PLANE, color=(0.8, 0.8, 0.8))


def occlusion(render, layers, camera=DOWN, **values):
    return light(render(layers, camera, View(**{**DARK, **values}), SIZE))


# shadows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("azimuth", "elevation"), [(0.0, 45.0), (90.0, 60.0), (-135.0, 35.0)])
def test_a_shadow_is_where_the_sun_casts_it(layer, render, floor, azimuth, elevation):
    sun = {"sky": 0.0, "sun": 1.0, "shadows": 1.0, "sun_angle": 0.2, "sun_azimuth": azimuth, "sun_elevation": elevation}
    center = np.array([0.3, 0.9, -0.2])
    ball = layer("points", position=center[None].astype(np.float32), size=0.25)
    toward = sun_in_world(View(**sun), DOWN)
    foot = center - toward * center[1] / toward[1]
    shown = occlusion(render, [floor, ball], **sun)
    x, y = on_screen(DOWN, foot)
    assert shown[y, x] < 0.02
    across = np.cross(toward, [0, 1, 0]) / np.linalg.norm(np.cross(toward, [0, 1, 0]))
    for position, dark in ((0.85, True), (1.25, False)):  # in radii across the shadow, which is as wide as the ball
        for side in (-1, 1):
            x, y = on_screen(DOWN, foot + side * position * 0.25 * across)
            assert (shown[y, x] < 0.1) == dark, (position, side)


@pytest.mark.parametrize("kind", ["points", "instances"])
def test_a_layer_may_cast_no_shadow(layer, render, floor, kind):
    """Also where others do; where none does there are no shadow maps."""
    sun = {"sky": 0.0, "sun": 1.0, "shadows": 1.0, "sun_angle": 0.2, "sun_azimuth": 90.0, "sun_elevation": 60.0}
    style = {"casts_shadow": False, **({"shape": "sphere"} if kind == "instances" else {})}
    clear = layer(kind, style, position=np.float32([[0.3, 0.9, -0.2]]), size=0.25)
    other = layer("points", position=np.float32([[-1.5, 0.9, 1.0]]), size=0.25)
    toward = sun_in_world(View(**sun), DOWN)
    feet = [on_screen(DOWN, center - toward * 0.9 / toward[1]) for center in ((0.3, 0.9, -0.2), (-1.5, 0.9, 1.0))]
    lit = occlusion(render, [floor], **sun)
    alone, both = (occlusion(render, layers, **sun) for layers in ([floor, clear], [floor, clear, other]))
    clear.style.casts_shadow = True
    casting = occlusion(render, [floor, clear, other], **sun)
    (x, y), (there_x, there_y) = feet
    assert alone[y, x] == both[y, x] == pytest.approx(lit[y, x], abs=0.01)
    assert both[there_y, there_x] < 0.02 and casting[there_y, there_x] < 0.02 and casting[y, x] < 0.02


def test_disabled_shadows_do_not_change_the_image(layer, render, floor):
    ball = layer("points", position=np.float32([[0, 0.9, 0]]), size=0.25)
    plain = occlusion(render, [floor, ball])
    assert np.array_equal(occlusion(render, [floor, ball], shadows=0.0, sun_angle=20.0), plain)
    assert not np.array_equal(occlusion(render, [floor, ball], shadows=1.0), plain)


def test_shadows_can_be_half_as_dark(layer, render, floor):
    sun = {"sky": 0.0, "sun": 0.6, "sun_angle": 0.2, "sun_elevation": 89.0}
    wall = layer("points", position=np.float32([[0, 0.9, 0]]), size=0.4)
    camera = OrbitCamera(distance=6.0, pitch=0.9, fov=40.0)
    x, y = on_screen(camera, (0.0, 0.0, 0.3))
    open_, half, full = (occlusion(render, [floor, wall], camera, shadows=s, **sun)[y, x] for s in (0.0, 0.5, 1.0))
    assert full < 0.02
    assert half == pytest.approx(occlusion(render, [floor], camera, **{**sun, "sun": 0.3})[y, x], abs=0.02)
    assert open_ > half + 0.05


def test_a_floor_that_faces_the_sun_has_no_dark_pixels(render, floor):
    """Its normal's cosine may exceed 1 by rounding."""
    sun = {"sky": 0.0, "sun": 0.5, "shadows": 1.0, "sun_elevation": 90.0}
    camera = OrbitCamera(distance=3.0, pitch=0.5, yaw=1.5708, fov=40.0)
    shown, full = (occlusion(render, [floor], camera, **{**sun, "shadows": shadows}) for shadows in (1.0, 0.0))
    assert np.abs(shown - full).max() < 0.02


@pytest.mark.parametrize(("width", "height"), [(2.0, 1.0), (8.0, 1.0), (2.0, 0.25), (0.5, 0.8)])
def test_a_penumbra_has_the_width_of_the_sun(layer, render, floor, width, height):
    """Behind a long edge the visible fraction of the sun falls from 1 to 0 over height * width of the sun."""
    whole = 2 * height * np.tan(np.radians(width / 2))
    board = np.float32([[[x, height, z] for x in (-4, 0)] for z in (-4, 4)])
    sun = {"sky": 0.0, "sun": 0.5, "shadows": 1.0, "sun_angle": width, "sun_elevation": 90.0}
    size = (60, 720) if width < 1.0 else SIZE
    camera = OrbitCamera(distance=3.0, pitch=0.5, yaw=1.5708, fov=np.degrees(7.0 * whole / 3.0).clip(6 * height, 12))
    layers = [floor, layer("surface", position=board)]
    shown, full = (light(render(layers[:n], camera, View(**{**DARK, **sun, "shadows": n - 1}), size)) for n in (2, 1))
    positions = np.linspace(-2.0, 2.0, 121) * whole
    share = []
    for position in positions:
        x, y = on_screen(camera, (position, 0.0, 0.0), size)
        share.append(shown[y, x - 2 : x + 3].mean() / full[y, x - 2 : x + 3].mean())
    inside = [position for position, part in zip(positions, share, strict=True) if 0.15 < part < 0.9]
    expected = 0.645 * whole  # of a disc's width, between 0.15 and 0.9 of its area
    row = 3.0 * camera.pixel(size[1]) / np.sin(0.5)  # a row of pixels, on the floor
    assert max(inside) - min(inside) == pytest.approx(expected, abs=0.1 * expected + row)
    assert share[0] < 0.05
    assert share[-1] > 0.95


@pytest.mark.parametrize("kind", ["surface", "instances", "isosurface", "points"])
def test_every_solid_layer_casts_a_shadow_and_none_on_itself(layer, render, floor, kind):
    sun = {"sky": 0.0, "sun": 1.0, "shadows": 1.0, "sun_angle": 0.3, "sun_elevation": 80.0, "sun_azimuth": 0.0}
    layers_by_kind = {
        "points": lambda: layer("points", position=np.float32([[0, 1, 0]]), size=0.5),
        "surface": lambda: layer("surface", position=0.5 * PLANE / 6 + np.float32([0, 1, 0])),
        "instances": lambda: layer("instances", position=np.float32([[0, 1, 0]]), size=0.5),
        "isosurface": lambda: layer(
            "isosurface",
            {"level": 0.5, "low": (-0.6, 0.4, -0.6), "high": (0.6, 1.6, 0.6)},
            values=np.linalg.norm(np.indices((24, 24, 24)) / 11.5 - 1, axis=0).astype(np.float32),
        ),
    }[kind]()
    camera = OrbitCamera(target=(0, 0.5, 0), distance=5.0, pitch=0.35, fov=40.0)
    with_it, without = (occlusion(render, [floor, layers_by_kind], camera, **{**sun, "shadows": s}) for s in (1.0, 0.0))
    x, y = on_screen(camera, (0.0, 0.0, -0.05))
    assert with_it[y, x] < 0.05 < without[y, x]
    x, y = on_screen(camera, (0.0, 1.05 if kind != "surface" else 1.0, 0.2))
    assert with_it[y, x] == pytest.approx(without[y, x], abs=0.03)
    x, y = on_screen(camera, (1.2, 0.0, 0.3))
    assert with_it[y, x] == pytest.approx(without[y, x], abs=0.01)


@pytest.mark.turns(3)
@pytest.mark.parametrize(("tube", "width"), [(True, 0.3), (False, 20.0)])
def test_tubes_cast_shadows_of_their_width_and_emissive_ones_none(layer, render, floor, tube, width):
    """Seen straight from above, with the sun low behind the lower edge of the image: the shadow is next to the tube."""
    sun = {"sky": 0.0, "sun": 1.0, "shadows": 1.0, "sun_angle": 0.2, "sun_azimuth": 0.0, "sun_elevation": 45.0}
    line = layer("lines", {"tube": tube}, position=np.float32([[-1, 1, 0], [0, 1, 0], [1, 1, 0]]), width=width)
    with_it, without = (occlusion(render, [floor, line], **{**sun, "shadows": s}) for s in (1.0, 0.0))
    dark = {
        z: with_it[y, x] < 0.1 * without[y, x]
        for z in (-0.6, -0.85, -1.0, -1.15, -1.4)
        for x, y in [on_screen(DOWN, (0.4, 0, z))]
    }
    assert dark == {z: tube and abs(z + 1) < 0.2 for z in dark}
    upon = with_it[on_screen(DOWN, (0.4, 1.15, 0.1))[::-1]]
    assert upon == pytest.approx(without[on_screen(DOWN, (0.4, 1.15, 0.1))[::-1]], rel=0.03)  # none on itself


def test_a_tube_is_in_the_shadow_of_another_across_it(layer, render):
    sun = {"sky": 0.0, "sun": 1.0, "shadows": 1.0, "sun_angle": 0.2, "sun_elevation": 88.0}
    lower = layer("lines", {"tube": True}, position=np.float32([[-2, 0, 0], [2, 0, 0]]), width=0.6)
    upper = layer("lines", {"tube": True}, position=np.float32([[0, 1, -0.6], [0, 1, 0.6]]), width=0.3)
    camera = OrbitCamera(distance=6.0, pitch=0.5, fov=40.0)
    both, alone = (occlusion(render, layers, camera, **sun) for layers in ([lower, upper], [lower]))
    x, y = on_screen(camera, (0.0, 0.28, 0.1))
    assert both[y, x] < 0.1 * alone[y, x]
    x, y = on_screen(camera, (0.5, 0.28, 0.1))
    assert both[y, x] == pytest.approx(alone[y, x], rel=0.03)


def test_a_curved_surface_has_no_shadow_acne(layer, render):
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=1.5, color=(0.8, 0.8, 0.8))
    for width in (0.3, 6.0):
        sun = {"sky": 0.0, "sun": 1.0, "sun_angle": width, "sun_azimuth": 20.0}
        lit, shadowed = (occlusion(render, [ball], OrbitCamera(distance=6.0), shadows=s, **sun) for s in (0.0, 1.0))
        bright = lit > 0.45
        assert bright.sum() > 300
        assert (shadowed[bright] / lit[bright]).min() > 0.9


@pytest.mark.parametrize(("elevation", "width"), [(12.0, 12.0), (12.0, 0.3), (30.0, 12.0), (75.0, 0.3)])
def test_a_plane_casts_no_shadow_on_itself(render, floor, elevation, width):
    sun = {"sky": 0.0, "sun": 1.0, "sun_angle": width, "sun_elevation": elevation}
    camera = OrbitCamera(distance=4.0, pitch=0.6, fov=40.0)
    lit, shadowed = (occlusion(render, [floor], camera, shadows=s, **sun) for s in (0.0, 1.0))
    assert np.abs(lit - shadowed).max() < 0.02 * lit.max()


TOWARD = np.array([0.48, 0.6, 0.64])


def test_shadow_maps_move_by_whole_texels():
    one, other = (SunCamera(OrbitCamera(target=(x, 0.0, 0.0)), TOWARD, 512) for x in (0.0, 0.12345))
    position = np.array([0.3, 0.1, -0.7, 1.0])
    for number in range(3):
        places = [in_map(sun, position, number) for sun in (one, other)]
        moved = (places[1] - places[0])[:2] * 512
        assert np.abs(moved).max() > 0.9
        np.testing.assert_allclose(moved, np.round(moved), atol=1e-6)


def test_shadow_maps_stay_when_the_camera_turns_around_its_target():
    suns = [SunCamera(OrbitCamera((1.0, 2.0, 3.0), yaw=yaw, pitch=yaw / 3), TOWARD, 512) for yaw in (0.2, 1.9)]
    for number in range(3):
        one, other = (sun.projection(number) @ sun.view() for sun in suns)
        np.testing.assert_array_equal(one, other)


def in_map(sun, position, number):
    """Where shaders look a position up in a map: x, y, depth."""
    x, y, depth = (sun.to_largest() @ position)[:3]
    scale, *shift = sun.placement(number)
    return np.array([x * scale + shift[0], y * scale + shift[1], depth])


@pytest.mark.parametrize("number", range(3))
def test_a_position_is_looked_up_where_it_is_drawn(number):
    sun = SunCamera(OrbitCamera(target=(1.0, 2.0, 3.0), distance=4.0), TOWARD, 512)
    position = np.array([1.3, 1.6, 3.4, 1.0])
    x, y, depth, _ = sun.projection(number) @ sun.view() @ position
    np.testing.assert_allclose(in_map(sun, position, number), [(x + 1) / 2, (1 - y) / 2, depth], atol=1e-12)
    nearer = in_map(sun, position + np.append(TOWARD, 0.0), number)
    assert nearer[2] - depth == pytest.approx(1 / (8 * sun.reaches[-1]))


def test_a_shadow_far_behind_the_target_is_drawn(layer, render):
    """In the largest of the maps: the first ends at 1.4 half heights of the image, the second at 4."""
    camera = OrbitCamera(distance=3.0, pitch=0.25, fov=40.0)
    away = -8.0 * camera.half_height
    floor = layer("surface", {"roughness": 1.0}, position=4 * PLANE, color=(0.8, 0.8, 0.8))
    board = layer("surface", position=PLANE / 6 + np.float32([0, 1, away]))
    sun = {"sky": 0.0, "sun": 1.0, "sun_angle": 0.3, "sun_elevation": 90.0}
    lit, shadowed = (occlusion(render, [floor, board], camera, shadows=s, **sun) for s in (0.0, 1.0))
    x, y = on_screen(camera, (0.0, 0.0, away))
    assert shadowed[y, x] < 0.05 * lit[y, x]
    for position in ((1.3, 0, away), (0, 0, 0), (0, 0, -3.9 * camera.half_height)):
        x, y = on_screen(camera, position)
        assert shadowed[y, x] == pytest.approx(lit[y, x], rel=0.02)


def test_no_light_leaks_under_a_wall_or_where_shadow_maps_meet(layer, render):
    """Behind a long wall that stands on the floor, from its foot on, across the borders of all maps."""
    wall = layer("surface", position=np.float32([[[x, y, -0.5] for x in (-30, 30)] for y in (0, 3)]))
    floor = layer("surface", {"roughness": 1.0}, position=5 * PLANE, color=(0.8, 0.8, 0.8))
    camera = OrbitCamera(target=(0.0, 0.0, 0.0), distance=2.0, pitch=0.4, yaw=1.35, fov=50.0)
    sun = {"sky": 0.0, "sun": 1.0, "sun_angle": 0.3, "sun_elevation": 35.0, "sun_azimuth": 180.0}
    lit, shadowed = (occlusion(render, [floor, wall], camera, shadows=s, **sun) for s in (0.0, 1.0))
    for x in (0.5, 0.0, -1.0, -2.0, -3.3, -5.0, -8.0):
        for behind in (0.04 + 0.02 * abs(x), 0.3, 1.0):  # about a pixel, and more
            at = on_screen(camera, (x, 0.0, behind - 0.5))[::-1]
            assert shadowed[at] < 0.04 * lit[at], (x, behind)


def test_the_edge_of_a_sharp_shadow_is_straight(layer, render, floor):
    """Of a sun 0.3 degrees wide: how far the edge is from a smooth curve, in pixels, by the resolution of the maps."""
    size, tilt, off = (80, 720), 0.15, {}
    board = np.float32([[[x + tilt * z, 1.0, z] for x in (-4, 0)] for z in (-4, 4)])
    board = layer("surface", position=board)
    sun = {"sky": 0.0, "sun": 0.5, "shadows": 1.0, "sun_angle": 0.3, "sun_azimuth": -90.0, "sun_elevation": 45.0}
    camera = OrbitCamera(target=(1.0, 0.0, 0.0), distance=6.0, pitch=1.5, fov=25.0)
    rows = np.arange(200, 520)
    for resolution in ("512", "auto", "2048"):
        view = View(**DARK, **sun, shadow_resolution=resolution)
        shown = light(render([floor, board], camera, view, size))[rows]
        edge = np.array([np.interp(0.5 * shown.max(), row, np.arange(80)) for row in shown])
        assert 20 < np.ptp(edge) < 60  # it leans
        off[resolution] = (edge - np.polyval(np.polyfit(rows, edge, 2), rows)).std()
    assert off["auto"] < 0.4
    assert off["2048"] < 0.22
    assert off["512"] > 1.4 * off["auto"]


# the sky ------------------------------------------------------------------------------------------------------------

WHITE = {"sun": 0.0, "sky": 1.0, "sky_color": "#bbbbbb", "horizon_color": "#bbbbbb", "ground_color": "#bbbbbb"}


def test_a_plane_is_not_occluded(render, floor):
    camera = OrbitCamera(distance=4.0, pitch=0.6, fov=40.0)
    plain, open_ = (occlusion(render, [floor], camera, occlusion=o, **WHITE) for o in (0.0, 1.0))
    inside = plain > 0.2
    assert inside.sum() > 5000
    assert np.abs(plain - open_)[inside].max() < 0.03


def test_occlusion_is_half_in_a_corner_and_decreases_with_distance(layer, render, floor):
    wall = layer("surface", {"roughness": 1.0}, position=np.float32([[[x, y, 0] for x in (-6, 6)] for y in (0, 6)]))
    camera = OrbitCamera(target=(0, 0.0, 0.3), distance=4.0, pitch=0.7, fov=40.0)
    values = {**WHITE, "occlusion_radius": 0.3}
    plain, hidden = (occlusion(render, [floor, wall], camera, occlusion=o, **values) for o in (0.0, 1.0))
    share = []
    for z in (0.04, 0.3, 1.2):
        x, y = on_screen(camera, (0, 0, z))
        share.append((hidden[y, x - 10 : x + 10] / plain[y, x - 10 : x + 10]).mean())
    assert 0.48 < share[0] < 0.7  # half, and the effect of a blur of a few pixels
    assert share[0] < share[1] < share[2]
    assert share[2] > 0.97


def standing(layer, render, parallel=False, scale=1.0, size=(640, 480)):
    """A ball on the floor: the light without and with occlusion, and the pixel of contact."""
    style, color = {"roughness": 1.0}, (0.8, 0.8, 0.8)
    floor = layer("surface", style, position=scale * PLANE, color=color)
    ball = layer("points", style, position=scale * np.float32([[0, 0.5, 0]]), size=0.5 * scale, color=color)
    target = 0.2 * scale, 0.3 * scale, 0.0
    camera = OrbitCamera(target, distance=3.0 * scale, pitch=0.35, yaw=0.3, fov=40.0, orthographic=parallel)
    values = {**DARK, **WHITE, "occlusion_radius": 0.15}
    shown = [light(render([floor, ball], camera, View(**values, occlusion=o), size)) for o in (0.0, 1.0)]
    return *shown, on_screen(camera, (0, 0, 0), size)


@pytest.mark.turns(2)
@pytest.mark.parametrize("parallel", [False, True], ids=["perspective", "orthographic"])
def test_there_are_no_streaks_at_contacts(layer, render, parallel):
    """Each pixel samples few directions; these must not be visible in front of a ball on the floor."""
    plain, hidden, (x, y) = standing(layer, render, parallel)
    before = np.s_[y + 20 : y + 56, x - 80 : x + 80]
    dark = 1 - hidden[before] / plain[before]
    assert dark.max() > 0.4
    smooth = sum(np.roll(dark, shift, axis=1) for shift in range(-8, 8)) / 16
    assert np.abs(dark - smooth)[:, 16:-16].max() < 0.035


@pytest.mark.parametrize("parallel", [False, True], ids=["perspective", "orthographic"])
def test_occlusion_does_not_depend_on_the_unit_of_length(layer, render, parallel):
    size = (160, 120)
    one, *others = (standing(layer, render, parallel, scale, size)[1] for scale in (1.0, 0.02, 50.0))
    for other in others:
        assert np.quantile(np.abs(other - one), 0.999) < 0.01


def test_emissive_objects_are_not_darkened(layer, render, floor):
    style = {"emissive": 1.0, "brightness": 0.3}
    stars = layer("points", style, position=np.float32([[0, 0.2, 0], [0.2, 0.2, 0.1]]), size=0.3)
    plain, other = (occlusion(render, [stars, floor], occlusion=o, shadows=o, sky=0.0, sun=0.0) for o in (0.0, 1.0))
    assert plain.max() > 0.15
    assert np.array_equal(plain, other)


# edges --------------------------------------------------------------------------------------------------------------


def test_edges_are_drawn_at_steps_and_nowhere_on_planes(layer, render, floor):
    camera = OrbitCamera(distance=4.0, pitch=0.35, fov=40.0)
    ball = layer("points", position=np.float32([[0, 0.6, 0]]), size=0.4)
    values = {**WHITE, "edge_color": "#ff0000", "edges": 1.0}
    shown = render([floor, ball], camera, View(**{**DARK, **values}), SIZE).astype(int)
    plain = render([floor, ball], camera, View(**{**DARK, **WHITE}), SIZE).astype(int)
    drawn = shown[..., 0] - shown[..., 1] > 100
    x, y = on_screen(camera, (0, 0.6, 0))
    radius = 0.4 / (4.0 * camera.pixel(SIZE[1]))
    away = np.hypot(*np.meshgrid(np.arange(SIZE[0]) - x, np.arange(SIZE[1]) - y))
    ring = np.abs(away - radius) < 4
    assert drawn[ring].sum() > 60
    assert not drawn[away < radius - 5].any()
    low = np.zeros(SIZE[::-1], bool)
    low[60:, :] = True
    low &= away > radius + 5
    assert not drawn[low].any()
    assert np.array_equal(shown[low], plain[low])
