"""`RunPanel`: time, what the run costs, the zero-copy badge, and the models' diagnostics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..gpu import Traffic
from ..session import Session
from ..session.commands import SetSpeed
from ..session.quality import describe_level
from .action_table import BY_NAME
from .base import Panel
from .controls import post_change, slider_row
from .pacing import PacingRows
from .rows import explain, fact, in_rows, section
from .tables import diagnostic_label, size
from .theme import ACCENT, BAD, DIM, TEXT
from .timeline import TimelineStrip
from .traffic import FrameTraffic, draw_copies
from .workspace import Workspace

EVERY = 0.5  # seconds between updates of the numbers: faster ones cannot be read
FASTEST = 4.0
BUTTONS = "Reset simulation", "Step back", "Play", "Step forward", "Reload file", "Reset camera"
KEYS = "Step forward", "Step back", "Reset simulation", "Reload file", "Reset camera"
HELP = (
    ("drag", "orbit"),
    ("right drag", "pan"),
    ("wheel", "zoom to the cursor"),
    ("Ctrl+click", "type a value"),
    ("space", "play, pause"),
    *((BY_NAME[name].shown_keys, name.lower()) for name in KEYS),
    ("G", "hide the panels"),
)


@dataclass
class FrameStatistics:
    """What frames cost, averaged since the numbers on the screen were last updated.

    Frames at rest do not count: numbers that change would be all that changes in them.
    """

    resting: bool = False
    frame_ms: float = 0.0
    traffic: FrameTraffic = field(default_factory=FrameTraffic)
    gpu_ms: Mapping[str, float] = field(default_factory=dict)
    quality: tuple[str, str] = "", ""  # the level in force, and why
    live_bytes: int = 0
    live_blocks: int = 0
    steps: float = 0.0  # per second
    time_scale: float = 0.0  # simulated seconds per second
    _seconds: float = 0.0
    _start: tuple[int, float] | None = None  # simulation step and time when counting began
    _frames: int = 0

    def add(self, session: Session, seconds: float) -> None:
        """Count a frame that took `seconds`."""
        self.resting = session.timeline.resting
        if self.resting:
            self.steps = self.time_scale = 0.0
            self._restart(session)
            return
        self._seconds += seconds
        self._frames += 1
        if self._start is not None and self._seconds < EVERY:
            return
        self.traffic.update(session)
        if self._start is not None:
            self.frame_ms = 1e3 * self._seconds / self._frames
            self.gpu_ms = dict(session.gpu.timer.latest)
            self.steps = max(session.frame - self._start[0], 0) / self._seconds
            self.time_scale = max(session.time - self._start[1], 0.0) / self._seconds
        self.quality = describe_level(session.view.quality, session.quality)
        self._restart(session)

    def _restart(self, session: Session) -> None:
        """Begin another average."""
        self.live_bytes, self.live_blocks = session.gpu.tracker.live_bytes, len(session.gpu.tracker.live)
        self._seconds, self._frames = 0.0, 0
        self._start = session.frame, session.time


class RunPanel(Panel):
    """Play, pause, step and reset; frame rate, memory, bytes moved; the models' diagnostics."""

    title = "Run"
    side = "upper right"
    opened = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._statistics = FrameStatistics()
        self._pacing, self._timeline = PacingRows(), TimelineStrip()

    def draw(self, session: Session) -> None:
        self._statistics.add(session, imgui.get_io().delta_time)
        _buttons(session, self._workspace)
        self._timeline.draw(session)
        fact(f"frame {session.frame:,}", f"{session.time:.2f} s", tooltip="simulation steps, and simulated time")
        rate = f"{self._statistics.steps:.3g} /s · {self._statistics.time_scale:.2g} × real time"
        fact("steps", rate, tooltip="simulation steps per second; simulated time relative to real time")
        tooltip = "simulated seconds per second, at 60 frames/s"
        speed = slider_row("speed", tooltip, session.speed, (0.0, FASTEST), "%.2f ×")
        post_change(session, speed, SetSpeed)
        self._pacing.draw_seeds(session)
        if section("frame pacing", opened=False):
            self._pacing.draw(session)
        _draw_cost(session, self._statistics)
        if session.diagnostics and section("diagnostics"):
            _diagnostics(session)
        if section("keys and mouse", opened=False):
            for key, meaning in HELP:
                fact(key, meaning, DIM)


def _buttons(session: Session, workspace: Workspace) -> None:
    for name, width in in_rows(BUTTONS, len(BUTTONS)):
        action, label = BY_NAME[name], name.lower()
        icon, keys = action.icon, action.shown_keys
        if name == "Play":
            icon, label, keys = (icons.ICON_FA_PAUSE, "pause", "space") if session.playing else (icon, label, "space")
        if imgui.button(f"{icon}##{name}", ImVec2(width, 0.0)):
            action.perform(session, workspace)
        explain(f"{label} ({keys})")


def _draw_cost(session: Session, statistics: FrameStatistics) -> None:
    rate = f"{1e3 / statistics.frame_ms:.0f} fps · {statistics.frame_ms:.1f} ms" if statistics.frame_ms else "…"
    fact("frame rate", "at rest" if statistics.resting else rate, tooltip="average over half a second")
    fact("quality", statistics.quality[0], tooltip=statistics.quality[1])
    blocks = f"{statistics.live_bytes:,} bytes in {statistics.live_blocks} blocks"
    fact("memory", size(statistics.live_bytes), tooltip=blocks)
    draw_copies(statistics.traffic)
    snapshots = statistics.traffic.total(Traffic.SNAPSHOTS)
    if snapshots:
        tooltip = "copied on the GPU for the rewind buffer, or to draw during a long step"
        fact("snapshots", f"{size(snapshots)} per frame", DIM, tooltip)
    if session.gpu.adapter.kind == "software":
        fact("GPU", "n/a", DIM, "GPU times are not available on a software adapter")
    elif statistics.gpu_ms and section("GPU", f"{sum(statistics.gpu_ms.values()):.2f} ms", opened=False):
        for group, ms in statistics.gpu_ms.items():
            fact(group, f"{ms:.2f} ms")


def _diagnostics(session: Session) -> None:
    exceeded = {excess.name for excess in session.limits.exceeded}
    for name, value in session.diagnostics.items():
        tint = BAD if not math.isfinite(value) else ACCENT if name in exceeded else TEXT
        fact(diagnostic_label(session, name), f"{value:.5g}", tint)
