"""The mouse moves the camera, where it is on the picture, and nothing else."""

import pytest
from numpy.testing import assert_allclose

from .desktop import MIDDLE, RIGHT, WHEEL_DOWN, WHEEL_UP
from .driver import Rows

CENTER, ASIDE = (320, 300), (400, 340)


def test_left_drag_circles_the_target_and_h_brings_the_camera_back(opened):
    driver = opened(panels=False)
    camera, home = driver.session.camera, driver.picture()
    yaw, pitch, target = camera.yaw, camera.pitch, camera.target
    driver.drag(CENTER, ASIDE)
    assert camera.yaw < yaw and camera.pitch > pitch and camera.target == target  # the scene follows the mouse
    turned = driver.picture()
    assert abs(turned - home).mean() > 2.0
    driver.key("h")
    assert driver.session.camera.yaw == pytest.approx(yaw)
    assert (driver.picture() == home).all()


@pytest.mark.parametrize("button", [RIGHT, MIDDLE])
def test_right_or_middle_drag_moves_the_picture_with_the_mouse(opened, button):
    driver = opened(panels=False)
    camera, before = driver.session.camera, driver.picture()
    yaw, distance = camera.yaw, camera.distance
    driver.drag(CENTER, ASIDE, button)
    assert camera.target != (0.0, -0.06, 0.0) and (camera.yaw, camera.distance) == (yaw, distance)
    after = driver.picture()
    # What lies as deep as the target has moved by as much as the mouse: (80, 40) pixels.
    assert abs(after[190:210, 390:410] - before[150:170, 310:330]).mean() < abs(after - before).mean()


def test_shift_turns_a_left_drag_into_a_move(opened):
    driver = opened(panels=False)
    yaw, target = driver.session.camera.yaw, driver.session.camera.target
    driver.desktop.xdotool("keydown", "shift")
    driver.drag(CENTER, ASIDE)
    driver.desktop.xdotool("keyup", "shift")
    assert driver.session.camera.yaw == yaw and driver.session.camera.target != target


def test_wheel_goes_nearer_to_what_is_under_the_mouse(opened):
    driver = opened(panels=False)
    camera, before = driver.session.camera, driver.picture()
    distance, target = camera.distance, camera.target
    driver.desktop.move(*CENTER)
    driver.desktop.click(WHEEL_UP, times=3)
    driver.frames()
    assert camera.distance == pytest.approx(distance / 1.15**3) and camera.target != target
    assert abs(driver.picture() - before).mean() > 2.0
    driver.desktop.click(WHEEL_DOWN, times=3)
    driver.frames()
    assert camera.distance == pytest.approx(distance)
    assert_allclose(camera.target, target, atol=1e-9)


def test_drag_and_wheel_on_a_panel_leave_the_camera_alone(opened, rows: Rows):
    driver = opened()
    before, camera = driver.picture(), vars(driver.session.camera).copy()
    panel = rows.places["height"]
    driver.drag((panel[0] - 30, panel[1]), (panel[0] - 60, panel[1] + 90))  # on its background
    driver.desktop.click(WHEEL_DOWN, times=3)
    driver.frames()
    assert vars(driver.session.camera) == camera
    middle = slice(60, 390), slice(220, 420)  # of the window, where the panels are not
    assert (driver.picture()[middle] == before[middle]).all()


def test_drag_that_begins_on_the_picture_goes_on_over_a_panel(opened, rows: Rows):
    driver = opened()
    yaw, height = driver.session.camera.yaw, driver.session.stage.actors["terrain"].params.height
    driver.hold(CENTER)
    driver.carry(CENTER, rows.at("height", 0.1))
    there = driver.session.camera.yaw
    assert there < yaw
    driver.carry(rows.at("height", 0.1), rows.at("height", 0.9))  # all of it over the panel
    assert driver.session.camera.yaw < there
    driver.desktop.release()
    driver.frames()
    assert driver.session.stage.actors["terrain"].params.height == height


def test_drag_that_begins_on_a_slider_stays_with_it_over_the_picture(opened, rows: Rows):
    driver = opened()
    camera = vars(driver.session.camera).copy()
    driver.drag(rows.at("height"), CENTER)
    assert vars(driver.session.camera) == camera
    assert driver.session.stage.actors["terrain"].params.height == 0.0  # the slider's low end


def test_mouse_faster_than_the_frames(opened, rows: Rows):
    """All of it arrives at once: from the picture to a panel, press, drag, let go; and the other way round."""
    driver = opened()
    (x, y), camera = rows.at("height", 0.2), vars(driver.session.camera).copy()
    driver.desktop.move(*CENTER)
    driver.frames()
    driver.desktop.xdotool("mousemove", int(x), int(y), "mousedown", 1, "mousemove", int(x) + 20, int(y), "mouseup", 1)
    driver.frames(8)
    assert vars(driver.session.camera) == camera
    driver.desktop.xdotool("mousemove", *CENTER, "mousedown", 1, "mousemove", *ASIDE, "mouseup", 1)
    driver.frames(8)
    assert driver.session.camera.yaw != camera["yaw"]


def test_second_button_neither_ends_nor_changes_a_drag(opened):
    driver = opened(panels=False)
    target, yaw = driver.session.camera.target, driver.session.camera.yaw
    driver.hold(CENTER)
    driver.desktop.press(RIGHT)
    driver.frames()
    driver.desktop.release(RIGHT)
    driver.frames()
    driver.carry(CENTER, ASIDE)
    driver.desktop.release()
    assert driver.session.camera.target == target and driver.session.camera.yaw < yaw
    turned = driver.session.camera.yaw
    driver.desktop.move(*CENTER)
    driver.frames()
    assert driver.session.camera.yaw == turned
