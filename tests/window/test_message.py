"""What goes wrong is said over the picture until it is mended, and the last good scene goes on."""

from __future__ import annotations

import numpy as np

from vertigrad.panels.message import LINES, shortened

from .driver import Driver

LOWER = slice(330, 390), slice(100, 540)  # where messages are, in a window of 640 x 400


def test_broken_scene_is_told_of_until_it_is_mended(opened, packaged_copy):
    scene = packaged_copy("neural_field")
    driver: Driver = opened(scene, panels=False)
    good, text = driver.picture(), scene.read_text()
    scene.write_text(text.replace("height = 0.3", "heigth = 0.3"))
    driver.key("F5")
    told = "\n".join(driver.session.messages.values())
    assert 'heigth: unknown parameter; did you mean "height"?' in told
    assert f"{scene}:" in told
    shown = driver.picture()
    assert np.abs(shown - good)[LOWER].mean() > 20.0
    assert np.array_equal(shown[:280], good[:280])  # all else is as it was
    for key in ("h", "n", "r"):
        driver.key(key)
    driver.drag((320, 200), (330, 200))
    driver.key("h")
    assert driver.session.messages, "only a scene that can be read mends it"
    assert np.array_equal(driver.picture()[:280], good[:280])
    scene.write_text(text.replace("height = 0.3", "height = 0.5"))
    driver.key("F5")
    assert not driver.session.messages
    assert np.abs(driver.picture() - good).mean() > 2.0
    assert not is_panel(driver.picture())


def test_message_can_be_put_away(opened, packaged_copy):
    scene = packaged_copy("neural_field")
    driver: Driver = opened(scene, panels=False)
    good = driver.picture()
    scene.write_text("models = 1")
    driver.key("F5")
    assert is_panel(driver.picture())
    camera = vars(driver.session.camera).copy()
    (message,) = (w for w in driver.viewer.gui._context.windows if w.name == "##message")
    driver.click((message.pos.x + message.size.x - 18, message.pos.y + 16))
    assert not driver.session.messages and vars(driver.session.camera) == camera
    assert np.array_equal(driver.picture(), good)


def test_long_messages_are_cut():
    lines = [f"line {number}" for number in range(50)]
    assert shortened("\n".join(lines)).splitlines() == [*lines[:LINES], f"… and {50 - LINES} more"]
    assert shortened("\n".join(lines[: LINES + 1])).splitlines() == lines[: LINES + 1]
    assert shortened("one") == "one" and shortened("") == ""


def is_panel(picture: np.ndarray) -> bool:
    """Whether the dark of a message lies over the lower end of the picture."""
    return bool(picture[LOWER].mean() < 90.0)
