"""`Array`: an array from a NumPy file, for layers and networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from ... import ops, params
from ...params import file, text
from ...tensor import Tensor
from ..base import DiagnosticSpec
from . import array_file
from .file_model import FileContent, FileModel


class Params(params.Params):
    """Choice of the array."""

    file: Path = file(..., suffixes=array_file.SUFFIXES, doc="NumPy file, .npy or .npz")
    name: str = text("", doc="name of the array in an .npz file; empty: the largest one")


class Array(FileModel):
    """An array from a file, as f32; it does not change."""

    Params = Params
    output_docs: ClassVar[Mapping[str, str]] = {"values": "the array, in its shape"}
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest value"),
        "highest": DiagnosticSpec("highest value"),
        "not_finite": DiagnosticSpec("number of values that are not finite"),
    }

    @staticmethod
    def read(params: Params) -> FileContent:
        array = array_file.read(params.file, params.name)
        return FileContent({"values": array}, {"not_finite": array.size - int(np.isfinite(array).sum())})

    def diagnostics(self) -> dict[str, Tensor]:
        values = self._views["values"]
        return {"lowest": ops.min(values), "highest": ops.max(values), **super().diagnostics()}
