"""What comes back from the GPU and what the session makes of it: diagnostics, limits, watches, the selected row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import VertigradError
from ..gpu import Gpu
from .watches import shown_in

if TYPE_CHECKING:
    from .session import Session


def observe(session: Session) -> None:
    """Record what of the watches, and of the tensor that is looked into, is due in this frame.

    In the middle of a step that takes several frames tensors are looked at by nobody: they are of no one time.
    """
    if session.stage.in_progress is not None:
        return
    session.watches.observe(session.stage, session.changes, session.frame, session.time)
    session.inspector.observe(session.stage, session.changes)


def take_in(session: Session) -> None:
    """What was measured and has arrived; what a watch was waiting for stops the run."""
    running = session.running  # one look instead of the session's property for each of its parts, in every frame
    stage = running.stage
    running.diagnostics.collect()
    if running.limits.judged != running.diagnostics.revision:
        judge(session)
    running.inspector.collect()
    running.tool.update(stage, running.cameras.now, running.view)
    running.selection.follow(stage, running.changes)
    try:
        running.cameras.collect()
    except VertigradError as error:
        session.messages["camera"] = str(error)
    alarm = running.watches.collect()
    if alarm is not None:
        session.playing = False
        session.messages["watch"] = f"the run was stopped: {alarm}"
        seen = shown_in(session.stage, alarm)
        if seen is not None:
            session.select(*seen)


def judge(session: Session) -> None:
    """Whether the models' diagnostics are within their limits, if there are others than there were."""
    if session.limits.judged == session.diagnostics.revision:
        return
    session.limits.judged = session.diagnostics.revision
    found = session.limits.look(session.stage, session.diagnostics)
    if found is not None and session.limits.stopping:
        session.playing = False
        session.messages["limits"] = f"the run was stopped: {found}"


def read_everything(gpu: Gpu) -> None:
    """Wait until all that was asked of the GPU has arrived."""
    gpu.sync()
    while gpu.readback.in_flight:
        gpu.poll()


def awaits(session: Session) -> bool:
    """Whether something is still on its way."""
    kept = session.diagnostics, session.watches, session.inspector, session.selection, session.tool
    return any(one.pending for one in kept)
