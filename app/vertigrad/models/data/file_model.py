"""`FileModel`: hands out the arrays of a file; `ValuesModel`: one array."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import ops
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from .uploads import taken


class FileContent(NamedTuple):
    """The outputs, f32 or u32, and diagnostics that are counted when the file is read."""

    arrays: Mapping[str, np.ndarray]
    counts: Mapping[str, int] = {}


class FileModel(NamedTensorsModel):
    """A model whose outputs are arrays of a file, and do not change; `output_docs` describes them by name."""

    output_docs: ClassVar[Mapping[str, str]]

    @staticmethod
    @abstractmethod
    def read(params: Any) -> FileContent:
        """What the parameters name. Raises `InputError` for a file that cannot be used."""

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        return {
            name: OutputSpec(array.shape, "u32" if array.dtype.kind == "u" else "f32", cls.output_docs[name])
            for name, array in cls.read(params).arrays.items()
        }

    def step(self, dt: float) -> None:
        pass

    def reset(self) -> None:
        pass

    def diagnostics(self) -> dict[str, Tensor]:
        return {name: Tensor.full((), count) for name, count in self._counts.items()}

    def compare_with_reference(self) -> list[Comparison]:
        """The arrays as they were read, numbers that are not finite as 0."""
        return [
            compare(name, _finite(self._views[name].numpy()), _finite(array).astype(float), 1e-7)
            for name, array in self.read(self._params).arrays.items()
        ]

    def _create(self, parts: Parts) -> None:
        arrays, self._counts = self.read(self._params)
        for key, array in arrays.items():
            uploaded = taken(array)
            if uploaded is None:
                parts.copied(key, array)
            else:
                parts.adopted(key, uploaded)


class ValuesModel(FileModel):
    """A model with the one output `values`, whose range is among its diagnostics; `read` returns `values_of` it."""

    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest value"),
        "highest": DiagnosticSpec("highest value"),
        "not_finite": DiagnosticSpec("number of values that are not finite"),
    }

    def diagnostics(self) -> dict[str, Tensor]:
        values = self._views["values"]
        return {"lowest": ops.min(values), "highest": ops.max(values), **super().diagnostics()}


def values_of(array: np.ndarray) -> FileContent:
    """The array as the output `values`."""
    return FileContent({"values": array}, {"not_finite": array.size - int(np.isfinite(array).sum())})


def _finite(array: np.ndarray) -> np.ndarray:
    return np.nan_to_num(array, posinf=0.0, neginf=0.0)
