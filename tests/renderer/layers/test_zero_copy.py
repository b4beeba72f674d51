"""All layers in one image: no geometry is copied, and the report names the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from vertigrad.gpu import Gpu
from vertigrad.tensor import Tensor

from .kinds import KINDS, drawn

FRAMES = 6


def test_no_geometry_is_copied_and_the_report_names_the_blocks_of_the_tensors(
    steady: Gpu, layer: Any, shot: Any
) -> None:
    created, tensors = [], {}
    for kind in KINDS:
        style, arrays = drawn(kind)
        tensors[kind] = {name: Tensor.from_numpy(array, name=f"{kind}.{name}") for name, array in arrays.items()}
        created.append(layer(kind, style, **tensors[kind]))
    shot(*created, time=1.0)
    before = {kind: {name: tensor.block.id for name, tensor in of.items()} for kind, of in tensors.items()}
    moved = steady.meter.read()["geometry"]
    images = []
    for frame in range(FRAMES):
        for kind in ("isosurface", "arrows"):  # a style value is not geometry
            style = created[KINDS.index(kind)].style
            style.change(*(("level", 0.1 * frame) if kind == "isosurface" else ("scale", 0.2 + 0.1 * frame)))
        with steady.frames.frame():
            images.append(shot(*created, time=2.0 + frame))
    assert steady.meter.read()["geometry"] == moved
    assert not np.array_equal(images[0], images[-1])
    for kind, one in zip(KINDS, created, strict=True):
        reported = one.report()
        bound = {name: tensor for name, tensor in tensors[kind].items() if not name.endswith("_maps")}  # textures
        for name, tensor in bound.items():
            found = reported[name]
            assert found["block"] == tensor.block.id == before[kind][name], f"{kind}.{name}"
            assert found["offset"] == tensor.offset and found["tensor"] == tensor.name
        assert {tensor.block.id for tensor in bound.values()} <= {block.id for block in one.blocks()}
    for one in created:
        one.close()
    for of in tensors.values():
        for tensor in of.values():
            tensor.close()
