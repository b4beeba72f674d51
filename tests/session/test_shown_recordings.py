"""How often a network is recorded while tensors inside it are shown and hidden, and that all else stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.renderer.layers.tensor import TensorLayer
from vertigrad.session import Session
from vertigrad.session.commands import Ablate, HideTensor, Redo, ShowTensor, Undo

from ..models.test_inside import NAMES, W1
from .network_scene import HIDDEN, SCENE, X, opened, pixels

READER = """[models.reader]
type = "onnx"
file = "reader.onnx"
inputs = { h = "net:0/relu" }
[layers]
"""


@pytest.fixture
def session(steady: Gpu, tmp_path: Path) -> Iterator[Session]:
    with opened(steady, tmp_path, SCENE) as session:
        yield session


@pytest.fixture
def recordings(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[Network]:
    found: list[Network] = []
    bind = Network.bind

    def counted(network: Network, *arguments, **options):
        found.append(network)
        return bind(network, *arguments, **options)

    monkeypatch.setattr(Network, "bind", counted)
    return found


def frame(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
    session.apply()
    session.advance()
    session.gpu.submit()
    assert not session.messages, session.messages


def test_tensors_that_are_shown_in_one_frame_are_recorded_at_once(session: Session, recordings: list[Network]) -> None:
    frame(session, *(ShowTensor("net", name) for name in NAMES))
    assert len(recordings) == 1
    np.testing.assert_allclose(pixels(session, "sum"), X @ W1, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(pixels(session, "attn_2"), HIDDEN, rtol=1e-5, atol=1e-6)
    frame(session, *(Undo() for _ in NAMES[1:]))
    assert list(session.stage.layers) == ["sum"], "each click is a step of the history"
    frame(session, *(Redo() for _ in NAMES[1:]), *(HideTensor("net", name) for name in NAMES[1:]))
    assert list(session.stage.layers) == ["sum"] and len(recordings) == 1
    frame(session, HideTensor("net", NAMES[0]))
    assert len(recordings) == 2, "all that is not shown any more is not computed any more"


def test_other_layers_go_on_untouched_if_nothing_is_recorded(
    session: Session, recordings: list[Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame(session, ShowTensor("net", "/enc/0/relu"))
    bound: list[str] = []
    bind = TensorLayer.bind
    monkeypatch.setattr(TensorLayer, "bind", lambda layer, values: [bound.append(layer.name), bind(layer, values)])
    frame(session, ShowTensor("net", "/enc/1/attn"))
    frame(session, ShowTensor("net", "out"))
    frame(session, HideTensor("net", "/enc/1/attn"))
    assert bound == ["attn", "out"] and len(recordings) == 1
    with session.stage.rewriting():
        session.stage.instances["values"].outputs["values"][...] = -X
    session.stage.step(0.1)
    np.testing.assert_allclose(pixels(session, "relu"), np.maximum(-X @ W1, 0.0), rtol=1e-5, atol=1e-6)


def test_models_that_read_a_tensor_inside_are_built_only_if_it_is_another_one(session: Session) -> None:
    """Also if units of a tensor that is not shown are set to zero, for which the network is recorded."""
    entry, path = helper.make_tensor_value_info, session.scene.path
    graph = helper.make_graph(
        [helper.make_node("Neg", ["h"], ["y"])], "reader", [entry("h", 1, [5, 6])], [entry("y", 1, [5, 6])]
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path.parent / "reader.onnx")
    path.write_text(path.read_text().replace("[layers]", READER))
    session.reload(path, restart=True)
    reader = session.stage.instances["reader"].model
    frame(session, ShowTensor("net", "out"))
    assert session.stage.instances["reader"].model is reader
    frame(session, Ablate("net", "/enc/0/sum", (2,)))
    assert session.stage.instances["reader"].model is not reader
    session.stage.step(0.1)
    ablated = HIDDEN.copy()
    ablated[:, 2] = 0.0
    read = session.stage.instances["reader"].outputs["y"].numpy()
    np.testing.assert_allclose(read, -ablated, rtol=1e-5, atol=1e-6)
