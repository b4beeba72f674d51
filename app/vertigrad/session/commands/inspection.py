"""Commands of the tensor inspector."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import ParameterError
from ...gpu import Traffic
from ...params import unknown
from ...scene.save import write_whole
from .. import catalog
from ..files import new_file
from ..inspector import TensorRange
from ..session import Session


class InspectTensor(NamedTuple):
    """Inspect a tensor: statistics, rows, and one of its columns; None for nothing."""

    target: TensorRange | None

    topic = "tensors"

    def apply(self, session: Session) -> None:
        session.inspector.inspect(self.target, session.stage)


class Freeze(NamedTuple):
    """Keep a copy of the inspected tensor, to compare with."""

    topic = "tensors"

    def apply(self, session: Session) -> None:
        session.inspector.freeze(session.stage)


class Thaw(NamedTuple):
    """Release the frozen copy."""

    topic = "tensors"

    def apply(self, session: Session) -> None:
        session.inspector.thaw()


class SaveTensor(NamedTuple):
    """Write a tensor to a .npy file, for NumPy's `load`; to a new one if none is named. `name` as in the catalog."""

    name: str
    path: Path | None = None

    topic = "save tensor"

    def apply(self, session: Session) -> None:
        tensor = catalog.find(session.stage, self.name)
        if tensor is None:
            raise ParameterError(unknown("tensor", self.name, catalog.catalog(session.stage)))
        file = io.BytesIO()
        np.save(file, tensor.read_async(Traffic.DIAGNOSTICS).result())
        path = self.path or new_file(self.name, ".npy")
        write_whole(path, file.getvalue())
        session.written[self.topic] = path
