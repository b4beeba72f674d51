"""A scene in which a small network runs over an array, for tests of what is inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from vertigrad.gpu import Gpu
from vertigrad.renderer.layers.tensor import TensorLayer
from vertigrad.session import Session

from ..models.test_inside import W1, network

SCENE = """version = 1
[models.values]
type = "array"
file = "x.npy"
[models.net]  # the network
type = "onnx"
file = "net.onnx"
inputs = { x = "values.values" }
[layers]
"""
X = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
HIDDEN = np.maximum(X @ W1, 0.0)


@contextmanager
def opened(gpu: Gpu, folder: Path, text: str) -> Iterator[Session]:
    """A session of the scene with this text, in a folder that gets its files; its time stands still."""
    network(folder)
    np.save(folder / "x.npy", X)
    (folder / "scene.toml").write_text(text)
    with Session(gpu, folder / "scene.toml") as session:
        session.clock.halt()
        yield session


def pixels(session: Session, name: str) -> np.ndarray:
    """What a layer of a tensor draws."""
    layer = session.stage.layers[name]
    layer.prepare()
    assert isinstance(layer, TensorLayer) and layer.form is not None
    return layer.form.attributes["pixels"].numpy()  # pyright: ignore[reportAttributeAccessIssue]
