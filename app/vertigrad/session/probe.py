"""What is at a sample of a grid: its position in the units of its file, and the tensors that have a value there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..models.base import Placement
from ..renderer.layers import Constant, Layer
from ..renderer.layers.field import FieldDrawing
from ..scene.schema import OutputRef
from ..scene.stage import Stage
from ..tensor import Tensor


def grid_tensors(stage: Stage, layer: Layer, drawing: FieldDrawing) -> Iterator[tuple[str, str, Tensor]]:
    """(name, source, tensor) of each tensor on the grid whose samples are the rows of a layer."""
    spec, shown = stage.scene.layers[layer.name], set()
    size = drawing.fields[drawing.main].size
    for name, field in drawing.fields.items():
        source = str(spec.attributes.get(name, ""))
        if field.size == size and source not in shown:
            shown.add(source)
            yield name, source, field.tensor


def probed(stage: Stage, layer: Layer, drawing: FieldDrawing, row: int) -> Iterator[tuple[str, Constant]]:
    """The unit of the values, and the position of a sample: in the unit of its file, and as indices x, y, z."""
    reference = stage.scene.layers[layer.name].attributes.get(drawing.main)
    index = drawing.index_of(row)
    placement: Placement | None = None
    if isinstance(reference, OutputRef):
        placement = stage.instances[reference.model].model.placement()
    if placement is not None:
        x, y, z = (float(part) for part in (placement.affine @ (*index, 1.0))[:3])
        yield f"position [{placement.unit}]" if placement.unit else "position", (x, y, z)
        if placement.quantity:
            yield "unit of values", placement.quantity
    yield "index", tuple(int(np.int64(part)) for part in index)
