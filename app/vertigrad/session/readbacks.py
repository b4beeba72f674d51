"""Readbacks of the session: diagnostics, limits, watches, the inspected tensor, the selected row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import VertigradError
from ..gpu import Gpu
from .watches import shown_in

if TYPE_CHECKING:
    from .session import Session


def collect_readbacks(session: Session) -> None:
    """Take the results that have been read back; an alarm of a watch stops the run."""
    running = session.running  # once, instead of the session's property for each part, in every frame
    running.diagnostics.collect()
    check_limits(session)
    running.inspector.collect()
    running.tensor_statistics.collect()
    running.hovered_node.collect()
    running.tool.update()
    running.selection.follow(running.changes)
    running.rows.follow()
    running.hover.follow(running.changes)
    try:
        running.cameras.collect()
    except VertigradError as error:
        session.messages["camera"] = str(error)
    alarm = running.watches.collect()
    if alarm is not None:
        session.playing = False
        session.messages["watch"] = f"the run was stopped: {alarm}"
        row = shown_in(running.stage, alarm)
        if row is not None:
            running.selection.select(*row)


def check_limits(session: Session) -> None:
    """Check the models' diagnostics against their limits, if they have changed."""
    limits, diagnostics = session.running.limits, session.running.diagnostics
    if limits.checked == diagnostics.revision:
        return
    limits.checked = diagnostics.revision
    found = limits.check(diagnostics)
    if found is not None and limits.stopping:
        session.playing = False
        session.messages["limits"] = f"the run was stopped: {found}"


def wait_for_readbacks(gpu: Gpu) -> None:
    """Wait until all readbacks have arrived."""
    gpu.sync()
    while gpu.readback.in_flight:
        gpu.poll()
