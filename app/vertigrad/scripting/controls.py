"""`Control`: a widget of a script's viewer, whose value the script reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..session.parameters import Key
from .document import CONTROLS

if TYPE_CHECKING:
    from .viewer import Viewer


class Control:
    """A slider, a check box or another widget. `value` is what it shows now; assigning moves the widget.

    Raises `ParameterError` for a value of the wrong type or out of range, `InputError` if the viewer is closed.
    """

    def __init__(self, viewer: Viewer, name: str):
        self.name = name
        self._viewer = viewer

    @property
    def value(self) -> Any:
        """The current value."""
        return getattr(self._viewer.session.stage.instances[CONTROLS].params, self.name)

    @value.setter
    def value(self, value: Any) -> None:
        self._viewer.session.running.assign({Key(f"models.{CONTROLS}", self.name): value})

    def __repr__(self) -> str:
        return f"Control({self.name!r}, value={self.value!r})"
