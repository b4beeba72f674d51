"""A viewer that stays live at IPython's prompt."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from .loop_methods import LoopMethods

GUI = "vertigrad"  # of `%gui`
_live: weakref.WeakSet[LoopMethods] = weakref.WeakSet()


def show_at_prompt(viewer: LoopMethods) -> None:
    """Show frames of the viewer while IPython waits for input, until its window is closed.

    Raises `InputError` outside of IPython in a terminal.
    """
    shell = _terminal()
    if shell is None:
        raise InputError(
            "show(block=False) needs IPython in a terminal; elsewhere call viewer.update() in a loop of your own, or "
            "show() to wait until the window is closed"
        )
    from IPython.terminal import pt_inputhooks

    pt_inputhooks.register(GUI, _wait)
    _live.add(viewer)
    if shell.active_eventloop != GUI:
        shell.enable_gui(GUI)
    if shell.active_eventloop != GUI:
        _live.discard(viewer)
        raise InputError(
            "IPython runs another event loop already, or has none with --simple-prompt: type %gui, then show again"
        )


def _terminal() -> Any:
    """IPython's shell, if that waits for input in a terminal."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell if shell is not None and hasattr(shell, "active_eventloop") else None


def _wait(context: Any) -> None:
    """Show frames until the user has typed something."""
    while _live and not context.input_is_ready():
        for viewer in list(_live):
            try:
                if not viewer.closed:
                    viewer.update()
            except BaseException:
                _live.discard(viewer)
                viewer.close()
                raise
            if viewer.closed:
                _live.discard(viewer)
                viewer.close()
    if not _live and (shell := _terminal()) is not None and shell.active_eventloop == GUI:
        shell.enable_gui(None)
