"""Every option has an observable effect."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.main import get_command

import vertigrad as package
from vertigrad import errors
from vertigrad.cli import app
from vertigrad.cli.options import console
from vertigrad.tensor.weights import read_arrays

from ..session.learning import hills_in

TESTS = Path(__file__).parent.parent
FILE_MODELS = (
    "array",
    "image",
    "language_model",
    "torch",
)  # outputs are those of a file, and no scene has one
SMALL = ("--set", "galaxy.count=64", "--size", "64x48")


def test_every_option_is_used_by_a_test() -> None:
    texts = "\n".join(
        path.read_text(encoding="utf-8") for path in [*TESTS.glob("cli/*.py"), *TESTS.glob("*/driver.py")]
    )
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for parameter in command.params:
            names = [*parameter.opts, *parameter.secondary_opts]
            options = [option for option in names if option.startswith("-") and option != "--help"]
            assert not options or any(f'"{option}"' in texts for option in options), f"{name} {options}"


def test_supersampled_images_are_smoother(vertigrad, tmp_path) -> None:
    images = []
    for factor in (1, 3):
        file = tmp_path / f"{factor}.png"
        assert vertigrad("render", "nbody", *SMALL, "--supersample", factor, "-o", file).code == 0
        images.append(np.asarray(Image.open(file), float))
    assert images[0].shape == images[1].shape
    assert np.abs(images[0] - images[1]).max() > 2


def test_a_seed_of_bench_reaches_the_models(vertigrad, tmp_path, monkeypatch) -> None:
    from vertigrad.session import Session

    seeds = []
    close = Session.close

    def noted(self: Session) -> None:
        if self.stage.instances:
            seeds.append(self.source.seed)
        close(self)

    monkeypatch.setattr(Session, "close", noted)
    reports = {}
    for seed in (1, 2):
        assert (
            vertigrad("bench", "nbody", *SMALL, "--frames", 2, "--seed", seed, "--json", tmp_path / "b.json").code == 0
        )
        reports[seed] = json.loads((tmp_path / "b.json").read_text())["diagnostics"]["galaxy.energy"]
    assert seeds and set(seeds) == {1, 2}
    assert reports[1] != reports[2]


def test_bench_warms_up_before_it_measures(vertigrad, tmp_path) -> None:
    """The model has taken more steps than were measured: those of the warm-up."""
    assert vertigrad("bench", "nbody", *SMALL, "--frames", 3, "--json", tmp_path / "b.json").code == 0
    report = json.loads((tmp_path / "b.json").read_text())
    assert report["frames"] == 3
    assert report["steps"] == 3 + 10


def test_a_seed_of_train_changes_what_is_trained(vertigrad, tmp_path) -> None:
    weights = []
    for seed in (1, 1, 2):
        file = tmp_path / "w.safetensors"
        assert vertigrad("train", hills_in(tmp_path), "--steps", 2, "--seed", seed, "-o", file).code == 0
        weights.append(read_arrays(file)["0.weight"])
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_weights_that_are_not_written_are_reported(vertigrad, tmp_path) -> None:
    outcome = vertigrad("train", hills_in(tmp_path), "--steps", 1)
    assert outcome.code == 0
    assert outcome.messages == ["the trained weights were not written; add --output FILE to save them"]


def test_diagnostics_have_one_row_per_frame(vertigrad, tmp_path) -> None:
    table, report = tmp_path / "new" / "folder" / "d.csv", tmp_path / "r.json"
    options = ("--frames", 4, "-o", tmp_path / "x.png", "--diagnostics", table, "--report", report)
    assert vertigrad("render", "nbody", *SMALL, *options).code == 0
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [row["frame"] for row in rows] == ["1", "2", "3", "4"]
    assert [float(row["time"]) for row in rows] == pytest.approx([1 / 60, 2 / 60, 3 / 60, 4 / 60])
    energies = [float(row["galaxy.energy"]) for row in rows]
    assert len(set(energies)) > 1
    kinetic, potential = (float(rows[-1][f"galaxy.{name}"]) for name in ("kinetic", "potential"))
    assert energies[-1] == pytest.approx(kinetic + potential, rel=1e-6)
    written = json.loads(report.read_text())
    assert written["diagnostics"]["galaxy.energy"] == energies[-1]
    assert written["parameters"]["models.galaxy"]["count"] == 64


def test_a_table_that_cannot_be_written_is_reported_before_anything_is_drawn(vertigrad, tmp_path) -> None:
    (tmp_path / "file").touch()
    table = tmp_path / "file" / "d.csv"
    outcome = vertigrad("render", "nbody", *SMALL, "-o", tmp_path / "x.png", "--diagnostics", table)
    assert outcome.code == 2 and not (tmp_path / "x.png").exists()


def test_version(vertigrad) -> None:
    assert vertigrad("--version").out.strip() == f"vertigrad {package.__version__}"


def test_each_kind_of_error_has_the_exit_code_of_the_readme() -> None:
    kinds = errors.VertigradError, errors.InputError, errors.RequirementError, errors.NoAdapter
    assert [kind.exit_code for kind in kinds] == [1, 2, 3, 4]


@pytest.mark.turns(2)
def test_the_package_is_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "vertigrad", "--version"], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout.strip()) == (0, f"vertigrad {package.__version__}")


def test_scenes_models_and_layers_are_listed(vertigrad, monkeypatch) -> None:
    monkeypatch.setattr(console, "width", 200)
    assert re.search(r"^nbody\b", vertigrad("scenes").out, re.MULTILINE)
    listed = vertigrad("models").out
    assert all(re.search(rf"^{name}\b", listed, re.MULTILINE) for name in ("nbody", "fluid", "array", "onnx"))
    water = vertigrad("models", "shallow_water").out
    for part in ("parameter", "bed", "input", "output", "diagnostic", "unit"):
        assert part in water
    points = vertigrad("layers", "points").out
    assert "position" in points and "required" in points and "roughness" in points


@pytest.mark.parametrize("verb", ["models", "layers"])
def test_an_unknown_type(vertigrad, verb) -> None:
    outcome = vertigrad(verb, "pointz" if verb == "layers" else "nbodi")
    assert outcome.code == 2
    assert "did you mean" in outcome.messages[0]


@pytest.mark.turns(3)
def test_every_model_and_layer_has_a_page(vertigrad, monkeypatch) -> None:
    from vertigrad.models import registry
    from vertigrad.renderer.layers import types

    monkeypatch.setattr(console, "width", 200)
    for verb, known in (("models", registry.types()), ("layers", types())):
        for name, kind in known.items():
            outcome = vertigrad(verb, name)
            assert outcome.code == 0 and "parameter" in outcome.out, name
            shown = {line.split(" ")[0] for line in outcome.out.splitlines()}
            if verb == "layers":
                listed = {*kind.ATTRIBUTES, *(spec.name for spec in kind.Style.specs())}
            else:
                listed = {*kind.inputs, *kind.diagnostic_specs, *(spec.name for spec in kind.Params.specs())}
            assert listed <= shown, name
            assert ("output" in shown) == (verb == "models" and name not in FILE_MODELS), name


def test_diagnostics_are_listed_with_units_and_limits(vertigrad, monkeypatch) -> None:
    monkeypatch.setattr(console, "width", 200)
    lines = [re.split(r" {2,}", line.strip()) for line in vertigrad("models", "smoke").out.splitlines()]
    assert ["energy", "J", "kinetic energy of air with 1.2 kg/m³"] in lines
    assert [
        "divergence",
        "largest divergence: relative volume change of a cell per step",
        "0.02",
        "the pressure has not converged: raise cycles",
    ] in lines


def test_outputs_of_a_type_that_needs_a_file_are_those_of_a_scene(vertigrad, monkeypatch) -> None:
    monkeypatch.setattr(console, "width", 200)
    text = vertigrad("models", "video").out
    assert "shape in depth" in text and "pixels" in text and "scenes: depth" in text


@pytest.mark.turns(2)
def test_a_setting_without_effect_is_reported(vertigrad, tmp_path) -> None:
    quick = ("--set", "skin.resolution=16", "--size", "32x24", "-o", tmp_path / "one.png")
    overridden = vertigrad("render", "reaction_sphere", "--set", "skin.pattern=eta", "--set", "skin.feed=0.05", *quick)
    assert overridden.code == 0
    assert 'warning: --set skin.feed=0.05 has no effect: pattern = "eta"' in " ".join(overridden.err.split())
    own = vertigrad("render", "reaction_sphere", "--set", "skin.pattern=own", "--set", "skin.feed=0.05", *quick)
    assert own.code == 0 and "no effect" not in own.err
