"""Where values stop being finite: in a node, or in a constant that it reads."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, helper, numpy_helper

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.models.neural.onnx_program import NotFinite
from vertigrad.onnx_import import Network, probe

node = helper.make_node
NAN, ONES = np.array([1, np.nan, 1], np.float32), np.ones(3, np.float32)
CASES: dict[str, tuple[list[NodeProto], dict[str, np.ndarray], tuple[str, str] | None]] = {
    "all finite": ([node("Mul", ["h", "c"], ["y"])], {"c": ONES}, None),
    "a node": (
        [node("Log", ["h"], ["l"]), node("MatMul", ["l", "c"], ["y"])],
        {"c": np.full((3, 3), np.nan, np.float32)},
        ("l", "Log"),
    ),
    "a constant": ([node("Mul", ["h", "c"], ["y"])], {"c": NAN}, ("c", "a constant of the network")),
    "a scalar": ([node("Add", ["h", "c"], ["y"])], {"c": np.float32([np.inf])}, ("c", "a constant of the network")),
    "of constants": (
        [node("Sqrt", ["c"], ["root"]), node("Neg", ["root"], ["minus"]), node("Mul", ["h", "minus"], ["y"])],
        {"c": -ONES},
        ("root", "Sqrt"),
    ),
    "behind a fused node": (
        [node("Mul", ["h", "c"], ["p"]), node("Neg", ["p"], ["q"]), node("Abs", ["q"], ["y"])],
        {"c": NAN},
        ("c", "a constant of the network"),
    ),
    "not read": ([node("Log", ["h"], ["y"])], {"c": NAN}, ("y", "Log")),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [1, 24])
def test_the_first_that_is_not_finite(
    steady: Gpu, tmp_path: Path, case: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "most_tensors", lambda: most)
    nodes, constants, expected = CASES[case]
    entry = helper.make_tensor_value_info
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    nodes = [node("Tanh", ["x"], ["h"]), *nodes]
    graph = helper.make_graph(nodes, "g", [entry("x", 1, [2, 3])], [entry("y", 1, [2, 3])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "n.onnx")
    x = np.array([[-1, 2, -3], [1, 2, 3]], np.float32)
    with (
        Network(tmp_path / "n.onnx") as network,
        Tensor.from_numpy(x) as given,
        closing(NotFinite(network, {"x": given}, {})) as search,
    ):
        assert search.result() == expected


def test_statistics_of_many_tensors_are_those_of_each(steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of both types, empty ones and of integers left out, views among them, in memory that others use later."""
    arrays = [np.random.default_rng(n).normal(size=(3 + n, 70)).astype(np.float32) for n in range(7)]
    found = []
    for most, nbytes in ((1, 1 << 30), (3, 1 << 30), (24, 1 << 30), (24, 2500)):
        monkeypatch.setattr(probe, "most_tensors", lambda most=most: most)
        monkeypatch.setattr(probe, "MOST_BYTES", nbytes)
        with probe.Probe(9) as taken:
            for number, array in enumerate(arrays):
                with Tensor.from_numpy(array) as tensor:
                    shown = tensor.T if number == 2 else tensor.to("f16") if number == 4 else tensor.detach()
                    taken.add(f"t{number}", "op", shown)
                    taken.add("none", "op", tensor[:0])
                    taken.add("integers", "op", tensor.to("i32"))
            taken.finish()
            assert [one.name for one in taken.tensors] == [f"t{number}" for number in range(7)]
            found.append([(one.size, one.min, one.max) for one in taken.summaries(taken.records.numpy())])
    assert found[0] == found[1] == found[2] == found[3]
    assert [one[0] for one in found[0]] == [array.size for array in arrays]
