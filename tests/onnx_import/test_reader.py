"""Damaged or malicious files: each an error, nothing read outside of the folder, nothing large allocated."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from vertigrad.errors import InputError, VertigradError
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network, reader

from .networks import model, node, reals


def valid() -> onnx.ModelProto:
    nodes = [node("MatMul", "xw", "a"), node("Relu", "a", "y")]
    return model(nodes, {"x": [2, 3]}, {"y": [2, 4]}, {"w": reals(3, 4)})


def external(location: str, offset: int = 0, length: int | None = 48) -> onnx.ModelProto:
    proto = valid()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": location, "offset": str(offset)} | ({"length": str(length)} if length is not None else {})
    for key, value in entries.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return proto


def saved(proto: onnx.ModelProto, folder: Path) -> Path:
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    return folder / "net.onnx"


def test_a_valid_file_is_read(tmp_path: Path) -> None:
    assert reader.read(saved(valid(), tmp_path)).graph.node[0].op_type == "MatMul"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_truncated_file_is_rejected(tmp_path: Path, share: float) -> None:
    whole = valid().SerializeToString()
    (tmp_path / "net.onnx").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"net\.onnx"):
        Network(tmp_path / "net.onnx")


def test_random_bytes_are_rejected_or_read_but_never_an_internal_error(tmp_path: Path, gpu: Gpu) -> None:
    """Single random bytes are changed: an error of Vertigrad, or a network that can be run."""
    whole = bytearray(valid().SerializeToString())
    random = np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] = random.integers(256)
        (tmp_path / "net.onnx").write_bytes(damaged)
        try:
            with Network(tmp_path / "net.onnx") as network:
                network.run({"x": reals(2, 3)})
        except VertigradError as error:
            assert str(error)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Network(tmp_path / "none.onnx")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Network(tmp_path)


def _circle(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].input[0] = "y"


def _huge(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].dims[:] = [1 << 40, 1 << 20]


def _negative(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].dims[:] = [-3, -4]


def _short(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].dims[:] = [3, 400]


def _strange(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].data_type = 99


def _unknown(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].op_type = "MatMull"


def _attribute(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].attribute.append(helper.make_attribute("alpha", 1.0))


def _old(proto: onnx.ModelProto) -> None:
    proto.opset_import[0].version = 3


def _future(proto: onnx.ModelProto) -> None:
    proto.opset_import[0].version = 999


def _types(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[0].data_type = TensorProto.INT32


def _missing(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].input[1] = "nowhere"


def _twice(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].output[0] = "a"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_circle, "sorted"),
        (_huge, "holds 12 numbers"),
        (_negative, "below 0"),
        (_short, "holds 12 numbers"),
        (_strange, "element type"),
        (_unknown, "MatMull"),
        (_attribute, "alpha"),
        (_old, "opset 3"),
        (_future, "opset 999"),
        (_types, "w|MatMul"),
        (_missing, "nowhere"),
        (_twice, "a"),
    ],
)
def test_invalid_graphs_are_rejected(
    tmp_path: Path, gpu: Gpu, damage: Callable[[onnx.ModelProto], None], message: str
) -> None:
    proto = valid()
    damage(proto)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=message) as caught, Network(saved(proto, tmp_path)) as network:
            network.run({"x": reals(2, 3)})
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert "net.onnx" in str(caught.value)


# weights in other files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [64, 5 << 30])
def test_weights_in_another_file_are_mapped(tmp_path: Path, gpu: Gpu, offset: int) -> None:
    """Also behind 4 GiB, in a sparse file: nothing else of it is read."""
    with (tmp_path / "weights.bin").open("wb") as file:
        file.seek(offset)
        file.write(reals(3, 4).tobytes())
    with Network(saved(external("weights.bin", offset), tmp_path)) as network:
        x = reals(2, 3)
        np.testing.assert_allclose(network.run({"x": x})["y"], np.maximum(x @ reals(3, 4), 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "count"), [(TensorProto.INT4, 5), (TensorProto.UINT4, 6)])
def test_elements_below_a_byte_are_read_from_another_file(tmp_path: Path, kind: int, count: int) -> None:
    values = np.arange(count) - (2 if kind == TensorProto.INT4 else 0)
    tensor = onnx.helper.make_tensor("w", kind, [count], values)
    (tmp_path / "weights.bin").write_bytes(b"??" + packed(values))
    for field in ("raw_data", "int32_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "weights.bin", "offset": "2"}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    np.testing.assert_array_equal(reader.array_of(tensor, tmp_path, "net").astype(int), values)


def packed(values: np.ndarray) -> bytes:
    """Two in each byte, the first in its lower half."""
    halves = np.append(values, [0] * (len(values) % 2)).astype(np.uint8) & 15
    return (halves[::2] | halves[1::2] << 4).tobytes()


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "sub/../../secret.bin", "link.bin", "", "weights.bin/../../secret.bin"]
)
def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(reals(3, 4).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(InputError, match="outside"):
        Network(saved(external(location), folder))


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (external("none.bin"), "No such file"),
        (external("a\0b"), r"names no file: 'a\\x00b'"),
        (external("weights.bin", 8), "holds 48 bytes"),
        (external("weights.bin", -4), "holds 48 bytes"),
        (external("weights.bin", 0, 1 << 50), "48 bytes"),
        (external("weights.bin", 0, 44), "48 bytes"),
    ],
)
def test_missing_weights_are_reported(tmp_path: Path, proto: onnx.ModelProto, message: str) -> None:
    (tmp_path / "weights.bin").write_bytes(reals(3, 4).tobytes())
    with pytest.raises(InputError, match=message):
        Network(saved(proto, tmp_path))


def test_a_model_in_memory_has_no_folder(gpu: Gpu) -> None:
    with pytest.raises(InputError, match="load it from its file"):
        Network(external("weights.bin"))
