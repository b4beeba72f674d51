"""Keyboard shortcuts, and when they are ignored."""

import numpy as np
import pytest

from vertigrad.session.commands import SetParameter

from .driver import Rows


def test_space_runs_and_pauses(opened):
    driver = opened(panels=False)
    before, session = driver.image(), driver.session
    assert session.time == 0.0
    driver.key("space")
    assert session.playing
    driver.frames_until(lambda: session.time > 0.4)
    driver.key("space")
    stopped = session.time
    driver.frames()
    assert not session.playing and session.time == stopped
    assert np.abs(driver.image() - before).mean() > 0.2


def test_n_steps_and_r_resets(opened):
    driver = opened("nbody", "galaxy.count=200", panels=False)
    session, first = driver.session, driver.image()
    for _ in range(3):
        driver.key("n")
    assert session.time == pytest.approx(3 / 60) and not session.playing
    moved = driver.image()
    assert not np.array_equal(moved, first)
    driver.key("r")
    assert session.time == 0.0
    assert np.array_equal(driver.image(), first)


def test_g_hides_the_panels(opened):
    driver = opened()
    parameters = slice(200, None), slice(driver.viewer.gui.viewport.width + 2, None)  # another panel's numbers change
    shown = driver.image()[parameters]
    driver.key("g")
    assert driver.viewer.gui.viewport == (0, 0, 640, 400)
    hidden = driver.image()[parameters]
    assert np.abs(hidden - shown).mean() > 20.0
    driver.key("g")
    assert np.array_equal(driver.image()[parameters], shown)


def test_f5_reads_the_scene_file_again(opened, tmp_path, packaged_copy):
    scene = packaged_copy("neural_field")
    driver = opened(scene, panels=False)
    before, yaw = driver.image(), driver.session.camera.yaw
    driver.session.camera.orbit(0.1, 0.0)
    scene.write_text(scene.read_text().replace("height = 0.3", "height = 0.9"))
    driver.key("F5")
    assert driver.session.stage.instances["terrain"].params.height == 0.9
    assert driver.session.camera.yaw == pytest.approx(yaw + 0.1)  # a reload keeps the camera
    assert np.abs(driver.image() - before).mean() > 2.0


@pytest.mark.turns(2)
def test_a_key_held_down_counts_once_but_for_steps(opened):
    driver = opened("nbody", "galaxy.count=64", size=(200, 150), panels=False)
    session = driver.session
    toggles = []
    play = session.clock.play
    session.clock.play = lambda on: (toggles.append(on), play(on))
    for key in ("space", "n"):
        driver.desktop.xdotool("keydown", key)
        driver.frames_for(0.9)  # the server repeats a key after 0.66 s
        driver.desktop.xdotool("keyup", key)
        driver.frames()
        if key == "space":
            assert toggles == [True]
            driver.key("space")
            driver.key("r")
    assert session.time > 2.5 / 60


def test_keys_with_control_are_ignored(opened):
    driver = opened(panels=False)
    driver.session.camera.orbit(0.2, 0.0)
    yaw = driver.session.camera.yaw
    for key in ("ctrl+h", "alt+space", "ctrl+n"):
        driver.key(key)
    assert driver.session.camera.yaw == yaw
    assert driver.session.time == 0.0 and not driver.session.playing


@pytest.mark.turns(2)
def test_keys_typed_into_a_field_are_ignored(opened, rows: Rows):
    driver = opened()
    driver.type_into(rows.at("height"), "n h r g 5")
    driver.key("F5", "space", "Return")
    driver.frames(12)
    session = driver.session
    assert session.time == 0.0 and not session.playing and driver.viewer.gui.workspace.visible
    assert session.stage.instances["terrain"].params.height == 0.3  # not a number
    driver.key("n")
    assert session.time > 0.0


@pytest.mark.turns(2)
def test_keys_typed_right_after_a_click_into_a_field_are_no_shortcuts(opened, items):
    """All events arrive within one frame, as at a low frame rate."""
    driver = opened(size=(900, 600))
    session = driver.session
    driver.viewer.gui.workspace.show("Help")
    driver.frames()
    x, y = items.at("##search")
    driver.desktop.xdotool("mousemove", round(x), round(y), "click", 1, "key", "o", "key", "g", "key", "space")
    driver.frames(8)
    assert not session.camera.orthographic and driver.viewer.gui.workspace.visible and not session.playing
    driver.desktop.xdotool("mousemove", 300, 250, "click", 1, "key", "o")
    driver.frames_until(lambda: session.camera.orthographic)  # in the image it is one, and is not lost


def test_a_key_right_after_a_click_on_a_button_is_not_lost(opened, items):
    driver = opened(size=(900, 600))
    button = next(label for label in items.rects if "##Reset camera" in label)
    left, top, right, bottom = items.rects[button]
    position = round((left + right) / 2), round((top + bottom) / 2)
    driver.desktop.xdotool("mousemove", *position, "click", 1, "key", "n")
    driver.frames(8)
    assert driver.session.frame == 1


def test_keys_typed_right_after_opening_the_palette_are_no_shortcuts(opened):
    driver = opened(size=(900, 600))
    driver.desktop.xdotool("key", "ctrl+p", "key", "o", "key", "g")
    driver.frames(8)
    assert driver.viewer.gui.workspace.palette
    assert not driver.session.camera.orthographic and driver.viewer.gui.workspace.visible


@pytest.mark.turns(3)
def test_a_dialog_that_waits_for_an_answer_blocks_every_shortcut(opened, packaged_copy):
    driver = opened(packaged_copy("neural_field"), size=(900, 600))
    session, workspace = driver.session, driver.viewer.gui.workspace
    session.post(SetParameter("models.terrain", "height", 0.7))
    driver.frames(2)
    driver.key("ctrl+q")
    question = session.questions.first
    assert question is not None and question.about == "leave"
    for key in ("F5", "ctrl+z", "ctrl+o", "ctrl+s", "ctrl+p", "ctrl+1", "F11", "n", "space", "F1", "ctrl+g", "F6"):
        driver.key(key)
    assert (
        session.questions.first is question
        and session.stage.instances["terrain"].params.height == 0.7
        and session.unsaved
    )
    assert not (workspace.palette or workspace.gallery or workspace.fullscreen or workspace.opened["Help"])
    assert session.frame == 0 and workspace.opened["Run"]
    driver.key("Escape")
    driver.frames()
    assert session.questions.first is None
    driver.key("ctrl+z")
    assert session.stage.instances["terrain"].params.height == 0.3, "and then they work again"


def test_the_keys_that_opened_the_gallery_close_it(opened):
    driver = opened(size=(900, 600))
    driver.key("ctrl+g")
    assert driver.viewer.gui.workspace.gallery
    driver.key("ctrl+z", "F5", "n")
    assert driver.viewer.gui.workspace.gallery and driver.session.frame == 0
    driver.key("ctrl+g")
    assert not driver.viewer.gui.workspace.gallery
