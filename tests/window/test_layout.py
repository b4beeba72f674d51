"""Panels around the viewport in windows of every size: docked, floating, restored, and not over the viewport."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from imgui_bundle import imgui

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.panels import Gui, docks
from vertigrad.panels import gui as gui_module
from vertigrad.panels.base import Panel
from vertigrad.panels.docks import Rect, can_dock, scaled
from vertigrad.panels.workspace import ZOOMS, Workspace
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session

from .shell import Shell

SIZES = [(1920, 1080), (1000, 640), (640, 400), (400, 300), (300, 420), (240, 180), (120, 90), (17, 5), (1, 1)]
MESSAGES = {
    "": {},
    "one": {"scene": "scenes/x.toml:12:1  models.galaxy.softning: unknown parameter"},
    "many": {"scene": "\n".join(f"scenes/x.toml:{line}:1  models.galaxy: wrong" for line in range(60))},
}
Open = Callable[..., Shell]


def panels_of(shell: Shell) -> dict[str, tuple[float, float, float, float]]:
    titles = {panel.title for panel in shell.gui._panels}
    return {name: rect for name, rect in shell.windows().items() if name in titles}


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.5])
@pytest.mark.parametrize("messages", MESSAGES)
def test_nothing_covers_the_viewport_or_another_panel(shell: Open, scale: float, messages: str):
    one = shell(scale=scale)
    one.workspace.show("Log")
    one.session.messages = MESSAGES[messages]
    for size in SIZES:
        one.size = size
        one.frames()
        left, top, width, height = one.gui.viewport
        assert 0 <= left <= left + width <= size[0] and 0 <= top <= top + height <= size[1]
        shown = {name: rect for name, rect in panels_of(one).items() if name in one.workspace.visible_panels}
        if min(size) >= 240:
            assert set(shown) == {"Run", "Parameters", "Log"}, size
        if min(size) < 240 * scale:
            continue
        for name, rect in shown.items():
            others = [other for key, other in shown.items() if key != name]
            for other in [*others, (left, top, left + width, top + height)]:
                assert disjoint(rect, other), f"{name} at {size}"


@pytest.mark.turns(2)
@pytest.mark.parametrize("where", ["beside the panels", "below the menu"])
def test_the_viewport_fills_the_rest_of_the_window(shell: Open, steady: Gpu, where: str):
    """Its pixels are those of an image file of that size."""
    one = shell("neural_field", size=(800, 600))
    if where == "below the menu":
        one.workspace.opened = dict.fromkeys(one.workspace.opened, False)
        one.frames()
    shown, (left, top, width, height) = one.image(), one.gui.viewport
    assert top > 15 and (width < 700) == (where == "beside the panels")
    alone: list[np.ndarray] = []
    offscreen = Offscreen(steady, (width, height))
    with steady.frames.frame():
        one.session.draw(Renderer(steady, FORMAT), offscreen.view, (width, height))
        offscreen.read(alone.append)
    steady.sync()
    while not alone:
        steady.poll()
    middle = slice(width // 4, width // 2)  # tools are at the left, the axes at the right
    column = shown[top : top + height, left : left + width][:, middle, :3].astype(int)
    expected = alone[0][:, middle, :3].astype(int)
    assert np.abs(column - expected).max() <= 2, "dithering differs from pixel to pixel, nothing else may"
    assert expected.std() > 20.0


def test_the_message_stays_within_the_viewport(shell: Open):
    one = shell(size=(1000, 700))
    one.session.messages = MESSAGES["one"]
    one.frames()
    left, top, right, bottom = one.windows()["##message"]
    image = one.gui.viewport
    assert image.left <= left and right <= image.left + image.width
    assert image.top <= top and bottom <= image.top + image.height
    one.session.messages = {}
    one.frames()
    assert "##message" not in one.windows()


@pytest.mark.turns(2)
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_covers_agrees_with_imgui_everywhere(shell: Open, scale: float):
    """Also where a border can be dragged, over a floating panel, and with the panels hidden."""
    one = shell(size=(900, 640), scale=scale)
    one.workspace.show("Log")
    one.frames()
    chance = random.Random(5)
    for state in ("docked", "floating", "hidden"):
        if state == "floating":
            _, top, _, _ = one.windows()["Log"]
            one.drag((30.0 * scale, top + 8 * scale), (300.0, 200.0))
            assert "Log" in one.workspace.visible_panels and one.windows()["Log"][1] < top - 100
        one.gui.workspace.visible = state != "hidden"
        one.frames()
        texts = set()
        image = one.gui.viewport
        edges = [image.left + image.width, image.top, image.top + image.height]
        near = [(edges[0] + chance.randrange(-12, 12), chance.randrange(640)) for _ in range(40)]
        near += [(chance.randrange(900), edges[1 + chance.randrange(2)] + chance.randrange(-12, 12)) for _ in range(40)]
        for x, y in [*near, *((chance.randrange(900), chance.randrange(640)) for _ in range(160))]:
            if not (0 <= x < 900 and 0 <= y < 640):
                continue
            one.gui.io.add_mouse_pos_event(x, y)
            one.frames(2)
            assert one.gui.covers(x, y) == one.gui.io.want_capture_mouse, (state, x, y)
            texts.add(one.gui.covers(x, y))
        assert texts == ({False} if state == "hidden" else {True, False})


def test_a_border_can_be_dragged_and_the_viewport_fills_the_rest(shell: Open):
    one = shell(size=(1000, 700))
    before = one.gui.viewport
    edge = before.left + before.width
    one.drag((edge, 400.0), (edge - 120.0, 400.0))
    assert one.gui.viewport == before._replace(width=before.width - 120)
    assert one.windows()["Parameters"][0] == pytest.approx(edge - 120 + 2, abs=2)


def test_everything_is_in_place_in_the_first_frame(steady: Gpu):
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=32"]) as session:
        session.playing = False
        gui = Gui(steady, FORMAT)
        gui.workspace.show("Log")
        one = Shell.__new__(Shell)
        one.gpu, one.session, one.size, one.scale, one.gui = steady, session, (900, 640), 1.0, gui
        first, rects, image = one.image(), one.windows(), gui.viewport
        for _ in range(6):
            later = one.image()
        assert one.windows() == rects and gui.viewport == image
        parameters = slice(330, None), slice(image.width + 4, None), slice(3)
        assert np.array_equal(first[parameters], later[parameters])
        gui.close()


def test_hidden_tabs_are_not_drawn(shell: Open, monkeypatch):
    one = shell()
    bottom = [panel for panel in one.gui._panels if panel.side == "bottom"]
    drawn: list[str] = []
    for panel in bottom:
        monkeypatch.setattr(panel, "draw", lambda session, title=panel.title: drawn.append(title))
        one.workspace.opened[panel.title] = True
    one.frames(5)
    drawn.clear()
    one.frames(4)
    assert len(set(drawn)) == 1 and len(drawn) == 4
    hidden = next(panel.title for panel in bottom if panel.title not in drawn)
    one.workspace.show(hidden)
    one.frames()
    drawn.clear()
    one.frames(2)
    assert set(drawn) == {hidden}


def test_toggling_closes_a_visible_panel_and_raises_a_hidden_one(shell: Open):
    one = shell()
    for title in ("Log", "Help"):
        one.workspace.toggle(title)
        one.frames()
        assert title in one.workspace.visible_panels
    assert "Log" not in one.workspace.visible_panels and one.workspace.opened["Log"]
    one.workspace.toggle("Log")
    one.frames()
    assert "Log" in one.workspace.visible_panels and "Help" not in one.workspace.visible_panels
    one.workspace.toggle("Log")
    one.frames()
    assert not one.workspace.opened["Log"] and "Help" in one.workspace.visible_panels


def test_hidden_panels_return_to_their_position(shell: Open):
    one = shell()
    rects, image = panels_of(one), one.gui.viewport
    one.gui.workspace.visible = False
    one.frames()
    assert not panels_of(one) and one.gui.viewport == Rect(0, 0, *one.size)
    one.gui.workspace.visible = True
    one.frames()
    assert panels_of(one) == rects and one.gui.viewport == image


def test_panels_are_reset_to_the_default_layout(shell: Open):
    one = shell()
    rects, image = panels_of(one), one.gui.viewport
    left, top, _, _ = rects["Parameters"]
    one.drag((left + 20, top + 8), (200.0, 300.0))
    assert panels_of(one) != rects
    one.workspace.reset_layout = True
    one.frames()
    assert panels_of(one) == rects and one.gui.viewport == image


def test_the_layout_is_restored_at_any_scale(shell: Open):
    one = shell(size=(1000, 700))
    one.workspace.show("Log")
    one.frames()
    edge = one.gui.viewport.left + one.gui.viewport.width
    one.drag((edge, 500.0), (edge - 90.0, 500.0))
    layout, rects, image = one.gui.layout(), panels_of(one), one.gui.viewport
    stored = {"layout": layout, "layout_scale": 1.0, "opened": dict(one.workspace.opened)}
    again = shell(size=(1000, 700), workspace=Workspace(**stored))
    assert panels_of(again) == rects and again.gui.viewport == image
    twice = shell(size=(2000, 1400), scale=2.0, workspace=Workspace(**stored))
    assert twice.gui.viewport.width == pytest.approx(2 * image.width, abs=6)
    assert twice.gui.viewport.height == pytest.approx(2 * image.height, abs=8)


def test_panels_keep_their_relative_size_when_the_scale_changes(shell: Open):
    one = shell(size=(1600, 1000))
    right = one.size[0] - one.gui.viewport.width
    for zoom in (1.5, 2.0, 1.0):
        one.workspace.zoom = zoom
        one.frames()
        assert one.size[0] - one.gui.viewport.width == pytest.approx(right * zoom, abs=4)
    assert {"Run", "Parameters"} <= one.workspace.visible_panels


def test_a_panel_missing_in_the_layout_is_docked_at_its_side(shell: Open, monkeypatch):
    one = shell()
    one.workspace.show("Log")
    one.frames()
    stored = {"layout": one.gui.layout(), "opened": dict(one.workspace.opened)}

    class NewPanel(Panel):
        title, side, opened = "Brand new", "bottom", True

        def draw(self, session: Session) -> None:
            imgui.text("new")

    from vertigrad.panels import gui

    panels = gui.panels
    monkeypatch.setattr(gui, "panels", lambda own: (*panels(own), NewPanel()))
    again = shell(workspace=Workspace(**stored))
    again.workspace.show("Brand new")
    again.frames()
    assert panels_of(again)["Brand new"] == panels_of(one)["Log"]


def test_an_empty_layout_is_not_used(shell: Open):
    for layout in ("", "rubbish\n[Window][", "[Window][Run]\nPos=1,1\n", "\0\0"):
        assert not can_dock((), layout)
        one = shell(workspace=Workspace(layout=layout))
        assert {"Run", "Parameters"} <= one.workspace.visible_panels
        assert one.gui.viewport.width > 500


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("ID=0x00000002 Parent", "ID=0x00000001 Parent"),  # twice
        ("Parent=0x00000002", "Parent=0x00000009"),  # of no node
        ("Parent=0x00000002", "Parent=0x00000001"),  # three branches, and a split without any
        ("ID=0x00005EED", "ID=0x00005EEE"),  # not the space that panels are docked in
        (" Split=X", ""),  # branches without a split
        ("DockNode ", "DockMode "),
        ("SizeRef=", "SizeRef=0"),
    ],
)
def test_a_damaged_dock_tree_is_not_used(shell: Open, good: str, bad: str):
    """ImGui would abort the process."""
    one = shell()
    layout = one.gui.layout()
    assert can_dock(one.gui._panels, layout) and good in layout
    damaged = layout.replace(good, bad, 1)
    assert not can_dock(one.gui._panels, damaged)
    assert "Run" in shell(workspace=Workspace(layout=damaged)).workspace.visible_panels


def test_a_layout_rejected_by_imgui_is_dropped_and_reported(shell: Open, caplog, monkeypatch):
    layout, real, left = shell().gui.layout(), gui_module.dock_space, [True]

    def refuse(*arguments):
        if left:
            left.clear()
            raise RuntimeError("IM_ASSERT( node->Size.x > 0.0f )")
        return real(*arguments)

    monkeypatch.setattr(gui_module, "dock_space", refuse)
    one = shell(workspace=Workspace(layout=layout))
    assert not left and "layout cannot be used" in caplog.text
    assert {"Run", "Parameters"} <= one.workspace.visible_panels and one.gui.viewport.width > 500


def test_scaling_a_layout_changes_only_lengths():
    layout = "[Window][A]\nPos=10,-20\nSize=333,40\nDockId=0x00000003,1\n\nDockNode ID=0x1 SizeRef=945,800 Split=Y"
    doubled = scaled(layout, 2.0)
    assert "Pos=20,-40\nSize=666,80\nDockId=0x00000003,1" in doubled and "SizeRef=1890,1600 Split=Y" in doubled


@pytest.mark.parametrize("zoom", ZOOMS)
def test_text_has_the_requested_size(shell: Open, zoom: float):
    one = shell(workspace=Workspace(zoom=zoom))
    _ = one.gui.io
    assert one.gui.scale == zoom == pytest.approx(imgui.get_style().font_scale_dpi)


def test_the_ui_scale_is_limited():
    workspace = Workspace()
    for _ in range(30):
        workspace.change_scale(1)
    assert workspace.zoom == ZOOMS[-1] == 2.5
    for _ in range(30):
        workspace.change_scale(-1)
    assert workspace.zoom == ZOOMS[0]
    workspace.zoom = 1.13  # as in a settings file
    workspace.change_scale(1)
    assert workspace.zoom == 1.25


def test_clip_coordinates_are_those_of_the_image():
    image = Rect(100, 50, 400, 200)
    assert image.clip(100, 50) == (-1.0, 1.0)
    assert image.clip(500, 250) == (1.0, -1.0)
    assert image.clip(300, 150) == (0.0, 0.0)


def test_two_guis_are_independent(steady: Gpu):
    first, second = Gui(steady, FORMAT), Gui(steady, FORMAT)
    first.io.add_mouse_pos_event(5.0, 5.0)
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=32"]) as session:
        for one in (first, second):
            one.build(session, (400, 300), 0.1)
    assert first.io.mouse_pos.x == 5.0 and second.io.mouse_pos.x != 5.0
    second.close()
    second.close()
    first.close()
    assert imgui.get_current_context() is None


def disjoint(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_docked_sides_have_the_expected_width(shell: Open):
    for size in ((1920, 1080), (1000, 640), (640, 400)):
        one = shell(size=size)
        taken = size[0] - one.gui.viewport.width
        least, share, most = docks.WIDTHS["right"]
        assert taken == pytest.approx(min(max(share * size[0], least), most), abs=3)


def test_each_slider_has_an_identifier_of_its_own(shell: Open, monkeypatch: pytest.MonkeyPatch):
    """Sliders of one identifier would all follow the mouse that drags one of them."""
    one = shell()
    one.workspace.show("Camera")
    one.frames()
    found, drawn = list[int](), imgui.slider_float

    def noted(label: str, *arguments: object) -> tuple[bool, float]:
        found.append(imgui.get_id(label))
        return drawn(label, *arguments)

    monkeypatch.setattr(imgui, "slider_float", noted)
    one.frames(1)
    assert len(set(found)) == len(found) >= 4
