"""The log: messages with their source, from any thread; searched, copied and cleared."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest
from imgui_bundle import imgui

from vertigrad.panels import log
from vertigrad.panels.log import CAPACITY, Journal, LogPanel
from vertigrad.session.commands import Open, SetParameter

from .shell import Shell

OpenShell = Callable[..., Shell]
ours = logging.getLogger("vertigrad")


@pytest.fixture
def journal():
    created = Journal()
    yield created
    created.close()


def texts(journal: Journal) -> list[str]:
    return [line.text for line in journal.lines]


def test_lines_are_stored_with_their_time_and_level(journal: Journal):
    ours.warning("first %d", 1)
    logging.getLogger("vertigrad.deep.inside").error("second\nand more")
    logging.getLogger("wgpu").error("third")
    logging.getLogger("somebody.else").error("not ours")
    assert texts(journal) == ["first 1", "second", "and more", "third"]
    assert [line.level for line in journal.lines] == [30, 40, 40, 40]
    assert len(journal.lines[0].clock) == 8 and journal.lines[2].clock == ""


def test_warnings_go_to_stderr_without_another_handler(journal: Journal, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    ours.info("quiet")
    ours.warning("loud")
    assert texts(journal) == ["quiet", "loud"]
    assert capsys.readouterr().err == "loud\n"


def test_only_the_latest_lines_are_stored(journal: Journal):
    for number in range(CAPACITY + 50):
        ours.warning("%d", number)
    assert len(journal.lines) == CAPACITY and journal.lines[-1].text == str(CAPACITY + 49)


def test_a_bad_record_does_not_end_the_program(journal: Journal, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    ours.warning("%d %d", "no number")
    ours.warning("after")
    assert texts(journal) == ["after"]


def test_nothing_is_stored_after_it_is_closed():
    journal = Journal()
    journal.close()
    ours.warning("late")
    assert not journal.lines and journal not in ours.handlers


def test_threads_can_log_while_it_is_shown(shell: OpenShell):
    one = shell()
    one.workspace.show("Log")
    stop = threading.Event()

    def speak() -> None:
        while not stop.is_set():
            ours.warning("said from a thread")

    speaker = threading.Thread(target=speak)
    speaker.start()
    try:
        one.frames(40)
    finally:
        stop.set()
        speaker.join()
    assert len(one.gui.journal.lines) > 10


def test_messages_of_the_session_are_logged_once_and_when_resolved(shell: OpenShell, tmp_path):
    one = shell()
    one.session.post(SetParameter("models.galaxy", "softening", -1.0))
    one.frames(5)
    messages = [text for text in texts(one.gui.journal) if "softening" in text]
    assert len(messages) == 1
    one.session.post(SetParameter("models.galaxy", "time_scale", -1.0))
    one.frames(3)
    messages = [
        text for text in texts(one.gui.journal) if "softening" in text or "time scale" in text or "time_scale" in text
    ]
    assert len(messages) == 2, "one message is new, the other is still the same"
    one.session.post(SetParameter("models.galaxy", "time_scale", 1.0))
    one.session.post(SetParameter("models.galaxy", "softening", 0.3))
    one.frames(3)
    assert not one.session.messages
    assert "fixed, or dismissed" in texts(one.gui.journal)[-1]
    one.session.post(Open(tmp_path / "notes.pdf"))
    one.frames(3)
    assert (
        'notes.pdf: Vertigrad does not know files of the kind ".pdf"; what can be opened is'
        in texts(one.gui.journal)[-1]
    )


LINES = {10: "detail", 20: "note", 30: "Warning of rain", 40: "ERROR in shader.wgsl:3"}


@pytest.fixture
def shown(shell: OpenShell, monkeypatch) -> tuple[Shell, LogPanel, list[str]]:
    """A shell with an open log, and the texts that are drawn."""
    one = shell(size=(1000, 900))
    one.gui.journal.clear()
    for level, text in LINES.items():
        one.gui.journal._add(0.0, level, text)
    one.workspace.show("Log")
    drawn: list[str] = []
    original = imgui.text_colored
    monkeypatch.setattr(log.imgui, "text_colored", lambda tint, text: (drawn.append(text), original(tint, text)))
    one.frames(4)
    panel = next(panel for panel in one.gui._panels if isinstance(panel, LogPanel))
    return one, panel, drawn


@pytest.mark.parametrize(
    ("least", "search", "expected"),
    [
        ("all", "", ["detail", "note", "Warning of rain", "ERROR in shader.wgsl:3"]),
        ("info", "", ["note", "Warning of rain", "ERROR in shader.wgsl:3"]),
        ("warnings", "", ["Warning of rain", "ERROR in shader.wgsl:3"]),
        ("errors", "", ["ERROR in shader.wgsl:3"]),
        ("all", "SHADER", ["ERROR in shader.wgsl:3"]),
        ("errors", "rain", []),
    ],
)
def test_lines_are_filtered_by_level_and_text(shown, least: str, search: str, expected: list[str]):
    one, panel, drawn = shown
    panel._least, panel._search = least, search
    drawn.clear()
    one.frames(1)
    assert [text for text in drawn if text in LINES.values()] == expected
    one.gui.journal._add(0.0, 50, f"later {search}")
    drawn.clear()
    one.frames(1)
    assert f"later {search}" in drawn


def test_the_shown_lines_are_copied(shown):
    one, panel, _ = shown
    panel._least = "warnings"
    one.frames(2)
    copied: list[str] = []
    _ = one.gui.io
    imgui.get_platform_io().platform_set_clipboard_text_fn = lambda _, text: copied.append(text)
    left, top, _, _ = one.windows()["Log"]
    one.click(*button(one, "Copy", left, top))
    assert len(copied) == 1
    assert [line[10:] for line in copied[0].splitlines()] == ["Warning of rain", "ERROR in shader.wgsl:3"]


def test_the_log_is_cleared(shown):
    one, _, drawn = shown
    left, top, _, _ = one.windows()["Log"]
    one.click(*button(one, "Clear", left, top))
    drawn.clear()
    one.frames(1)
    assert not one.gui.journal.lines and not set(drawn) & set(LINES.values())


def button(one: Shell, label: str, left: float, top: float) -> tuple[float, float]:
    """Where a button of the log's first line is: they follow the level (110) and the search box (260 at most)."""
    style = imgui.get_style()
    room = one.windows()["Log"][2] - left - 2 * style.window_padding.x - 110 - style.item_spacing.x
    x = left + style.window_padding.x + 110 + style.item_spacing.x + min(room * 0.5, 260) + style.item_spacing.x
    for name in ("Copy", "Clear"):
        width = imgui.calc_text_size(name).x + 2 * style.frame_padding.x
        if name == label:
            return x + width / 2, top + imgui.get_frame_height() + style.window_padding.y + 10
        x += width + style.item_spacing.x
    raise AssertionError(label)


def test_a_long_log_costs_no_more_than_a_short_one(shown):
    one, _, drawn = shown
    for number in range(CAPACITY):
        one.gui.journal._add(0.0, 20, f"line {number}")
    one.frames(2)
    drawn.clear()
    one.frames(1)
    assert len([text for text in drawn if text.startswith("line")]) < 50
    assert f"line {CAPACITY - 1}" in drawn, "the end is not in sight"
