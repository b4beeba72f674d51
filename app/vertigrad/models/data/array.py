"""`Array`: an array from a NumPy file, for layers and networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from ... import ops, params
from ...params import file, text
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..model_bases import StaticModel
from . import array_file


class Params(params.Params):
    """Choice of the array."""

    file: Path = file(..., suffixes=array_file.SUFFIXES, doc="NumPy file, .npy or .npz")
    name: str = text("", doc="name of the array in an .npz file; empty: the largest one")


class Array(StaticModel):
    """An array from a file, as f32; it does not change."""

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest value"),
        "highest": DiagnosticSpec("highest value"),
        "not_finite": DiagnosticSpec("number of values that are not finite"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return {"values": OutputSpec(_array(params).shape, "f32", "the array, in its shape")}

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        array = _array(params)
        self._not_finite = array.size - int(np.isfinite(array).sum())
        with self._building() as parts:
            self._values = parts.copied("values", array)

    def outputs(self) -> dict[str, Tensor]:
        return {"values": self._values}

    def diagnostics(self) -> dict[str, Tensor]:
        found = {"lowest": ops.min(self._values), "highest": ops.max(self._values)}
        return {**found, "not_finite": Tensor.full((), self._not_finite)}

    def compare_with_reference(self) -> list[Comparison]:
        """The numbers as they were read, those that are not finite as 0."""
        arrays = self._values.numpy(), _array(self._params)
        found, reference = (np.nan_to_num(array, posinf=0.0, neginf=0.0) for array in arrays)
        return [compare("values", found, reference.astype(float), 1e-7)]


def _array(params: Params) -> np.ndarray:
    return array_file.read(params.file, params.name)
