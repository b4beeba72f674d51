"""`Panel`: one window of the GUI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from ..session import Session

Side = Literal["left", "upper right", "right", "bottom"]


class Panel(ABC):
    """One window. `draw` is called each frame in which the window is visible, between ImGui's new_frame and render.

    `icon` is a letter of the icon font; `side` is where the window is docked, and `opened` whether it is open, until
    the user changes that.
    """

    title: ClassVar[str]
    icon: ClassVar[str] = ""
    side: ClassVar[Side] = "bottom"
    opened: ClassVar[bool] = False

    @abstractmethod
    def draw(self, session: Session) -> None:
        """Draw the window's content from the state of the session; changes are posted as commands."""
