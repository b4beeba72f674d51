"""Functions with which a model or a layer's style declares its parameters.

    class Params(params.Params):
        softening: float = number(0.05, min=1e-4, max=1.0, unit="kpc", scale="log", doc="Plummer length")
        count: int = integer(8192, min=2, max=1 << 20, rebuild=True, doc="bodies")

Each is a `pydantic.Field` that carries a `ParamSpec`, also into the JSON schema. A default of `...` makes the
parameter required, a default of None makes it optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import Field
from pydantic.fields import FieldInfo

from ..deprecation import renamed_arguments
from .checks import accept
from .spec import Gizmo, Kind, ParamSpec, Scale

_IN_FIELD = ("name", "default", "required", "doc")  # stored in pydantic's own field
_with_old_names = renamed_arguments(soft_min="slider_min", soft_max="slider_max")  # up to version 0.1


@_with_old_names
def number(
    default: Any,
    *,
    min: float | None = None,
    max: float | None = None,
    slider_min: float | None = None,
    slider_max: float | None = None,
    unit: str = "",
    scale: Scale = "linear",
    rebuild: bool = False,
    doc: str = "",
) -> Any:
    """A float32 number. Annotate as `float`."""
    return _field("number", **locals())


@_with_old_names
def integer(
    default: Any,
    *,
    min: int | None = None,
    max: int | None = None,
    slider_min: int | None = None,
    slider_max: int | None = None,
    unit: str = "",
    scale: Scale = "linear",
    rebuild: bool = False,
    auto: bool = False,
    doc: str = "",
) -> Any:
    """An integer of 32 bits. Annotate as `int`.

    With `auto` a scene may say "auto": the count that the GPU steps within its frame budget; see `session.sizing`.
    """
    return _field("integer", **locals())


@_with_old_names
def angle(
    default: Any,
    *,
    min: float | None = None,
    max: float | None = None,
    slider_min: float | None = None,
    slider_max: float | None = None,
    rebuild: bool = False,
    doc: str = "",
) -> Any:
    """An angle in degrees. Annotate as `float`."""
    return _field("angle", unit="degrees", **locals())


def switch(default: Any, *, rebuild: bool = False, doc: str = "") -> Any:
    """On or off. Annotate as `bool`."""
    return _field("switch", **locals())


def choice(default: Any, choices: Sequence[str], *, rebuild: bool = False, doc: str = "") -> Any:
    """One of several names. Annotate as `str` or a `Literal` of the same names."""
    choices = tuple(choices)
    return _field("choice", **locals())


def text(default: Any, *, rebuild: bool = False, curve: bool = False, doc: str = "") -> Any:
    """Any text; with `curve` one of points, as "0:0 0.4:0.1 1:1", x rising from 0 to 1. Annotate as `str`."""
    return _field("text", **locals())


def color(default: Any, *, doc: str = "") -> Any:
    """Red, green, blue from 0 to 1 as a screen shows them (sRGB), or "#rrggbb". Annotate as three floats."""
    return _field("color", min=0.0, max=1.0, length=3, **locals())


@_with_old_names
def vector(
    default: Any,
    *,
    length: int = 3,
    min: float | None = None,
    max: float | None = None,
    slider_min: float | None = None,
    slider_max: float | None = None,
    unit: str = "",
    rebuild: bool = False,
    words: Sequence[str] = (),
    gizmo: Gizmo = "",
    doc: str = "",
) -> Any:
    """`length` numbers, the limits holding for each; or one of `words`. Annotate as `tuple[float, ...]`.

    With `gizmo` "position", three numbers are a position in the scene, which can be moved with a gizmo.
    """
    if gizmo and length != 3:
        raise TypeError(f"a position in the scene has 3 components, not {length}")
    words = tuple(words)
    return _field("vector", **locals())


def interval(
    default: Any,
    *,
    min: float | None = None,
    max: float | None = None,
    unit: str = "",
    words: Sequence[str] = (),
    doc: str = "",
) -> Any:
    """`[low, high]` with low below high, or one of `words` such as "auto".

    Annotate as `tuple[float, float] | Literal["auto"]`.
    """
    words = tuple(words)
    return _field("interval", length=2, **locals())


def ends(default: Any, *, doc: str = "") -> Any:
    """The range of an animation: `[low, high]`, or two vectors or colors. Annotate as `tuple[Any, Any]`."""
    return _field("ends", **locals())


def file(default: Any, *, suffixes: Sequence[str] = (), rebuild: bool = True, doc: str = "") -> Any:
    """A file: `assets/...` is packaged, all others are relative to the scene's folder. Annotate as `pathlib.Path`."""
    suffixes = tuple(suffix.lower() for suffix in suffixes)
    return _field("file", **locals())


def spec_of(name: str, field: FieldInfo) -> ParamSpec:
    """The spec that a field carries. Raises `TypeError` for a field that no function of this module declared."""
    extra = field.json_schema_extra
    if not isinstance(extra, dict) or "kind" not in extra:
        raise TypeError(f"{name} is not declared with a function of vertigrad.params such as number(...)")
    hints: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in extra.items()}
    spec = ParamSpec(name=name, required=field.is_required(), doc=field.description or "", **hints)
    default = None if spec.required else field.get_default()
    if default is None:
        return spec
    return replace(spec, default=default if spec.kind == "file" else accept(spec, default))


def _field(kind: Kind, *, default: Any, doc: str, **hints: Any) -> Any:
    """The field of a parameter: `hints` are the fields of its spec that are not the defaults of these."""
    extra = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(ParamSpec(kind=kind, **hints)).items()
        if key not in _IN_FIELD
    }
    return Field(default, description=doc or None, validate_default=True, json_schema_extra=extra)
