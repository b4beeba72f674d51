"""The code on the pages is usable: scenes load, Python runs, commands and options exist.

docs/questions and docs/gradients.md are in test_questions.py, docs/models.md in test_models_page.py,
docs/scene-format.md in tests/scene/test_docs.py, the README's program in test_readme.py.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import typer
from tests.onnx_import.networks import model, node

from vertigrad import resources, scene
from vertigrad.cli import app
from vertigrad.gpu import Gpu, Kernel

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*PAGES, *sorted((ROOT / "docs" / "questions").glob("*.md"))]


def blocks(page: str, language: str = "") -> list[str]:
    """The code of this language in a page below docs/."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def commands(page: Path) -> Iterator[str]:
    """The lines that call vertigrad: in blocks without a language, and in `code`."""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.M | re.S):
        if language not in ("", "sh"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if match := re.match(r"\s*(?:\$ )?(?:\.venv/bin/)?vertigrad (.*)", line):
                yield match[1].partition("  #")[0]
    yield from re.findall(r"`(?:\.venv/bin/)?vertigrad ([^`]+)`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_their_options_exist(page: Path) -> None:
    program: Any = typer.main.get_command(app)
    for line in commands(page):
        words = [word for word in shlex.split(line) if word not in ("...", "…")]
        name = words[0].rstrip(",")
        if name.startswith("-"):
            assert name in ("--version", "--help", "--install-completion", "--show-completion"), line
            continue
        if not (command := program.commands.get(name)):
            pytest.fail(f"there is no command {name!r}: vertigrad {line}")
        known = {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}
        used = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
        assert used <= known | {"--help"}, f"vertigrad {line}"


def load(tmp_path: Path, text: str) -> scene.Scene:
    """Load the text as a scene."""
    if "version" not in text:
        text = f"version = 1\n{text}"
    (tmp_path / "scene.toml").write_text(text, encoding="utf-8")
    return scene.load(tmp_path / "scene.toml")


def test_the_first_scene_loads(tmp_path: Path) -> None:
    (text,) = blocks("first-scene.md", "toml")
    found = load(tmp_path, text)
    assert found.models["terrain"].params.height == 0.5 and found.layers["ground"].type == "surface"


def test_a_network_that_is_trained_loads(tmp_path: Path) -> None:
    (text,) = blocks("learning.md", "toml")
    (tmp_path / "assets").symlink_to(resources.path("assets"))
    assert load(tmp_path, text).models["learner"].params.batch_size == 64


def test_networks_from_onnx_load(tmp_path: Path) -> None:
    decoder, inside, film = blocks("onnx.md", "toml")
    nodes = [node("Gemm", ["latent", "weights"], ["shift"]), node("Mul", ["shift", "time"], ["moved"])]
    nodes.append(node("Add", ["noise", "moved"], ["points"]))
    inputs = {"noise": ["n", 3], "latent": [1, 2], "time": []}
    weights = {"weights": np.ones((2, 3), np.float32)}
    onnx.save(model(nodes, inputs, {"points": ["n", 3]}, weights), tmp_path / "decoder.onnx")
    assert load(tmp_path, decoder).models["net"].params.n == 4096
    assert load(tmp_path, inside).layers["edges"].type == "tensor"
    (graph,) = blocks("inside-networks.md", "toml")
    assert load(tmp_path, graph).layers["nodes"].style.draw == "points"
    shutil.copy(resources.path("assets", "data", "rolling.mp4"), tmp_path / "street.mp4")
    shutil.copy(resources.path("assets", "weights", "depth.onnx"), tmp_path / "depth.onnx")
    assert load(tmp_path, film).layers["film"].type == "surface"


@pytest.mark.usefixtures("steady")
def test_parameters_are_declared_in_one_class() -> None:
    (code,) = blocks("parameters.md", "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(code, names)
    length, count = names["Params"].specs()
    assert (length.name, length.default, length.unit, count.rebuild) == ("length", 1.0, "m", True)


@pytest.mark.usefixtures("steady")
def test_programs_for_users_of_other_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    fit, fall = blocks("coming-from.md", "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(fit, names)
    assert float(capsys.readouterr().out) < 3e-3
    exec(fall, names)
    assert names["heights"] == pytest.approx(np.full(1000, -9.81 * sum(range(1, 61)) / 3600), rel=1e-5)


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("number", [0, 1])
def test_programs_that_share_tensors(number: int) -> None:
    code = blocks("frameworks.md", "python")[number]
    if "import torch" in code:
        pytest.importorskip("torch", reason="PyTorch is not installed here")
    exec(code, {"__name__": "page"})


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)", index)
    assert all((ROOT / "docs" / link).is_file() for link in links)
    pages = {
        path.relative_to(ROOT / "docs").as_posix()
        for folder in ("", "questions", "api")
        for path in (ROOT / "docs" / folder).glob("*.md")
    }
    assert pages - {"README.md"} == {link for link in links if not link.startswith(("..", "decisions"))}


def test_the_pendulum_of_the_page_about_models_swings(steady: Gpu, monkeypatch) -> None:
    (code,), (shader,) = blocks("add-a-model.md", "python"), blocks("add-a-model.md", "wgsl")
    assert len(code.splitlines()) <= 60, "a model with one kernel takes no more"
    load = Kernel.load

    def load_pendulum(path: str, entry: str = "main", *options: Any, **named: Any) -> Kernel:
        return Kernel(shader, entry, path) if "pendulum" in path else load(path, entry, *options, **named)

    monkeypatch.setattr(Kernel, "load", load_pendulum)
    names: dict[str, Any] = {"__name__": "pendulum"}
    exec(code, names)
    kind = names["Pendulum"]
    pendulum = kind("pendulum", kind.Params(count=100), {}, 3)
    first = pendulum.state()["angles"].numpy().astype(float)
    angle, velocity = first.T
    for _ in range(5):
        with steady.frames.frame():
            pendulum.step(0.01)
        velocity = velocity - 9.0 * np.sin(angle) * 0.01
        angle = angle + velocity * 0.01
    assert pendulum.outputs()["angle"].numpy() == pytest.approx(angle, abs=1e-5)
    assert pendulum.diagnostics()["fastest"].item() == pytest.approx(np.abs(velocity).max(), rel=1e-5)
    assert all(comparison.holds for comparison in pendulum.compare_with_reference())
    pendulum.reset()
    assert np.array_equal(pendulum.state()["angles"].numpy(), first)
    pendulum.close()
