"""Scenes with Python code in the window: confirmed once, edited while they run, with errors reported."""

from __future__ import annotations

import time

import numpy as np
import pytest

from vertigrad.panels import unsaved
from vertigrad.scene import trust
from vertigrad.session.commands import Open

from .driver import Items

CODE = """
from vertigrad.models import CustomModel
from vertigrad.params import Params, integer, number
import numpy as np

class Dots(CustomModel):
    class Params(Params):
        count: int = integer(200, min=1, max=1000, rebuild=True, doc="points")
        speed: float = number(0.0, min=-9.0, max=9.0, doc="of the rise")

    tensors = {"position": ("count", 3)}

    def start(self, random):
        return {"position": random.uniform(-1, 1, (self.params.count, 3))}

    def advance(self, dt):
        self.position[:, 1] += self.params.speed * dt
"""
SCENE = """
version = 1
[models.dots]
type = "dots.py:Dots"
[layers.dots]
type = "points"
position = "dots.position"
size = 0.05
"""


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A scene with untrusted code."""
    monkeypatch.setattr(trust, "_allowed", set())
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    (tmp_path / "dots.py").write_text(CODE)
    (tmp_path / "scene.toml").write_text(SCENE)
    return tmp_path / "scene.toml"


def test_the_user_is_asked_once_and_enter_means_no(opened, items: Items, stranger):
    driver = opened(size=(600, 440))
    session = driver.session
    session.post(Open(stranger))
    driver.frames()
    assert (
        session.questions.first.about == "code"
        and items.find("Run once")
        and items.find("Always")
        and unsaved.HEADINGS["code"]
    )
    driver.key("Return")
    assert session.questions.first is None and session.scene.path != stranger and not session.messages
    session.post(Open(stranger))
    driver.frames()
    driver.click(items.at("Always"))
    driver.frames()
    assert session.scene.path == stranger and session.questions.first is None
    session.reload(restart=True)
    driver.frames(2)
    assert (
        session.questions.first is None and (stranger.parent / "state" / trust.FILE).read_text().count("dots.py") == 1
    )


def test_an_edit_is_shown_and_a_broken_one_is_reported_over_the_image(opened, stranger):
    trust.allow([stranger.parent / "dots.py"], edits=True)
    driver = opened(stranger, size=(600, 440), panels=False)
    session, file = driver.session, stranger.parent / "dots.py"
    session.hot_reload.on = True
    driver.frames_for(0.3)
    good = driver.image()

    def edit(text: str, observed) -> None:
        file.write_text(text)
        deadline = time.monotonic() + 60.0
        while not observed():
            assert time.monotonic() < deadline, session.messages
            driver.frames(1)
            time.sleep(0.01)
        driver.frames()

    edit(CODE.replace("def advance(self, dt)", "def advance(self, dt"), lambda: session.messages)
    (message,) = session.messages.values()
    assert "dots.py:16: '(' was never closed" in message
    expected_message = np.abs(driver.image() - good).max(axis=2) > 30
    assert expected_message[300:].mean() > 0.02 and expected_message[:200].mean() < 0.01, (
        "the message covers the lower end of the image"
    )
    edit(CODE + "\n# mended\n", lambda: not session.messages)
    assert np.abs(driver.image() - good).mean() < 0.5, "the points are where they were"
    before = session.stage.instances["dots"].model
    risen = CODE.replace("position[:, 1] +=", "position[:, 1] += 0.5 +")
    edit(risen, lambda: session.stage.instances["dots"].model is not before)
    driver.key("n")
    assert np.abs(driver.image() - good).mean() > 1.0


def test_a_step_that_fails_pauses_the_program_and_does_not_end_it(opened, stranger):
    late = CODE + "        if self.time > 0.05:\n            raise RuntimeError('too late')\n"
    (stranger.parent / "dots.py").write_text(late)
    trust.allow([stranger.parent / "dots.py"], edits=True)
    driver = opened(stranger, size=(600, 440), playing=True)
    driver.frames_until(lambda: driver.session.messages)
    assert list(driver.session.messages.values()) == ["dots.py:19: RuntimeError: too late"]
    assert not driver.session.playing and driver.viewer.frame()
    driver.key("space")
    driver.frames(3)
    assert driver.session.messages and not driver.session.playing
