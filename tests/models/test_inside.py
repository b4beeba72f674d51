"""Tensors inside a running network: observed, and units of them set to zero, against NumPy; names and their ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from vertigrad import Tensor
from vertigrad.errors import InputError, OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.models.inside import HeldInside, Observed, resolved
from vertigrad.models.neural import onnx_program
from vertigrad.models.neural.onnx import Onnx, declare
from vertigrad.models.neural.onnx_graph import edges_between, layout
from vertigrad.onnx_import import Network
from vertigrad.onnx_import.part import MOST_NODES, nodes_between
from vertigrad.ops.summary import Summary
from vertigrad.tensor import f32

RNG = np.random.default_rng(3)
W1, W2 = (RNG.normal(size=shape).astype(np.float32) for shape in ((3, 6), (6, 2)))
X = RNG.normal(size=(5, 3)).astype(np.float32)
NAMES = ["/enc/0/sum", "/enc/0/relu", "/enc/1/attn", "/dec/1/attn", "out"]


def network(folder: Path) -> Path:
    """out = view(relu(x · W1)) · W2 twice over, whose parts have names as exporters write them."""
    entry = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["/enc/0/sum"]),
        helper.make_node("Relu", ["/enc/0/sum"], ["/enc/0/relu"]),
        helper.make_node("Transpose", ["/enc/0/relu"], ["/enc/1/attn"], perm=[1, 0]),
        helper.make_node("Transpose", ["/enc/1/attn"], ["/dec/1/attn"], perm=[1, 0]),
        helper.make_node("MatMul", ["/dec/1/attn", "w2"], ["out"]),
    ]
    nodes.insert(0, helper.make_node("Constant", [], ["w2"], value=numpy_helper.from_array(W2)))  # as some exporters do
    weights = [numpy_helper.from_array(W1, "w1")]
    graph = helper.make_graph(nodes, "net", [entry("x", 1, [5, 3])], [entry("out", 1, [5, 2])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    return folder / "net.onnx"


@pytest.fixture
def model(steady: Gpu, tmp_path: Path) -> Iterator[Onnx]:
    with running(network(tmp_path)) as created:
        yield created


@contextmanager
def running(path: Path, values: np.ndarray = X) -> Iterator[Onnx]:
    kind, faults = declare({"file": str(path), "inputs": {"x": "other.values"}}, Path)
    assert not faults
    with Tensor.from_numpy(values) as x:
        created = kind("net", kind.Params(file=path), {"x": x}, 0)  # pyright: ignore[reportCallIssue]
        yield created  # pyright: ignore[reportReturnType]
        created.close()


def hidden() -> np.ndarray:
    return np.maximum(X @ W1, 0.0)


def test_observed_tensors_hold_what_nodes_compute_and_outputs_stay_the_same_tensors(model: Onnx) -> None:
    out = model.outputs()["out"]
    assert list(model.inside.known()) == ["graph", "graph.wires", *NAMES, "w1", "w2"]
    model.inside.observe(Observed(("/enc/0/sum", "relu")))
    model.step(0.1)
    assert list(model.inside.tensors()) == ["/enc/0/sum", "/enc/0/relu"]
    for name, expected in (("/enc/0/sum", X @ W1), ("/enc/0/relu", hidden())):
        np.testing.assert_allclose(model.inside.tensors()[name].numpy(), expected, rtol=1e-5, atol=1e-6)
    assert model.outputs()["out"] is out
    np.testing.assert_allclose(out.numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)
    model.inside.observe(Observed())
    model.step(0.1)
    assert not model.inside.tensors()
    np.testing.assert_allclose(out.numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)


def test_what_is_double_is_not_observed(steady: Gpu, tmp_path: Path) -> None:
    if "shader-f64" not in steady.features:
        pytest.skip("no f64 here")
    entry, double = helper.make_tensor_value_info, onnx.TensorProto.DOUBLE
    nodes = [
        helper.make_node("Cast", ["x"], ["wide"], to=double),
        helper.make_node("Exp", ["wide"], ["power"]),
        helper.make_node("Cast", ["power"], ["out"], to=onnx.TensorProto.FLOAT),
    ]
    graph = helper.make_graph(nodes, "net", [entry("x", 1, [5, 3])], [entry("out", 1, [5, 3])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(proto, tmp_path / "double.onnx")
    with running(tmp_path / "double.onnx") as model:
        with pytest.raises(InputError, match="'power' is double"):
            model.inside.observe(Observed(("power",)))
        model.step(0.1)
        np.testing.assert_allclose(model.outputs()["out"].numpy(), np.exp(X), rtol=1e-6)


def test_units_of_an_observed_tensor_are_set_to_zero_without_a_recording(model: Onnx, monkeypatch) -> None:
    model.inside.observe(Observed(("/enc/0/relu",)))
    recorded = []
    monkeypatch.setattr(model.inside, "_record", recorded.append)
    masked = hidden()
    masked[:, [1, 4]] = 0.0
    model.inside.observe(Observed(("/enc/0/relu",), {"/enc/0/relu": (1, 4)}))
    model.step(0.1)
    np.testing.assert_allclose(model.inside.tensors()["/enc/0/relu"].numpy(), masked, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.outputs()["out"].numpy(), masked @ W2, rtol=1e-5, atol=1e-5)
    model.inside.observe(Observed(("/enc/0/relu",)))
    model.step(0.1)
    np.testing.assert_allclose(model.outputs()["out"].numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)
    assert not recorded


def test_a_view_is_masked_alone(model: Onnx) -> None:
    """The transpose shares memory with what it reads, which must not change."""
    model.inside.observe(Observed(("/enc/0/relu", "/enc/1/attn"), {"/enc/1/attn": (0,)}))
    model.step(0.1)
    masked = hidden()
    np.testing.assert_allclose(model.inside.tensors()["/enc/0/relu"].numpy(), masked, rtol=1e-5, atol=1e-6)
    masked[:, 0] = 0.0  # its units are the first of its axes, (6, 5)
    np.testing.assert_allclose(model.inside.tensors()["/enc/1/attn"].numpy(), masked.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.outputs()["out"].numpy(), masked @ W2, rtol=1e-5, atol=1e-5)


def test_the_graph_has_positions_wires_and_what_tensors_hold_now(model: Onnx) -> None:
    model.inside.observe(Observed(("graph", "graph.wires", *NAMES[:2])))
    model.step(0.1)
    nodes, wires = (model.inside.tensors()[name].numpy() for name in ("graph", "graph.wires"))
    held = [X @ W1, hidden(), hidden().T, hidden(), hidden() @ W2]
    expected = [np.log10(np.sqrt(np.square(values).mean())) for values in held]
    np.testing.assert_allclose(nodes[:, 3], expected, rtol=1e-4, atol=1e-5)
    graph = model.inside.graph
    assert graph is not None and [node.name for node in graph.nodes] == NAMES
    assert graph.nodes[2][1:] == ("Transpose", f32, (6, 5))
    np.testing.assert_array_equal(graph.positions, nodes[:, :3])
    for row, values in enumerate(held):
        summary = Summary.of(graph.read(row).result(), f32)
        np.testing.assert_allclose((summary.min, summary.max), (values.min(), values.max()), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(wires, np.stack([nodes[:-1, :3], nodes[1:, :3]], 1))  # a chain
    np.testing.assert_allclose(model.outputs()["out"].numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)


def test_edges_lead_through_what_has_no_tensor_of_its_own() -> None:
    sources = {"a": ("x",), "b": ("a",), "c": ("b", "a"), "d": ("c", "b")}
    assert edges_between(["a", "c", "d"], sources) == [(0, 1), (0, 2), (1, 2)]
    places = layout(3, [(0, 1), (0, 2), (1, 2)])
    assert np.abs(places).max() == 1.0 and (np.diff(places[:, 0]) > 0).all()


def test_weights_are_observed_as_they_are_in_the_file(model: Onnx) -> None:
    model.inside.observe(Observed(("w1", "w2", "out")))
    for name, weight in (("w1", W1), ("w2", W2)):
        np.testing.assert_array_equal(model.inside.tensors()[name].numpy(), weight)
    assert model.inside.unit_axis("w1") is None and model.inside.unit_axis("out") == 1


def test_what_cannot_be_observed_changes_nothing(model: Onnx) -> None:
    model.inside.observe(Observed(("/enc/0/relu",)))
    for wrong, message in (
        (Observed(("/enc/0/rely",)), 'did you mean "/enc/0/relu"'),
        (Observed(("/enc/0/relu",), {"/enc/0/relu": (6,)}), "its units are 0 to 5"),
    ):
        with pytest.raises(InputError, match=message):
            model.inside.observe(wrong)
        model.step(0.1)
        np.testing.assert_allclose(model.outputs()["out"].numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)
        assert list(model.inside.tensors()) == ["/enc/0/relu"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("out", "out"),
        ("/enc/0/relu", "/enc/0/relu"),
        ("relu", "/enc/0/relu"),
        ("0/sum", "/enc/0/sum"),
        ("gradient of relu[3] by x", "gradient of /enc/0/relu[3] by x"),
        ("gradient of out[3] by 0/relu", "gradient of out[3] by /enc/0/relu"),
    ],
)
def test_a_tensor_is_found_by_the_end_of_its_name(name: str, found: str) -> None:
    assert resolved(name, NAMES) == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("attn", 'end of 2 names: "/enc/1/attn", "/dec/1/attn"; give more of it'),
        ("ttn", 'did you mean "/enc/1/attn", "/dec/1/attn"?'),
        ("ENC/0", 'did you mean "/enc/0/sum", "/enc/0/relu"?'),
        ("oud", 'did you mean "out"?'),
        ("something else", "it has 5 tensors, such as"),
        ("", "it has 5 tensors, such as"),
    ],
)
def test_a_name_that_is_not_found_is_answered_with_near_ones(name: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        resolved(name, NAMES)
    assert message in str(error.value)


def test_gradients_of_an_output_by_activations_and_weights(model: Onnx) -> None:
    by_relu = np.zeros((5, 6), np.float32)
    by_relu[1] = W2[:, 1]
    names = ("gradient of out[3] by 0/relu", "gradient of out[3] by /enc/0/sum", "out", "/enc/0/relu")
    model.inside.observe(Observed(names))
    for _ in range(2):
        found = {name: tensor.numpy() for name, tensor in model.inside.tensors().items()}
        np.testing.assert_allclose(found["gradient of out[3] by /enc/0/relu"], by_relu, rtol=1e-6)
        np.testing.assert_allclose(found["gradient of out[3] by /enc/0/sum"], by_relu * (X @ W1 > 0), rtol=1e-6)
        np.testing.assert_allclose(found["/enc/0/relu"], hidden(), rtol=1e-5)
        np.testing.assert_allclose(model.outputs()["out"].numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)
        model.step(0.1)
    model.inside.observe(Observed(("gradient of out[3] by w1", "gradient of out[3] by w2")))
    model.step(0.1)
    found = {name: tensor.numpy() for name, tensor in model.inside.tensors().items()}
    np.testing.assert_allclose(found["gradient of out[3] by w1"], X.T @ (by_relu * (X @ W1 > 0)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["gradient of out[3] by w2"], np.outer(hidden()[1], [0, 1]), rtol=1e-5)
    model.inside.observe(Observed(("gradient of out[4] by /enc/0/relu",)))  # another element, nothing is recorded
    (gradient,) = model.inside.tensors().values()
    np.testing.assert_allclose(gradient.numpy()[2], W2[:, 0], rtol=1e-6)
    names = [f"gradient of out[{element}] by /enc/0/relu" for element in (4, 3)]
    model.inside.observe(Observed(tuple(names)))  # both at once
    for name, (row, unit) in zip(names, ((2, 0), (1, 1)), strict=True):
        np.testing.assert_allclose(model.inside.tensors()[name].numpy()[row], W2[:, unit], rtol=1e-6)
    model.inside.observe(Observed(tuple(names[:1])))
    for wrong, message in (
        ("gradient of /enc/0/relu[0] by out", "does not depend on"),
        ("gradient of out[3] by y", "no input, tensor inside or weight 'y'; its inputs of floats: x"),
        ("gradient of out[10] by /enc/0/relu", "no element 10"),
    ):
        with pytest.raises(InputError, match=message):
            model.inside.observe(Observed((wrong,)))
        assert list(model.inside.tensors()) == ["gradient of out[4] by /enc/0/relu"]


def test_gradients_are_those_of_the_network_without_ablated_units(model: Onnx) -> None:
    names = tuple(f"gradient of out[3] by {source}" for source in ("x", "/enc/0/sum", "/enc/0/relu", "w1"))
    by_relu = np.zeros((5, 6), np.float32)
    by_relu[1] = W2[:, 1]
    for ablated in ({}, {"/enc/0/relu": (1, 4)}, {"/enc/0/relu": (0,)}, {"/enc/0/sum": (2,), "/enc/0/relu": (1,)}, {}):
        model.inside.observe(Observed(names, ablated))
        model.step(0.1)
        keep = np.ones((5, 6), np.float32)
        keep[:, list(ablated.get("/enc/0/relu", ()))] = 0.0
        total = X @ W1
        total[:, list(ablated.get("/enc/0/sum", ()))] = 0.0
        by_sum = by_relu * keep * (total > 0)
        by_product = np.delete(np.arange(6), list(ablated.get("/enc/0/sum", ())))
        by_x, by_w1 = by_sum[:, by_product] @ W1.T[by_product], X.T @ by_sum
        found = {name.partition(" by ")[2]: tensor.numpy() for name, tensor in model.inside.tensors().items()}
        np.testing.assert_allclose(found["/enc/0/relu"], by_relu, rtol=1e-6)  # of the values behind the mask
        np.testing.assert_allclose(found["/enc/0/sum"], by_sum, rtol=1e-6)
        np.testing.assert_allclose(found["x"], by_x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["w1"], by_w1, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="no unit 6"):
        model.inside.observe(Observed(names, {"/enc/0/relu": (6,)}))
    assert len(model.inside.tensors()) == 4
    model.step(0.1)


def test_a_network_of_constants_has_no_graph(steady: Gpu, tmp_path: Path) -> None:
    path = network(tmp_path)
    kind, _ = declare({"file": str(path), "inputs": {"x": X.tolist()}}, Path)
    model = kind("net", kind.Params(file=path), {}, 0)  # pyright: ignore[reportCallIssue]
    with pytest.raises(InputError, match="all inputs are constants"):
        model.inside.observe(Observed(("graph",)))  # pyright: ignore[reportAttributeAccessIssue]
    model.close()


def test_models_without_a_network_refuse_gradients() -> None:
    with pytest.raises(InputError, match="gradients of elements inside networks only"):
        HeldInside(None).observe(Observed(("gradient of values[0]",)))  # type: ignore[arg-type]


def test_a_weight_that_decides_a_shape_has_no_gradient(steady: Gpu, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["large"], mode="nearest"),
        helper.make_node("Mul", ["large", "gains"], ["out"]),
    ]
    arrays = {"scales": np.float32([1, 2]), "gains": RNG.normal(size=6).astype(np.float32)}
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    entry = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "net", [entry("x", 1, [5, 3])], [entry("out", 1, [5, 6])], weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "shape.onnx")
    with running(tmp_path / "shape.onnx") as model:
        model.inside.observe(Observed(("gradient of out[0] by gains",)))
        message = "by scales: it does not depend on that, or only by comparisons, rounding, indices or shapes"
        with pytest.raises(InputError, match=message):
            model.inside.observe(Observed(("gradient of out[0] by scales",)))
        assert list(model.inside.tensors()) == ["gradient of out[0] by gains"]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tensors inside that each recording of a network gives, as one string."""
    found: list[str] = []
    bind = Network.bind

    def counted(network: Network, *arguments, **options):
        found.append(" ".join(network.outputs[1:]))
        return bind(network, *arguments, **options)

    monkeypatch.setattr(Network, "bind", counted)
    return found


def test_what_is_computed_anyway_is_observed_without_a_recording(model: Onnx, recorded: list[str]) -> None:
    inside, transposed = model.inside, "/enc/1/attn"
    inside.observe(Observed(("/enc/0/relu",)))
    assert not inside.is_recorded(Observed(("/enc/0/relu", "/enc/0/sum")))  # which the kernel of another one computes
    shown = inside.tensors()["/enc/0/relu"]
    both = Observed(("/enc/0/relu", transposed, "w1"))
    assert inside.is_recorded(both)
    inside.observe(both)
    assert inside.tensors()["/enc/0/relu"] is shown and inside.unit_axis(transposed) == 0
    np.testing.assert_allclose(inside.tensors()[transposed].numpy(), hidden().T, rtol=1e-5, atol=1e-6)
    inside.observe(Observed((transposed,)))
    model.step(0.1)
    np.testing.assert_allclose(inside.tensors()[transposed].numpy(), hidden().T, rtol=1e-5, atol=1e-6)
    assert recorded == ["/enc/0/relu"]
    inside.observe(Observed((transposed,), {transposed: (0,)}))
    model.step(0.1)
    masked = hidden()
    masked[:, 0] = 0.0
    np.testing.assert_allclose(inside.tensors()[transposed].numpy(), masked.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.outputs()["out"].numpy(), masked @ W2, rtol=1e-5, atol=1e-5)
    inside.observe(Observed())
    model.step(0.1)
    np.testing.assert_allclose(model.outputs()["out"].numpy(), hidden() @ W2, rtol=1e-5, atol=1e-5)
    assert recorded == ["/enc/0/relu", transposed, ""]


FUSED = ("product", "biased", "half", "gate")  # which the kernels of "tanh" and "out" compute


def gated(folder: Path) -> Path:
    """out = gate · tanh of relu(x · W1) · W2 + 0.5; the gate is a sigmoid of the half of it."""
    entry, node = helper.make_tensor_value_info, helper.make_node
    nodes = [
        node("MatMul", ["x", "w1"], ["sum"]),
        node("Relu", ["sum"], ["relu"]),
        node("MatMul", ["relu", "w2"], ["product"]),
        node("Add", ["product", "half_one"], ["biased"]),
        node("Tanh", ["biased"], ["tanh"]),
        node("Mul", ["tanh", "half_one"], ["half"]),
        node("Sigmoid", ["half"], ["gate"]),
        node("Mul", ["gate", "tanh"], ["out"]),
    ]
    arrays = {"w1": W1, "w2": W2, "half_one": np.float32([0.5])}
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "net", [entry("x", 1, ["batch", 3])], [entry("out", 1, ["batch", 2])], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "gated.onnx"
    )
    return folder / "gated.onnx"


def test_what_the_kernel_of_another_node_computes_is_observed_without_a_recording(
    steady: Gpu, tmp_path: Path, recorded: list[str]
) -> None:
    path = gated(tmp_path)
    with running(path) as model, running(path) as other:
        model.inside.observe(Observed(("relu",)))
        other.inside.observe(Observed(("relu", "sum", *FUSED)))
        recorded.clear()
        assert not model.inside.is_recorded(Observed(("relu", "sum"))), "it begins at an input"
        shown = model.inside.tensors()["relu"]
        for count in range(1, len(FUSED) + 1):
            observed = Observed(("relu", *FUSED[:count]))
            assert model.inside.is_recorded(observed)
            model.inside.observe(observed)
        for values in (None, -X):
            for one in (model, other):
                if values is not None:
                    one._linked["x"][...] = values
                    one.step(0.1)
            for name in FUSED:
                ours, theirs = (one.inside.tensors()[name].numpy() for one in (model, other))
                np.testing.assert_array_equal(ours, theirs)
                assert model.inside.unit_axis(name) == other.inside.unit_axis(name) == 1
        gate = 1.0 / (1.0 + np.exp(-0.5 * np.tanh(np.maximum(-X @ W1, 0.0) @ W2 + 0.5)))
        np.testing.assert_allclose(model.inside.tensors()["gate"].numpy(), gate, rtol=1e-5, atol=1e-6)
        assert not recorded and model.inside.tensors()["relu"] is shown
        model.inside.observe(Observed(("relu", "gate"), {"gate": (0,)}))
        model.step(0.1)
        assert recorded == ["relu gate"], "units are set to zero by a recording"
        assert not model.outputs()["out"].numpy()[:, 0].any() and model.outputs()["out"].numpy()[:, 1].any()


def test_what_is_computed_besides_the_network_goes_with_what_is_observed(
    steady: Gpu, tmp_path: Path, recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(gated(tmp_path)) as model:
        monkeypatch.setattr(onnx_program, "SPARE", 1)
        model.inside.observe(Observed(("relu",)))
        model.inside.observe(Observed(("relu", *FUSED)))
        assert recorded[1:] == ["relu"]
        model.inside.observe(Observed(("relu", "half")))
        assert recorded[1:] == ["relu"], "five are computed, and at most that many"
        model.inside.observe(Observed(("relu",)))
        assert recorded[1:] == ["relu", "relu"]
        model.inside.observe(Observed())
        assert recorded[1:] == ["relu", "relu", ""]
        monkeypatch.setattr(onnx_program, "HELD", 4 * 5 * (6 + 2 + 2))  # relu, tanh and out
        model.inside.observe(Observed(("relu",)))
        assert not model.inside.is_recorded(Observed(("relu", "gate"))), "there is no room for it"


def test_a_part_has_few_nodes_of_few_operators() -> None:
    names = [f"t{number}" for number in range(MOST_NODES + 2)]
    nodes = [helper.make_node("Tanh", [before], [name]) for before, name in pairwise(names)]
    graph = helper.make_graph([*nodes, helper.make_node("RandomNormalLike", ["t0"], ["noise"])], "net", [], [])
    found = nodes_between(graph, ["t0", "t3"], "t5")
    assert [node.output[0] for node in found] == ["t4", "t5"]
    assert len(nodes_between(graph, ["t0"], names[-2])) == MOST_NODES and not nodes_between(graph, ["t0"], names[-1])
    assert not nodes_between(graph, ["t0"], "noise") and not nodes_between(graph, [], "t0")


def test_tensors_have_memory_of_their_own_as_far_as_there_is_room(
    model: Onnx, recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    transposed = hidden().T
    for room, count in ((transposed.nbytes - 1, 2), (transposed.nbytes, 1)):
        monkeypatch.setattr(onnx_program, "HELD", room)
        model.inside.observe(Observed())
        recorded.clear()
        model.inside.observe(Observed(("out",)))
        model.inside.observe(Observed(("out", "/enc/0/relu")))
        model.inside.observe(Observed(("out",)))
        assert len(recorded) == count
        model.inside.observe(Observed(("out", "/enc/0/relu", "/enc/1/attn")))  # a view of it
        assert len(recorded) == 2 * count - 1
        np.testing.assert_allclose(model.inside.tensors()["/enc/1/attn"].numpy(), transposed, rtol=1e-5, atol=1e-6)


def test_a_network_without_room_for_held_tensors_is_recorded_without(model: Onnx, monkeypatch) -> None:
    bind = Network.bind

    def full(network: Network, *arguments, most_held: int = 0, **options):
        if most_held:
            raise OutOfMemory("all is taken")
        return bind(network, *arguments, **options)

    monkeypatch.setattr(Network, "bind", full)
    model.inside.observe(Observed(("/enc/0/relu",)))
    assert not model.inside.is_recorded(Observed(("/enc/0/relu", "/enc/1/attn")))
    np.testing.assert_allclose(model.inside.tensors()["/enc/0/relu"].numpy(), hidden(), rtol=1e-5, atol=1e-6)


def test_what_is_expected_is_recorded_with_what_is_observed(model: Onnx, recorded: list[str], monkeypatch) -> None:
    model.inside.expect(["/enc/0/sum", "nothing", "out"])
    model.inside.observe(Observed(("/enc/0/relu",)))
    model.inside.observe(Observed(("/enc/0/relu", "/enc/0/sum")))
    np.testing.assert_allclose(model.inside.tensors()["/enc/0/sum"].numpy(), X @ W1, rtol=1e-5, atol=1e-6)
    assert recorded == ["/enc/0/relu /enc/0/sum"]
    show = Network.show_inside

    def refused(network: Network, names, masked=()) -> None:
        if "/enc/0/sum" in masked:
            raise InputError("it cannot be recorded")
        show(network, names, masked)

    model.inside.observe(Observed())
    monkeypatch.setattr(Network, "show_inside", refused)
    model.inside.expect(["/enc/0/sum"])
    model.inside.observe(Observed(("/enc/0/relu",)))
    assert recorded[2:] == ["/enc/0/relu"] and list(model.inside.tensors()) == ["/enc/0/relu"]


def test_a_network_is_recorded_without_what_is_not_observed_once_that_is_much(
    steady: Gpu, tmp_path: Path, recorded: list[str]
) -> None:
    names = [f"t{number}" for number in range(24)]
    entry = helper.make_tensor_value_info
    nodes = [helper.make_node("Tanh", [before], [name]) for before, name in pairwise(["x", *names, "out"])]
    graph = helper.make_graph(nodes, "net", [entry("x", 1, [5, 3])], [entry("out", 1, [5, 3])])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "chain.onnx")
    with running(tmp_path / "chain.onnx") as model:
        model.inside.observe(Observed(tuple(names)))
        recorded.clear()
        for count in range(23, -1, -1):
            model.inside.observe(Observed(tuple(names[:count])))
        assert recorded == [" ".join(names[:7]), ""]
