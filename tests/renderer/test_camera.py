"""The camera against geometry and against pylinalg."""

import math

import numpy as np
import pylinalg as la
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad.renderer import OrbitCamera
from vertigrad.renderer.camera import MAX_PITCH

coordinate = st.floats(-100, 100)
point = st.tuples(coordinate, coordinate, coordinate)
up = st.sampled_from(["y", "z"])


def on_screen(camera, world, aspect=1.6):
    """Clip coordinates and depth of a position."""
    clip = camera.projection(aspect) @ camera.view() @ [*world, 1.0]
    return clip[:3] / clip[3]


@st.composite
def cameras(draw):
    return OrbitCamera(
        target=draw(point),
        distance=draw(st.floats(0.01, 1000)),
        yaw=draw(st.floats(-math.pi, math.pi)),
        pitch=draw(st.floats(-1.5, 1.5)),
        fov=draw(st.floats(10, 120)),
        up=draw(up),
        orthographic=draw(st.booleans()),
    )


@given(cameras())
def test_view_is_pylinalgs_look_at(camera):
    pose = la.mat_look_at(
        camera.target, camera.position, camera.up_direction
    )  # its +z axis points at the second argument
    np.testing.assert_allclose(camera.view()[:3, :3], np.linalg.inv(pose)[:3, :3], atol=1e-5)
    np.testing.assert_allclose(camera.view() @ [*camera.position, 1.0], [0, 0, 0, 1], atol=1e-9 * (1 + camera.distance))


@given(point, point, up)
def test_from_position_sets_position_and_target(position, target, up):
    offset = np.subtract(position, target)
    length = float(np.linalg.norm(offset))
    steepest = math.sin(math.radians(89.4))
    if length < 1e-3 or abs(offset[1 if up == "y" else 2]) > steepest * length:
        return
    camera = OrbitCamera.from_position(position, target, up=up)
    np.testing.assert_allclose(camera.position, position, atol=1e-9 * (1 + length) + 1e-6)
    assert camera.distance == pytest.approx(length)
    np.testing.assert_allclose(on_screen(camera, target)[:2], 0, atol=1e-6)


def test_a_camera_at_its_target_is_rejected():
    with pytest.raises(ValueError, match="is at its target"):
        OrbitCamera.from_position((1, 2, 3), (1, 2, 3))


def test_straight_down_keeps_a_horizon():
    camera = OrbitCamera.from_position((0, 5, 0), (0, 0, 0))
    assert np.isfinite(camera.view()).all()
    assert camera.position[1] == pytest.approx(5, abs=1e-3)


@given(cameras())
def test_depth_is_reversed_and_reaches_infinity(camera):
    camera.orthographic = False
    forward = np.subtract(camera.target, camera.position) / camera.distance
    far, middle, near = (
        on_screen(camera, camera.position + forward * distance)[2]
        for distance in (1e9 * camera.near, camera.distance, camera.near)
    )
    assert 0 < far < 1e-6
    assert middle == pytest.approx(camera.near / camera.distance, rel=1e-4)
    assert near == pytest.approx(1.0, rel=1e-4)


@given(cameras(), st.floats(-500, 500), st.floats(1e-3, 10))
def test_orthographic_depth_is_reversed_linear_and_reaches_behind_the_eye(camera, ahead, further):
    camera.orthographic = True
    forward = np.subtract(camera.target, camera.position) / camera.distance
    first, second = (
        on_screen(camera, camera.target + forward * camera.distance * far)[2] for far in (ahead, ahead + further)
    )
    assert 1 > first > second > 0
    assert first - second == pytest.approx(further / 1024, rel=1e-4)
    nearest = on_screen(camera, camera.position + forward * camera.near)[2]
    assert nearest == pytest.approx(1.0, abs=1e-6)


@given(cameras(), st.floats(-3, 3), st.floats(-3, 3), st.floats(-50, 50))
def test_orthographic_lines_of_sight_are_parallel(camera, x, y, ahead):
    """Points at the target's depth are where they are in perspective; all others have the same scale."""
    right, above, back = camera.rotation().T
    camera.orthographic = False
    shifted = camera.target + camera.distance * (x * right + y * above)
    in_perspective = on_screen(camera, shifted)[:2]
    camera.orthographic = True
    for where_at in (shifted, shifted + ahead * camera.distance * back):
        np.testing.assert_allclose(on_screen(camera, where_at)[:2], in_perspective, atol=1e-4)
    width = camera.pixel(100) * 100
    assert width == pytest.approx(2 * camera.half_height)


def test_the_field_of_view_is_the_images_height():
    camera = OrbitCamera(distance=4.0, fov=50.0)
    top = 4.0 * math.tan(math.radians(25.0))
    np.testing.assert_allclose(on_screen(camera, (0, top, 0))[:2], (0, 1), atol=1e-9)
    np.testing.assert_allclose(on_screen(camera, (1.6 * top, 0, 0))[:2], (1, 0), atol=1e-9)
    assert camera.pixel(100) * 4.0 == pytest.approx(2 * top / 100)


@given(cameras(), st.floats(-10, 10), st.floats(-10, 10))
def test_orbit_keeps_target_distance_and_horizon(camera, dx, dy):
    target, distance = camera.target, camera.distance
    camera.orbit(dx, dy)
    assert (camera.target, camera.distance) == (target, distance)
    right = camera.rotation()[:, 0]
    assert abs(right @ camera.up_direction) < 1e-9
    assert camera.rotation()[:, 1] @ camera.up_direction > 0


@pytest.mark.parametrize("up", ["y", "z"])
def test_orbit_goes_right_and_up(up):
    camera = OrbitCamera(up=up)
    right, above, _ = camera.rotation().T
    before = np.array(camera.position)
    camera.orbit(0.1, 0.0)
    assert (camera.position - before) @ right > 0.4
    camera.orbit(0.0, 0.1)
    assert (camera.position - before) @ above > 0.4


@given(cameras(), st.floats(-2, 2), st.floats(-2, 2))
def test_pan_moves_the_image_by_as_many_heights(camera, dx, dy):
    old_target = camera.target
    camera.pan(dx, dy)
    x, y = on_screen(camera, old_target, aspect=1.0)[:2]
    assert (x, y) == pytest.approx((-2 * dx, -2 * dy), abs=1e-4)


@given(cameras(), st.floats(0.2, 5), st.floats(-1, 1), st.floats(-1, 1))
def test_zoom_keeps_the_point_under_the_cursor(camera, factor, x, y):
    aspect = 1.6
    half = camera.distance * math.tan(math.radians(camera.fov) / 2)
    right, above, _ = camera.rotation().T
    assert camera.half_height == pytest.approx(half)
    where_at = camera.target + half * (x * aspect * right + y * above)
    distance = camera.distance
    camera.zoom(factor, (x, y), aspect)
    assert camera.distance == pytest.approx(distance / factor)
    np.testing.assert_allclose(on_screen(camera, where_at, aspect)[:2], (x, y), atol=1e-4)


@given(cameras(), st.floats(-3, 3), st.floats(-1, 1))
def test_looking_around_keeps_the_eye_and_the_horizon(camera, dx, dy):
    eye, yaw = np.array(camera.position), camera.yaw
    scale = 1 + camera.distance + np.abs(eye).max()
    camera.turn(dx, dy)
    np.testing.assert_allclose(camera.position, eye, atol=1e-9 * scale)
    assert abs(camera.rotation()[:, 0] @ camera.up_direction) < 1e-9
    assert math.remainder(camera.yaw - yaw + dx, math.tau) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("up", ["y", "z"])
def test_looking_around_turns_right_and_up(up):
    camera = OrbitCamera(up=up)
    right, above, _ = camera.rotation().T
    camera.turn(0.1, 0.0)
    assert camera.target @ right > 0.4
    camera.turn(0.0, 0.1)
    assert camera.target @ above > 0.4


@given(cameras(), st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5))
def test_flying_moves_eye_and_target(camera, right, rise, forward):
    eye, target, (across, _, back) = np.array(camera.position), np.array(camera.target), camera.rotation().T
    camera.fly(right, rise, forward)
    moved = right * across + rise * camera.up_direction - forward * back
    atol = 1e-9 * (1 + camera.distance + np.abs(target).max())
    np.testing.assert_allclose(camera.target - target, moved, atol=atol)
    np.testing.assert_allclose(camera.position - eye, moved, atol=atol)


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("direction", [*np.eye(3), *-np.eye(3), (1, 2, 3), (-4, 0.1, -0.2)])
def test_facing_a_direction(up, direction):
    camera = OrbitCamera(target=(1, 2, 3), distance=7.0, up=up)
    camera.face(direction)
    there = np.asarray(direction) / np.linalg.norm(direction)
    np.testing.assert_allclose(np.subtract(camera.position, camera.target) / 7.0, there, atol=2e-4)
    assert camera.rotation()[:, 1] @ camera.up_direction > 0, "the horizon is level"
    np.testing.assert_allclose(np.abs(camera.rotation()).max(axis=0)[0], 1.0 if 0 in direction else 0.5, atol=0.5)


def test_a_direction_without_length_is_rejected():
    with pytest.raises(ValueError, match="no length"):
        OrbitCamera().face((0, 0, 0))


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_yaw_is_retained_in_views_from_above_and_below(up, sign):
    camera = OrbitCamera(target=(10.0, -20.0, 5.0), distance=3.0, yaw=1.2, up=up)
    camera.pitch = sign * MAX_PITCH
    again = OrbitCamera.from_position(camera.position, camera.target, up=up)
    assert (again.yaw, again.pitch) == pytest.approx((camera.yaw, camera.pitch), abs=1e-7)


def test_zoom_by_zero_is_rejected():
    with pytest.raises(ValueError, match="above zero"):
        OrbitCamera().zoom(0.0)


@given(cameras(), point, st.tuples(*[st.floats(0.01, 50)] * 3), st.sampled_from([0.5, 1.0, 2.0]))
def test_fit_shows_the_whole_box(camera, low, size, aspect):
    high = np.add(low, size)
    camera.fit(low, high, aspect)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    for corner in corners:
        assert np.abs(on_screen(camera, corner, aspect)[:2]).max() <= 1.0 + 1e-6


@pytest.mark.parametrize("orthographic", [False, True])
@pytest.mark.parametrize("aspect", [0.7, 1.5])
@pytest.mark.parametrize(("yaw", "pitch"), [(0.0, 0.0), (0.4, -0.2), (2.0, 0.9)])
def test_fit_view_shows_the_whole_box_as_large_as_possible(orthographic, aspect, yaw, pitch):
    camera = OrbitCamera(yaw=yaw, pitch=pitch, orthographic=orthographic)
    low, high = (-4.0, 1.0, 0.0), (6.0, 2.0, 0.5)
    camera.fit_view(low, high, aspect)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    reach = max(np.abs(on_screen(camera, corner, aspect)[:2]).max() for corner in corners)
    assert 0.85 < reach <= 1.0


@pytest.mark.parametrize("orthographic", [False, True])
def test_a_box_without_size_is_centered(orthographic):
    camera = OrbitCamera(distance=3.0, orthographic=orthographic)
    camera.fit((1, 2, 3), (1, 2, 3))
    assert camera.target == (1, 2, 3) and camera.distance == 3.0


def test_one_camera_is_set_to_another():
    camera, other = OrbitCamera(), OrbitCamera((1, 2, 3), 4.0, 0.5, 0.6, 70.0, "z", True)
    camera.take(other)
    assert camera == other and camera is not other
    other.orbit(1, 1)
    assert camera.yaw == 0.5


@pytest.mark.parametrize("fov", [0.0, -10.0, 175.0, math.nan])
def test_an_invalid_field_of_view_is_rejected(fov):
    with pytest.raises(ValueError, match="field of view"):
        OrbitCamera(fov=fov)
