"""`METHODS`: what a program may ask of a session over the protocol. docs/remote.md describes each."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import Field

from ..errors import InputError, ParameterError
from ..gpu import Traffic
from ..headless.offscreen import without_alpha
from ..headless.still import Still
from ..ops.summary import Summary, summarize
from ..params import Auto, unknown
from ..scene.viewpoints import camera_from, camera_text
from ..session import Session, commands
from ..session.catalog import catalog, require
from ..session.parameters import Key, each
from .message import METHOD_NOT_FOUND, MessageError, Params, checked
from .permitted import refusal

MOST_STEPS = 100_000
UNDRAWN = 0.03  # seconds of steps between two frames that are drawn, while a program steps
LARGEST_IMAGE = 4096  # pixels a side

Side = Annotated[int, Field(ge=1, le=LARGEST_IMAGE)]
Name = Annotated[str, Field(max_length=200)]
Scalar: TypeAlias = bool | int | float | str | None
Entries: TypeAlias = list[float | int | str]


class NoParams(Params):
    """Nothing."""


class Values(Params):
    """Values by the paths of parameters."""

    values: Annotated[dict[Name, Scalar | Entries], Field(min_length=1, max_length=1000)]


class Steps(Params):
    """How many steps of 1/60 s."""

    count: Annotated[int, Field(ge=1, le=MOST_STEPS)] = 1


class View(Params):
    """A bookmark of the scene, or "x,y,z;x,y,z" of eye and target, with ";fov=45" or ";orthographic"."""

    view: Annotated[str, Field(max_length=500)]


class Size(Params):
    """Of an image, in pixels."""

    width: Side = 1280
    height: Side = 720


class TensorName(Params):
    """The name of a tensor, such as "galaxy.position"."""

    name: Name


def status(session: Session, _: NoParams) -> dict[str, Any]:
    """Title, time [s] and frame of the simulation, whether it plays, and the messages that are shown."""
    failures = session.failures
    return {
        "title": session.scene.title,
        "time": session.time,
        "frame": session.frame,
        "playing": session.playing,
        "messages": dict(session.messages),
        "errors": [f"{one.stage}: {one.message}" for one in failures.shown] if failures is not None else [],
        "gpu": str(session.gpu.adapter),
    }


def list_parameters(session: Session, _: NoParams) -> list[dict[str, Any]]:
    """Every parameter: path, value, kind, range, choices, unit, and what it means."""
    found = []
    for key, spec, value in each(session.parameters()):
        limits = {"min": spec.min, "max": spec.max, "unit": spec.unit, "choices": list(spec.choices), "doc": spec.doc}
        described = {name: limit for name, limit in limits.items() if limit not in (None, "", [])}
        path = ".".join(map(str, key.path))
        found.append({"path": path, "value": _plain(value), "kind": spec.kind, **described})
    return found


def set_parameters(session: Session, params: Values) -> dict[str, Any]:
    """Set parameters by their paths, all or none, as one step that Undo takes back; returns their values then."""
    values = {_key(session, path): _tuple(value) for path, value in params.values.items()}
    _carry_out(session, commands.SetParameters(values, "values from a program"))
    now = {key: value for key, _, value in each(session.parameters())}
    return {".".join(map(str, key.path)): _plain(now[key]) for key in values}


def play(session: Session, _: NoParams) -> dict[str, Any]:
    """Let time pass."""
    _carry_out(session, commands.Play(True))
    return _where(session)


def pause(session: Session, _: NoParams) -> dict[str, Any]:
    """Pause."""
    _carry_out(session, commands.Play(False))
    return _where(session)


def step(session: Session, params: Steps) -> Iterator[None]:
    """Pause, and take so many steps; the answer comes after the last. An error if something ended them before."""
    _carry_out(session, commands.Step(params.count))
    goal = session.frame + params.count
    while session.clock.steps_requested:
        _advance(session)
        yield
    if session.frame < goal:
        reason = session.messages.get("step") or "the simulation was paused, played or reset"
        raise InputError(f"ended {goal - session.frame} of {params.count} steps early: {reason}")
    return _where(session)


def reset(session: Session, _: NoParams) -> dict[str, Any]:
    """Reset every model to its initial state."""
    _carry_out(session, commands.Reset())
    return _where(session)


def get_camera(session: Session, _: NoParams) -> dict[str, Any]:
    """The camera: eye, target, field of view [degrees], and as text for `set_camera` and `--camera`."""
    camera = session.camera
    return {
        "position": list(camera.position),
        "target": list(camera.target),
        "fov": camera.fov,
        "orthographic": camera.orthographic,
        "view": camera_text(camera),
        "bookmarks": list(session.scene_edits.extras.bookmarks),
    }


def set_camera(session: Session, params: View) -> dict[str, Any]:
    """Move the camera at once."""
    _carry_out(session, commands.JumpTo(camera_from(params.view, session.scene)))
    return get_camera(session, NoParams())


def screenshot(session: Session, params: Size) -> dict[str, Any]:
    """The scene without panels, as a PNG in base64."""
    from PIL import Image

    file = io.BytesIO()
    image = Still(session).image((params.width, params.height))
    Image.fromarray(without_alpha(image)).save(file, "PNG")
    return {"width": params.width, "height": params.height, "png": base64.b64encode(file.getvalue()).decode()}


def list_tensors(session: Session, _: NoParams) -> list[dict[str, Any]]:
    """Every tensor of the models: name, shape, dtype, and whether it is an output, a state or inside."""
    return [
        {"name": name, "shape": list(one.tensor.shape), "dtype": str(one.tensor.dtype), "role": one.role}
        for name, one in catalog(session.stage).items()
    ]


def tensor_statistics(session: Session, params: TensorName) -> dict[str, Any]:
    """Range, mean, standard deviation and numbers that are not finite, computed on the GPU."""
    tensor = require(session.stage, params.name)
    with summarize(tensor) as record:
        summary = Summary.of(record.read_async(Traffic.DIAGNOSTICS).result(), tensor.dtype)
    values = {name: value for name, value in summary._asdict().items() if name not in ("met", "first")}
    return {"name": params.name, "shape": list(tensor.shape), "dtype": str(tensor.dtype), **values}


def diagnostics(session: Session, _: NoParams) -> dict[str, Any]:
    """The newest value of each diagnostic, by "model.name", and which are above their limits."""
    return {"values": dict(session.diagnostics), "exceeded": [str(one) for one in session.limits.exceeded]}


class Method(NamedTuple):
    """A function of the session, and the type of its parameters."""

    function: Callable[[Session, Any], Any]
    params: type[Params]


METHODS: dict[str, Method] = {
    "status": Method(status, NoParams),
    "list_parameters": Method(list_parameters, NoParams),
    "set_parameters": Method(set_parameters, Values),
    "play": Method(play, NoParams),
    "pause": Method(pause, NoParams),
    "step": Method(step, Steps),
    "reset": Method(reset, NoParams),
    "get_camera": Method(get_camera, NoParams),
    "set_camera": Method(set_camera, View),
    "screenshot": Method(screenshot, Size),
    "list_tensors": Method(list_tensors, NoParams),
    "tensor_statistics": Method(tensor_statistics, TensorName),
    "diagnostics": Method(diagnostics, NoParams),
}


def work_of(name: str, params: dict[str, Any]) -> Callable[[Session], Any]:
    """What a method does, for `Requests.ask`. Raises `MessageError` if there is no such method, or for its params."""
    method = METHODS.get(name)
    if method is None:
        raise MessageError(METHOD_NOT_FOUND, unknown("method", name[:40], METHODS))
    values = checked(name, method.params, params)
    return lambda session: method.function(session, values)


def _carry_out(session: Session, command: commands.Command) -> None:
    """Carry a command out at once, if it may come from another machine. Raises what it raises."""
    if reason := refusal(session, command):
        raise InputError(reason)
    session.carry_out(command)


def _advance(session: Session) -> None:
    """Take steps that are not drawn, for a while."""
    end = time.perf_counter() + UNDRAWN
    while session.clock.steps_requested and time.perf_counter() < end:
        with session.gpu.frames.frame():
            session.try_to_advance()


def _where(session: Session) -> dict[str, Any]:
    return {"time": session.time, "frame": session.frame, "playing": session.playing}


def _key(session: Session, path: str) -> Key:
    owners = session.parameters()
    owner, _, name = path.rpartition(".")
    for known in (owner, f"models.{owner}"):
        if known in owners:
            return Key(known, name)
    raise ParameterError(f"{path}: {unknown('owner of parameters', owner, owners)}")


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """A parameter's value as JSON has it. A file is only its name: paths are this machine's."""
    match value:
        case Auto():
            return int(value)
        case PurePath():
            return value.name
        case tuple() | list():
            return [_plain(entry) for entry in value]
        case bool() | int() | float() | str() | None:
            return value
    return str(value)
