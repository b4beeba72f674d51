"""Errors are shown over the viewport until they are fixed, and the last good scene continues."""

from __future__ import annotations

import numpy as np

from vertigrad.panels.message import LINES, shortened

from .driver import Driver

LOWER = slice(330, 390), slice(100, 540)  # where messages are, in a window of 640 x 400


def test_a_broken_scene_is_reported_until_it_is_fixed(opened, packaged_copy):
    scene = packaged_copy("neural_field")
    driver: Driver = opened(scene, panels=False)
    good, text = driver.image(), scene.read_text()
    scene.write_text(text.replace("height = 0.3", "heigth = 0.3"))
    driver.key("F5")
    expected_message = "\n".join(driver.session.messages.values())
    assert 'heigth: unknown parameter; did you mean "height"?' in expected_message
    assert f"{scene}:" in expected_message
    shown = driver.image()
    assert np.abs(shown - good)[LOWER].mean() > 20.0
    assert np.array_equal(shown[:280], good[:280])  # everything else is unchanged
    for key in ("h", "n", "r"):
        driver.key(key)
    driver.drag((320, 200), (330, 200))
    driver.key("h")
    assert driver.session.messages, "only a scene that can be read mends it"
    assert np.array_equal(driver.image()[:280], good[:280])
    scene.write_text(text.replace("height = 0.3", "height = 0.5"))
    driver.key("F5")
    assert not driver.session.messages
    assert np.abs(driver.image() - good).mean() > 2.0
    assert not is_panel(driver.image())


def test_a_message_can_be_dismissed(opened, packaged_copy):
    scene = packaged_copy("neural_field")
    driver: Driver = opened(scene, panels=False)
    good = driver.image()
    scene.write_text("models = 1")
    driver.key("F5")
    assert is_panel(driver.image())
    camera = vars(driver.session.camera).copy()
    (message,) = (w for w in driver.viewer.gui._context.windows if w.name == "##message")
    driver.click((message.pos.x + message.size.x - 18, message.pos.y + 16))
    assert not driver.session.messages and vars(driver.session.camera) == camera
    assert np.array_equal(driver.image(), good)


def test_long_messages_are_truncated():
    lines = [f"line {number}" for number in range(50)]
    assert shortened("\n".join(lines)).splitlines() == [*lines[:LINES], f"… and {50 - LINES} more"]
    assert shortened("\n".join(lines[: LINES + 1])).splitlines() == lines[: LINES + 1]
    assert shortened("one") == "one" and shortened("") == ""


def is_panel(image: np.ndarray) -> bool:
    """Whether the background of a message covers the lower end of the image."""
    return bool(image[LOWER].mean() < 90.0)
