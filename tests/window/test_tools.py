"""Interaction with the mouse: the tool palette, the brush, drags, the wheel and keys."""

import numpy as np
import pytest

from vertigrad.models.interaction import Gesture
from vertigrad.panels.action_table import ACTIONS
from vertigrad.panels.workspace import Workspace
from vertigrad.session import readbacks

from ..session.interactive import INTERACTIVE, use_interactive
from ..session.running import LINKED, written
from .desktop import LEFT, RIGHT, WHEEL_DOWN, WHEEL_UP


@pytest.fixture
def row(opened, tmp_path, monkeypatch):
    use_interactive(monkeypatch)

    def open_(text=INTERACTIVE, size=(900, 600), **options):
        return opened(written(tmp_path, text), size=size, **options)

    return open_


@pytest.fixture
def galaxy(opened, monkeypatch):
    use_interactive(monkeypatch)
    return lambda **options: opened("nbody", "galaxy.count=256", size=(900, 600), **options)


def middle(driver, x=0.0, y=0.0):
    view = driver.viewer.gui.viewport
    return view.left + view.width / 2 + x, view.top + view.height / 2 + y


def drag(driver, start, end, button=LEFT, steps=4):
    driver.hold(start, button)
    driver.carry(start, end, steps)


def test_a_drag_with_a_tool_moves_the_galaxy(galaxy):
    driver = galaxy(playing=True)
    session, camera = driver.session, driver.session.camera.position
    driver.key("d")
    assert session.tool.gesture is Gesture.DRAG
    drag(driver, middle(driver), middle(driver, 90, -40))
    driver.frames_until(lambda: session.clock.interaction is not None)
    interaction = session.clock.interaction
    clip = session.camera.projection(driver.viewer.gui.viewport.width / driver.viewer.gui.viewport.height)
    projected = clip @ session.camera.view() @ [*interaction.point, 1.0]
    view = driver.viewer.gui.viewport
    x, y = (projected[0] / projected[3] + 1) / 2 * view.width, (1 - projected[1] / projected[3]) / 2 * view.height
    assert (view.left + x, view.top + y) == pytest.approx(middle(driver, 90, -40), abs=1.0), "under the mouse"
    driver.desktop.release()
    driver.frames()
    assert session.clock.interaction is None and not session.tool.pressed
    assert session.camera.position == camera, "the camera stays"
    interactions = session.clock.interactions
    assert interactions.gestures == {Gesture.DRAG}
    speeds = [np.hypot(*c.interaction.velocity[:2]) for c in interactions._changes if c.interaction is not None]
    assert max(speeds) > 1.0, "the tool moved"


def test_without_a_tool_a_drag_moves_the_camera_except_with_ctrl(galaxy):
    driver = galaxy(playing=True)
    session, camera = driver.session, driver.session.camera.position
    driver.desktop.xdotool("keydown", "ctrl")
    drag(driver, middle(driver), middle(driver, 60, 0))
    driver.frames_until(lambda: session.clock.interaction is not None)
    assert session.clock.interaction.gesture is Gesture.DRAG
    driver.desktop.xdotool("keyup", "ctrl")
    driver.frames(2)
    assert session.tool.pressed, "until the button is let go"
    driver.desktop.release()
    driver.frames()
    assert session.camera.position == camera and not session.tool.pressed
    driver.drag(middle(driver), middle(driver, 60, 0))
    assert session.camera.position != camera
    assert session.tool.gesture is None


@pytest.mark.turns(2)
def test_with_a_tool_other_buttons_and_alt_move_the_camera(row):
    driver = row()
    session = driver.session
    driver.key("p")
    assert session.tool.gesture is Gesture.PAINT
    camera = session.camera.target
    driver.drag(middle(driver), middle(driver, 60, 0), RIGHT)
    assert session.camera.target != camera and not session.clock.interactions.gestures
    camera = session.camera.position
    driver.desktop.xdotool("keydown", "alt")
    driver.drag(middle(driver), middle(driver, 60, 0))
    driver.desktop.xdotool("keyup", "alt")
    driver.frames(2)
    assert session.camera.position != camera and not session.tool.pressed


@pytest.mark.turns(2)
def test_the_palette_has_the_tools_that_the_models_support(row, items, tmp_path):
    driver = row()
    names = "Orbit", "Drag (D)", "Emit (E)", "Cut (C)", "Paint (P)"
    assert [items.find(f"##{name}") is not None for name in names] == [1, 0, 0, 1, 1]
    driver.click(items.at("##Select by lasso (L)"))
    assert driver.session.rows.shape == "lasso"
    driver.click(items.at("##Cut (C)"))
    assert driver.session.tool.gesture is Gesture.CUT
    driver.frames(2)
    driver.key("c")
    assert driver.session.tool.gesture is None, "its key puts it away"
    driver.key("d")
    assert driver.session.tool.gesture is None and not driver.session.messages, "no model here can be dragged"
    driver.click(items.at("##Paint (P)"))
    driver.click(items.at("##Orbit"))
    assert driver.session.tool.gesture is None
    driver.session.reload(written(tmp_path, LINKED, "other.toml"))
    driver.frames(3)
    assert items.find("##Paint (P)") is None, "no model of this scene has a tool"
    assert items.find("##Select by lasso (L)") is not None, "but points"


def test_a_click_on_the_palette_is_no_interaction(row, items):
    driver = row(playing=True)
    driver.key("p")
    driver.click(items.at("##Paint (P)"))
    driver.frames(4)
    assert not driver.session.clock.interactions.gestures


@pytest.mark.turns(2)
def test_the_wheel_changes_the_brush(row):
    driver = row()
    brush, camera = driver.session.tool.brush, driver.session.camera.distance
    driver.desktop.move(*middle(driver))
    driver.desktop.xdotool("keydown", "ctrl")
    driver.desktop.click(WHEEL_UP)
    driver.frames(3)
    assert driver.session.camera.distance < camera and brush.radius == 0.08, "without a tool: a fine zoom"
    driver.desktop.xdotool("keyup", "ctrl")
    driver.key("p")
    camera = driver.session.camera.distance
    driver.desktop.xdotool("keydown", "ctrl")
    driver.desktop.click(WHEEL_UP, times=3)
    driver.frames(3)
    assert brush.radius > 0.08 and brush.strength == 1.0
    radius = brush.radius
    driver.desktop.xdotool("keydown", "shift")
    driver.desktop.click(WHEEL_DOWN, times=2)
    driver.frames(3)
    assert brush.strength < 1.0 and brush.radius == radius
    driver.desktop.xdotool("keyup", "shift", "keyup", "ctrl")
    driver.frames(2)
    assert driver.session.camera.distance == camera
    driver.key("bracketleft", "bracketleft")
    assert brush.radius < radius
    driver.desktop.click(WHEEL_UP)
    driver.frames(3)
    assert driver.session.camera.distance < camera, "the wheel alone zooms"


def test_the_wheel_stops_at_the_limits_of_the_brush(row):
    driver = row()
    driver.key("p")
    driver.session.tool.brush.radius = 0.95
    driver.key("bracketright", "bracketright")
    assert driver.session.tool.brush.radius == 1.0 and not driver.session.messages


@pytest.mark.turns(2)
def test_the_brush_circle_is_at_the_mouse_with_the_brush_radius(row):
    driver = row(panels=False)
    driver.desktop.move(*middle(driver, 0, -180))
    driver.frames()
    plain = driver.image()
    driver.key("p")
    ring = np.abs(driver.image() - plain).max(axis=2) > 25
    rows, columns = np.nonzero(ring)
    x, y = middle(driver, 0, -180)
    radius = driver.session.tool.brush.radius * driver.viewer.gui.viewport.height
    assert (columns.min() + columns.max()) / 2 == pytest.approx(x, abs=2)
    assert (columns.max() - columns.min()) / 2 == pytest.approx(radius, abs=3)
    assert (rows.max() - rows.min()) / 2 == pytest.approx(radius, abs=3)
    driver.desktop.move(5, 5)
    driver.frames()
    assert (np.abs(driver.image() - plain).max(axis=2) < 25)[int(y), int(x)]
    driver.key("p")
    assert (np.abs(driver.image() - plain) < 1).all()


def test_losing_the_keyboard_focus_ends_the_interaction(row):
    driver = row(playing=True)
    driver.key("p")
    driver.hold(middle(driver))
    driver.frames_until(lambda: driver.session.clock.interaction is not None)
    driver.viewer._events.focus(False)
    driver.frames()
    assert not driver.session.tool.pressed and driver.session.clock.interaction is None
    driver.desktop.release()
    driver.frames()
    assert driver.session.selection.row is None


def test_a_click_with_a_tool_selects_nothing(row):
    driver = row()
    driver.key("p")
    driver.click(middle(driver, 20, 0))
    driver.frames(6)
    assert driver.session.selection.row is None and not driver.session.tool.pressed


def test_interactions_are_saved_from_the_menu(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    driver = row(playing=True)
    action = next(one for one in ACTIONS if one.name == "Save interaction recording")
    assert not action.perform(driver.session, Workspace()), "nothing was done yet"
    driver.key("p")
    drag(driver, middle(driver), middle(driver, 30, 0))
    driver.frames_until(lambda: driver.session.clock.interaction is not None)
    driver.desktop.release()
    driver.frames(6)
    assert action.perform(driver.session, Workspace())
    driver.frames(2)
    assert (tmp_path / "scene-interactions.jsonl").read_text().count('"paint"') >= 1


def test_a_warning_over_the_image(row, monkeypatch):
    driver = row()
    driver.frames()
    projected = lambda: [w.name for w in driver.viewer.gui._context.windows if w.active and w.name == "##warnings"]  # noqa: E731
    assert not projected()
    driver.session.limits.check({"row.top": 2.0})
    monkeypatch.setattr(readbacks, "check_limits", lambda session: None)
    driver.frames(2)
    assert projected()
    window = next(w for w in driver.viewer.gui._context.windows if w.name == "##warnings")
    view = driver.viewer.gui.viewport
    assert view.left < window.pos.x and window.pos.x + window.size.x <= view.left + view.width
    assert view.top < window.pos.y and window.pos.y + window.size.y <= view.top + view.height
    assert not driver.viewer.gui.covers(window.pos.x + 20, window.pos.y + 10), "the mouse goes through"
    driver.session.messages["x"] = "something went wrong as well"
    driver.frames(3)
    window = next(w for w in driver.viewer.gui._context.windows if w.name == "##warnings")
    message = next(w for w in driver.viewer.gui._context.windows if w.name == "##message")
    assert window.pos.y + window.size.y <= message.pos.y
    driver.session.messages.clear()
    driver.session.limits.exceeded = ()
    driver.frames(2)
    assert not projected()
