"""Commands of inspection: the selected row, the inspected tensor, watches and limits, and messages."""

from __future__ import annotations

from ..command import command, command_of
from ..hover import Hover
from ..inspector import Inspector
from ..script import Script
from ..selection import Selection
from ..session import Session
from ..watches import Watches

_selection = command_of("selection", lambda session: session.selection)
Pick = _selection(Selection.pick)
Select = _selection(Selection.select)

_hover = command_of("probe", lambda session: session.hover)
Probe = _hover(Hover.turn)
MoveProbe = _hover(Hover.move)

_inspector = command_of("tensors", lambda session: session.inspector)
InspectTensor = _inspector(Inspector.inspect)
Freeze = _inspector(Inspector.freeze)
Thaw = _inspector(Inspector.thaw)

_watches = command_of("watch", lambda session: session.watches)
AddWatch = _watches(Watches.add)
RemoveWatch = _watches(Watches.remove)
DismissAlarm = _watches(Watches.dismiss_alarm)

_script = command_of("script", lambda session: session.script)
PressButton = _script(Script.press_button)
PressKey = _script(Script.press_key)


@command("watch")
def Guard(session: Session, on: bool) -> None:
    """Check the outputs for NaN and infinity, or not."""
    session.watches.guarding = on


@command("watch")
def StopOnNan(session: Session, on: bool) -> None:
    """Check every output after each step, and end the run at the first NaN or infinity."""
    session.watches.thorough = on


@command("limits")
def StopAtLimits(session: Session, on: bool) -> None:
    """Stop the run where a diagnostic comes above the limit that its model names, or only show a warning."""
    session.limits.stopping = on


@command("messages")
def Dismiss(session: Session) -> None:
    """Dismiss all messages."""
    session.messages.clear()


@command("failures")
def DismissFailures(session: Session) -> None:
    """Dismiss the unexpected errors; the log has them."""
    if session.failures is not None:
        session.failures.dismiss()
