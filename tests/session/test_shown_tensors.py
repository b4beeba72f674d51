"""Tensors inside models shown and hidden by commands, units set to zero: with undo, saved, and merged with the file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError, ParameterError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.scene import load
from vertigrad.scene.inside import compared, inner_layer
from vertigrad.scene.schema import OutputRef
from vertigrad.session import Session
from vertigrad.session.commands import (
    CompareTensor,
    HideDifference,
    HideInputGradient,
    HideTensor,
    HoverNode,
    MoveGradients,
    Redo,
    Reload,
    Save,
    SetParameter,
    ShareRange,
    ShowGradient,
    ShowGraph,
    ShowInputGradient,
    ShowTensor,
    ToggleUnit,
    Undo,
)
from vertigrad.session.followed_row import Row
from vertigrad.session.hovered_node import EVERY, node_under
from vertigrad.session.readbacks import collect_readbacks, wait_for_readbacks
from vertigrad.session.row_set import pixels_of
from vertigrad.session.row_values import RowValues
from vertigrad.session.shown_gradients import target
from vertigrad.session.shown_tensors import picked_element, picked_node, sharing_range

from ..models.test_inside import W1, W2, network
from . import network_scene
from .network_scene import HIDDEN, X, opened, pixels

SCENE = f"""{network_scene.SCENE}first = {{ tensor = "net:0/sum" }}
"""
SECOND = """[models.doubled]
type = "array"
file = "y.npy"
[models.other]
type = "onnx"
file = "net.onnx"
inputs = { x = "doubled.values" }
"""
RELU = "net", "/enc/0/relu"


@pytest.fixture
def session(steady: Gpu, tmp_path: Path) -> Iterator[Session]:
    with opened(steady, tmp_path, SCENE) as session:
        yield session


def do(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
        session.apply()
        session.advance()
        session.gpu.submit()
    assert not session.messages, session.messages


def out(session: Session) -> np.ndarray:
    return session.stage.instances["net"].outputs["out"].numpy()


def test_a_tensor_is_shown_and_hidden_with_undo(session: Session) -> None:
    model = session.stage.instances["net"].model
    do(session, ShowTensor(*RELU))
    assert list(session.stage.layers) == ["first", "relu"] and session.unsaved
    np.testing.assert_allclose(pixels(session, "relu"), HIDDEN, rtol=1e-5, atol=1e-6)
    low, high = (session.stage.layers[name].style.center[0] for name in ("first", "relu"))
    assert high > low + session.stage.layers["first"].style.size / 2  # next to it
    do(session, SetParameter("layers.relu", "columns", 3), HideTensor(*RELU))
    assert list(session.stage.layers) == ["first"]
    do(session, Undo())
    assert session.stage.layers["relu"].style.columns == 3
    do(session, Undo(), Undo())
    assert list(session.stage.layers) == ["first"] and not session.unsaved
    do(session, Redo())
    np.testing.assert_allclose(pixels(session, "relu"), HIDDEN, rtol=1e-5, atol=1e-6)
    assert session.stage.instances["net"].model is model


def test_a_unit_is_ablated_with_undo(session: Session) -> None:
    do(session, ShowTensor(*RELU), ToggleUnit(*RELU, 2), ToggleUnit(*RELU, 5))
    ablated = HIDDEN.copy()
    ablated[:, [2, 5]] = 0.0
    np.testing.assert_allclose(out(session), ablated @ W2, rtol=1e-5, atol=1e-5)
    do(session, Undo())
    ablated[:, 5] = HIDDEN[:, 5]
    np.testing.assert_allclose(out(session), ablated @ W2, rtol=1e-5, atol=1e-5)
    do(session, ToggleUnit(*RELU, 2))
    np.testing.assert_allclose(out(session), HIDDEN @ W2, rtol=1e-5, atol=1e-5)
    do(session, ToggleUnit("net", "/enc/1/attn", 0))  # which is not shown: the network is recorded again
    drawn = session.stage.instances["net"].observed_tensors[RELU[1]].block.id
    assert session.stage.layers["relu"].report()["tensor"]["block"] == drawn
    do(session, Undo())
    session.post(ToggleUnit(*RELU, 9))
    session.apply()
    assert "its units are 0 to 5" in "".join(session.messages.values())
    np.testing.assert_allclose(out(session), HIDDEN @ W2, rtol=1e-5, atol=1e-5)


def test_the_receptive_field_of_a_picked_element(session: Session) -> None:
    do(session, ShowTensor(*RELU))
    element = int(HIDDEN.argmax())
    session.selection.select("relu", 0)
    session.selection.picked = Row("relu", element)
    assert picked_element(session) == (*RELU, element)
    do(session, ShowInputGradient(*picked_element(session)))  # pyright: ignore[reportOptionalIterable]
    row, unit = divmod(element, 6)
    expected = np.zeros_like(X)
    expected[row] = W1[:, unit]
    pixels_before = session.stage.layers["gradient"]
    pixels_before.style.draw = "image"
    np.testing.assert_allclose(pixels(session, "gradient"), expected, rtol=1e-5, atol=1e-6)
    do(session, ShowInputGradient(*RELU, element - 6 if row else element + 6))
    assert len(session.stage.layers) == 3 and session.stage.layers["gradient"] is pixels_before
    do(session, HideInputGradient(*RELU))
    assert list(session.stage.layers) == ["first", "relu"]
    do(session, Undo(), Undo(), Undo())
    assert list(session.stage.layers) == ["first", "relu"]


def test_gradients_of_a_target_by_tensors_inside(session: Session) -> None:
    sums = "/enc/0/sum"
    do(session, ShowGradient("net", "out", 3, RELU[1]), ShowGradient("net", "out", 3, sums))
    assert target(session, "net") == ("out", 3)
    assert session.tensor_statistics.chosen == ("net", f"gradient of out[3] by {sums}")
    expected = np.zeros((5, 6), np.float32)
    expected[1] = W2[:, 1]
    np.testing.assert_allclose(pixels(session, "gradient"), expected, rtol=1e-5)
    np.testing.assert_allclose(pixels(session, "gradient_2"), expected * (HIDDEN > 0), rtol=1e-5)
    do(session, MoveGradients("net", "out", 4))
    assert list(session.stage.layers) == ["first", "gradient", "gradient_2"]
    assert session.tensor_statistics.chosen == ("net", f"gradient of out[4] by {sums}")
    moved = np.zeros((5, 6), np.float32)
    moved[2] = W2[:, 0]
    np.testing.assert_allclose(pixels(session, "gradient"), moved, rtol=1e-5)
    do(session, Undo())
    np.testing.assert_allclose(pixels(session, "gradient"), expected, rtol=1e-5)
    session.post(MoveGradients("net", "/enc/0/sum", 0))  # which does not depend on what follows it
    session.apply()
    assert "does not depend on" in "".join(session.messages.values())
    assert target(session, "net") == ("out", 3)
    do(session, MoveGradients("net", "out", 3), HideTensor("net", f"gradient of out[3] by {sums}"), Save())
    assert 'tensor = "net:gradient of out[3] by /enc/0/relu"' in session.scene.path.read_text()
    do(session, Reload(restart=True))
    np.testing.assert_allclose(pixels(session, "gradient"), expected, rtol=1e-5)
    saved = load(session.scene.path).layers["gradient"].style
    assert (saved.colormap, saved.range, saved.normalize) == ("vik", "symmetric", False)


def test_what_is_shown_is_saved_and_read_again(session: Session) -> None:
    do(session, ShowTensor(*RELU), ToggleUnit(*RELU, 1), SetParameter("layers.relu", "colormap", "magma"))
    do(session, HideTensor("net", "/enc/0/sum"), Save())
    assert not session.unsaved
    text = session.scene.path.read_text()
    assert "# the network" in text and 'tensor = "net:/enc/0/relu"' in text and '"/enc/0/relu" = [1]' in text
    assert "first" not in text
    scene = load(session.scene.path)
    assert scene.layers["relu"].style == session.stage.layers["relu"].style
    assert scene.models["net"].ablated == {"/enc/0/relu": (1,)}
    do(session, ShowTensor("net", "out"), SetParameter("layers.out", "draw", "bars"), Reload(restart=True))
    assert session.stage.layers["relu"].style.colormap == "magma"
    assert session.stage.layers["out"].style.draw == "bars"  # which is not in the file
    ablated = HIDDEN.copy()
    ablated[:, 1] = 0.0
    np.testing.assert_allclose(out(session), ablated @ W2, rtol=1e-5, atol=1e-5)


def test_layers_are_shown_in_rows_and_saved_in_that_order(session: Session) -> None:
    shown = ["/enc/0/relu", "/enc/1/attn", "out", "/dec/1/attn", "w1"]
    do(session, *(ShowTensor("net", tensor) for tensor in shown), SetParameter("layers.out", "draw", "bars"))
    names = ["first", "relu", "attn", "out", "attn_2", "w1"]
    centers = np.array([session.stage.layers[name].style.center for name in names])
    steps = (centers - centers[0]) / (1.08 * session.stage.layers["relu"].style.size)
    np.testing.assert_allclose(steps[:, :2], [[0, 0], [1, 0], [2, 0], [3, 0], [0, -1], [1, -1]], atol=2e-3)
    do(session, HideTensor("net", "out"), ShowTensor("net", "w2"))  # where that was
    np.testing.assert_allclose(session.stage.layers["w2"].style.center, centers[3])
    do(session, SetParameter("layers.w1", "draw", "surface"), Save())
    order = ["first", "relu", "attn", "attn_2", "w1", "w2"]
    assert list(load(session.scene.path).layers) == list(session.stage.layers) == order


def test_an_edited_file_and_what_is_shown_are_merged(session: Session) -> None:
    do(session, ShowTensor(*RELU))
    path = session.scene.path
    path.write_text(SCENE.replace("net:0/sum", "net.out") + 'other = { tensor = "net:dec/1/attn" }\n')
    do(session, Reload())
    assert list(session.stage.layers) == ["first", "other", "relu"]
    assert session.tensor_statistics.chosen == RELU
    np.testing.assert_allclose(pixels(session, "relu"), HIDDEN, rtol=1e-5, atol=1e-6)
    assert str(session.scene.layers["first"].attributes["tensor"]) == "net.out"
    do(session, Undo())
    assert list(session.stage.layers) == ["first", "other"]


def test_a_table_of_units_is_checked(session: Session) -> None:
    table = SCENE + "[models.net.ablate]\n"
    for entry, message in (
        ("relu = [1, -1]", "expected numbers of units from 0"),
        ("rely = [1]", 'did you mean "/enc/0/relu"'),
        ("relu = 1", "expected numbers of units"),
    ):
        with pytest.raises(SceneError, match=message):
            load(session.scene.path, text=table + entry)
    with pytest.raises(SceneError, match="only units inside of networks"):
        load(session.scene.path, text=SCENE + "[models.values.ablate]\nvalues = [1]\n")
    assert load(session.scene.path, text=table + "relu = [1, 3]").models["net"].ablated == {"/enc/0/relu": (1, 3)}


@pytest.mark.parametrize(
    ("value", "source"), [(np.nan, ("x", "an input of the network")), (3e38, ("/enc/0/sum", "MatMul"))]
)
def test_statistics_find_where_values_stop_being_finite(
    session: Session, value: float, source: tuple[str, str]
) -> None:
    do(session, ShowTensor("net", "out"))
    session.inspect_now()
    state = session.tensor_statistics.state
    assert state is not None and state.summary.nan == state.summary.infinite == 0
    np.testing.assert_allclose(state.summary.mean or 0.0, (HIDDEN @ W2).mean(), rtol=1e-4)
    np.testing.assert_allclose(state.peaks, np.abs(HIDDEN @ W2).max(0), rtol=1e-5)  # type: ignore[arg-type]
    assert session.tensor_statistics.source is None
    with session.stage.rewriting():
        session.stage.instances["values"].outputs["values"][...] = np.full((5, 3), value, np.float32)
    for _ in range(20):
        session.stage.step(0.1)
        session.running.stepped()
        session.inspect_now()
    assert session.tensor_statistics.source == source


def test_units_that_are_zero_in_all_frames_are_dead(session: Session) -> None:
    do(session, ShowTensor(*RELU), ToggleUnit(*RELU, 0))
    session.tensor_statistics.choose(*RELU)
    for _ in range(16):
        session.running.stepped()
        session.inspect_now()
    state = session.tensor_statistics.state
    assert state is not None and state.operator == "Relu"
    assert state.dead == 1 + int((HIDDEN.max(0)[1:] == 0.0).sum())
    ablated = HIDDEN.copy()
    ablated[:, 0] = 0.0
    assert state.saturated == pytest.approx((ablated == 0.0).mean())


def test_the_graph_is_shown_and_hidden(session: Session) -> None:
    do(session, ShowGraph("net"))
    assert list(session.stage.layers) == ["first", "wires", "nodes"]
    session.selection.picked = Row("nodes", 1)
    assert picked_node(session) == RELU
    do(session, Undo())
    assert list(session.stage.layers) == ["first"]
    do(session, Redo(), ShowGraph("net"))
    assert list(session.stage.layers) == ["first"]


def test_the_node_under_the_cursor_and_what_it_holds(session: Session) -> None:
    do(session, ShowGraph("net"))
    graph, style = session.stage.instances["net"].inside.graph, session.stage.layers["nodes"].style
    assert graph is not None
    pixels, _ = pixels_of(0.5 * style.size * graph.positions + style.center, session.camera, (640, 360))
    for row, pixel in enumerate(pixels):
        found = node_under(session.stage, session.camera, tuple(pixel), (640, 360), 4.0)
        assert found is not None and (found.model, found.row, found.node) == ("net", row, graph.nodes[row])
        gap = pixel - (0.0, found.radius + 3.9)
        assert node_under(session.stage, session.camera, tuple(gap), (640, 360), 4.0) is not None
    assert node_under(session.stage, session.camera, (1.0, 1.0), (640, 360), 4.0) is None
    flat = replace(session.camera, orthographic=True)
    (pixel, *_), _ = pixels_of(0.5 * style.size * graph.positions + style.center, flat, (640, 360))
    found = node_under(session.stage, flat, tuple(pixel), (640, 360), 4.0)
    assert found is not None and found.row == 0
    do(session, HoverNode("net", 1))
    session.inspect_now()
    found = session.hovered_node.summary
    assert found is not None and found.max == pytest.approx(HIDDEN.max(), rel=1e-5)
    with session.stage.rewriting():
        session.stage.instances["values"].outputs["values"][...] = 2.0 * X
    session.stage.step(0.1)
    session.running.stepped()
    time.sleep(EVERY)
    session.inspect_now()
    found = session.hovered_node.summary
    assert found is not None and found.max == pytest.approx(2.0 * HIDDEN.max(), rel=1e-5)
    do(session, ShowGraph("net"))  # no longer
    session.inspect_now()
    assert session.hovered_node.summary is None
    do(session, HoverNode())
    assert session.hovered_node.chosen is None


def test_two_networks_are_compared(steady: Gpu, tmp_path: Path) -> None:
    network(tmp_path)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", 2.0 * X)
    second = SCENE.replace("[layers]", SECOND + "[layers]")
    (tmp_path / "scene.toml").write_text(second)
    with Session(steady, tmp_path / "scene.toml") as session:
        session.clock.halt()
        do(session, CompareTensor("net", RELU[1], "other"))
        away = HIDDEN - np.maximum(2.0 * X @ W1, 0.0)
        np.testing.assert_allclose(pixels(session, "difference"), away, rtol=1e-5, atol=1e-5)
        assert list(session.stage.layers) == ["first", "relu", "relu_2", "difference"]  # next to each other
        np.testing.assert_allclose(pixels(session, "relu_2"), HIDDEN - away, rtol=1e-5, atol=1e-5)
        x = [session.stage.layers[name].style.center[0] for name in session.stage.layers]
        np.testing.assert_allclose(np.diff(x), 1.08 * session.stage.layers["relu"].style.size, rtol=2e-3)
        assert session.stage.layers["difference"].style.range == "symmetric"
        session.inspect_now()
        state = session.tensor_statistics.state
        assert state is not None and state.difference is not None and state.difference.norm is not None
        assert state.difference.norm == pytest.approx(np.linalg.norm(away), rel=1e-4)
        do(session, Save())
        saved = load(session.scene.path).layers["difference"].attributes
        assert [ref.text for ref in saved.values()] == [f"net:{RELU[1]}", f"other:{RELU[1]}"]  # type: ignore[union-attr]
        for name in ("relu", "relu_2"):
            pixels(session, name)
            extent = session.stage.layers[name].drawing.extent
            assert extent is not None
            np.testing.assert_allclose(extent.pair.numpy()[0], [0.0, (HIDDEN - away).max()], rtol=1e-5)
        do(session, ShareRange("net", RELU[1], "other", False), Save())
        assert all("compare" not in load(session.scene.path).layers[name].attributes for name in ("relu", "relu_2"))
        do(session, Undo())
        assert "compare" in session.scene.layers["relu"].attributes
        do(session, HideTensor("other", RELU[1]))
        assert "compare" not in session.scene.layers["relu"].attributes, "nothing is computed for what is hidden"
        do(session, Undo(), HideDifference("net", RELU[1], "other"))
        assert list(session.stage.layers) == ["first", "relu"]
        assert "compare" not in session.scene.layers["relu"].attributes
        do(session, Undo(), Undo())
        assert list(session.stage.layers) == ["first"]


def test_an_output_that_is_drawn_has_statistics(session: Session) -> None:
    do(session, ShowTensor("values", "values"))
    session.inspect_now()
    assert session.tensor_statistics.state is not None and session.tensor_statistics.state.shape == X.shape
    layer = inner_layer("result", "net", "out", session.stage.layers["first"].style.model_copy())
    drawn = replace(layer, attributes={"tensor": OutputRef("net", "out")})
    session.scene_edits.show_tensor(drawn)
    do(session, ShowTensor("net", "out"))
    session.inspect_now()
    state = session.tensor_statistics.state
    assert state is not None and state.shape == (5, 2) and "out" not in session.stage.instances["net"].observed_tensors


def test_statistics_are_exact_while_time_stands_still(session: Session) -> None:
    do(session, ShowTensor(*RELU))

    def mean() -> float | None:
        session.request_readbacks()
        session.gpu.submit()
        wait_for_readbacks(session.gpu)
        collect_readbacks(session)
        state = session.tensor_statistics.state
        return None if state is None else state.summary.mean

    assert session.clock.idle and mean() == pytest.approx(HIDDEN.mean(), rel=1e-5)
    do(session, ToggleUnit(*RELU, 0))
    expected = HIDDEN[:, 1:].sum() / HIDDEN.size
    assert mean() == pytest.approx(expected, rel=1e-5)
    do(session, ToggleUnit(*RELU, 1))
    session.clock.play(True)
    assert not session.clock.idle and mean() == pytest.approx(expected, rel=1e-5), "not in every frame"
    session.inspect_now()
    state = session.tensor_statistics.state
    assert state is not None and state.summary.mean == pytest.approx(HIDDEN[:, 2:].sum() / HIDDEN.size, rel=1e-5)


@pytest.mark.parametrize(
    "command",
    [
        ShowTensor("nett", "x"),
        ShowGraph("nett"),
        ShowGradient("nett", RELU[1], 0, "x"),
        CompareTensor(*RELU, "nett"),
        CompareTensor(*RELU, "net"),
        ToggleUnit("nett", RELU[1], 0),
    ],
)
def test_commands_about_models_that_there_are_not_change_nothing(session: Session, command) -> None:
    do(session, ShowTensor(*RELU))
    before = session.scene_edits.extras
    with pytest.raises((ParameterError, InputError), match=r'unknown model "nett"; did you mean "net"|itself'):
        session.carry_out(command)
    assert session.scene_edits.extras == before and list(session.stage.layers) == ["first", "relu"]
    do(session, ShowTensor("net", "/enc/1/attn"), HideTensor(*RELU))


def test_a_model_that_is_gone_from_the_file_takes_along_what_was_shown_of_it(steady: Gpu, tmp_path: Path) -> None:
    network(tmp_path)
    for name in "xy":
        np.save(tmp_path / f"{name}.npy", X)
    file = tmp_path / "scene.toml"
    file.write_text(SCENE.replace("[layers]", SECOND + "[layers]"))
    with Session(steady, file) as session:
        session.clock.halt()
        do(session, CompareTensor(*RELU, "other"), ToggleUnit("other", RELU[1], 1))
        file.write_text(SCENE)
        do(session, Reload())
        assert list(session.stage.layers) == ["first", "relu"]
        assert not compared(session.scene.layers["relu"]) and not session.scene_edits.extras.ablated
        do(session, Save())
        assert list(load(file).layers) == ["first", "relu"] and not session.unsaved
        do(session, Undo(), Undo(), Save())
        assert list(load(file).layers) == ["first"]


def test_three_networks_that_are_compared_have_one_range(steady: Gpu, tmp_path: Path) -> None:
    network(tmp_path)
    third = SECOND.replace("doubled", "tripled").replace("y.npy", "z.npy").replace("other", "third")
    for name, factor in (("x", 1.0), ("y", 2.0), ("z", 3.0)):
        np.save(tmp_path / f"{name}.npy", factor * X)
    (tmp_path / "scene.toml").write_text(SCENE.replace("[layers]", SECOND + third + "[layers]"))
    tensor = RELU[1]

    def ranges(session: Session) -> list[float]:
        found = []
        for name in ("relu", "relu_2", "relu_3"):
            if name in session.stage.layers:
                pixels(session, name)
                extent = session.stage.layers[name].drawing.extent
                assert extent is not None
                found.append(extent.pair.numpy()[0, 1] / HIDDEN.max())
        return found

    with Session(steady, tmp_path / "scene.toml") as session:
        session.clock.halt()
        do(session, CompareTensor("net", tensor, "other"), CompareTensor("other", tensor, "third"))
        assert ranges(session) == pytest.approx([3.0, 3.0, 3.0])
        assert sharing_range(session, "relu_2") == ["relu_2", "relu_3", "relu"], "their form is chosen together"
        do(session, Save())
        refs = load(session.scene.path).layers["relu"].attributes
        assert [refs[key].text for key in ("compare", "compare_2")] == [f"other:{tensor}", f"third:{tensor}"]  # type: ignore[union-attr]
        do(session, ShareRange("net", tensor, "other", False))
        assert ranges(session) == pytest.approx([3.0, 2.0, 3.0])
        do(session, ShareRange("third", tensor, "other", True))
        assert ranges(session) == pytest.approx([3.0, 3.0, 3.0])
        do(session, HideDifference("other", tensor, "third"))
        assert ranges(session) == pytest.approx([2.0, 2.0])
        do(session, Undo(), HideTensor("net", tensor))
        assert "relu" not in session.stage.layers and ranges(session) == pytest.approx([3.0, 3.0])
        do(session, HideTensor("other", tensor))
        assert ranges(session) == pytest.approx([3.0]) and not compared(session.scene.layers["relu_3"])


def test_a_picked_element_has_its_index_and_its_value(session: Session) -> None:
    do(session, ShowTensor(*RELU))
    forms = {"image": (3 * 6 + 2, (3, 2)), "bars": (3 * 6 + 2, (3, 2)), "points": (3, (3,))}
    for form, (row, index) in forms.items():
        do(session, SetParameter("layers.relu", "draw", form))
        layer = session.stage.layers["relu"]
        layer.prepare()
        values = RowValues(session.stage)
        values.begin(layer, row)
        values.follow(layer, row, 1)
        session.gpu.sync()
        values.follow(layer, row, 1)
        facts = {fact.name: fact.value for fact in values.facts}
        assert facts["index"] == index
        np.testing.assert_allclose(facts["tensor"], HIDDEN[index], rtol=1e-5)
        assert (values.position() is None) == (form == "image")
