"""What a Jupyter kernel says of itself, if this is one."""

from __future__ import annotations

import sys
from typing import Any


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel."""
    return getattr(_shell(), "kernel", None) is not None


def cell() -> str:
    """The name of the cell that runs; empty if the front end gives none."""
    return str(_parent().get("metadata", {}).get("cellId", ""))


def execution() -> str:
    """The name of this execution of a cell; empty outside of a kernel."""
    return str(_parent().get("header", {}).get("msg_id", ""))


def _shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def _parent() -> dict[str, Any]:
    kernel = getattr(_shell(), "kernel", None)
    return {} if kernel is None else kernel.get_parent("shell") or {}
