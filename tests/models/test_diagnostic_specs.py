"""Models measure exactly the diagnostics that they declare."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.models import Model, registry
from vertigrad.models.data import splat_file
from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter
from vertigrad.scene import load
from vertigrad.scene.stage import Stage

from .extremes import SMALL
from .test_extremes import FROM_FILES_AND_INPUTS

FROM_SCENES = {"onnx": "shells", "train": "digits"}  # their diagnostics are those of a scene's network
DATA = """
version = 1
models.array = { type = "array", file = "values.npy" }
models.bars = { type = "bars", inputs = { values = "array.values" } }
models.foam = { type = "foam", inputs = { position = "mesh.position", velocity = "mesh.normal" } }
models.image = { type = "image", file = "picture.png" }
models.image_grid = { type = "image_grid", inputs = { values = "array.values" } }
models.mesh = { type = "mesh" }
models.point_cloud = { type = "point_cloud", file = "points.npy" }
models.recording = { type = "recording", file = "run.vgz" }
models.relief = { type = "relief", inputs = { values = "array.values" } }
models.splat_photos = { type = "splat_photos", file = "assets/data/photos/sparse/cameras.txt", resolution = 32 }
models.asset = { type = "asset", file = "assets/data/jellyfish.glb", texture_size = 16 }
models.splats = { type = "splats", file = "splats.ply" }
models.volume = { type = "volume", file = "volume.npy" }
models.video = { type = "video", file = "assets/data/rolling.mp4", width = 16 }

[models.splat_mesh]
type = "splat_mesh"
inputs = { position = "mesh.position", normal = "mesh.normal", index = "mesh.index" }
"""


def measured(model: Model) -> list[str]:
    """The names of its diagnostics."""
    found = model.diagnostics()
    for tensor in found.values():
        tensor.close()
    return sorted(found)


def bits(model: Model) -> dict[str, bytes]:
    """The model's saved state."""
    return {name: tensor.numpy().tobytes() for name, tensor in model.state().items()}


def specs(model: Model) -> list[str]:
    return sorted(model.diagnostic_specs)


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SMALL)
def test_diagnostics_of_simulations(gpu: Gpu, name: str) -> None:
    kind = registry.types()[name]
    with closing(kind("model", kind.Params.parse(SMALL[name]), {}, 0)) as model:
        for steps in range(2):
            before, scalars = bits(model), model.scalar_state()
            assert measured(model) == specs(model)
            assert bits(model) == before, f"measuring changes the state, {steps} steps on"
            assert model.scalar_state() == scalars
            model.step(1 / 60)


def test_diagnostics_of_data(steady: Gpu, tmp_path: Path) -> None:
    row = np.ones((2, 4), np.float32)
    splats = splat_file.Splats(row[:, :3], row[:, :3], row, row[:, 0], row[:, :3], splat_file.no_harmonics(len(row)))
    splat_file.write(tmp_path / "splats.ply", splats)
    np.save(tmp_path / "values.npy", row)
    np.save(tmp_path / "points.npy", row[:, :3])
    np.save(tmp_path / "volume.npy", np.arange(8.0).reshape(2, 2, 2))
    recorded = Recorded("", 0.0, 1.0)
    with closing(RecordingWriter(tmp_path / "run.vgz", {"a.x": RecordedTensor((2, 4), "f32")}, recorded, 1)) as writer:
        writer.add({"a.x": row})
    Image.new("RGB", (2, 2)).save(tmp_path / "picture.png")
    (tmp_path / "scene.toml").write_text(DATA, encoding="utf-8")
    with closing(Stage(load(tmp_path / "scene.toml"), steady)) as stage:
        assert stage.instances.keys() == FROM_FILES_AND_INPUTS - FROM_SCENES.keys() - {
            "language_model",
            "torch",
            "wgsl",
        }
        for name, instance in stage.instances.items():
            assert measured(instance.model) == specs(instance.model), name


@pytest.mark.turns(4)
@pytest.mark.parametrize(("name", "scene"), FROM_SCENES.items())
def test_diagnostics_of_networks(steady: Gpu, name: str, scene: str) -> None:
    """Names of diagnostics of an ONNX network begin with an output."""
    with closing(Stage(load(resources.path("scenes", f"{scene}.toml")), steady)) as stage:
        (model,) = (
            instance.model
            for instance in stage.instances.values()
            if isinstance(instance.model, registry.types()[name])
        )
        outputs = model.outputs() if name == "onnx" else [""]
        assert measured(model) == sorted({key.replace("OUTPUT", output) for key in specs(model) for output in outputs})


def test_declared_diagnostics_are_documented_and_limits_are_of_diagnostics() -> None:
    for name, kind in registry.types().items():
        assert kind.limits.keys() <= kind.diagnostic_specs.keys(), name
        assert all(spec.doc for spec in kind.diagnostic_specs.values()), name
