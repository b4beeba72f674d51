"""Elements of sequences inside a network: shown by their index, of the outermost graph and of bodies of loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from vertigrad import Tensor
from vertigrad.errors import InputError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.models.inside import InnerTensor, Observed, resolved
from vertigrad.onnx_import import Network
from vertigrad.scene import load

from .test_inside import running

X = np.random.default_rng(8).normal(size=(5, 3)).astype(np.float32)
node, entry = helper.make_node, helper.make_tensor_value_info


def model() -> ModelProto:
    """y: the rows of tanh(x) as a sequence, to which a loop appends the sum of the first two, twice; joined."""
    sequence = helper.make_tensor_sequence_value_info
    body = helper.make_graph(
        [
            node("SequenceAt", ["before", "zero"], ["a"]),
            node("SequenceAt", ["before", "one"], ["b"]),
            node("Add", ["a", "b"], ["sum"]),
            node("SequenceInsert", ["before", "sum"], ["/turn/after"]),
            node("Identity", ["on"], ["still on"]),
        ],
        "turn",
        [entry("number", 7, []), entry("on", 9, []), sequence("before", 1, None)],
        [entry("still on", 9, []), sequence("/turn/after", 1, None)],
    )
    nodes = [
        node("Tanh", ["x"], ["active"]),
        node("SplitToSequence", ["active", "sizes"], ["/rows/split"], axis=0),
        node("Loop", ["trips", "yes", "/rows/split"], ["longer"], body=body),
        node("ConcatFromSequence", ["longer"], ["y"], axis=0),
    ]
    constants = {"sizes": np.array([1, 1, 3]), "trips": np.array(2), "yes": np.array(True)}
    constants |= {"zero": np.array(0), "one": np.array(1)}
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [entry("x", TensorProto.FLOAT, [5, 3])], [entry("y", 1, [7, 3])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


ROWS = np.split(np.tanh(X), [1, 2])


@pytest.fixture
def network(steady: Gpu) -> Iterator[Network]:
    with closing(Network(model())) as created:
        yield created


def test_elements_are_given_by_their_index(network: Network) -> None:
    """In the body of the loop, the sequence of the last turn."""
    expected = {f"/rows/split[{index}]": row for index, row in enumerate(ROWS)}
    expected |= {"/turn/after[4]": ROWS[0] + ROWS[1], "/turn/after[2]": ROWS[2]}
    assert network.tensors["/rows/split"].dtype == "sequence"
    with Tensor.from_numpy(X) as x:
        network.show_inside([*expected])
        with closing(network.bind({"x": x}, {})) as program:
            for _ in range(2):
                program.replay()
                for name, array in expected.items():
                    np.testing.assert_allclose(program.tensor(name).numpy(), array, rtol=1e-5, atol=1e-6)
            assert [element.shape for element in program.sequences["/rows/split"]] == [(1, 3), (1, 3), (3, 3)]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/rows/split[3]", "'/rows/split' is a sequence of 3 tensors, which are numbered from 0"),
        ("/turn/after[5]", "'/turn/after' is a sequence of 5 tensors"),
        ("active[0]", "'active' is no sequence"),
    ],
)
def test_an_index_that_does_not_exist(network: Network, name: str, why: str) -> None:
    network.show_inside([name])
    with Tensor.from_numpy(X) as x, pytest.raises(InputError, match=f"is not computed: {why}") as error:
        network.bind({"x": x}, {})
    assert repr(name) in str(error.value)


def test_names_of_elements() -> None:
    known = {"/rows/split": InnerTensor("SplitToSequence", "sequence"), "active": InnerTensor("Tanh", "float", (5, 3))}
    assert resolved("split[2]", known) == "/rows/split[2]"
    assert resolved("gradient of split[2][1] by x", known) == "gradient of /rows/split[2][1] by x"
    for name in ("active[0]", "nothing[0]", "[0]"):
        with pytest.raises(InputError, match="no tensor"):
            resolved(name, known)
    assert resolved("a[0]", {"/x/a[0]": InnerTensor("Tanh"), "/x/a": InnerTensor("If", "sequence")}) == "/x/a[0]"


def test_a_running_network_lists_elements_and_shows_them(steady: Gpu, tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "net.onnx")
    with running(tmp_path / "net.onnx", X) as net:
        known = net.inside.known()
        assert known["/rows/split[2]"] == InnerTensor("SplitToSequence", "float", (3, 3)) and "/rows/split" not in known
        assert known["longer[4]"].shape == (1, 3)
        net.inside.observe(Observed(("split[0]",)))
        np.testing.assert_allclose(net.inside.tensors()["/rows/split[0]"].numpy(), ROWS[0], rtol=1e-5, atol=1e-6)
        assert net.inside.is_recorded(Observed(("split[0]", "split[2]"))), "they are computed anyway"
        names = ("/rows/split[0]", "/rows/split[2]", "gradient of /rows/split[2][4] by x")
        net.inside.observe(Observed(names))
        net.step(0.1)
        found = net.inside.tensors()
        np.testing.assert_allclose(found[names[1]].numpy(), ROWS[2], rtol=1e-5, atol=1e-6)
        gradient = np.zeros_like(X)
        gradient[3, 1] = 1.0 - np.tanh(X[3, 1]) ** 2
        np.testing.assert_allclose(found[names[2]].numpy(), gradient, rtol=1e-4, atol=1e-6)
        assert net.inside.unit_axis(names[0]) is None
        for wrong, message in (
            (Observed(("split[3]",)), "is a sequence of 3 tensors"),
            (Observed(("split",)), r"'/rows/split' is a sequence; .* '/rows/split\[0\]'"),
            (Observed(names[:1], {"split[0]": (0,)}), "its units cannot be set to zero"),
        ):
            with pytest.raises(InputError, match=message):
                net.inside.observe(wrong)
            assert list(net.inside.tensors()) == [*names]


def test_scenes_name_elements(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "net.onnx")
    scene = '[models.net]\ntype = "onnx"\nfile = "net.onnx"\ninputs = { x = [[0, 0, 0]] }\n'
    text = f'version = 1\n{scene}[layers]\nfirst = {{ tensor = "net:split[0]" }}\n'
    ref = load(tmp_path / "scene.toml", text=text).layers["first"].attributes["tensor"]
    assert str(ref) == "net./rows/split[0]"
    with pytest.raises(SceneError, match="no tensor"):
        load(tmp_path / "scene.toml", text=text.replace("split[0]", "active[0]"))
