"""The rows of the parameters panel: computed once for each scene, not in each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ..errors import InputError
from ..params import ParamSpec
from ..scene import Scene, UiHint
from ..session import Session
from ..session.parameters import MODELS, Key
from .widgets import explanation, written

VIEW = {  # headings of the parts of the view, and the names of their parameters
    "light": (
        *("sun", "sun_color", "sun_azimuth", "sun_elevation", "shadows", "sun_angle", "shadow_resolution"),
        *(
            "sky",
            "sky_color",
            "horizon_color",
            "ground_color",
            "environment",
            "environment_file",
            "environment_rotation",
        ),
        *("environment_backdrop", "environment_blur", "occlusion", "occlusion_radius"),
    ),
    "post-processing": (
        *("exposure", "tone_map", "bloom", "vignette", "edges", "edge_color", "edge_width", "tint", "tint_dark"),
        "tint_light",
    ),
    "camera": ("aperture", "focus", "shutter", "anti_aliasing", "samples"),
    "annotations": (
        *("color_bars", "scale_bar", "axes", "axis_names", "unit", "axes_low", "axes_high", "floor", "floor_height"),
        *("labels", "text_size"),
    ),
    "clipping": tuple(f"clip_{kind}{number}" for number in ("", "_2", "_3") for kind in ("normal", "origin")),
}


@dataclass(frozen=True)
class Row:
    """One parameter. `number` identifies it, `words` are searched."""

    key: Key
    spec: ParamSpec
    hint: UiHint | None
    original: Any
    number: int
    label: str
    tooltip: str
    words: str


@dataclass(frozen=True)
class Group:
    """The parameters of one owner, under a heading."""

    owner: str
    title: str
    note: str
    rows: tuple[Row, ...]
    keys: tuple[Key, ...]


def groups(session: Session) -> tuple[Group, ...]:
    """Everything that can be set, as the panel shows it."""
    numbers = count()
    found = (_group(session, owner, numbers) for owner in session.originals())
    return tuple(part for group in found for part in (_parts_of_view(group) if group.owner == "view" else [group]))


def _parts_of_view(view: Group) -> list[Group]:
    """The many rows of the view under headings of their own; a row that no heading names stays under the first."""
    heading = {name: title for title, names in VIEW.items() for name in names}
    parts: dict[str, list[Row]] = {"view": [], **{title: [] for title in VIEW}}
    for row in view.rows:
        parts[heading.get(row.key.name, "view")].append(row)
    return [
        replace(view, title=title, rows=tuple(rows), keys=tuple(row.key for row in rows))
        for title, rows in parts.items()
        if rows
    ]


def without_effect(session: Session) -> dict[Key, str]:
    """The parameters of models that change nothing as the others are now, and why."""
    return {
        Key(owner, name): f"no effect: {reason}"
        for owner, params in session.parameters().items()
        if owner.startswith(MODELS) and (spec := session.scene.models.get(owner.removeprefix(MODELS)))
        for name, reason in spec.without_effect(params).items()
    }


def found(groups: Sequence[Group], search: str) -> list[tuple[Group, tuple[Row, ...]]]:
    """The groups with the rows in which every word of `search` occurs, without those that have none."""
    words = search.casefold().split()
    fitting = (
        (group, tuple(row for row in group.rows if all(word in row.words for word in words))) for group in groups
    )
    return [(group, rows) for group, rows in fitting if rows]


def _group(session: Session, owner: str, numbers: count[int]) -> Group:
    kind, _, name = owner.partition(".")
    params, hints = session.originals()[owner], session.hints(owner)
    title, choices = name or kind, _choices(session, owner)
    rows = tuple(
        _row(Key(owner, spec.name), spec, hints.get(spec.name), getattr(params, spec.name), next(numbers), title)
        for spec in (replace(spec, choices=tuple(choices.get(spec.name, spec.choices))) for spec in params.specs())
    )
    return Group(owner, title, _type(session.scene, kind, name), rows, tuple(row.key for row in rows))


def _choices(session: Session, owner: str) -> Mapping[str, Sequence[str]]:
    """The values of parameters that are texts, such as names of columns; none for a file that cannot be read now."""
    spec = session.scene.models.get(owner.removeprefix(MODELS)) if owner.startswith(MODELS) else None
    if spec is None:
        return {}
    try:
        return spec.kind.choices(session.parameters()[owner])
    except InputError:
        return {}


def _row(key: Key, spec: ParamSpec, hint: UiHint | None, original: Any, number: int, title: str) -> Row:
    label = (hint.label if hint else None) or spec.label
    words = f"{label} {spec.name} {title} {spec.doc} {key.owner}.{spec.name}".casefold()
    tooltip = explanation(spec)
    if original != spec.default and original is not None:
        tooltip = f"{tooltip}\nin the scene {written(original)}"
    return Row(key, spec, hint, original, number, label, tooltip, words)


def _type(scene: Scene, kind: str, name: str) -> str:
    specs = {"models": scene.models, "layers": scene.layers}.get(kind)
    return specs[name].type if specs else ""
