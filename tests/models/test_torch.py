"""The model type `torch`: functions, modules, exported programs and TorchScript in scenes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import CodeError, InputError, SceneError, UntrustedCode
from vertigrad.scene import trust
from vertigrad.scene.load import load
from vertigrad.scene.stage import Stage
from vertigrad.session import STEP

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("steady"), pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]

PYTHON = """
import torch
from vertigrad.params import number

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

    def forward(self, x, t, gain: float = number(1.0, min=0.0, max=4.0)):
        return {"position": gain * self.layers(torch.cat([x, t.expand(len(x), 1)], 1)), "far": x.norm(dim=1) > 1}

def swirl(position, dt, rate: float = 1.0):
    return position + rate * dt * torch.ones(3, device=position.device)

def fails(x):
    y = x + 1
    return y @ torch.zeros(7, 7, device=x.device)

def shifted(points, offset):
    return points + offset, points.double(), (points > 0).long()

Number = 3
"""
NET = """
file = "net.py"
entry = "Net"
gain = 2.0
inputs.x = { start = "normal", shape = [20, 3] }
inputs.t = { time = 0.5 }
"""
SWIRL = """
file = "net.py"
entry = "swirl"
outputs = ["position"]
inputs.position = { feedback = "position", start = 1.0, shape = [6, 3] }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(PYTHON)
    return tmp_path


def scene(folder: Path, *models: str, trusted: bool = True) -> Path:
    file = folder / "scene.toml"
    tables = [f'[models.m{number}]\ntype = "torch"\n{text}\n' for number, text in enumerate(models)]
    file.write_text("version = 1\n" + "".join(tables))
    if trusted:
        trust.allow([found for found in folder.iterdir() if found.suffix in (".py", ".pt", ".pt2")])
    return file


class Running:
    """A scene's models, stepping."""

    def __init__(self, file: Path, gpu: Any):
        self.stage = Stage(load(file), gpu)

    def step(self, dt: float = STEP) -> None:
        self.stage.begin_step(dt)
        assert self.stage.proceed(lambda group, kernel, left, splits: left)

    def __getitem__(self, name: str) -> np.ndarray:
        model, _, output = name.partition(".")
        return self.stage.instances[model].outputs[output].numpy()

    def model(self, name: str = "m0") -> Any:
        return self.stage.instances[name].model


@pytest.fixture
def run(gpu: Any):  # type: ignore[no-untyped-def]
    running: list[Running] = []

    def start(file: Path) -> Running:
        running.append(Running(file, gpu))
        return running[-1]

    yield start
    for one in running:
        one.stage.close()
    gpu.submit()
    trust.forget()


def problem(file: Path) -> str:
    with pytest.raises(SceneError) as caught:
        load(file)
    return str(caught.value)


def test_a_module_has_sliders_times_and_named_outputs(folder: Path, run: Any) -> None:
    running = run(scene(folder, NET))
    model = running.model()
    assert {name: spec.shape for name, spec in model.output_specs(model.params).items()} == {
        "position": (20, 3),
        "far": (20,),
    }
    for _ in range(3):
        running.step()
    x = model._fed["x"].cpu()
    sys.modules.pop("net", None)
    namespace: dict[str, Any] = {}
    exec(PYTHON, namespace)
    net = namespace["Net"]()
    with torch.no_grad():
        expected = net(x, torch.full((), 0.5 * 3 * STEP), 2.0)
    np.testing.assert_allclose(running["m0.position"], expected["position"].numpy(), atol=1e-5)
    np.testing.assert_array_equal(running["m0.far"], expected["far"].numpy())
    running.stage.change("m0", "gain", 4.0)
    running.step(0.0)
    np.testing.assert_allclose(running["m0.position"], 2 * expected["position"].numpy(), atol=1e-5)
    assert all(one.holds for one in model.compare_with_reference())
    assert "agrees with PyTorch on the CPU" in str(model.compare_with_reference()[0])


def test_outputs_are_fed_back_and_reset(folder: Path, run: Any) -> None:
    running = run(scene(folder, SWIRL + "rate = 2.0\n"))
    at_first = running["m0.position"]
    np.testing.assert_allclose(at_first, 1.0)
    running.step()
    running.step()
    np.testing.assert_allclose(running["m0.position"], 1.0 + 2 * 2.0 * STEP, rtol=1e-6)
    running.step(0.0)  # as when a parameter is changed while the run is paused: nothing moves on
    np.testing.assert_allclose(running["m0.position"], 1.0 + 2 * 2.0 * STEP, rtol=1e-6)
    running.stage.reset()
    np.testing.assert_allclose(running["m0.position"], 1.0)
    running.step()
    np.testing.assert_allclose(running["m0.position"], 1.0 + 2.0 * STEP, rtol=1e-6)


def test_a_rewound_run_goes_on_alike(folder: Path, run: Any, gpu: Any) -> None:
    from vertigrad.session.snapshots import Snapshot

    running = run(scene(folder, SWIRL))
    running.step()
    snapshot = Snapshot(gpu, running.stage, 1, STEP)
    for _ in range(3):
        running.step()
    expected = running["m0.position"]
    with running.stage.rewriting():
        snapshot.restore(running.stage)
    for _ in range(3):
        running.step()
    np.testing.assert_array_equal(running["m0.position"], expected)
    snapshot.close()


def test_inputs_from_other_models_and_results_of_all_types(folder: Path, run: Any) -> None:
    shifted = """
file = "net.py"
entry = "shifted"
inputs.points = "m0.position"
inputs.offset = { slider = [-1, 1], value = [0.5, 0.25, 0.0] }
outputs.moved = { output = 0, shape = [6, 3] }
outputs.wide = { output = 1, shape = [6, 3] }
outputs.above = { output = 2, shape = [6, 3], dtype = "i32" }
"""
    running = run(scene(folder, SWIRL, shifted))
    running.step()
    position = running["m0.position"]
    np.testing.assert_allclose(running["m1.moved"], position + np.float32([0.5, 0.25, 0.0]), rtol=1e-6)
    np.testing.assert_allclose(running["m1.wide"], position)
    np.testing.assert_array_equal(running["m1.above"], position > 0)
    running.stage.change("m1", "offset", (1.0, 0.0, 0.0))
    running.step(0.0)
    np.testing.assert_allclose(running["m1.moved"], running["m0.position"] + np.float32([1, 0, 0]), rtol=1e-6)


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * self.weight * scale, x.sum(1)


FED = """
inputs.x = { start = "ones", shape = [4, 3] }
inputs.scale = { slider = [0, 9], value = 3 }
"""


@pytest.mark.parametrize("kind", ["pt2", "pt"])
def test_exported_programs_and_torchscript(folder: Path, run: Any, kind: str) -> None:
    example = torch.ones(4, 3), torch.ones(())
    if kind == "pt2":
        torch.export.save(torch.export.export(Scaled(), example[:1], {"scale": example[1]}), folder / "scaled.pt2")
    else:
        torch.jit.trace(Scaled(), example).save(str(folder / "scaled.pt"))
    running = run(scene(folder, f'file = "scaled.{kind}"\n{FED}'))
    running.step()
    np.testing.assert_allclose(running["m0.output_0"], np.full((4, 3), 3.0) * [1, 2, 3])
    np.testing.assert_allclose(running["m0.output_1"], 3.0)
    running.stage.change("m0", "scale", 5.0)
    running.step()
    np.testing.assert_allclose(running["m0.output_0"], np.full((4, 3), 5.0) * [1, 2, 3])
    assert all(one.holds for one in running.model().compare_with_reference())


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_weights_of_a_file(folder: Path, run: Any, suffix: str) -> None:
    from safetensors.torch import save_file

    code = PYTHON.replace("Net(", "Other(") + "\nclass Net(Other):\n    pass\n"
    (folder / "net.py").write_text(code)
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    zeros = {name: torch.zeros_like(value) for name, value in namespace["Net"]().state_dict().items()}
    zeros["layers.2.bias"] += 0.5
    if suffix == "pt":
        torch.save({"state_dict": zeros, "epoch": 3}, folder / "w.pt")
    else:
        save_file(zeros, folder / "w.safetensors")
    running = run(scene(folder, NET + f'weights = "w.{suffix}"\n'))
    np.testing.assert_allclose(running["m0.position"], 2 * 0.5)


@pytest.mark.turns(4)
def test_a_compiled_network_gives_the_same_values(folder: Path, run: Any) -> None:
    compiled = run(scene(folder, SWIRL + "compile = true\n"))
    compiled.step()
    compiled.step()
    np.testing.assert_allclose(compiled["m0.position"], 1.0 + 2 * STEP, rtol=1e-6)


def test_cuda_graphs_follow_sliders_feedback_and_clock(folder: Path, run: Any) -> None:
    (folder / "net.py").write_text("def f(x, t, s, k: float = 1.0):\n    return x + k * s, t * s\n")
    running = run(
        scene(
            folder,
            'file = "net.py"\nentry = "f"\ncuda_graph = true\noutputs = ["x", "ts"]\ninputs.t = { time = 1.0 }\n'
            'inputs.x = { feedback = "x", start = 0.0, shape = [2] }\ninputs.s = { slider = [0, 9], value = 1 }\n',
        )
    )
    start = float(running["m0.x"][0])
    for _ in range(4):
        running.step()
    running.stage.change("m0", "s", 3.0)
    running.step()
    running.step()
    running.stage.change("m0", "k", 10.0)
    for _ in range(3):
        running.step()
    np.testing.assert_allclose(running["m0.x"] - start, 4 * 1 + 2 * 3 + 3 * 30)
    np.testing.assert_allclose(running["m0.ts"], 9 * STEP * 3, rtol=1e-5)


def test_an_edited_file_goes_on_with_the_users_values(folder: Path, run: Any) -> None:
    file = scene(folder, SWIRL)
    running = run(file)
    running.stage.change("m0", "rate", 3.0)
    running.step()
    before = running["m0.position"]
    (folder / "net.py").write_text(PYTHON.replace("position + rate", "position - rate"))
    trust.allow([folder / "net.py"])
    assert running.stage.apply_scene(load(file))
    running.step()
    np.testing.assert_allclose(running["m0.position"], before - 3.0 * STEP, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('file = "net.py"', 'entry must name a function or a torch.nn.Module: entry = "Net"'),
        ('file = "net.py"\nentry = "Ned"', 'unknown function or class "Ned"; did you mean "Net"?'),
        ('file = "net.py"\nentry = "Number"', "Number is neither a function nor a torch.nn.Module"),
        ('file = "net.py"\nentry = "a b"', "expected the name of a function or class"),
        ('file = "net.py"\nentry = "swirl"', "needs the input position"),
        (SWIRL + "inputs.wrong = 1.0", 'unknown input "wrong"'),
        (SWIRL.replace('"position"]', '"other"]'), 'feedback: unknown output "position"'),
        (SWIRL.replace(", shape = [6, 3]", ""), "needs a shape"),
        (SWIRL + "rates = 3", 'unknown parameter; did you mean "rate"?'),
        (SWIRL + 'rate = "fast"', "expected a number"),
        (SWIRL.replace('["position"]', "{ position = 1 }"), 'unknown output "1"'),
        (SWIRL.replace('["position"]', '{ position = "key" }'), 'unknown output "key"'),
        (SWIRL + "cuda_graph = true", "dt changes in each step"),
        ('file = "net.py"\nentry = "fails"\ninputs.x = { start = 0, shape = [2, 2] }', "net.py:19: RuntimeError"),
        (
            'file = "net.py"\nentry = "shifted"\ninputs.points = "m0.x"\ninputs.offset = 1.0',
            "shapes of outputs",
        ),
        (NET + 'weights = "bad.pt"', "bad.pt: is damaged, or has more in it than weights"),
        (NET + 'weights = "pickled.pt"', "has more in it than weights"),
        (NET + 'weights = "other.pt"', "other.pt: does not fit"),
        (SWIRL + 'weights = "other.pt"', "takes no weights"),
        ('file = "bad.pt"', "bad.pt: no file of TorchScript"),
        ('file = "other.pt"', "weights alone need the module's Python"),
        ('file = "bad.pt2"', "bad.pt2: no program of torch.export"),
    ],
)
def test_mistakes_are_named(folder: Path, text: str, message: str) -> None:
    (folder / "bad.pt").write_bytes(b"not a zip file at all")
    (folder / "bad.pt2").write_bytes(b"PK\x03\x04 cut off")
    torch.save({"a": torch.zeros(2)}, folder / "other.pt")
    torch.save(Path("a"), folder / "pickled.pt")
    assert re.search(re.escape(message), problem(scene(folder, text)))
    trust.forget()


def test_an_error_in_a_later_step_names_the_line(folder: Path, run: Any) -> None:
    (folder / "net.py").write_text("def f(x, k: int = 2):\n    assert k < 3, 'too large'\n    return x * k\n")
    running = run(scene(folder, 'file = "net.py"\nentry = "f"\ninputs.x = { start = 1, shape = [3] }\n'))
    running.step()
    with pytest.raises(CodeError, match=r"net\.py:2: AssertionError: too large"):
        running.stage.change("m0", "k", 5)
        running.step()
    running.stage.change("m0", "k", 2)
    running.step()
    np.testing.assert_allclose(running["m0.output"], 2.0)


@pytest.mark.parametrize("name", ["net.py", "net.pt", "net.pt2"])
def test_code_is_not_run_without_trust(folder: Path, name: str) -> None:
    (folder / name).write_text("raise SystemExit('was run')")
    with pytest.raises(UntrustedCode, match=re.escape(name)):
        load(scene(folder, f'file = "{name}"', trusted=False))


def test_without_pytorch_the_message_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = scene(folder, NET)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "pip install vertigrad[torch]" in problem(file)
    trust.forget()


def test_too_large_results_are_refused(folder: Path) -> None:
    with pytest.raises((SceneError, InputError)):
        load(scene(folder, SWIRL.replace("[6, 3]", "[60000000000, 3]")))
    trust.forget()
