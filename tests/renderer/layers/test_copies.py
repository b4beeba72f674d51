"""Zero copy, verified at the calls of wgpu: draws read the models' output blocks, and nothing copies them.

The meter counts copies that the program reports; this checks wgpu's C functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.layers.points import PointsLayer, PointsStyle
from vertigrad.scene import Scene, load
from vertigrad.scene.stage import Stage
from vertigrad.tensor import Tensor

from .calls import Calls, address, addresses
from .kinds import KINDS, drawn

# read by compute shaders that compute what is drawn: liquids, trails, streamlines, arrows of a field, marched volumes
COMPUTED_OF = {
    "liquid": {"position", "size", "density"},
    "trails": {"position"},
    "streamlines": {"vectors", "seeds", "color"},
    "vectors": {"vectors"},
    "volume": {"density", "color", "temperature"},
}
TEXTURES = {"color_maps", "data_maps"}  # drawn into textures once: buffers are not filtered
SCENES = sorted(path.stem for path in resources.path("scenes").glob("*.toml"))


def audit(calls: Calls, gpu: Gpu, layers: dict[str, tuple[Layer, dict[str, Tensor]]]) -> list[str]:
    """Violations of zero copy since `calls` were cleared; `layers` by type, with their tensors."""
    ring = address(gpu.uniforms.buffer)
    model_buffers = {address(tensor.block.buffer) for _, tensors in layers.values() for tensor in tensors.values()}
    known = model_buffers | {ring} | {found for layer, _ in layers.values() for found in addresses(layer.blocks())}
    faults = [f"a draw reads a buffer that no layer accounts for: {found:#x}" for found in calls.drawn - known]
    for name, read, written in calls.moves:
        if read & model_buffers or written & (known - {ring}):
            faults.append(f"{name} moves what is drawn")
    for kind, (layer, tensors) in layers.items():
        for attribute, tensor in tensors.items():
            if attribute in TEXTURES:
                continue
            computed = attribute in COMPUTED_OF.get(kind.partition(" ")[0], ())
            if address(tensor.block.buffer) not in (calls.computed if computed else calls.drawn):
                faults.append(f"{layer.name}.{attribute} is not read where it lies")
    return faults


def shot_as_written(shot: Any, *layers: Layer, time: float) -> None:
    """An image as after a step: what has not changed would not be drawn again."""
    for one in layers:
        for block in one.blocks():
            block.note_write()
    shot(*layers, time=time)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_read_the_tensors_themselves(
    steady: Gpu, layer: Any, shot: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    style, arrays = drawn(kind)
    tensors = {name: Tensor.from_numpy(array, name=name) for name, array in arrays.items()}
    for tensor in tensors.values():
        steady.make_resident(tensor.owner)
    calls = Calls(monkeypatch)
    one = layer(kind, style, **tensors)
    shot(one, time=1.0)
    ours = {address(tensor.block.buffer) for tensor in tensors.values()}
    assert not [name for name, read, written in calls.moves if (read | written) & ours]
    calls.clear()  # uploads that happen once, such as an arrow's own mesh
    for time in (2.0, 3.0):
        shot_as_written(shot, one, time=time)
    assert (calls.drawn | calls.computed) and not audit(calls, steady, {kind: (one, tensors)})
    one.close()
    for tensor in tensors.values():
        tensor.close()


class Hiding(PointsLayer):
    """Draws from a copy made with plain wgpu: neither the meter nor the report includes it."""

    def prepare(self, moment: Any = None) -> None:
        super().prepare(moment)
        gpu, drawing = self._gpu, self.drawing
        (source, offset, size), *others = drawing._buffers.parts
        self._copied = gpu.device.create_buffer(
            size=source.size, usage=wgpu.BufferUsage.VERTEX | wgpu.BufferUsage.COPY_DST
        )
        gpu.recorder.encoder.copy_buffer_to_buffer(source, 0, self._copied, 0, source.size)  # pyright: ignore
        drawing._buffers = type(drawing._buffers)([(self._copied, offset, size), *others])


class Uploading(Hiding):
    """The same through the host."""

    def prepare(self, moment: Any = None) -> None:
        PointsLayer.prepare(self, moment)
        drawing, position = self.drawing, self.attributes.tensors["position"].tensor
        (source, offset, size), *others = drawing._buffers.parts
        usage = wgpu.BufferUsage.VERTEX | wgpu.BufferUsage.COPY_DST
        self._copied = self._gpu.device.create_buffer(size=source.size, usage=usage)
        self._gpu.queue.write_buffer(self._copied, 0, np.ascontiguousarray(position.numpy()))
        drawing._buffers = type(drawing._buffers)([(self._copied, offset, size), *others])


@pytest.mark.parametrize("hiding", [Hiding, Uploading])
def test_a_layer_that_draws_from_a_hidden_copy_is_detected(
    steady: Gpu, shot: Any, hiding: type[PointsLayer], monkeypatch: pytest.MonkeyPatch
) -> None:
    position = Tensor.from_numpy(drawn("points")[1]["position"], name="position")
    steady.make_resident(position.owner)
    calls = Calls(monkeypatch)
    one = hiding(steady, "hiding", PointsStyle())
    one.bind({"position": position})
    assert shot(one, time=1.0).any()  # and the image is right
    faults = audit(calls, steady, {"points": (one, {"position": position})})
    assert "hiding.position is not read where it lies" in faults
    assert any("no layer accounts for" in fault for fault in faults)
    assert one.report()["position"]["block"] == position.block.id  # its report does not show it
    one.close()
    position.close()


def smaller(name: str) -> Scene:
    """A shipped scene with half of the points, samples and cells along an axis: the same buffers are read."""
    return load(resources.path("scenes", f"{name}.toml"), sets=smaller_sizes(name))


def smaller_sizes(name: str) -> list[str]:
    """What `smaller` sets."""
    sets: list[str] = []
    if name == "recorded_cloth":  # a recording has the size that it has
        return sets
    for key, model in load(resources.path("scenes", f"{name}.toml")).models.items():
        sizes = {size: getattr(model.params, size, None) for size in ("count", "resolution", "samples")}
        sets += [f"{key}.{size}={n // 2}" for size, n in sizes.items() if isinstance(n, int) and n > 24]
    others = {"sdf_fit": ["learner.data.samples=2000"], "storm_tank": ["water.spacing=0.1"]}
    return sets + others.get(name, [])


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SCENES)
def test_the_layers_of_every_scene(steady: Gpu, shot: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = smaller(name)
    calls = Calls(monkeypatch)
    stage = Stage(scene, steady)
    try:
        layers = list(stage.layers.values())
        for one in layers:
            one.colorbar = None  # text has its own buffers
        shot(*layers, time=1.0)
        calls.clear()
        for time in (2.0, 3.0):
            shot_as_written(shot, *layers, time=time)
        found = {}
        for key, one in stage.layers.items():
            model_buffers = {attribute: bound.tensor for attribute, bound in one.attributes.tensors.items()}
            model_buffers = {
                attribute: tensor for attribute, tensor in model_buffers.items() if attribute in one.report()
            }
            found[f"{scene.layers[key].type} {key}"] = one, model_buffers
        assert calls.drawn and not audit(calls, steady, found)
    finally:
        stage.close()
