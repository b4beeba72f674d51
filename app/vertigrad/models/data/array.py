"""`Array`: an array from a NumPy file, for layers and networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from ... import params
from ...params import choice, file, text
from . import array_file
from .file_model import FileContent, ValuesModel, values_of


class Params(params.Params):
    """Choice of the array."""

    file: Path = file(..., suffixes=array_file.SUFFIXES, doc="NumPy file, .npy or .npz")
    name: str = text("", doc="name of the array in an .npz file; empty: the largest one")
    dtype: Literal["f32", "u32"] = choice(
        "f32", ("f32", "u32"), rebuild=True, doc="element type; u32: indices of rows, such as triangles"
    )


class Array(ValuesModel):
    """An array from a file, as f32 or as u32; it does not change."""

    Params = Params
    output_docs: ClassVar[Mapping[str, str]] = {"values": "the array, in its shape"}

    @staticmethod
    def read(params: Params) -> FileContent:
        read = array_file.read_indices if params.dtype == "u32" else array_file.read
        return values_of(read(params.file, params.name))
