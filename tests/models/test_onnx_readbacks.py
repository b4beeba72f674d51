"""Networks in a scene whose shapes depend on numbers of the GPU: each step reads these, and records for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.inside import Observed
from vertigrad.session import Session
from vertigrad.session.commands import SetParameter
from vertigrad.session.report import RunRecord

from ..onnx_import.networks import model, node

SCENE = """version = 1
[models.net]
type = "onnx"
file = "net.onnx"
dims = {{ n = 300{dims} }}
inputs.x = {{ start = "normal" }}
inputs.least = {{ slider = [-9, 9], value = 0.0 }}
outputs = {{ {outputs} }}
[layers.points]
type = "points"
position = "net.points"
"""
BOTH = 'points = "kept", total = "total"'


def above(least_of: str = "least") -> onnx.ModelProto:
    """The rows of x (n, 3) whose first number is above `least`, doubled: (m, 3); and the sum of their numbers."""
    nodes = [
        node("Gather", ["x", "zero"], ["first"], axis=1),
        node("Greater", ["first", least_of], ["chosen"]),
        node("NonZero", ["chosen"], ["at"]),
        node("Squeeze", ["at", "axis"], ["places"]),
        node("Gather", ["x", "places"], ["rows"]),
        node("Add", ["rows", "rows"], ["kept"]),
        node("ReduceSum", ["kept"], ["total"], keepdims=0),
        node("Abs", ["x"], ["inner"]),
        node("Mul", ["inner", "total"], ["shown"]),
        node("Neg", ["shown"], ["end"]),
    ]
    constants = {"zero": np.array(0), "axis": np.array([0])}
    outputs = {"kept": ["m", 3], "total": [], "end": ["n", 3]}
    return model(nodes, {"x": ["n", 3], "least": []}, outputs, constants)


def scene(folder: Path, dims: str = ", m = 200", outputs: str = BOTH) -> Path:
    onnx.save(above(), folder / "net.onnx")
    path = folder / "scene.toml"
    path.write_text(SCENE.format(dims=dims, outputs=outputs), encoding="utf-8")
    return path


def expected(session: Session) -> dict[str, np.ndarray]:
    """By onnxruntime, of what the network's inputs hold."""
    model: Any = session.stage.instances["net"].model
    arrays = {name: model._tensors[name].numpy() for name in ("x", "least")}
    found: Any = onnxruntime.InferenceSession(above().SerializeToString()).run(None, arrays)
    return dict(zip(("points", "total", "end"), found, strict=True))


def require_equal(session: Session, count: int | None = None) -> None:
    outputs, reference = session.stage.instances["net"].outputs, expected(session)
    points, rows = outputs["points"].numpy(), len(reference["points"])
    assert points.shape == (200, 3)
    np.testing.assert_allclose(points[:rows], reference["points"], rtol=1e-6)
    assert np.isnan(points[rows:]).all(), "no rows"
    np.testing.assert_allclose(outputs["total"].numpy(), reference["total"], rtol=1e-4, atol=1e-3)


def test_a_step_follows_the_numbers_that_decide_shapes(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene(tmp_path)) as session:
        tensors = dict(session.stage.instances["net"].outputs)
        require_equal(session)
        for least in (1.0, -0.1, 9.0, -0.1):  # 9: no row
            session.carry_out(SetParameter("models.net", "least", least))
            session.advance()
            require_equal(session)
            comparisons = session.stage.instances["net"].model.compare_with_reference()
            assert comparisons and all(one.holds for one in comparisons), comparisons
        outputs = session.stage.instances["net"].outputs
        assert all(outputs[name].owner is tensor.owner for name, tensor in tensors.items()), "layers need no others"


def test_only_the_number_of_rows_is_read_back_and_reported(
    steady: Gpu, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = Session(steady, scene(tmp_path))
    assert "each step waits to read back 1 number for NonZero" in caplog.text
    record = RunRecord(steady)
    for least in (0.5, -0.1):
        session.carry_out(SetParameter("models.net", "least", least))
        with steady.frames.frame():
            session.advance()
        record.frame(1.0, 1.0)
    read_back = steady.meter.read()["diagnostics"]["device_to_host"]
    report = record.finish(session)
    assert report["readbacks"]["net"] == ["1 number for NonZero ('→ at', opset 21, bool)"]
    assert report["bytes_per_frame"]["device_to_host"] == 0, "no geometry"
    assert read_back > 0
    assert report["memory"]["leaked_blocks"] == report["memory"]["never_closed"] == 0


def test_a_step_that_reads_back_is_not_spread_over_frames(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene(tmp_path)) as session:
        for least in (0.5, -0.1):
            session.carry_out(SetParameter("models.net", "least", least))
            session.stage.begin_step(0.0)
            assert session.stage.proceed(lambda *_: 0), "at once"
            require_equal(session)


@pytest.mark.parametrize(
    ("dims", "message"),
    [("", r"dims = \{ m = 100 \}"), (", m = 160", r"shape \(\d+, 3\) now, and \(160, 3\).*dims = \{ m = 160 \}")],
)
def test_an_output_without_room_is_an_error(steady: Gpu, tmp_path: Path, dims: str, message: str) -> None:
    with Session(steady, scene(tmp_path, dims)) as session:
        session.carry_out(SetParameter("models.net", "least", -3.0))
        with pytest.raises(InputError, match=message):
            session.stage.step(0.0)
        session.carry_out(SetParameter("models.net", "least", 0.0))
        session.stage.step(0.0)
        reference = expected(session)["points"]
        found = session.stage.instances["net"].outputs["points"].numpy()[: len(reference)]
        np.testing.assert_allclose(found, reference, rtol=1e-6)


def test_what_is_observed_inside_follows(steady: Gpu, tmp_path: Path) -> None:
    path = scene(tmp_path)
    text = path.read_text(encoding="utf-8") + '[layers.inner]\ntensor = "net:shown"\n'
    path.write_text(text, encoding="utf-8")
    with Session(steady, path) as session:
        shown = session.stage.instances["net"].observed_tensors["shown"]
        for least in (0.5, -0.1):
            session.carry_out(SetParameter("models.net", "least", least))
            session.advance()
            require_equal(session)
            assert session.stage.instances["net"].observed_tensors["shown"] is shown
            np.testing.assert_allclose(shown.numpy(), -expected(session)["end"], rtol=1e-4, atol=1e-3)


def test_an_observed_tensor_whose_shape_changes_is_an_error(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene(tmp_path)) as session:
        net = session.stage.instances["net"]
        net.observe(Observed(("rows",), {}))
        session.carry_out(SetParameter("models.net", "least", 0.5))
        with pytest.raises(InputError, match=r"rows has the shape \(\d+, 3\) now, .*hide it, or make it an output"):
            session.stage.step(0.0)
        net.observe(Observed())
        session.stage.step(0.0)
        require_equal(session)


def test_units_that_are_set_to_zero_decide_shapes(steady: Gpu, tmp_path: Path) -> None:
    path, zero = scene(tmp_path), [0, 5, 299]
    ablated = f'[models.net.ablate]\nfirst = {zero}\n[layers.first]\ntensor = "net:first"\n'
    path.write_text(path.read_text(encoding="utf-8") + ablated, encoding="utf-8")
    with Session(steady, path) as session:
        net = session.stage.instances["net"]
        model: Any = net.model
        x = model._tensors["x"].numpy()
        first = np.where(np.isin(np.arange(300), zero), 0.0, x[:, 0])
        for least in (0.5, -0.1, 0.1):
            session.carry_out(SetParameter("models.net", "least", least))
            session.advance()
            np.testing.assert_array_equal(net.observed_tensors["first"].numpy(), first.astype(np.float32))
            rows = 2 * x[first > np.float32(least)]
            np.testing.assert_array_equal(net.outputs["points"].numpy()[: len(rows)], rows)
            assert np.isnan(net.outputs["points"].numpy()[len(rows) :]).all()


def gradients(x: np.ndarray, first: np.ndarray, least: float, element: int) -> np.ndarray:
    """That of an element of the output by x: 2 where it is taken from, `first` being what `least` is compared with."""
    result = np.zeros_like(x)
    result[np.flatnonzero(first > least)[element // 3], element % 3] = 2.0
    return result


def test_gradients_follow_the_numbers_that_decide_shapes(steady: Gpu, tmp_path: Path) -> None:
    """They stay in the same tensors."""
    with Session(steady, scene(tmp_path)) as session:
        model: Any = session.stage.instances["net"].model
        name = "gradient of kept[4] by x"
        model.inside.observe(Observed((name,)))
        x, shown = model._tensors["x"].numpy(), model.inside.tensors()[name]
        for least in (0.0, 1.0, -0.5, 0.0):
            session.carry_out(SetParameter("models.net", "least", least))
            session.advance()
            assert model.inside.tensors()[name] is shown
            np.testing.assert_array_equal(shown.numpy(), gradients(x, x[:, 0], least, 4))
        model.inside.observe(Observed(("gradient of kept[5] by x",)))
        (other,) = model.inside.tensors().values()
        np.testing.assert_array_equal(other.numpy(), gradients(x, x[:, 0], 0.0, 5))
        session.carry_out(SetParameter("models.net", "least", 9.0))
        with pytest.raises(InputError, match=r"a tensor of shape \(0, 3\) has no element 5"):
            session.stage.step(0.0)
        session.carry_out(SetParameter("models.net", "least", 0.3))
        session.advance()
        np.testing.assert_array_equal(other.numpy(), gradients(x, x[:, 0], 0.3, 5))


def test_gradients_with_units_that_are_set_to_zero(steady: Gpu, tmp_path: Path) -> None:
    """The units of a tensor that decides the shape: the numbers are read of the network without them."""
    with Session(steady, scene(tmp_path)) as session:
        model: Any = session.stage.instances["net"].model
        x = model._tensors["x"].numpy()
        name, half = "gradient of kept[0] by x", tuple(range(0, 300, 2))
        model.inside.observe(Observed((name,), {"first": half}))
        first = np.where(np.isin(np.arange(300), half), 0.0, x[:, 0])
        for least in (0.0, 0.7):
            session.carry_out(SetParameter("models.net", "least", least))
            session.advance()
            np.testing.assert_array_equal(model.inside.tensors()[name].numpy(), gradients(x, first, least, 0))
