"""Commands about time, frame pacing, and the tools that act on the running models."""

from __future__ import annotations

from typing import Any

from ...models.interaction import Gesture
from ..clock import Clock
from ..command import command, command_of
from ..quality import Quality
from ..running import Running
from ..session import Session
from ..tool import InteractionTool, Pixels

_time = command_of("time", lambda session: session.clock)
Play = _time(Clock.play)
Step = _time(Clock.step_frames)
GoTo = _time(Clock.go_to)
SetSpeed = _time(Clock.set_speed)
SetRewindMemory = command_of("rewind memory", lambda session: session.clock)(Clock.set_rewind_memory)
Reset = command_of("reset", lambda session: session.running)(Running.reset)

_tool = command_of("interaction", lambda session: session.tool)
MoveInteraction = _tool(InteractionTool.move)
EndInteraction = _tool(InteractionTool.release)


@command("pacing.{name}")
def SetPacing(session: Session, name: str, value: Any) -> None:
    """Set a value of `Session.pacing`."""
    session.set_pacing({name: value})


@command("quality")
def SetQuality(session: Session, quality: Quality) -> None:
    """Set the quality level that is used if the view's is "auto"."""
    session.quality = quality


@command("performance")
def TimeKernels(session: Session, on: bool) -> None:
    """Time each kernel of a plan, or the plan as a whole."""
    session.gpu.timer.each_kernel = on


@command("brush")
def SetBrush(session: Session, name: str, value: Any) -> None:
    """Set the radius or the strength of the brush."""
    session.tool.brush.take(session.tool.brush.with_values({name: value}))


@command("interaction")
def BeginInteraction(session: Session, gesture: Gesture, cursor: Pixels, size: tuple[int, int]) -> None:
    """Begin an interaction with what is visible at a pixel of a viewport of `size`; its depth stays as it moves.

    Ends a replay of an interaction recording.
    """
    session.tool.press(gesture, cursor, size)
    session.clock.played = None
