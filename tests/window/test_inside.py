"""The inside of a network by real clicks: a tensor is shown, its units are ablated, and it is hidden again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui
from onnx import helper, numpy_helper

from vertigrad.panels.inside_units import UNIT
from vertigrad.panels.tensor_captions import captions
from vertigrad.session.shown_tensors import picked_element

from ..models.test_inside import W1, W2, network
from .driver import Driver
from .test_selection import on_screen

SCENE = """version = 1
[view]
bloom = 0
quality = "low"
[models.values]
type = "array"
file = "x.npy"
[models.net]
type = "onnx"
file = "net.onnx"
inputs = { x = "values.values" }
[layers]
first = { tensor = "net:0/sum" }
"""
X = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
HIDDEN = np.maximum(X @ W1, 0.0)
RELU = "/enc/0/relu"


@pytest.fixture
def driver(opened, tmp_path: Path) -> Driver:
    network(tmp_path)
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "scene.toml").write_text(SCENE)
    driver = opened(tmp_path / "scene.toml", size=(1100, 760))
    driver.viewer.gui.workspace.show("Graph")
    driver.frames()
    return driver


def out(driver: Driver) -> np.ndarray:
    return driver.session.stage.instances["net"].outputs["out"].numpy()


def test_a_click_shows_a_tensor_and_another_one_hides_it(
    driver: Driver, items, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = driver.session
    driver.frames(2)
    driver.click(items.at(f"##{RELU}"))
    driver.frames_until(lambda: session.tensor_statistics.state is not None)
    assert list(session.stage.layers) == ["first", "relu"]
    state = session.tensor_statistics.state
    assert state.operator == "Relu" and state.summary.max == pytest.approx(HIDDEN.max(), rel=1e-5)
    assert state.dead == int((HIDDEN.max(0) == 0).sum())
    assert state.saturated == pytest.approx((HIDDEN == 0).mean())
    left, top, *_ = items.rects["units"]
    side = UNIT * driver.viewer.gui.scale
    driver.click((left + 2.5 * side, top + 0.5 * side))
    ablated = HIDDEN.copy()
    ablated[:, 2] = 0.0
    np.testing.assert_allclose(out(driver), ablated @ W2, rtol=1e-5, atol=1e-5)
    driver.frames_until(lambda: session.tensor_statistics.state.saturated == pytest.approx((ablated == 0).mean()))
    driver.key("ctrl+z")
    np.testing.assert_allclose(out(driver), HIDDEN @ W2, rtol=1e-5, atol=1e-5)
    driver.frames_until(lambda: not session.cameras.moving, most=200)
    names_are_below_tensors(driver)
    driver.click(items.at("###hide /enc/0/sum"))
    assert list(session.stage.layers) == ["relu"]
    driver.key("ctrl+z")
    driver.click(items.at("##/enc/0/sum"))
    assert session.tensor_statistics.chosen == ("net", "/enc/0/sum")
    driver.click(on_screen(driver, session.stage.layers["relu"].style.center))
    driver.frames_until(lambda: session.tensor_statistics.chosen == ("net", RELU))  # of which an element was picked
    picked = picked_element(session)
    assert picked is not None and picked[1] == RELU and picked[2] // 6 == 2  # the row in the middle
    driver.frames()
    driver.click(items.at("receptive field"))
    assert f"gradient of {RELU}[{picked[2]}]" in session.stage.instances["net"].observed_tensors
    driver.key("ctrl+z")
    gradients_of_a_target(driver, items)
    driver.click(items.at(f"##{RELU}"))  # its statistics again; a second click hides it
    assert session.tensor_statistics.chosen == ("net", RELU)
    driver.click(items.at(f"##{RELU}"))
    assert list(session.stage.layers) == ["first"]
    driver.key("ctrl+z")
    assert list(session.stage.layers) == ["first", "relu"]
    the_node_under_the_mouse_has_a_label(driver, items, monkeypatch)


def names_are_below_tensors(driver: Driver) -> None:
    pane = driver.viewer.gui.panes[0]
    found = {one.text: one for one in captions(driver.session, (pane.width, pane.height))}
    assert list(found) == ["net:/enc/0/sum", f"net:{RELU}"] and found[f"net:{RELU}"].chosen
    x, y = on_screen(driver, driver.session.stage.layers["relu"].style.center)
    left, top = found[f"net:{RELU}"].pixel
    assert abs(left + pane.left - x) < 20 and y < top + pane.top < pane.top + pane.height


def gradients_of_a_target(driver: Driver, items) -> None:
    def observed(name: str) -> np.ndarray:
        """Once it has been recorded, in slices between frames."""
        driver.frames_until(lambda: name in driver.session.stage.instances["net"].observed_tensors)
        driver.frames(1)
        return driver.session.stage.instances["net"].observed_tensors[name].numpy()

    by_relu = np.zeros((5, 6), np.float32)
    by_relu[0] = W2[:, 0]
    driver.click(items.at(f"##gradient by {RELU}"))
    np.testing.assert_allclose(observed(f"gradient of out[0] by {RELU}"), by_relu, rtol=1e-5)
    driver.click(items.at("###by x"))
    by_x = np.zeros((5, 3), np.float32)
    by_x[0] = (W1 * (X[:1] @ W1 > 0)) @ W2[:, 0]
    np.testing.assert_allclose(observed("gradient of out[0] by x"), by_x, rtol=1e-5, atol=1e-6)
    driver.type_into(items.at("##element"), "3")
    driver.key("Return")
    by_relu = np.zeros((5, 6), np.float32)
    by_relu[1] = W2[:, 1]
    np.testing.assert_allclose(observed(f"gradient of out[3] by {RELU}"), by_relu, rtol=1e-5)
    assert "gradient of out[3] by x" in driver.session.stage.instances["net"].observed_tensors
    driver.click(items.at(f"###hide gradient of out[3] by {RELU}"))
    driver.click(items.at("###by x"))
    driver.frames_until(lambda: {*driver.session.stage.layers} == {"first", "relu"})


def the_node_under_the_mouse_has_a_label(driver: Driver, items, monkeypatch: pytest.MonkeyPatch) -> None:
    session = driver.session
    driver.click(items.at(icons.ICON_FA_CUBES))
    driver.frames_until(lambda: "nodes" in session.stage.layers)
    driver.frames_until(lambda: not session.cameras.moving, most=200)
    graph, style = session.stage.instances["net"].inside.graph, session.stage.layers["nodes"].style
    row = [node.name for node in graph.nodes].index(RELU)
    driver.desktop.move(*on_screen(driver, 0.5 * style.size * graph.positions[row] + style.center))
    driver.frames_until(lambda: session.hovered_node.summary is not None)
    assert session.hovered_node.chosen == ("net", row)
    assert session.hovered_node.summary.max == pytest.approx(HIDDEN.max(), rel=1e-5)
    texts: list[str] = []
    draw = imgui.text_colored
    monkeypatch.setattr(imgui, "text_colored", lambda tint, text: (texts.append(text), draw(tint, text)))
    driver.frames(2)
    assert "net · Relu · f32 5×6" in texts
    driver.desktop.move(*items.at(icons.ICON_FA_CUBES))
    driver.frames()
    assert session.hovered_node.chosen is None


@pytest.mark.turns(2)
@pytest.mark.parametrize("count", [2, 5])
def test_gradients_by_each_input(opened, items, tmp_path: Path, count: int) -> None:
    names = [f"part{number}" for number in range(count)]
    entry, row = helper.make_tensor_value_info, [1.0, 2.0]
    nodes = [helper.make_node("Sum", names, ["sum"]), helper.make_node("Mul", ["sum", "sum"], ["out"])]
    graph = helper.make_graph(nodes, "net", [entry(name, 1, [2]) for name in names], [entry("out", 1, [2])])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.float32(row))
    links = ", ".join(f'{name} = "values.values"' for name in names)
    scene = (
        SCENE.partition("[models.net]")[0] + f'[models.net]\ntype = "onnx"\nfile = "net.onnx"\ninputs = {{ {links} }}\n'
    )
    (tmp_path / "scene.toml").write_text(scene + "[layers]\n")
    driver = opened(tmp_path / "scene.toml", size=(1100, 760))
    driver.viewer.gui.workspace.show("Graph")
    driver.frames()
    if count > 2:
        driver.click(items.at("##inputs"))
        driver.click(items.at("part1##by"))
    else:
        driver.click(items.at("###by part1"))
    name = "gradient of out[0] by part1"
    driver.frames_until(lambda: name in driver.session.stage.instances["net"].observed_tensors)
    driver.frames(1)
    found = driver.session.stage.instances["net"].observed_tensors[name].numpy()
    np.testing.assert_allclose(found, [2 * count * row[0], 0.0])


WEIGHTS = np.random.default_rng(2).normal(size=(4, 2, 3, 3)).astype(np.float32)
PARTS = np.random.default_rng(3).normal(size=(1, 2, 6, 6)).astype(np.float32)


def with_channels() -> tuple[list[onnx.NodeProto], np.ndarray]:
    """A convolution, whose channels are added."""
    nodes = [
        helper.make_node("Conv", ["x", "weights"], ["inner"]),
        helper.make_node("ReduceSum", ["inner", "axis"], ["out"], keepdims=0),
    ]
    windows = np.lib.stride_tricks.sliding_window_view(PARTS, (3, 3), axis=(2, 3))
    return nodes, np.einsum("nchwij,ocij->nohw", windows, WEIGHTS)


def with_heads() -> tuple[list[onnx.NodeProto], np.ndarray]:
    """Attention maps of two heads, which are added."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["keys"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["x", "keys"], ["products"]),
        helper.make_node("Softmax", ["products"], ["inner"], axis=-1),
        helper.make_node("ReduceSum", ["inner", "axis"], ["out"], keepdims=0),
    ]
    powers = np.exp(PARTS @ PARTS.swapaxes(2, 3))
    return nodes, powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("of", [with_channels, with_heads])
def test_a_click_ablates_a_channel_or_a_head(opened, items, tmp_path: Path, of) -> None:
    nodes, inner = of()
    entry, size = helper.make_tensor_value_info, [1, *inner.shape[2:]]
    weights = [numpy_helper.from_array(WEIGHTS, "weights"), numpy_helper.from_array(np.int64([1]), "axis")]
    graph = helper.make_graph(nodes, "net", [entry("x", 1, PARTS.shape)], [entry("out", 1, size)], weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", PARTS)
    (tmp_path / "scene.toml").write_text(SCENE.partition("[layers]")[0] + "[layers]\n")
    driver = opened(tmp_path / "scene.toml", size=(1100, 760))
    driver.viewer.gui.workspace.show("Graph")
    driver.frames(2)
    np.testing.assert_allclose(out(driver), inner.sum(1)[0], rtol=1e-4, atol=1e-5)
    driver.click(items.at("##inner"))
    driver.frames_until(lambda: driver.session.tensor_statistics.state is not None)
    driver.frames()
    left, top, *_ = items.rects["units"]
    side = UNIT * driver.viewer.gui.scale
    driver.click((left + 1.5 * side, top + 0.5 * side))
    driver.frames(1)
    np.testing.assert_allclose(out(driver), np.delete(inner, 1, axis=1).sum(1)[0], rtol=1e-4, atol=1e-5)
    driver.key("ctrl+z")
    np.testing.assert_allclose(out(driver), inner.sum(1)[0], rtol=1e-4, atol=1e-5)
