"""Points of a PLY file: its vertices, mapped into memory if it is binary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from .. import ply
from .table import PIECE, Piece, PointTable


class PlyTable(PointTable):
    """The vertices of a PLY. Faces are ignored."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._header = ply.header(path)
        self._rows: np.ndarray | None = None
        vertex = self._header.vertex
        self.count = vertex.count
        self.columns = {name: np.dtype(kind) for name, kind in vertex.fields.items()}

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        rows = ply.vertices(self.path, self._header, mapped=True)
        for first in range(0, len(rows), PIECE):
            part = rows[first : first + PIECE]
            yield {name: part[name] for name in names}
