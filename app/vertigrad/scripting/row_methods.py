"""`RowMethods`: the rows that are selected and hidden in a script's viewer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..session.commands import HideRows, SelectRows
from .content import Content


class RowMethods:
    """Rows of layers of points, marks and splats, as the user selects them by box, lasso and brush."""

    _content: Content

    def selected_rows(self) -> dict[str, np.ndarray]:
        """The numbers of the selected rows, i64 (n,), by the name of their layer; empty if none are selected."""
        self._content.require_open()
        rows = self._content.session.rows.selected
        return {} if rows is None else {rows.layer: np.flatnonzero(rows.mask)}

    def select_rows(self, layer: str, rows: Any, mode: str = "replace") -> None:
        """Select rows of a layer by their numbers (n,), or by a mask of all; the user can undo it.

        `mode` is "replace", "add" or "remove". Rows of one layer are selected at a time. Raises `ParameterError`.
        """
        self._content.require_open()
        self._content.session.carry_out(SelectRows(layer, rows, mode))

    def hide_rows(self, layer: str, rows: Any) -> None:
        """Hide exactly these rows of a layer, by their numbers (n,) or a mask of all: they are not drawn nor exported.

        The tensors keep them, and with `[]` all are drawn again. The user can undo it. Raises `ParameterError`, and
        `LayoutError` for positions that are not f32.
        """
        self._content.require_open()
        self._content.session.carry_out(HideRows(layer, rows))
