"""The scene `depth`: a network turns a clip into a relief, and nothing is read back to the CPU."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType

import av
import numpy as np
import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.session import Session

CLIP = resources.path("assets", "data", "rolling.mp4")
SCENE = resources.path("scenes", "depth.toml")
WEIGHTS = resources.path("assets", "weights", "depth.onnx")


@pytest.fixture(scope="module")
def session(gpu: Gpu) -> Iterator[Session]:
    with Session(gpu, SCENE) as created:
        yield created


@pytest.fixture(scope="module")
def created() -> ModuleType:
    """The script that generated the clip."""
    path = resources.path("assets", "training", "make_clip.py")
    spec = importlib.util.spec_from_file_location("make_clip", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["make_clip"] = importlib.util.module_from_spec(spec)  # its dataclasses look it up there
    spec.loader.exec_module(module)
    return module


def test_the_scene_agrees_with_its_references(gpu: Gpu) -> None:
    with Session(gpu, SCENE, sets=["clip.width=128"]) as session:  # ONNX's reference is slow
        names = []
        for instance in session.stage.instances.values():
            for comparison in instance.model.compare_with_reference():
                assert comparison.holds, f"{instance.spec.name}.{comparison}"
                names.append(f"{instance.spec.name}.{comparison.name}")
    assert {"clip.planes", "depth.height", "relief.position", "relief.color"} <= set(names)


@pytest.mark.turns(4)
def test_no_geometry_is_copied_and_each_image_is_uploaded_once(gpu: Gpu) -> None:
    with Session(gpu, SCENE, sets=["clip.time_scale=3"]) as session:  # an image of the clip in each frame
        report = render(session, frames=4, size=(64, 36)).finish(session)
    moved = report["bytes_per_frame"]
    assert [moved[direction] for direction in ("host_to_device", "device_to_device", "device_to_host")] == [0, 0, 0]
    assert moved["image"]["host_to_device"] == 144 * 256 * 3
    assert report["layers"]["film"]["position"]["block"] == report["models"]["relief"]["position"]["block"]
    assert report["memory"]["leaked_blocks"] == 0


@pytest.mark.turns(4)
def test_the_clip_is_that_of_the_script_and_the_network_estimates_its_heights(
    session: Session, created: ModuleType
) -> None:
    session.reset()
    drawn, height = created.image(created.moment(0.0))
    shown = session.stage.instances["clip"].model.outputs()["pixels"].numpy()
    assert float(np.abs(shown - drawn / 255.0).mean()) < 0.015
    observed = session.stage.instances["depth"].model.outputs()["height"].numpy()
    assert float(np.abs(observed - height).mean()) < 0.3 * float(height.mean())
    assert float(np.corrcoef(observed.ravel(), height.ravel())[0, 1]) > 0.9
    tower = height > 1.1
    assert float(observed[tower].mean()) == pytest.approx(1.15, abs=0.35)
    assert abs(float(observed[height < 0.01].mean())) < 0.02


def test_the_weights_are_small_and_document_their_training() -> None:
    import onnx

    assert WEIGHTS.stat().st_size < 300_000
    model = onnx.load(WEIGHTS)
    assert {entry.key for entry in model.metadata_props} == {"loss", "seed", "steps"}
    assert {node.op_type for node in model.graph.node} == {"Conv", "ConvTranspose", "Concat", "LeakyRelu"}


def test_the_clip_is_small_and_loops() -> None:
    assert CLIP.stat().st_size < 400_000
    with av.open(str(CLIP)) as container:
        images = [frame.to_ndarray(format="rgb24").astype(float) for frame in container.decode(video=0)]
    assert (len(images), *images[0].shape) == (100, 144, 256, 3)
    steps = [float(np.abs(b - a).mean()) for a, b in pairwise([*images, images[0]])]
    assert steps[-1] < 1.5 * max(steps[:-1])
    assert min(steps) > 0.2  # it never stops
