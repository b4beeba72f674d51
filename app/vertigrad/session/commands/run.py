"""Commands about time, frame pacing, and the tools that act on the running models."""

from __future__ import annotations

from typing import Any

from ...models.interaction import Gesture
from ..command import command
from ..quality import Quality
from ..session import Session
from ..tool import Pixels


@command("time")
def Play(session: Session, on: bool) -> None:
    """Time passes, or stands still."""
    session.clock.play(on)


@command("time")
def Step(session: Session, frames: int = 1) -> None:
    """Stand still after some more frames; before the present one if they are negative."""
    session.clock.step_frames(frames)


@command("time")
def GoTo(session: Session, frame: int) -> None:
    """Pause at an earlier or later frame of the rewind buffer, or the nearest one."""
    session.clock.go_to(frame)


@command("time")
def SetSpeed(session: Session, speed: float) -> None:
    """Model seconds that pass in a second of 60 frames."""
    session.clock.set_speed(speed)


@command("reset")
def Reset(session: Session) -> None:
    """Every model back to its start."""
    session.running.reset()


@command("pacing.{name}")
def SetPacing(session: Session, name: str, value: Any) -> None:
    """One of the values of `Session.pacing` becomes another."""
    session.set_pacing({name: value})


@command("quality")
def SetQuality(session: Session, quality: Quality) -> None:
    """Draw at another level where the view says "auto"."""
    session.quality = quality


@command("rewind memory")
def SetRewindMemory(session: Session, nbytes: int) -> None:
    """Set the memory of the rewind buffer, in bytes; 0 for none."""
    session.clock.set_rewind_memory(nbytes)


@command("performance")
def TimeKernels(session: Session, on: bool) -> None:
    """Time each kernel of a plan, or the plan as a whole."""
    session.gpu.timer.each_kernel = on


@command("interaction")
def SetTool(session: Session, tool: Gesture | None) -> None:
    """Select the tool that a drag in the viewport uses; None: it moves the camera."""
    session.tool.select(tool, session.stage)


@command("brush")
def SetBrush(session: Session, name: str, value: Any) -> None:
    """Set the radius or the strength of the brush."""
    session.tool.brush.take(session.tool.brush.with_values({name: value}))


@command("interaction")
def BeginInteraction(session: Session, gesture: Gesture, cursor: Pixels, size: tuple[int, int]) -> None:
    """Begin an interaction with what is visible at a pixel of a viewport of `size`; it keeps that depth as it moves.

    Ends a replay of an interaction recording.
    """
    session.tool.press(gesture, session.stage, session.camera, cursor, size, session.view)
    session.clock.played = None


@command("interaction")
def MoveInteraction(session: Session, cursor: Pixels, size: tuple[int, int]) -> None:
    """Move the tool to another pixel."""
    session.tool.move(cursor, size)


@command("interaction")
def EndInteraction(session: Session) -> None:
    """End the interaction."""
    session.tool.release()
