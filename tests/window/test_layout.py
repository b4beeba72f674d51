"""Panels and messages in windows of every size: inside, beside each other, never over each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import wgpu
from imgui_bundle import imgui

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.panels import Gui, gui
from vertigrad.session import Session

FORMAT = "rgba8unorm"
SIZES = [(1920, 1080), (1000, 640), (640, 400), (400, 300), (300, 420), (240, 180), (120, 90), (17, 5), (1, 1)]
MESSAGES = {
    "": {},
    "one": {"scene": "scenes/x.toml:12:1  models.galaxy.softning: unknown parameter"},
    "many": {"scene": "\n".join(f"scenes/x.toml:{line}:1  models.galaxy: wrong" for line in range(60))},
}


@pytest.fixture
def shown(steady: Gpu) -> Iterator[Callable[..., list[tuple[str, float, float, float, float]]]]:
    """Builds the GUI for a window, draws it, and returns its windows: name, left, top, right, bottom."""
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=32"]) as session:
        panels = Gui(steady, FORMAT)
        session.diagnostics = {"galaxy.energy": -1.5, "galaxy.momentum": float("nan")}

        def build(size: tuple[int, int], scale: float, messages: dict[str, str]):
            session.messages = messages
            target = steady.device.create_texture(
                size=(*size, 1), format=FORMAT, usage=wgpu.TextureUsage.RENDER_ATTACHMENT
            )
            for _ in range(3):  # ImGui gives a window its size in the second frame
                with steady.frames.frame():
                    panels.build(session, size, 1 / 60, scale)
                    panels.draw(target.create_view())
            return [
                (w.name, w.pos.x, w.pos.y, w.pos.x + w.size.x, w.pos.y + w.size.y)
                for w in panels._context.windows
                if w.active and not w.hidden and w.parent_window is None
            ]

        yield build
        panels.close()


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("messages", MESSAGES)
def test_nothing_overlaps(shown, scale: float, messages: str):
    for size in SIZES:
        windows = shown(size, scale, MESSAGES[messages])
        names = [name for name, *_ in windows]
        assert len(names) == len(set(names)) and set(names) <= {"Run", "Parameters", "##message"}
        assert ("##message" in names) == (messages != "")
        for index, (name, left, top, right, bottom) in enumerate(windows):
            for other, *place in windows[:index]:
                apart = right <= place[0] or place[2] <= left or bottom <= place[1] or place[3] <= top
                assert apart, f"{name} and {other} overlap at {size}"
            if min(size) >= 300 and scale == 1.0 and messages != "many":
                assert left >= 0 and top >= 0 and right <= size[0] and bottom <= size[1], f"{name} at {size}"


def test_both_panels_have_room_in_a_small_window(shown):
    for size in ((640, 400), (480, 320), (300, 420)):
        assert {name for name, *_ in shown(size, 1.0, {})} == {"Run", "Parameters"}
    (run, parameters) = sorted(shown((640, 400), 1.0, {}), key=lambda window: window[1])
    assert parameters[1] - run[3] > 200  # of the picture between them


def test_panels_take_no_more_of_a_large_window(shown):
    widths = {right - left for _, left, _, right, _ in shown((1920, 1080), 1.0, {})}
    assert widths == {gui.WIDEST}


def test_two_guis_do_not_mix(steady: Gpu):
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
