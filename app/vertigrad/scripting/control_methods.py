"""`ControlMethods`: a method for each kind of control."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from .. import params as declared
from ..errors import InputError
from ..session.parameters import Key
from .content import Content
from .controls import Control
from .document import CONTROLS


class ControlMethods(ABC):
    """Adds controls to the Parameters panel. A name is an identifier; adding it again replaces the control.

    Each method raises `InputError` for another name, and `ParameterError` for a value out of range.
    """

    _content: Content

    @abstractmethod
    def _show_gizmo(self, key: Key) -> None:
        """Show handles in the viewport for a parameter."""

    def _control(self, name: str, annotation: Any, field: Any) -> Control:
        self._content.add_control(name, annotation, field)
        return Control(self._content, name)

    def slider(self, name: str, value: float = 0.0, *, min: float = 0.0, max: float = 1.0, **options: Any) -> Control:
        """A slider for a number, or for an integer if `value`, `min` and `max` are integers.

        `options` are `unit`, `scale` ("linear" or "log") and `doc`, the tooltip.
        """
        if isinstance(value, int) and isinstance(min, int) and isinstance(max, int):
            return self._control(name, int, declared.integer(value, min=min, max=max, **options))
        return self._control(name, float, declared.number(value, min=min, max=max, **options))

    def checkbox(self, name: str, value: bool = False, *, doc: str = "") -> Control:
        """A check box; its value is a bool."""
        return self._control(name, bool, declared.switch(value, doc=doc))

    def choice(self, name: str, choices: Sequence[str], value: str | None = None, *, doc: str = "") -> Control:
        """A list of names to choose from; the first is chosen if no `value` is given."""
        if not choices:
            raise InputError(f"{name}: there is nothing to choose from")
        chosen = choices[0] if value is None else value
        return self._control(name, str, declared.choice(chosen, choices, doc=doc))

    def color(self, name: str, value: Any = "#ffffff", *, doc: str = "") -> Control:
        """A color; its value is (red, green, blue) from 0 to 1, as a screen shows them."""
        return self._control(name, tuple[float, float, float], declared.color(value, doc=doc))

    def text(self, name: str, value: str = "", *, doc: str = "") -> Control:
        """A field for text."""
        return self._control(name, str, declared.text(value, doc=doc))

    def vector(
        self, name: str, value: Sequence[float] = (0.0, 0.0, 0.0), *, gizmo: bool = False, **options: Any
    ) -> Control:
        """Numbers side by side. With `gizmo`, three numbers are a position with handles in the viewport.

        `options` are `min`, `max`, `unit` and `doc`.
        """
        vector = tuple(float(number) for number in value)
        if gizmo and len(vector) != 3:
            raise InputError(f"{name}: a position in the scene has 3 numbers, not {len(vector)}")
        options |= {"length": len(vector), "gizmo": "position" if gizmo else ""}
        control = self._control(name, tuple[float, ...], declared.vector(vector, **options))
        if gizmo:
            self._show_gizmo(Key(f"models.{CONTROLS}", name))
        return control
