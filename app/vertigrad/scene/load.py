"""`load`: a checked `Scene` from a scene file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import InputError, ParameterError
from ..models import Model, registry
from ..params import Params, described, shown, text
from ..renderer import layers
from ..renderer.layers import Layer
from ..renderer.themes import themed_values
from ..renderer.view import View
from . import code, link, trust, viewpoints
from .layer_tables import read_layers
from .model_tables import finish, inner_of, read_drafts
from .preset_tables import Named, read_animations, read_presets
from .problems import SceneProblems
from .renamed import renewed_path, renewed_value, types_of
from .schema import SECTIONS, VERSION, Camera, ModelSettings, Scene
from .settings import apply, parse
from .source import Source, read
from .tables import Reader


def load(
    path: str | PathLike[str],
    *,
    sets: Sequence[str] = (),
    seed: int | None = None,
    text: str | None = None,
    model_types: Mapping[str, type[Model]] | None = None,
    layer_types: Mapping[str, type[Layer]] | None = None,
    opened: Collection[str] = (),
) -> Scene:
    """The scene that the file at `path` describes. Uses no GPU.

    `sets` are entries such as "galaxy.softening=0.1" that replace the file's; `seed` replaces that of every model for
    which `sets` has none. `text` replaces the content of the file. By default, types are the built-in types of models
    and layers. `opened` are whole paths of files that `text` may name besides those of its folder.
    Raises `SceneError` with every problem in the file, or `InputError` if only `sets` or `seed` is wrong. Before
    anything else, raises `UntrustedCode` if it would run Python that was not allowed to run; see `trust`.
    """
    source = read(Path(path), text)
    problems = SceneProblems(source)
    _check_version(source.values, problems)
    _reseed(source.values, seed)
    types = types_of(source.values)
    settings = [
        replace(one, path=renewed_path(one.path, types), value=renewed_value(one.path, one.value, types))
        for one in map(parse, sets)
    ]
    apply(settings, source.values, problems)
    reader = Reader(Path(path).resolve().parent, problems, opened)
    trust.require(Path(path), code.named_files(source.values, reader.folder, opened))
    model_types = registry.types() if model_types is None else model_types
    layer_types = layers.types() if layer_types is None else layer_types
    scene = _scene(source, reader, model_types, layer_types)
    problems.raise_any()
    assert scene is not None, "a scene without problems lacks a part"
    return scene


class _Heading(Params):
    title: str = text("", doc="title of the scene")
    description: str = text("", doc="one line for the gallery")


def _scene(
    source: Source,
    reader: Reader,
    model_types: Mapping[str, type[Model]],
    layer_types: Mapping[str, type[Layer]],
) -> Scene | None:
    values, problems = source.values, reader.problems
    reader.refuse_unknown(values, SECTIONS, (), "key")
    heading = reader.params(_Heading, values, ()).params
    camera = reader.section(Camera, values, ("camera",), ignored=(viewpoints.BOOKMARKS, viewpoints.KEYFRAMES)).params
    bookmarks = viewpoints.read_bookmarks(values, reader)
    keyframes = viewpoints.read_keyframes(values, reader)
    view = reader.section(View, _themed(values), ("view",)).params
    drafts = read_drafts(values, model_types, reader)
    named = values.get("models")
    if named is None or named == {}:
        problems.at_key(("models",), "a scene needs a model: a table such as [models.galaxy]")
    outputs = {draft.name: draft.outputs for draft in drafts if draft.outputs is not None}
    links = link.Links(list(named) if isinstance(named, dict) else [], outputs, inner_of(drafts), problems)
    models = finish(drafts, links, problems)
    drawn = read_layers(values, layer_types, links, reader)
    order = link.order({name: spec.inputs for name, spec in models.items()}, problems)
    parameters = Named(values, models, drawn, View)
    presets = read_presets(values, parameters, reader)
    animations = read_animations(values, parameters, reader)
    if heading is None or camera is None or view is None:
        return None
    path = Path(source.path)
    return Scene(
        path=path.resolve(),
        title=heading.title or path.stem,
        camera=camera,
        view=view,
        models=models,
        layers=drawn,
        order=order,
        source_map=source.source_map,
        bookmarks=bookmarks,
        keyframes=keyframes,
        presets=presets,
        animations=animations,
    )


def _themed(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The view with the values of its theme, which the view's own values override."""
    view = values.get("view")
    return {**values, "view": themed_values(view)} if isinstance(view, dict) else values


def _check_version(values: Mapping[str, Any], problems: SceneProblems) -> None:
    """Raises `SceneError` immediately for a newer version, whose other keys cannot be checked."""
    version = values.get("version")
    if version is None:
        problems.at_key((), f"the version of the format must be given: version = {VERSION}")
    elif isinstance(version, bool) or not isinstance(version, int):
        problems.at_value(("version",), f"expected an integer, got {described(version)}")
    elif version > VERSION:
        problems.at_value(
            ("version",), f"this Vertigrad reads versions up to {VERSION}, not {shown(version)}; update it"
        )
        problems.raise_any()
    elif version < 1:
        problems.at_value(("version",), f"there is no version {shown(version)}; the first is 1")


def _reseed(values: Mapping[str, Any], seed: int | None) -> None:
    if seed is None:
        return
    try:
        ModelSettings.parse({"seed": seed})
    except ParameterError as error:
        raise InputError(f"--{error}") from None
    models = values.get("models")
    for table in models.values() if isinstance(models, dict) else ():
        if isinstance(table, dict):
            table["seed"] = seed
