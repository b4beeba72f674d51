"""What panels draw, their tooltips, and the commands of clicks, compared with the files in `drawn/`.

All is drawn at a scale of 1.25, so that unscaled sizes are found. After an intended change, `make golden` renews the
files; Git shows the differences.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from imgui_bundle import imgui

from vertigrad.gpu import Traffic
from vertigrad.memory import State
from vertigrad.models.base import Limit
from vertigrad.models.interaction import Gesture
from vertigrad.panels import capture as capture_panel
from vertigrad.panels import gallery as gallery_module
from vertigrad.panels import log, reports
from vertigrad.panels import performance as performance_module
from vertigrad.panels import tensors as tensors_module
from vertigrad.panels.files import FileDialog
from vertigrad.panels.memory import MemoryPanel
from vertigrad.panels.tensors import TensorInfo
from vertigrad.panels.thumbnails import SceneEntry
from vertigrad.panels.traffic import DIRECTIONS, FrameTraffic
from vertigrad.panels.workspace import Workspace
from vertigrad.scene.schema import Animation
from vertigrad.session import catalog, commands
from vertigrad.session.capture import RecordingStatus
from vertigrad.session.commands import AddWatch, Freeze, InspectTensor, Leave, Select, SetParameter, SetTool
from vertigrad.session.diagnostics import Excess
from vertigrad.session.failures import Failure, Failures
from vertigrad.session.inspector import TensorRange
from vertigrad.session.questions import Question
from vertigrad.session.watches import Condition, Watch

from ..session.running import LINKED, use_models, written
from . import drawn_lists
from .drawn_lists import Shape, Text
from .shell import Shell

EXPECTED = Path(__file__).parent / "drawn"
SCALE, SIZE = 1.25, (1250, 875)
TALL = SIZE[0], 1500
LEAST = 4.0  # smallest width and height in pixels of a shape that the mouse points at
SPACING = 12.0  # pixels between positions that the mouse is moved to
NOT_COMPARED = "visible_panels", "focused", "layout", "raised"  # of the workspace
CHANGING = (
    (re.compile(r"\bblock \d+"), "block N"),
    (re.compile(re.escape(str(Path.cwd()))), "/folder"),
    (re.compile(r"/[^|]*scene\.toml"), "/folder/scene.toml"),
    (re.compile(r"frozenset\((.*)\)"), lambda found: "frozenset" + "".join(sorted(found[1]))),
)
Open = Callable[..., Shell]


@pytest.fixture
def software_only(gpu):
    if gpu.adapter.kind != "software":
        pytest.skip("the texts of panels are stored only for the software adapter")


class Recorder:
    """A shell whose commands are recorded and not executed."""

    def __init__(self, one: Shell, monkeypatch: pytest.MonkeyPatch):
        self.shell, self.posted = one, list[str]()
        monkeypatch.setattr(one.session, "post", lambda command: self.posted.append(_plain(_written(command))))

    def lines(self, names: tuple[str, ...]) -> list[str]:
        """The description of the windows whose names begin with one of these."""
        self.away()
        return [*self._drawn(names), "", *self._hovered(names), "", *self._clicked(names)]

    def away(self) -> None:
        self.shell.gui.io.add_mouse_pos_event(-1.0, -1.0)
        self.frames(3)

    def frames(self, count: int = 1, seconds: float = 1 / 60) -> None:
        for _ in range(count):
            with self.shell.gpu.frames.frame():
                self.shell.gui.build(self.shell.session, self.shell.size, seconds, self.shell.scale)

    def _drawn(self, names: tuple[str, ...]) -> Iterator[str]:
        for window, content in drawn_lists.windows().items():
            if window.startswith(names):
                yield f"# {window.partition('_')[0]}"
                yield from (str(one) for one in content)

    def _points(self, names: tuple[str, ...]) -> list[tuple[float, float]]:
        """The centers of small shapes to point at, from bottom to top, so that the ones above do not move."""
        found = set()
        for window, content in drawn_lists.windows().items():
            for one in content if window.startswith(names) else ():
                if isinstance(one, Text):
                    found.add((round(one.left) + 3, round(one.top) + 8))
                elif isinstance(one, Shape) and min(_extent(one)) >= LEAST and max(_extent(one)) < 400.0:
                    found.add((round((one.box[0] + one.box[2]) / 2), round((one.box[1] + one.box[3]) / 2)))
        width, height = self.shell.size
        inside = (point for point in found if 0 < point[0] < width and 0 < point[1] < height)
        spaced: list[tuple[float, float]] = []
        for point in sorted(inside, key=lambda point: (-point[1], point[0])):
            if all(math.dist(point, other) > SPACING for other in spaced):
                spaced.append(point)
        return spaced

    def _hovered(self, names: tuple[str, ...]) -> Iterator[str]:
        for point in self._points(names):
            self.shell.gui.io.add_mouse_pos_event(*point)
            self.frames(4, 0.4)
            tooltip = drawn_lists.texts("##Tooltip")
            if tooltip:
                yield _plain(f"{point[0]},{point[1]} says {' | '.join(tooltip)}")
        self.away()

    def _clicked(self, names: tuple[str, ...]) -> Iterator[str]:
        one, workspace = self.shell, self.shell.workspace
        before, windows, shown = _state(workspace), set(drawn_lists.windows()), set(workspace.visible_panels)
        for point in self._points(names):
            self.posted.clear()
            one.gui.io.add_mouse_pos_event(*point)
            self.frames(2)
            for down in (True, False):
                one.gui.io.add_mouse_button_event(0, down)
                self.frames(2)
            changed = [f"{key}={_shown(value)}" for key, value in _state(workspace).items() if before[key] != value]
            opened = sorted(set(drawn_lists.windows()) - windows)
            tooltip = [text for window in opened if "Tooltip" not in window for text in drawn_lists.texts(window)]
            if self.posted or changed or tooltip:
                yield _plain(f"{point[0]},{point[1]} does {'; '.join([*self.posted, *changed, *tooltip])}")
            if opened and imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value):
                self._escape()
            for key, value in before.items():
                setattr(workspace, key, value if key != "opened" else dict(value))
            for title in shown - workspace.visible_panels:
                workspace.show(title)
            self.frames(3)

    def _escape(self) -> None:
        for down in (True, False):
            self.shell.gui.io.add_key_event(imgui.Key.escape, down)
            self.frames(2)


def _state(workspace: Workspace) -> dict[str, Any]:
    fields = dataclasses.asdict(workspace)
    return {key: value for key, value in fields.items() if key not in NOT_COMPARED}


def _shown(value: Any) -> Any:
    """The entries of the open panels."""
    return [title for title, is_open in value.items() if is_open] if isinstance(value, dict) else value


def _extent(one: Shape) -> tuple[float, float]:
    left, top, right, bottom = one.box
    return right - left, bottom - top


def _written(command: Any) -> str:
    """A command with its imported name and its fields."""
    kind = type(command)
    name = next((name for name, one in vars(commands).items() if one is kind), kind.__name__)
    return name + repr(command).removeprefix(kind.__qualname__)


def _plain(text: str) -> str:
    """The text without values that differ from run to run."""
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text


def check(name: str, lines: list[str]) -> None:
    """Compare a description with its file."""
    file, text = EXPECTED / f"{name}.txt", "\n".join(lines) + "\n"
    if "VERTIGRAD_UPDATE_GOLDEN" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()


def use_capture(one: Shell, recording: RecordingStatus | None) -> None:
    """Provide a service of a window."""
    service: Any = SimpleNamespace(recording=recording, exports=())
    one.session.capture = service


def entry(name: str, description: str = "") -> SceneEntry:
    """A scene without a thumbnail."""
    return SceneEntry(Path(f"/folder/{name}.toml"), f"The scene {name}", description)


def memory_of(timeline: Any) -> Any:
    """Fixed data for the memory panel, whose blocks and bytes depend on earlier tests."""
    origin = SimpleNamespace(file="/folder/model.py", line=12)
    common = {"owners": 1, "published": 0, "last_frame": 1234, "last_serial": 99, "generation": 3, "origin": origin}
    states = (State.LIVE, State.RETIRING, State.FREE)
    blocks = {
        number: SimpleNamespace(
            **common,
            id=number,
            name=name,
            nbytes=size,
            capacity=2 * size,
            pins=number % 2,
            state=states[number % 3],
        )
        for number, (name, size) in enumerate([("row.phase", 32), ("late.position", 96000), ("loose", 7), ("", 12)])
    }
    pool = SimpleNamespace(held_bytes=5_000_000, free_bytes=1_500_000, peak_bytes=6_000_000)
    leak = SimpleNamespace(name="lost", nbytes=4096, origin="model.py:7")
    tracker = SimpleNamespace(blocks=blocks, leak_count=3, leaks=[leak, leak, leak], frame=10)
    return SimpleNamespace(gpu=SimpleNamespace(pool=pool, tracker=tracker), timeline=timeline)


def without_block(found: TensorInfo | None) -> TensorInfo | None:
    """Data of a tensor for the panel, with a block number that does not occur."""
    if found is None:
        return None
    facts = (("block", "block N", "of some generation") if fact[0] == "block" else fact for fact in found.facts)
    return found._replace(facts=tuple(facts))


def moved(traffic: FrameTraffic, _: Any) -> Any:
    """Some bytes of every kind, and geometry in one direction only."""
    traffic.per_frame = {kind.value: dict.fromkeys(DIRECTIONS, 0.0) for kind in Traffic}
    for number, counts in enumerate(traffic.per_frame.values()):
        counts["host_to_device"] = 1500.0 * (number + 1)
    return traffic.per_frame


def ask_in_an_empty_folder(dialog: FileDialog, folder: Path, name: str = "", recent: object = ()) -> None:
    """Open a file dialog that does not depend on the folders of this machine."""
    dialog._asked, dialog._folder, dialog._typed = True, Path("/folder"), name


@pytest.fixture
def one(shell: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, software_only, request) -> Shell:
    """A shell on a scene with two linked models, in a folder of the same name in every run."""
    use_models(monkeypatch)
    monkeypatch.setattr(capture_panel, "here", lambda: Path("/folder"))
    monkeypatch.setattr(capture_panel, "SHOWN", math.inf)
    monkeypatch.setattr(FileDialog, "ask", ask_in_an_empty_folder)
    info = tensors_module.info
    monkeypatch.setattr(tensors_module, "info", lambda *of: without_block(info(*of)))
    monkeypatch.setattr(reports, "log_file", lambda: Path("/folder/vertigrad.log"))
    monkeypatch.setattr(gallery_module, "packaged", lambda: [entry("a"), entry("b", "in few words"), entry("c")])
    monkeypatch.setattr(gallery_module, "existing", lambda _: [entry("scene", "opened before " * 9)])
    monkeypatch.setattr(FrameTraffic, "update", moved)
    monkeypatch.setattr(
        performance_module, "averages", lambda _: ({"step": 1.25, "draw": 0.75}, {("step", "rise"): 1.0})
    )
    draw = MemoryPanel.draw
    monkeypatch.setattr(MemoryPanel, "draw", lambda panel, session: draw(panel, memory_of(session.timeline)))
    state = request.node.callspec.params["name"]
    path = "nbody" if state in ("a_tool", "long_labels") else written(tmp_path, LINKED)
    return shell(path, size=TALL if state in ("run", "tensors", "odd_tensors") else SIZE, scale=SCALE)


def only(one: Shell, title: str, frames: int = 4) -> tuple[str, ...]:
    """Leave one panel open; return its windows."""
    one.workspace.opened = {panel: panel == title for panel in one.workspace.opened}
    one.workspace.show(title)
    one.frames(frames)
    return (title,)


def written_at(window: str, part: str) -> Text:
    """The first text in a window, or in its children, with this in it."""
    contents = [content for name, content in drawn_lists.windows().items() if name.startswith(window)]
    return next(one for content in contents for one in content if isinstance(one, Text) and part in one.text)


def parameters(one: Shell) -> tuple[str, ...]:
    """A changed parameter, an animated one, and a search."""
    one.session.post(SetParameter("models.late", "gain", 3.5))
    one.session.post(SetParameter("models.row", "height", 2.0))
    return only(one, "Parameters")


def parameter_menu(one: Shell) -> tuple[str, ...]:
    """What a right click on a changed parameter offers."""
    parameters(one)
    return right_clicked(one, "height")


def animation_menu(one: Shell) -> tuple[str, ...]:
    one.session.post(commands.Animate("models.row", "height", Animation(shape="noise", range=(-1.0, 2.0))))
    only(one, "Parameters")
    return right_clicked(one, "height")


def right_clicked(one: Shell, name: str) -> tuple[str, ...]:
    at = written_at("Parameters", name)
    one.move(at.left + 3.0, at.top + 8.0)
    for down in (True, False):
        one.gui.io.add_mouse_button_event(1, down)
        one.frames(2)
    return ("##Popup", "Parameters/##rows")


def presets(one: Shell) -> tuple[str, ...]:
    one.session.post(commands.SavePreset("calm"))
    one.session.post(SetParameter("models.late", "gain", 3.5))
    one.session.post(commands.SavePreset("wild"))
    return only(one, "Parameters")


def bookmarks(one: Shell) -> tuple[str, ...]:
    for name in ("front", "from far away"):
        one.session.post(commands.AddBookmark(name))
    return only(one, "Camera")


def performance(one: Shell) -> tuple[str, ...]:
    """With frame times of which some are too long, and times of kernels."""
    timeline = one.session.timeline
    timeline.requested_ms, timeline.dropped, timeline.shown = 20.0, 3, 97
    for number in range(100):
        timeline.frame_ms.append(16.0 + 12.0 * (number % 30 == 0))
        timeline.cpu_ms.append(4.0 + number % 3)
        timeline.wait_ms.append(2.5)
        timeline.present_ms.append(0.25)
    return only(one, "Performance")


def run_with_history(one: Shell) -> tuple[str, ...]:
    """With history, a diagnostic above its limit, and one without a value."""
    session = one.session
    session.clock.rewind.snapshots.limit = 1 << 20
    session.playing = True
    one.frames(4)
    session.playing = False
    session.diagnostics.update({"row.top": 12.3456789, "row.bottom": float("nan"), "late.far": 1234567.0})
    session.limits.exceeded = (Excess("row.top", 12.3456789, Limit(10.0, "Lower it.")),)
    return only(one, "Run")


def tensors(one: Shell) -> tuple[str, ...]:
    """With statistics, a histogram, and the values of all rows."""
    return inspected(one, TensorRange("row.position", 0, 7))


def odd_tensors(one: Shell) -> tuple[str, ...]:
    """Values that are not finite, next to a plot of one column, and the difference to a frozen copy."""
    target = TensorRange("row.position", 0, 7, 1)
    one.session.post(InspectTensor(target))
    one.frames()
    one.session.post(Freeze())
    one.frames()
    position = catalog.catalog(one.session.stage)["row.position"].tensor
    position[2, 1], position[5, 0], position[6, 2] = math.nan, -math.inf, 1e9
    return inspected(one, target)


def inspected(one: Shell, target: TensorRange) -> tuple[str, ...]:
    one.session.post(InspectTensor(target))
    one.workspace.show("Tensors")
    one.frames(6)
    one.session.inspect_now()
    return only(one, "Tensors", 8)


def watches(one: Shell) -> tuple[str, ...]:
    one.session.post(AddWatch(Watch("row.position", "max", Condition(above=0.5))))
    one.session.post(AddWatch(Watch("late.position", "mean")))
    one.frames()
    for _ in range(3):
        one.session.playing = True
        one.frames()
        one.session.inspect_now()
    one.session.playing = False
    return only(one, "Watch")


def selection(one: Shell) -> tuple[str, ...]:
    one.session.post(Select("dots", 3))
    one.frames(6)
    one.session.gpu.wait_idle()
    return only(one, "Selection", 6)


def selection_card(one: Shell) -> tuple[str, ...]:
    selection(one)
    one.workspace.opened = dict.fromkeys(one.workspace.opened, False)
    one.frames()
    return ("##selection",)


def memory(one: Shell) -> tuple[str, ...]:
    timeline = one.session.timeline
    for number in range(50):
        timeline.used_bytes.append(1e6 + 1e4 * number)
        timeline.held_bytes.append(2e6 + 1e4 * number)
    return only(one, "Memory")


def filtered_memory(one: Shell) -> tuple[str, ...]:
    """Only the blocks whose names have "pha" in them."""
    only(one, "Memory")
    search = written_at("Memory", "search")
    one.click(search.left + 30.0, search.top + 8.0)
    one.type("pha")
    return ("Memory",)


def journal(one: Shell) -> tuple[str, ...]:
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    lines = [log.Line("12:34:56", getattr(logging, level), f"{level.lower()} of the log") for level in levels]
    one.gui.journal.lines.clear()
    one.gui.journal.lines.extend([*lines, log.Line("", logging.ERROR, "its second line")])
    one.gui.journal.count += 1
    return only(one, "Log")


def capture(one: Shell) -> tuple[str, ...]:
    use_capture(one, RecordingStatus(Path("/folder/film.mp4"), (640, 360), 67.25, 2_500_000))
    one.session.written["screenshot"] = Path("/folder/still.png")
    return (*only(one, "Capture"), "##recording", "##news")


def idle_capture(one: Shell) -> tuple[str, ...]:
    use_capture(one, None)
    return only(one, "Capture")


def over_the_viewport(one: Shell) -> tuple[str, ...]:
    """Only messages, warnings and axes."""
    session = one.session
    session.messages = {"scene": "\n".join(f"line {line} of a long message" for line in range(11)), "run": "it stopped"}
    session.limits.exceeded = (Excess("row.top", 12.3456789, Limit(10.0, "Lower it, or take shorter steps.")),)
    one.workspace.opened = dict.fromkeys(one.workspace.opened, False)
    one.frames(4)
    return "##message", "##warnings", "##axes"


def a_tool(one: Shell) -> tuple[str, ...]:
    """With the brush radius around the mouse."""
    one.session.post(SetTool(Gesture.DRAG))
    one.workspace.opened = dict.fromkeys(one.workspace.opened, False)
    one.frames(4)
    return ("##tools",)


def menu(one: Shell) -> tuple[str, ...]:
    one.frames(2)
    return ("##MainMenuBar",)


def failures(one: Shell) -> tuple[str, ...]:
    session = one.session
    session.failures = Failures()
    session.failures.shown.append(Failure("panels", "it broke", "Traceback\n  of it", 3))
    one.frames(3)
    return ("Something went wrong",)


def palette(one: Shell) -> tuple[str, ...]:
    one.workspace.palette = True
    one.frames(2)
    one.type("view")
    return ("##palette", "##Popup")


def gallery(one: Shell) -> tuple[str, ...]:
    one.workspace.recent = [one.session.scene.path]
    one.workspace.gallery = True
    one.frames(6)
    return ("##gallery",)


def question(about: str) -> Callable[[Shell], tuple[str, ...]]:
    def prepare(one: Shell) -> tuple[str, ...]:
        one.session.questions.ask(Question(about, "What is to be done with the file scene.toml?", Leave()))  # pyright: ignore
        one.frames(4)
        return ("##question",)

    return prepare


STATES: dict[str, Callable[[Shell], tuple[str, ...]]] = {
    "run": lambda one: only(one, "Run"),
    "run_with_history": run_with_history,
    "parameters": parameters,
    "long_labels": lambda one: only(one, "Parameters"),
    "parameter_menu": parameter_menu,
    "animation_menu": animation_menu,
    "presets": presets,
    "bookmarks": bookmarks,
    "performance": performance,
    "filtered_memory": filtered_memory,
    "graph": lambda one: only(one, "Graph"),
    "camera": lambda one: only(one, "Camera"),
    "help": lambda one: only(one, "Help"),
    "tensors": tensors,
    "odd_tensors": odd_tensors,
    "watch": watches,
    "selection": selection,
    "selection_card": selection_card,
    "memory": memory,
    "log": journal,
    "capture": capture,
    "idle_capture": idle_capture,
    "over_the_viewport": over_the_viewport,
    "a_tool": a_tool,
    "menu": menu,
    "failures": failures,
    "palette": palette,
    "gallery": gallery,
    **{f"question_{about}": question(about) for about in ("leave", "changed", "code", "restore", "replace")},
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", STATES)
def test_shapes_tooltips_and_commands_equal_the_files(one: Shell, monkeypatch, name: str):
    names = STATES[name](one)
    check(name, Recorder(one, monkeypatch).lines(names))
