"""Axes, floor, scale bar and color bars are switched by the table of actions, and undone as parameters are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad.panels.action_table import ACTIONS
from vertigrad.renderer.annotations.overlay import ColorBar
from vertigrad.session.commands import Undo

from .shell import Shell

Open = Callable[..., Shell]
NAMES = {"Axes": ("axes", True), "Floor": ("floor", "under"), "Scale bar": ("scale_bar", True)}


def perform(one: Shell, name: str) -> None:
    (action,) = (action for action in ACTIONS if action.name == name)
    assert action.perform(one.session, one.workspace)
    one.session.apply()


def is_on(one: Shell, name: str) -> bool:
    (action,) = (action for action in ACTIONS if action.name == name)
    assert action.on is not None
    return action.on(one.session, one.workspace)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_switched_on_and_undone(shell: Open, name: str):
    one = shell()
    parameter, value = NAMES[name]
    before = getattr(one.session.view, parameter)
    assert not is_on(one, name)
    perform(one, name)
    assert is_on(one, name)
    assert getattr(one.session.view, parameter) == value
    perform(one, name)
    assert not is_on(one, name)
    for shown in (value, before):
        one.session.post(Undo())
        one.session.apply()
        assert getattr(one.session.view, parameter) == shown


def test_color_bars_are_those_of_the_scene_if_it_has_some(shell: Open):
    one = shell()
    layer = next(iter(one.session.stage.layers.values()))
    layer.colorbar = None
    assert not is_on(one, "Color bars")
    perform(one, "Color bars")
    assert one.session.view.color_bars == "all"
    perform(one, "Color bars")
    assert one.session.view.color_bars == "none"
    layer.colorbar = ColorBar()
    perform(one, "Color bars")
    assert one.session.view.color_bars == "named"
    assert is_on(one, "Color bars")


def test_the_window_shows_the_same_annotations_as_a_rendered_image(shell: Open):
    """At the same position relative to the viewport, not the window."""
    one = shell()
    one.frames()
    before = one.image().astype(int)
    perform(one, "Scale bar")
    after = one.image().astype(int)
    left, top, _, height = (round(part) for part in one.gui.viewport)
    changed = np.argwhere(np.abs(after - before)[..., :3].max(axis=-1) > 60)
    assert len(changed) > 50
    assert changed[:, 0].max() in range(top + height - 24, top + height - 20)
    assert changed[:, 1].min() in range(left + 21, left + 24)
