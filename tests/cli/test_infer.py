"""`vertigrad infer`: arrays in, arrays out, comparison, profile; problems reported in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from vertigrad import gpu
from vertigrad.cli import main


@pytest.fixture
def net(tmp_path: Path) -> Path:
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Add", ["e", "b"], ["y"])]
    entry = helper.make_tensor_value_info
    inputs = [entry("x", TensorProto.FLOAT, ["n", 2]), entry("b", TensorProto.FLOAT, [2])]
    graph = helper.make_graph(nodes, "net", inputs, [entry("y", TensorProto.FLOAT, ["n", 2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "n.onnx")
    np.savez(tmp_path / "in.npz", x=x(), b=np.ones(2, np.float32))
    return tmp_path / "n.onnx"


def x() -> np.ndarray:
    return np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)


def run(net: Path, *arguments: object) -> int:
    return main(["infer", str(net), *map(str, arguments)])


def test_outputs_are_written(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out" / "deep" / "y.npz"
    for _ in range(2):  # into a new folder, then into an existing one
        assert run(net, "-i", tmp_path / "in.npz", "-o", path) == 0
        np.testing.assert_allclose(np.load(path)["y"], np.exp(x()) + 1, rtol=1e-6)
        path.unlink()
    assert "y: float32, 3 x 2" in capsys.readouterr().out


def test_arrays_are_passed_one_by_one(net: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", x())
    np.save(tmp_path / "b.npy", np.zeros(2, np.float32))
    input_options = ("-i", f"x={tmp_path / 'x.npy'}", "-i", f"b={tmp_path / 'b.npy'}")
    assert run(net, *input_options, "-o", tmp_path / "y.npz") == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], np.exp(x()), rtol=1e-6)


def test_outputs_are_compared_with_a_reference(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "good.npz", y=np.exp(x()) + 1)
    np.savez(tmp_path / "bad.npz", y=np.exp(x()) + 1.1)
    assert run(net, "-i", tmp_path / "in.npz", "--compare", tmp_path / "good.npz") == 0
    assert "0 of 6 numbers differ" in capsys.readouterr().out
    assert run(net, "-i", tmp_path / "in.npz", "--compare", tmp_path / "bad.npz") == 3
    printed = capsys.readouterr()
    assert "6 of 6 numbers differ, largest 0.1" in printed.out
    assert "differs from the reference: y" in printed.err
    assert run(net, "-i", tmp_path / "in.npz", "--compare", tmp_path / "bad.npz", "--atol", "0.2") == 0
    assert run(net, "-i", tmp_path / "in.npz", "--compare", tmp_path / "bad.npz", "--rtol", "0.1") == 0
    assert run(net, "-i", tmp_path / "in.npz", "--compare", tmp_path / "bad.npz", "--rtol", "0.01") == 3


def test_a_reference_without_numbers_or_of_another_shape(
    net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "spoiled.npz", x=np.where(x() < 0, np.nan, x()), b=np.zeros(2, np.float32))
    expected = np.where(x() < 0, np.nan, np.exp(x()))
    expected[2, 1] += 0.5
    np.savez(tmp_path / "some.npz", y=expected)
    assert run(net, "-i", tmp_path / "spoiled.npz", "--compare", tmp_path / "some.npz") == 3
    assert "1 of 6 numbers differ, largest 0.5" in capsys.readouterr().out
    np.savez(tmp_path / "lost.npz", x=np.full((3, 2), np.nan, np.float32), b=np.zeros(2, np.float32))
    np.savez(tmp_path / "none.npz", y=np.full((3, 2), np.nan))
    assert run(net, "-i", tmp_path / "lost.npz", "--compare", tmp_path / "none.npz") == 0
    assert "0 of 6 numbers differ, largest 0" in capsys.readouterr().out
    np.savez(tmp_path / "turned.npz", y=np.exp(x()).T)
    assert run(net, "-i", tmp_path / "in.npz", "--compare", tmp_path / "turned.npz") == 3
    assert "y: shape (3, 2), and (2, 3) in the reference" in capsys.readouterr().err


def test_times_of_nodes_are_shown(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(net, "-i", tmp_path / "in.npz", "--profile") == 0
    out = capsys.readouterr().out
    assert "1 nodes with kernels" in out or "no timestamps" in out


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["-i", "IN/in.npz", "--dim", "n=4"], "n = 4, 2"),
        (["-i", "IN/in.npz", "--dim", "n"], "--dim n: expected NAME=SIZE"),
        (["-i", "IN/none.npz"], "cannot be read"),
        (["-i", "IN/n.onnx"], "not a whole file of weights"),
        ([], "missing b, x"),
        (["-i", "IN/in.npz", "-o", "IN/y.txt"], "ends in .npz"),
        (["-i", "IN/in.npz", "--compare", "IN/in.npz"], "the network gives no b, x; it gives y"),
        (["-i", "q=IN/one.npy"], "has no q; it takes x, b"),
        (["-i", "IN/one.npy"], "write NAME="),
        (["-i", "x=IN/in.npz"], "several arrays"),
    ],
)
def test_problems_are_reported_in_one_line(
    net: Path, tmp_path: Path, arguments: list[str], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "one.npy", x())
    assert run(net, *[argument.replace("IN", str(tmp_path)) for argument in arguments]) == 2
    err = capsys.readouterr().err
    assert printed in err
    assert "Traceback" not in err


def test_an_unsupported_network_reports_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING, name="written")]
    entry = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "net", [entry("x", TensorProto.FLOAT, [3])], [entry("y", TensorProto.STRING, [3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "n.onnx")
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    assert run(tmp_path / "n.onnx", "-i", tmp_path / "x.npy") == 2
    err = capsys.readouterr().err
    for part in ("Cast", "'written'", "opset 17", "string"):
        assert part in err


def test_tensors_inside_are_listed_and_written(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(net, "--tensors") == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "n x 2" in line]
    assert [[cell.strip() for cell in row[1:-1]] for row in rows] == [
        ["e", "Exp", "float", "n x 2"],
        ["y", "Add", "float", "n x 2"],
    ]
    assert run(net, "-i", tmp_path / "in.npz", "--inside", "e", "-o", tmp_path / "y.npz") == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["e"], np.exp(x()), rtol=1e-6)
    assert run(net, "--inside", "nothing") == 2
    assert "no node computes 'nothing'" in capsys.readouterr().err


def test_float64_is_calculated_in_float32_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = helper.make_tensor_value_info
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    graph = helper.make_graph(
        nodes, "net", [entry("x", TensorProto.DOUBLE, [3])], [entry("y", TensorProto.DOUBLE, [3])]
    )
    net = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), net)
    np.save(tmp_path / "x.npy", np.array([0.1, 1.0, -2.0]))
    if "shader-f64" in gpu().features:
        assert run(net, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npz") == 0
        np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], [0.2, 2.0, -4.0])
    else:
        assert run(net, "-i", tmp_path / "x.npy") == 2
        assert "--float64-as-f32" in capsys.readouterr().err
    assert run(net, "-i", tmp_path / "x.npy", "--float64-as-f32", "-o", tmp_path / "y.npz") == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], np.float32([0.2, 2.0, -4.0]))
