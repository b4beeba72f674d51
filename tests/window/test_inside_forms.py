"""The inside of networks with the mouse: forms, a gradient by a weight, two networks, a flight, a saved file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from imgui_bundle import icons_fontawesome_6 as icons
from onnx import helper, numpy_helper

from vertigrad.renderer.layers.tensor import TensorLayer
from vertigrad.session.row_set import pixels_of

from .desktop import RIGHT
from .driver import Driver, Items

SCENE = """version = 1
[view]
bloom = 0
quality = "low"
[models.picture]
type = "array"
file = "x.npy"
[models.net]
type = "onnx"
file = "net.onnx"
inputs = { x = "picture.values" }
[models.later]
type = "onnx"
file = "later.onnx"
inputs = { x = "picture.values" }
[layers]
"""
RNG = np.random.default_rng(7)
X, W1, LATER, W2 = (RNG.normal(size=shape).astype(np.float32) for shape in ((2, 4, 6), (6, 6), (6, 6), (6, 3)))
STEM = np.maximum(X @ W1, 0.0)
NEAR = {"rtol": 1e-4, "atol": 1e-5}


def network(path: Path, weight: np.ndarray) -> None:
    """A plane of two channels, an attention over its rows, points of its rows, and their mean."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["stem"]),
        helper.make_node("Softmax", ["stem"], ["attention"], axis=-1),
        helper.make_node("MatMul", ["stem", "w2"], ["points"]),
        helper.make_node("ReduceMean", ["points"], ["out"], axes=[0, 1], keepdims=0),
    ]
    weights = [numpy_helper.from_array(weight, "w1"), numpy_helper.from_array(W2, "w2")]
    x, out = (helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", X.shape), ("out", [3])))
    graph = helper.make_graph(nodes, "net", [x], [out], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def test_the_inside_of_two_networks_with_the_mouse(opened: Callable[..., Driver], items: Items, tmp_path: Path) -> None:
    network(tmp_path / "net.onnx", W1)
    network(tmp_path / "later.onnx", LATER)
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "scene.toml").write_text(SCENE)
    driver = opened(tmp_path / "scene.toml", size=(1000, 880))
    driver.viewer.gui.workspace.show("Graph")
    driver.frames()
    driver.draws_viewport = False  # what layers compute is compared, which does not need it
    tensors_in_every_form(driver, items)
    a_gradient_by_a_weight(driver, items)
    two_networks_side_by_side(driver, items)
    a_flight_along_the_graph(driver, items)
    everything_comes_back(driver)


def drawn(driver: Driver, layer: str, attribute: str, form: str) -> np.ndarray:
    """What the layer computes for its form, once it has that."""
    running = driver.session.stage.layers[layer]
    assert isinstance(running, TensorLayer)

    def has_form() -> bool:
        running.prepare()
        return type(running.form).__name__ == f"{form.title()}Form"

    driver.frames_until(has_form)
    return running.form.attributes[attribute].numpy()  # type: ignore[union-attr]


def show(driver: Driver, items: Items, tensor: str, layer: str) -> None:
    driver.click(items.at(f"##{tensor}"))
    driver.frames_until(lambda: layer in driver.session.stage.layers)
    driver.frames_until(lambda: driver.session.tensor_statistics.state is not None)
    driver.frames(2)


def tensors_in_every_form(driver: Driver, items: Items) -> None:
    show(driver, items, "out", "out")
    bars = (STEM @ W2).mean((0, 1))
    heights = 0.25 * bars / np.abs(bars).max()
    np.testing.assert_allclose(drawn(driver, "out", "position", "bars")[:, 1], heights, **NEAR)
    show(driver, items, "attention", "attention")
    pixels = drawn(driver, "attention", "pixels", "image")
    heads = np.exp(STEM) / np.exp(STEM).sum(-1, keepdims=True)
    low, high = (end(heads, axis=(1, 2), keepdims=True) for end in (np.min, np.max))
    expected = ((heads - low) / (high - low)).reshape(-1)  # each head by its own range
    np.testing.assert_allclose(np.sort(pixels[np.isfinite(pixels)]), np.sort(expected), **NEAR)
    show(driver, items, "stem", "stem")
    forms = {"surface": ("color", STEM[0]), "bars": ("color", STEM.reshape(-1, 1)), "volume": ("density", STEM)}
    for form, (attribute, values) in forms.items():
        driver.click(items.at(f"###draw {form}"))
        np.testing.assert_allclose(drawn(driver, "stem", attribute, form), values, **NEAR)
    show(driver, items, "points", "points")
    driver.click(items.at("###draw points"))
    rows = (STEM @ W2).reshape(-1, 3)
    style = driver.session.stage.layers["points"].style
    positions = 0.5 * style.size * rows / np.abs(rows).max() + style.center
    np.testing.assert_allclose(drawn(driver, "points", "position", "points"), positions, **NEAR)
    driver.click(items.at("###draw lines"))  # it fits as well: two lines of four rows
    assert drawn(driver, "points", "position", "lines").shape == (2, 4, 3)
    driver.key("ctrl+z")
    drawn(driver, "points", "position", "points")
    driver.draws_viewport = True
    driver.frames(1)  # bars, an image, a volume and points
    driver.draws_viewport = False


def a_gradient_by_a_weight(driver: Driver, items: Items) -> None:
    driver.click(items.at("##gradient by w2"))
    driver.frames_until(lambda: "gradient" in driver.session.stage.layers)
    pixels = drawn(driver, "gradient", "pixels", "image")
    np.testing.assert_allclose(pixels, np.outer(STEM.mean((0, 1)), [1, 0, 0]), **NEAR)
    layer = driver.session.stage.layers["gradient"]
    assert layer.style.colormap == "vik"
    np.testing.assert_allclose(layer.drawing.extent.pair.numpy()[0], pixels.max() * np.float32([-1, 1]), **NEAR)


def two_networks_side_by_side(driver: Driver, items: Items) -> None:
    driver.click(items.at("###hide stem"))
    show(driver, items, "stem", "stem")
    driver.click(items.at("compare with later"))
    driver.frames_until(lambda: "difference" in driver.session.stage.layers)
    driver.frames()
    driver.click(items.at("###draw bars"))  # of both
    others = np.maximum(X @ LATER, 0.0)
    most = max(STEM.max(), others.max())
    np.testing.assert_allclose(bar_heights(driver, "stem"), STEM.reshape(-1) / most, **NEAR)
    np.testing.assert_allclose(bar_heights(driver, "stem_2"), others.reshape(-1) / most, **NEAR)
    driver.click(items.at("one range"))
    np.testing.assert_allclose(bar_heights(driver, "stem_2"), others.reshape(-1) / others.max(), **NEAR)
    driver.click(items.at("one range"))
    driver.click(items.at("stop comparing"))
    driver.frames_until(lambda: not {"stem_2", "difference"} & driver.session.stage.layers.keys())
    driver.key("ctrl+z")
    driver.frames_until(lambda: "difference" in driver.session.stage.layers)
    shown = drawn(driver, "difference", "pixels", "image")
    away = STEM - np.maximum(X @ LATER, 0.0)
    np.testing.assert_allclose(np.sort(shown[np.isfinite(shown)]), np.sort(away.reshape(-1)), **NEAR)
    references = [driver.session.scene.layers[name].attributes for name in ("stem", "stem_2")]
    assert [(one["tensor"].text, one["compare"].text) for one in references] == [
        *(("net:stem", "later:stem"), ("later:stem", "net:stem"))
    ]


def bar_heights(driver: Driver, layer: str) -> np.ndarray:
    """Relative to the highest that there may be."""
    style = driver.session.stage.layers[layer].style
    return (drawn(driver, layer, "position", "bars")[:, 1] - style.center[1]) / (0.5 * style.height)


def a_flight_along_the_graph(driver: Driver, items: Items) -> None:
    session = driver.session
    driver.click(items.at(icons.ICON_FA_CUBES))
    driver.frames_until(lambda: "nodes" in session.stage.layers)
    driver.frames_until(lambda: not session.cameras.moving, most=200)
    graph, style = session.stage.instances["net"].inside.graph, session.stage.layers["nodes"].style
    positions = 0.5 * style.size * graph.positions + style.center

    def spread() -> float:
        pixels, _ = pixels_of(positions, session.camera, (900, 600))
        return float(np.linalg.norm(np.ptp(np.array(pixels), axis=0)))

    before = spread()
    assert before > 200.0, "the camera looks at the graph"
    middle = (340, 260)
    driver.hold(middle, RIGHT)
    driver.desktop.xdotool("keydown", "w")
    driver.frames_until(lambda: spread() > 1.3 * before)  # nearer, until it is larger
    driver.desktop.xdotool("keyup", "w")
    yaw = session.camera.yaw
    driver.carry(middle, (400, 270))
    driver.desktop.release(RIGHT)
    driver.frames(2)
    assert session.camera.yaw != yaw


def everything_comes_back(driver: Driver) -> None:
    session = driver.session
    before = {name: (spec.attributes, session.stage.layers[name].style) for name, spec in session.scene.layers.items()}
    driver.key("ctrl+s")
    driver.frames_until(lambda: not session.unsaved)
    driver.key("F5")
    driver.frames_until(lambda: session.stage.layers["stem"].style is not before["stem"][1])
    driver.frames_until(lambda: session.commands.current is None, most=300)
    after = {name: (spec.attributes, session.stage.layers[name].style) for name, spec in session.scene.layers.items()}
    assert (
        list(after)
        == list(before)
        == [*("out", "attention", "points", "gradient", "stem", "stem_2", "difference", "wires", "nodes")]
    )
    assert after == before
    pixels = drawn(driver, "gradient", "pixels", "image")
    np.testing.assert_allclose(pixels, np.outer(STEM.mean((0, 1)), [1, 0, 0]), **NEAR)
    assert session.stage.layers["points"].style.draw == "points"
