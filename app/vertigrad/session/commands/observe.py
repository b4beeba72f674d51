"""Commands about what is looked at: the selected row, the inspected tensor, watches and limits, and messages."""

from __future__ import annotations

from ..command import command, command_of
from ..inspector import Inspector, TensorRange
from ..selection import Selection
from ..session import Session
from ..watches import Watch, Watches

Deselect = command_of("selection", lambda session: session.selection)(Selection.clear)
Thaw = command_of("tensors", lambda session: session.inspector)(Inspector.thaw)
_watches = command_of("watch", lambda session: session.watches)
RemoveWatch = _watches(Watches.remove)
DismissAlarm = _watches(Watches.dismiss_alarm)


@command("selection")
def Pick(session: Session, cursor: tuple[float, float], size: tuple[int, int]) -> None:
    """Select what is seen at a pixel of a viewport of `size`; nothing if that is the background."""
    session.selection.pick(session.stage, session.camera, size, cursor, session.view)


@command("selection")
def Select(session: Session, layer: str, row: int) -> None:
    """Select a row of a layer by its number."""
    session.selection.select(session.stage, layer, row)


@command("tensors")
def InspectTensor(session: Session, target: TensorRange | None) -> None:
    """Inspect a tensor: statistics, rows, and one of its columns; None for nothing."""
    session.inspector.inspect(target, session.stage)


@command("tensors")
def Freeze(session: Session) -> None:
    """Keep a copy of the inspected tensor, to compare with."""
    session.inspector.freeze(session.stage)


@command("watch")
def AddWatch(session: Session, watch: Watch) -> None:
    """Add a watch of a statistic of a tensor."""
    session.watches.add(watch, session.stage)


@command("watch")
def Guard(session: Session, on: bool) -> None:
    """Look for NaN and infinity in the outputs, or not."""
    session.watches.guarding = on


@command("watch")
def StopOnNan(session: Session, on: bool) -> None:
    """Look at every output after each step, and end the run at the first NaN or infinity."""
    session.watches.thorough = on


@command("limits")
def StopAtLimits(session: Session, on: bool) -> None:
    """Stop the run where a diagnostic comes above the limit that its model names, or only tell of it."""
    session.limits.stopping = on


@command("messages")
def Dismiss(session: Session) -> None:
    """Dismiss all messages."""
    session.messages.clear()


@command("failures")
def DismissFailures(session: Session) -> None:
    """Show the errors that nobody expected no more; the log has them."""
    if session.failures is not None:
        session.failures.dismiss()
