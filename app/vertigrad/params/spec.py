"""What is known about one parameter beyond its type: limits, unit, how a GUI shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["number", "integer", "switch", "choice", "text", "color", "vector", "interval", "angle", "file"]
Scale = Literal["linear", "log"]


@dataclass(frozen=True, kw_only=True)
class ParamSpec:
    """One parameter of a model or of a layer's style, as declared with `number(...)`, `choice(...)` etc.

    Values beyond `min` and `max` are refused; `soft_min` and `soft_max` are only where a slider ends.
    A parameter that is `rebuild` reshapes tensors when it changes. `length` is the number of elements of a
    vector, `words` are what may stand in place of a value (such as "auto"), `suffixes` what a file's name
    may end in.
    """

    name: str = ""
    kind: Kind
    default: Any = None
    required: bool = False
    min: float | None = None
    max: float | None = None
    soft_min: float | None = None
    soft_max: float | None = None
    unit: str = ""
    scale: Scale = "linear"
    rebuild: bool = False
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    length: int = 1
    suffixes: tuple[str, ...] = ()
    doc: str = ""

    @property
    def optional(self) -> bool:
        """Whether None is a value too, meaning that it was left out."""
        return not self.required and self.default is None

    @property
    def label(self) -> str:
        """The name as a person reads it: `seed_spread` is "seed spread"."""
        return self.name.replace("_", " ")
