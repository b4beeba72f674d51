"""The report counts the rows that were not drawn because their position is not finite."""

from __future__ import annotations

import numpy as np

import vertigrad
from vertigrad import resources
from vertigrad.session import Session
from vertigrad.session.report import RunRecord
from vertigrad.tensor import Tensor


def test_rows_without_a_finite_position_are_counted() -> None:
    gpu = vertigrad.gpu()
    session = Session(gpu, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"])
    record = RunRecord(gpu)
    (name, layer), *_ = session.stage.layers.items()
    position = layer.attributes.tensors["position"].tensor
    broken = np.zeros((len(position), 3), np.float32)
    broken[5, 1], broken[9, 0], broken[9, 2] = np.nan, np.inf, np.nan
    session.stage.instances["galaxy"].publication.withdraw()
    with Tensor.from_numpy(broken) as values:
        position[...] = values
    assert record.finish(session)["rows"][name] == {"given": len(broken), "dropped": 2}
