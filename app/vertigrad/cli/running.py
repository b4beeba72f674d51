"""Functions for the verbs that run a scene: the scene's file, the GPU, the session, the report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from ..errors import InputError, RequirementError, UntrustedCode
from ..gpu import Gpu, gpu
from ..params import hint, with_hint
from ..renderer.quality import NAMES as QUALITIES
from ..scene import load
from ..scene.packaged import scene_path
from ..scene.settings import without_effect
from ..scene.trust import allow_texts
from ..scene.viewpoints import camera_from
from ..session import RunRecord, Session
from ..session import report as reports
from ..session.commands import FollowKeyframes, JumpTo, PlayInteractions, StopOnNan
from ..session.loading import takes_long
from ..session.opening import opening
from ..session.sizing import autos
from ..session.watches import not_finite
from .options import errors_console
from .progress import shown_progress

DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")


def open_session(
    scene: str,
    sets: list[str],
    seed: int | None,
    adapter: str,
    camera: str = "",
    trust: bool = False,
    quality: str = "",
    ahead: bool = False,
) -> Session:
    """The scene running on the GPU, viewed from `camera`; errors in it are reported even without a GPU.

    The Python that it names runs if the user allowed that, or does now; see `scene.trust`. With `ahead` large files are
    read in the background, while nothing is shown.
    """
    path = scene_path(scene)
    sets = [*sets, _quality_set(quality)] if quality else sets
    if ahead and not camera and takes_long(path):
        return opening(open_gpu(adapter), path, sets, seed)
    with shown_progress():
        try:
            found = load(path, sets=sets, seed=seed)
        except UntrustedCode as error:
            allow(error, trust)
            found = load(path, sets=sets, seed=seed)
    for text, reason in without_effect(found, sets):
        errors_console.print(f"warning: --set {text} has no effect: {reason}", style="yellow", markup=False)
    view = camera_from(camera, found) if camera else None
    device = open_gpu(adapter)
    with shown_progress():
        session = Session(device, path, sets, seed, scene=replace(found, path=path.absolute()))
    device.submit()  # it computes while the window opens, or the output
    if view is not None:
        session.carry_out(FollowKeyframes(False))
        session.carry_out(JumpTo(view))
    for name, instance in session.stage.instances.items():
        for chosen in autos(instance.params):
            errors_console.print(
                f"{name}.{chosen.name}: auto, {getattr(instance.params, chosen.name):,} on this adapter"
            )
    return session


def begin(session: Session, stop_on_nan: bool, interactions: Path | None) -> None:
    """What the options of `run` and `render` ask for, before the first step. Raises `InputError`, `ParameterError`."""
    session.carry_out(StopOnNan(stop_on_nan))
    if interactions is not None:
        session.carry_out(PlayInteractions(interactions, restart=False))


def _quality_set(quality: str) -> str:
    if quality not in QUALITIES:
        message = f"--quality {quality}: expected one of {', '.join(QUALITIES)}"
        raise InputError(with_hint(message, hint(quality, QUALITIES)))
    return f"view.quality={quality}"


def allow(error: UntrustedCode, trust: bool) -> None:
    """Let the scene's Python run if the option or the answer in a terminal allows it; else raise `error`."""
    if trust:
        allow_texts(error.texts, edits=True)
        return
    asked = sys.stdin.isatty() and sys.stderr.isatty()
    answer = typer.prompt(f"{error}. Run it? [once/always/no]", default="no", err=True) if asked else "no"
    if answer.strip().lower() not in ("once", "always"):
        raise UntrustedCode(f"{error}; read it, then add --trust to run it", error.texts) from None
    always = answer.strip().lower() == "always"
    allow_texts(error.texts, remember=always, edits=always)


def open_gpu(adapter: str) -> Gpu:
    """The GPU; prints a notice if it is a software adapter that was not requested."""
    found = gpu(adapter or None)
    if found.adapter.kind == "software" and not adapter:
        errors_console.print(f"no GPU found: drawing on the processor with {found.adapter}", style="yellow")
    return found


def finish_run(
    record: RunRecord,
    session: Session,
    report_file: Path | None,
    require_zero_copy: bool,
    require_finite: bool = False,
) -> dict[str, Any]:
    """Close the session, write the report, and hold the run to what was required. Raises `RequirementError`."""
    problem = problem_of(session, require_finite)
    report = record.finish(session)
    if report_file is not None:
        reports.write(report, report_file)
    for excess in report["limits"]:
        errors_console.print(f"warning: {excess}", style="yellow", markup=False)
    for leak in report["memory"]["leaks"]:
        errors_console.print(f"leaked: {leak}", style="red")
    if require_zero_copy and geometry_bytes(report):
        moved = {key: report["bytes_per_frame"][key] for key in DIRECTIONS}
        message = ", ".join(f"{nbytes:,.0f} {key.replace('_', ' ')}" for key, nbytes in moved.items() if nbytes)
        raise RequirementError(f"zero copies were required, but bytes of geometry were copied in each frame: {message}")
    if problem:
        raise RequirementError(problem)
    return report


def problem_of(session: Session, require_finite: bool) -> str:
    """The message about NaN or infinity that stopped the run, or that its models have now; empty if there is none."""
    if session.watches.thorough:
        session.inspect_now()
    if session.watches.over:
        return f"the run was stopped: {session.watches.alarm}"
    found = not_finite(session.stage, session.frame, session.time) if require_finite else None
    return "" if found is None else f"the last frame was written, but {found}; add --allow-nan if that is intended"


def geometry_bytes(report: dict[str, Any]) -> float:
    """Bytes of geometry that were copied in a frame, in any direction."""
    return sum(report["bytes_per_frame"][key] for key in DIRECTIONS)
