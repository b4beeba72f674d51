"""Exporting the weights of a network during training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.session import Session
from vertigrad.session.commands import ExportNetwork, GoTo, Play, SetParameter, Step
from vertigrad.tensor.weights import read_arrays

from .learning import hills_in
from .running import SCENE, use_models


def frame(session: Session) -> None:
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
    session.gpu.sync()


@pytest.fixture
def hills(tmp_path: Path) -> Path:
    return hills_in(tmp_path, "learning_rate = 0.01\nbatch_size = 32")


def test_a_network_is_exported_between_frames(
    steady: Gpu, hills: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Session(steady, hills) as session:
        for _ in range(3):
            frame(session)
        weights = {name: tensor.numpy() for name, tensor in session.stage.instances["learner"].model._weights.items()}
        session.post(Play(False))
        session.post(ExportNetwork())
        session.post(ExportNetwork(".onnx"))
        session.post(ExportNetwork(path=tmp_path / "own.safetensors"))
        frame(session)
        assert not session.messages
        assert session.written["export"] == tmp_path / "own.safetensors"
    found = read_arrays(tmp_path / "hills-learner.safetensors")
    assert all(np.array_equal(array, found[name]) for name, array in weights.items())
    assert (tmp_path / "hills-learner.onnx").stat().st_size > 100


def test_an_export_during_a_long_step_does_not_change_what_is_drawn(steady: Gpu, hills: Path, tmp_path: Path) -> None:
    with Session(steady, hills, ["learner.learning_rate=0.1"]) as session:
        learner = session.stage.instances["learner"].model
        frame(session)
        session.post(SetParameter("models.learner", "learning_rate", 9.0))
        for _ in range(3):
            frame(session)
        session.post(Play(False))
        frame(session)
        spoilt = learner.outputs()["error"].numpy()
        session.post(SetParameter("models.learner", "show", "best"))
        session.apply()
        session.clock.stale = False
        session.stage.begin_step(0.0)  # a long step: recorded, and executed in parts
        session.post(ExportNetwork(path=tmp_path / "weights.onnx"))
        frame(session)
        assert learner.outputs()["error"].numpy().mean() < 0.5 * spoilt.mean()


def test_rewinding_restores_weights_and_optimizer_state(steady: Gpu, hills: Path) -> None:
    with Session(steady, hills) as session:
        session.clock.set_rewind_memory(1 << 24)
        learner = session.stage.instances["learner"].model
        states = []
        for _ in range(4):
            session.post(Step())
            frame(session)
            states.append({name: tensor.numpy() for name, tensor in learner.state().items()})
        session.post(GoTo(session.frame - 2))
        frame(session)
        for name, tensor in learner.state().items():
            assert np.array_equal(tensor.numpy(), states[1][name]), name
        session.post(Step())
        frame(session)
        for name, tensor in learner.state().items():
            assert np.array_equal(tensor.numpy(), states[2][name]), name


def test_the_learning_rate_is_changed_during_training(steady: Gpu, hills: Path) -> None:
    with Session(steady, hills) as session:
        learner = session.stage.instances["learner"].model
        frame(session)
        session.post(SetParameter("models.learner", "learning_rate", 0.0))
        frame(session)
        before = learner._weights["0.weight"].numpy()
        frame(session)
        assert np.array_equal(learner._weights["0.weight"].numpy(), before)


def test_an_export_that_fails_is_reported(
    steady: Gpu, hills: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(steady, hills) as session:
        session.post(ExportNetwork(path=tmp_path / "weights.txt"))
        frame(session)
        assert "exported as .safetensors or .onnx or .checkpoint, not as .txt" in session.messages["export"]
    use_models(monkeypatch)
    (tmp_path / "row.toml").write_text(SCENE, encoding="utf-8")
    with Session(steady, tmp_path / "row.toml") as session:
        session.post(ExportNetwork())
        frame(session)
        assert "no model of this scene learns" in session.messages["export"]
