"""`RunPanel`: time, what the run costs, the zero-copy badge, and the models' diagnostics."""

from __future__ import annotations

from imgui_bundle import ImVec4, imgui

from ..gpu import Traffic
from ..gpu.meter import difference
from ..session import Session
from ..session.commands import Home, Play, Reload, Reset, SetSpeed, Step
from .base import Panel

GOOD = ImVec4(0.45, 0.85, 0.55, 1.0)
BAD = ImVec4(0.95, 0.45, 0.40, 1.0)
DIM = ImVec4(0.62, 0.66, 0.72, 1.0)


class RunPanel(Panel):
    """Play, pause, step and reset; frame rate, memory, bytes moved; numbers that tell whether the models are well."""

    title = "Run"

    def __init__(self) -> None:
        self._last: dict[str, dict[str, int]] | None = None

    def draw(self, session: Session) -> None:
        self._buttons(session)
        changed, speed = imgui.slider_float("speed", session.speed, 0.0, 4.0, "%.2fx")
        if changed:
            session.post(SetSpeed(speed))
        imgui.text(f"{session.time:8.2f} s   frame {session.frame}")
        imgui.separator()
        self._cost(session)
        if session.diagnostics:
            imgui.separator()
        for name, value in session.diagnostics.items():
            imgui.text_colored(DIM, name)
            imgui.same_line(imgui.get_content_region_avail().x * 0.6)
            imgui.text(f"{value:.5g}")

    def _buttons(self, session: Session) -> None:
        if imgui.button("Pause" if session.playing else "Play"):
            session.post(Play(not session.playing))
        imgui.same_line()
        if imgui.button("Step"):
            session.post(Step())
        imgui.same_line()
        if imgui.button("Reset"):
            session.post(Reset())
        imgui.same_line()
        if imgui.button("Reload"):
            session.post(Reload())
        imgui.same_line()
        if imgui.button("Home"):
            session.post(Home())

    def _cost(self, session: Session) -> None:
        gpu = session.gpu
        rate = imgui.get_io().framerate
        imgui.text(f"{rate:6.1f} frames/s   {1e3 / max(rate, 1e-3):6.2f} ms")
        for group, ms in gpu.timer.latest.items():
            imgui.text_colored(DIM, f"  {group}  {ms:.3f} ms")
        imgui.text(f"{len(gpu.tracker.live)} tensors' blocks, {gpu.tracker.live_bytes / 1e6:.1f} MB")
        now = gpu.meter.read()
        moved = difference(now, self._last or now)
        self._last = now
        geometry = sum(moved[Traffic.GEOMETRY.value].values())
        if geometry:
            imgui.text_colored(BAD, f"{geometry:,} bytes of geometry copied in this frame")
        else:
            imgui.text_colored(GOOD, "zero copy: 0 bytes of geometry a frame")
