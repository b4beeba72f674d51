"""A network whose inputs have not changed is not run again; whatever changes runs it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from vertigrad import Tensor, resources
from vertigrad.gpu import Gpu
from vertigrad.models.inside import Observed
from vertigrad.models.neural.onnx import Onnx, declare
from vertigrad.session import Session
from vertigrad.session.commands import SetParameter
from vertigrad.session.pacing import Pacer

WEIGHTS = np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32)
X = np.random.default_rng(3).normal(size=(5, 3)).astype(np.float32)
FEEDS = {"x": "other.values", "b": {"slider": [-1, 1], "value": [0.5] * 4}, "c": 1.0}


def network(folder: Path) -> Path:
    """y = relu(x W + b) + c."""
    entry = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("Add", ["xw", "b"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["relu"]),
        helper.make_node("Add", ["relu", "c"], ["y"]),
    ]
    inputs = [entry("x", 1, [5, 3]), entry("b", 1, [4]), entry("c", 1, [])]
    graph = helper.make_graph(nodes, "net", inputs, [entry("y", 1, [5, 4])], [numpy_helper.from_array(WEIGHTS, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    return folder / "net.onnx"


@pytest.fixture
def make(steady: Gpu, tmp_path: Path) -> Iterator[Callable[..., Onnx]]:
    """Builds the network with other feeds; `x` is another model's tensor."""
    with ExitStack() as stack:

        def build(x: Tensor | None = None, **feeds: Any) -> Onnx:
            path = network(tmp_path)
            kind, faults = declare({"file": str(path), "inputs": FEEDS | feeds}, Path)
            assert not faults
            model: Any = kind("net", kind.Params(file=path), {} if x is None else {"x": x}, 0)  # pyright: ignore[reportCallIssue]
            stack.callback(model.close)
            return model

        yield build


def runs(model: Onnx, steps: int = 1, dt: float = 0.1) -> int:
    """In how many of the next steps it computed its outputs."""
    found = []
    for _ in range(steps):
        before = model.outputs()["y"].block.revision
        model.step(dt)
        found.append(model.outputs()["y"].block.revision != before)
    return sum(found)


def expected(x: np.ndarray = X, b: float = 0.5, c: float = 1.0) -> np.ndarray:
    return np.maximum(x @ WEIGHTS + b, 0.0) + c


def is_right(model: Onnx, **inputs: Any) -> None:
    np.testing.assert_allclose(model.outputs()["y"].numpy(), expected(**inputs), rtol=1e-5, atol=1e-5)


def test_it_is_run_once_while_nothing_changes(make: Callable[..., Onnx], steady: Gpu) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x)  # which has run it
        steady.submit()
        assert runs(model, steps=10) == 0
        assert not steady.recorder.pending
        is_right(model)
        assert all(comparison.holds for comparison in model.compare_with_reference())


def test_a_slider_and_a_linked_tensor_run_it_once(make: Callable[..., Onnx]) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x)
        model._params.change("b", (-0.25,) * 4)
        assert runs(model, steps=5) == 1
        is_right(model, b=-0.25)
        x[...] = -X
        assert runs(model, steps=5) == 1
        is_right(model, x=-X, b=-0.25)
        model._params.change("b", (0.5,) * 4)
        assert runs(model, steps=5) == 1
        is_right(model, x=-X)


def test_outputs_that_others_wrote_are_computed_again(make: Callable[..., Onnx]) -> None:
    """Such as a script, or a snapshot that is restored."""
    with Tensor.from_numpy(X) as x:
        model = make(x)
        model.outputs()["y"][...] = 0.0
        assert runs(model, steps=3) == 1
        is_right(model)


@pytest.mark.parametrize(
    ("feed", "each_step"), [({"time": 1.0}, True), ({"step": 10.0}, False), ({"start": "normal"}, False)]
)
def test_time_changes_by_itself(make: Callable[..., Onnx], feed: Mapping[str, Any], each_step: bool) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x, c=feed)
        model.step(0.1)
        assert runs(model, steps=4) == (4 if each_step else 0)
        if "start" not in feed:
            is_right(model, c=0.5 if each_step else 1.0)
        assert runs(model, steps=4, dt=0.2) == (4 if each_step else "step" in feed)


def test_noise_is_drawn_anew_at_a_reset(make: Callable[..., Onnx]) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x, c={"start": 2.0})
        model._tensors["c"].fill_(5.0)
        assert runs(model, steps=3) == 1
        before = model.outputs()["y"].block.revision
        model.reset()
        assert model.outputs()["y"].block.revision != before
        is_right(model, c=2.0)


def test_units_set_to_zero_and_tensors_inside(make: Callable[..., Onnx]) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x)
        model.inside.observe(Observed(("relu",)))
        assert runs(model, steps=3) == 0
        np.testing.assert_allclose(model.inside.tensors()["relu"].numpy(), expected(c=0.0), rtol=1e-5, atol=1e-5)
        for units in ((1,), (0, 2), ()):
            model.inside.observe(Observed(("relu",), {"relu": units}))
            assert runs(model, steps=3) == 1
            relu = expected(c=0.0)
            relu[:, list(units)] = 0.0
            np.testing.assert_allclose(model.outputs()["y"].numpy(), relu + 1.0, rtol=1e-5, atol=1e-5)


def test_a_gradient_that_is_asked_for_later(make: Callable[..., Onnx]) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x)
        model.step(0.1)
        name = "gradient of y[0] by x"
        model.inside.observe(Observed((name,)))
        gradient = model.inside.tensors()[name]
        by_x = (expected(c=0.0)[0, 0] > 0) * WEIGHTS[:, 0]
        np.testing.assert_allclose(gradient.numpy()[0], by_x, rtol=1e-5)
        before = gradient.block.revision
        assert runs(model, steps=3) == 0
        assert gradient.block.revision == before
        x[...] = -X
        assert runs(model, steps=3) == 1
        assert gradient.block.revision != before


def test_a_recurrent_network_runs_in_each_step(make: Callable[..., Onnx]) -> None:
    with Tensor.from_numpy(X) as x:
        model = make(x, b={"start": 0.0}, c={"time": 1.0})
        assert runs(model, steps=5) == 5


# scenes -----------------------------------------------------------------------------------------------------------

CHAIN = """version = 1
[models.one]
type = "onnx"
file = "net.onnx"
inputs.x = { slider = [-1, 1], value = VALUES }
inputs.b = { slider = [-1, 1] }
inputs.c = 0.5
[models.two]
type = "onnx"
file = "second.onnx"
inputs.x = "one.y"
[layers.points]
type = "points"
position = "two.y"
"""


@pytest.fixture
def chain(steady: Gpu, tmp_path: Path) -> Iterator[Session]:
    network(tmp_path)
    entry, nodes = helper.make_tensor_value_info, [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = [numpy_helper.from_array(WEIGHTS.T.copy(), "w")]
    graph = helper.make_graph(nodes, "net", [entry("x", 1, [5, 4])], [entry("y", 1, [5, 3])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "second.onnx")
    path = tmp_path / "scene.toml"
    path.write_text(CHAIN.replace("VALUES", str([0.5] * 15)), encoding="utf-8")
    with Session(steady, path) as session:
        yield session


def advance(session: Session, frames: int = 1) -> dict[str, int]:
    """In how many frames each model computed something."""
    found = dict.fromkeys(session.stage.instances, 0)
    for _ in range(frames):
        before = {name: one.outputs["y"].block.revision for name, one in session.stage.instances.items()}
        with session.gpu.frames.frame():
            session.apply()
            session.advance()
        for name, one in session.stage.instances.items():
            found[name] += one.outputs["y"].block.revision != before[name]
    return found


@pytest.mark.parametrize("slices", [False, True])
def test_the_second_model_of_a_chain_runs_if_the_first_did(
    chain: Session, slices: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the work of a step is spread over several frames."""
    monkeypatch.setattr(Pacer, "slices", slices)
    assert advance(chain, 5) == {"one": 0, "two": 0}
    for value in (0.5, -0.5):
        chain.post(SetParameter("models.one", "b", (value,) * 4))
        assert advance(chain, 5) == {"one": 1, "two": 1}
        one = np.maximum(np.full((5, 3), 0.5) @ WEIGHTS + value, 0.0) + 0.5
        two = chain.stage.instances["two"].outputs["y"].numpy()
        np.testing.assert_allclose(two, one @ WEIGHTS.T, rtol=1e-5, atol=1e-5)


def test_it_runs_again_after_going_back_in_time_and_after_a_restart(chain: Session) -> None:
    chain.clock.set_rewind_memory(1 << 20)
    chain.reload(restart=True)
    assert advance(chain, 5) == {"one": 0, "two": 0}
    expected = chain.stage.instances["two"].outputs["y"].numpy()
    chain.post(SetParameter("models.one", "b", (0.75,) * 4))
    advance(chain, 2)
    chain.clock.go_to(3)
    advance(chain, 5)
    np.testing.assert_array_equal(chain.stage.instances["two"].outputs["y"].numpy(), expected)


def test_a_step_that_is_cancelled_leaves_the_input_as_it_was(chain: Session) -> None:
    """The slider's value is written again with the next step."""
    stage = chain.stage
    stage.change("one", "b", (0.75,) * 4)
    stage.begin_step(0.1)
    stage.cancel()
    assert advance(chain) == {"one": 1, "two": 1}
    one = np.maximum(np.full((5, 3), 0.5) @ WEIGHTS + 0.75, 0.0) + 0.5
    np.testing.assert_allclose(stage.instances["one"].outputs["y"].numpy(), one, rtol=1e-5, atol=1e-5)


def test_the_decoder_with_four_sliders_is_still_until_one_is_moved(steady: Gpu) -> None:
    with Session(steady, resources.path("scenes", "shells.toml")) as session:
        surface = session.stage.instances["decoder"].outputs["surface"]
        revisions = [surface.block.revision]
        for number in range(4):
            if number == 2:
                session.post(SetParameter("models.decoder", "z", (0.0, 0.0, 0.0, 0.0)))
            session.apply()
            session.advance()
            revisions.append(surface.block.revision)
        assert revisions[0] == revisions[1] == revisions[2] != revisions[3] == revisions[4]
