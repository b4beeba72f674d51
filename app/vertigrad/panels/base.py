"""`Panel`: one window of the GUI."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..session import Session


class Panel(ABC):
    """One window. `draw` is called each frame in which the window is open, between ImGui's new_frame and render."""

    title: str

    @abstractmethod
    def draw(self, session: Session) -> None:
        """The window's content, made of what the session is now; changes are posted as commands."""
