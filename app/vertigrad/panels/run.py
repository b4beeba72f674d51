"""`RunPanel`: time, what the run costs, the zero-copy badge, and the models' diagnostics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..gpu import Traffic
from ..session import Session
from ..session.commands import Command, Home, Play, Reload, Reset, SetSpeed, Step
from ..session.quality import reason, told
from .base import Panel
from .figures import size
from .look import ACCENT, BAD, DIM, GOOD, TEXT
from .pacing import PacingRows
from .rows import explain, fact, labeled, section
from .slider import slide_number
from .timeline import draw_timeline

EVERY = 0.5  # seconds between updates of the numbers: faster ones cannot be read
FASTEST = 4.0
HELP = (
    ("drag", "circle the target"),
    ("right drag", "move sideways"),
    ("wheel", "nearer, to the cursor"),
    ("Ctrl+click", "type a value"),
    ("space", "play, pause"),
    ("N", "one step"),
    ("B", "one step back"),
    ("R", "reset the models"),
    ("F5", "restart the scene"),
    ("H", "camera home"),
    ("G", "hide the panels"),
)


@dataclass
class Pace:
    """What frames cost, averaged since the numbers on the screen were last renewed."""

    frame_ms: float = 0.0
    bytes_copied: float = 0.0  # of geometry, in a frame
    bytes_kept: float = 0.0  # of snapshots, in a frame
    gpu_ms: Mapping[str, float] = field(default_factory=dict)
    quality: tuple[str, str] = "", ""  # the level in force, and why
    live_bytes: int = 0
    live_blocks: int = 0
    steps: float = 0.0  # in a second
    share: float = 0.0  # seconds of the models that pass in a second
    _seconds: float = 0.0
    _began: tuple[int, float] = 0, 0.0  # step and time of the models when counting began
    _frames: int = 0
    _moved: int | None = None  # bytes of geometry so far, but for those that made models
    _kept: int = 0  # bytes of snapshots so far

    def frame(self, session: Session, seconds: float) -> None:
        """Count a frame that took `seconds`."""
        self._seconds += seconds
        self._frames += 1
        if self._moved is not None and self._seconds < EVERY:
            return
        moved = sum(session.gpu.meter.read()[Traffic.GEOMETRY.value].values()) - session.loaded.total()
        kept = session.gpu.meter.total(Traffic.SNAPSHOTS)
        if self._moved is not None:
            self.bytes_kept = (kept - self._kept) / self._frames
            self.frame_ms = 1e3 * self._seconds / self._frames
            self.bytes_copied = max(moved - self._moved, 0) / self._frames
            self.gpu_ms = dict(session.gpu.timer.latest)
            self.steps = max(session.frame - self._began[0], 0) / self._seconds
            self.share = max(session.time - self._began[1], 0.0) / self._seconds
        chosen = session.view.quality, session.quality
        self.quality = told(*chosen), reason(*chosen)
        self.live_bytes, self.live_blocks = session.gpu.tracker.live_bytes, len(session.gpu.tracker.live)
        self._seconds, self._frames, self._moved, self._kept = 0.0, 0, moved, kept
        self._began = session.frame, session.time


class RunPanel(Panel):
    """Play, pause, step and reset; frame rate, memory, bytes moved; numbers that tell whether the models are well."""

    title = "Run"
    side = "upper right"

    def __init__(self) -> None:
        self._pace = Pace()
        self._pacing = PacingRows()

    def draw(self, session: Session) -> None:
        self._pace.frame(session, imgui.get_io().delta_time)
        _buttons(session)
        draw_timeline(session)
        fact(f"frame {session.frame:,}", f"{session.time:.2f} s", tooltip="steps, and time, since the models' start")
        fact(*speed_row(self._pace), tooltip="steps in a second, and how fast time passes for the models")
        with labeled("speed", "model seconds in a second of 60 frames"):
            changed, speed = slide_number(session.speed, (0.0, FASTEST), "%.2f ×", log=False)
        if changed:
            session.post(SetSpeed(speed))
        self._pacing.draw_seeds(session)
        if section("pace", opened=False):
            self._pacing.draw(session)
        _cost(self._pace)
        if session.diagnostics and section("diagnostics"):
            _diagnostics(session)
        if section("keys and mouse", opened=False):
            for key, meaning in HELP:
                fact(key, meaning, DIM)


BUTTONS: tuple[tuple[str, str, Callable[[Session], Command]], ...] = (
    (f"{icons.ICON_FA_BACKWARD_FAST}##0", "models back to their start (R)", lambda session: Reset()),
    (f"{icons.ICON_FA_BACKWARD_STEP}##1", "one step back (B)", lambda session: Step(-1)),
    (f"{icons.ICON_FA_PLAY}##2", "play (space)", lambda session: Play(True)),
    (f"{icons.ICON_FA_FORWARD_STEP}##3", "one step (N)", lambda session: Step()),
    (f"{icons.ICON_FA_ROTATE}##4", "everything anew from the scene file (F5)", lambda session: Reload(restart=True)),
    (f"{icons.ICON_FA_HOUSE}##5", "camera back to where the scene has it (H)", lambda session: Home()),
)
PAUSE = f"{icons.ICON_FA_PAUSE}##2", "pause (space)", lambda session: Play(False)


def speed_row(pace: Pace) -> tuple[str, str]:
    """How fast the models are, whatever the frame rate: label and value."""
    return "steps", f"{pace.steps:.3g} /s · {pace.share:.2g} × real time"


def _buttons(session: Session) -> None:
    gap = imgui.get_style().item_inner_spacing.x
    size = ImVec2((imgui.get_content_region_avail().x - gap * (len(BUTTONS) - 1)) / len(BUTTONS), 0.0)
    for index, button in enumerate(BUTTONS):
        label, tooltip, command = PAUSE if index == 2 and session.playing else button
        if index:
            imgui.same_line(0.0, gap)
        if imgui.button(label, size):
            session.post(command(session))
        explain(tooltip)


def _cost(pace: Pace) -> None:
    rate = f"{1e3 / pace.frame_ms:.0f} /s · {pace.frame_ms:.1f} ms" if pace.frame_ms else "…"
    fact("frames", rate, tooltip="averaged over half a second")
    fact("quality", pace.quality[0], tooltip=pace.quality[1])
    fact("memory", size(pace.live_bytes), tooltip=f"{pace.live_bytes:,} bytes in {pace.live_blocks} blocks")
    if pace.bytes_copied:
        fact("copied", f"{size(pace.bytes_copied)} a frame", BAD, "geometry that was copied, in any direction")
    else:
        fact("copied", "0 B · zero copy", GOOD, "what is drawn lies where the models wrote it")
    if pace.bytes_kept:
        fact(
            "snapshots",
            f"{size(pace.bytes_kept)} a frame",
            DIM,
            "copied on the GPU, to go back to or to be drawn meanwhile",
        )
    if pace.gpu_ms and section("GPU", f"{sum(pace.gpu_ms.values()):.2f} ms", opened=False):
        for group, ms in pace.gpu_ms.items():
            fact(group, f"{ms:.2f} ms")


def _diagnostics(session: Session) -> None:
    several, exceeded = len(session.stage.actors) > 1, {excess.name for excess in session.limits.exceeded}
    for name, value in session.diagnostics.items():
        model, _, quantity = name.partition(".")
        label = quantity.replace("_", " ")
        tint = BAD if not math.isfinite(value) else ACCENT if name in exceeded else TEXT
        fact(f"{model}: {label}" if several else label, f"{value:.5g}", tint)
