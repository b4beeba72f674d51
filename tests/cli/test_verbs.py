"""`check`, `info`, help, and how long they take."""

import json
import math
import os
import re
import resource
import subprocess
import sys
from dataclasses import replace

import pytest

from vertigrad.gpu import adapters
from vertigrad.gpu.adapter import FALLBACKS, OPTIONAL_FEATURES
from vertigrad.resources import log_file

from ..session.running import LINKED, SCENE, Fault, Rising, written

VERBS = ("run", "render", "check", "bench", "info")


@pytest.mark.parametrize("name", ["nbody", "neural_field"])
def test_packaged_scenes_are_valid_and_correct_on_this_gpu(vertigrad, name):
    size = {"nbody": "galaxy.count=512", "neural_field": "terrain.resolution=33"}[name]
    outcome = vertigrad("check", name, "--set", size)
    assert (outcome.code, outcome.messages) == (0, [])
    assert f"{name}.toml: OK, 1 model, 1 layer\n" in outcome.out
    assert outcome.out.count("agrees with its NumPy reference, relative error") >= 3
    assert "DIFFERS" not in outcome.out


def test_a_model_that_differs_from_its_reference_is_a_requirement_not_met(vertigrad, row):
    assert vertigrad("check", row).code == 0
    outcome = vertigrad("check", row, "--set", "row.wrong_by=0.25")
    assert outcome.code == 3
    assert "row.phase: DIFFERS FROM its NumPy reference" in outcome.out
    assert "row.x: agrees with its NumPy reference" in outcome.out, "the others are reported too"
    (line,) = outcome.messages
    assert line.startswith("differs from its NumPy reference on ")
    assert line.endswith(": row.phase")


def test_references_can_be_skipped(vertigrad, row):
    outcome = vertigrad("check", row, "--set", "row.wrong_by=0.25", "--no-reference")
    assert (outcome.code, outcome.messages) == (0, [])
    assert outcome.out.endswith(": OK, 1 model, 1 layer\n")


def test_the_old_name_of_the_option_is_understood_with_a_notice(vertigrad, row):
    for old, code in (("--no-twins", 0), ("--twins", 3)):
        outcome = vertigrad("check", row, "--set", "row.wrong_by=0.25", old)
        assert outcome.code == code
        assert f"{old} is now called {old.replace('twins', 'reference')}" in outcome.messages[0]


def test_every_model_of_a_scene_is_checked(vertigrad, row, tmp_path):
    two = written(tmp_path, LINKED + '[models.second]\ntype = "rising"\nwrong_by = 1\n')
    outcome = vertigrad("check", two)
    assert outcome.code == 3
    assert "4 models, 2 layers" in outcome.out
    assert outcome.messages[0].endswith(": second.phase")


def test_errors_found_on_the_gpu_have_a_line(vertigrad, row, tmp_path):
    sheet = written(tmp_path, SCENE + '[layers.sheet]\ntype = "surface"\nposition = "row.position"\n')
    outcome = vertigrad("check", sheet)
    assert outcome.code == 2
    assert outcome.messages[0].startswith(f"{sheet}:14:9  layers.sheet: ")


def test_an_error_in_a_reference_leaks_nothing(vertigrad, row, monkeypatch):
    def fault(self: Rising) -> None:
        raise Fault("in the reference")

    monkeypatch.setattr(Rising, "compare_with_reference", fault)
    outcome = vertigrad("check", row)
    assert outcome.code == 1
    assert "Fault: in the reference" in outcome.messages[0]


# info ---------------------------------------------------------------------------------------------------------------


def test_info_lists_adapters_and_the_one_in_use(vertigrad, steady):
    outcome = vertigrad("info")
    assert (outcome.code, outcome.messages) == (0, [])
    assert re.match(r"Vertigrad \d+\.\d+\.\d+, wgpu \d+\.\d+\.\d+, Python \d+\.\d+\.\d+\n", outcome.out)
    assert f"log of the window: {log_file()}\n" in outcome.out
    found = adapters()
    for choice in found:
        assert f" {choice.number}: {choice}, driver {choice.driver}\n" in outcome.out
    assert [line for line in outcome.out.splitlines() if line.startswith("  * ")] == [
        f"  * {steady.adapter.number}: {steady.adapter}, driver {steady.adapter.driver}"
    ]
    assert re.search(rf"max-buffer-size +{steady.limits['max-buffer-size']:,}\n", outcome.out)
    for name in OPTIONAL_FEATURES:
        assert re.search(rf"    {name} +{'yes' if name in steady.features else 'no'}\n", outcome.out)
    assert re.search("\ntensor cores: (no: the adapter|could be used)", outcome.out)


def test_info_reports_fallbacks_with_reasons(vertigrad, steady, monkeypatch):
    monkeypatch.setattr(steady, "features", steady.features - {"timestamp-query", "shader-f16"})
    falls_back = vertigrad("info").out.partition("falls back:")[2]
    for name in ("timestamp-query", "shader-f16"):
        assert f"    no {name}: {FALLBACKS[name]}\n" in falls_back
    assert ("no graphics card in use" in falls_back) == (steady.adapter.kind == "software")


def test_info_of_an_adapter_with_all_features(vertigrad, steady, monkeypatch):
    monkeypatch.setattr(steady, "features", frozenset(OPTIONAL_FEATURES))
    monkeypatch.setattr(steady, "adapter", _with(steady.adapter, kind="discrete", backend="Vulkan"))
    monkeypatch.setattr(sys.modules["vertigrad.gpu"], "adapters", lambda: [steady.adapter])
    assert vertigrad("info").out.endswith("falls back: nothing\n")
    monkeypatch.setattr(steady, "adapter", _with(steady.adapter, backend="OpenGL"))
    assert "    OpenGL only: outlines are smoothed through alpha" in vertigrad("info").out


def _with(choice, **changed):
    return replace(choice, **changed)


@pytest.mark.turns(3)
def test_an_adapter_can_be_chosen(process):
    backends = {choice.backend for choice in adapters()}
    for backend in backends & {"Vulkan", "OpenGL"}:
        outcome = process("info", "--adapter", backend)
        if "cannot be opened" in outcome.err:  # some drivers list an adapter that they cannot use
            assert outcome.code == 4
            continue
        assert outcome.code == 0
        assert re.search(rf"^  \* .*{backend}\)", outcome.out, re.MULTILINE)
        assert outcome.messages == []


# help and start-up --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_verb(vertigrad, flag):
    outcome = vertigrad(flag)
    assert outcome.code == 0
    for verb in VERBS:
        assert re.search(rf"\b{verb}\b", outcome.out)


OPTIONS = {"--set", "--seed", "--adapter", "--require-zero-copy", "--report", "--size", "--frames"}


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("run", OPTIONS | {"--no-vsync"}),
        ("render", OPTIONS | {"--output", "-o"}),
        ("bench", OPTIONS | {"--json"}),
        ("check", {"--set", "--seed", "--adapter", "--no-reference"}),
        ("info", {"--adapter"}),
    ],
)
def test_help_of_a_verb_names_its_options(vertigrad, monkeypatch, verb, options):
    monkeypatch.setenv("COLUMNS", "200")
    outcome = vertigrad(verb, "--help")
    assert outcome.code == 0
    for option in options:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", outcome.out), option


LATE = ("vertigrad.session", "vertigrad.renderer", "vertigrad.viewer", "av", "PIL", "glfw", "imgui_bundle")


def processor_seconds(call: list[str]) -> float:
    """Processor time of a process on one core: NumPy's start-up per further core is not counted."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(call, check=True, capture_output=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.turns(2)
def test_help_is_fast():
    """It costs little more than importing the libraries of the command line."""
    libraries = [sys.executable, "-c", "import jinja2, numpy, pydantic, typer.rich_utils, wgpu.backends.wgpu_native"]
    ours = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main(['--help']))"]
    mine = theirs = math.inf
    for _ in range(6):  # other processes can only add to a time
        mine, theirs = min(mine, processor_seconds(ours)), min(theirs, processor_seconds(libraries))
        if mine < 1.6 * theirs:
            break
    assert mine < 1.6 * theirs, f"help takes {mine:.2f} s of the processor, the libraries alone {theirs:.2f} s"


@pytest.mark.turns(2)
@pytest.mark.parametrize("arguments", [["--help"], ["render", "--help"], ["no-such-verb"], ["render", "--no-such"]])
def test_help_and_usage_errors_import_nothing_heavy(arguments):
    code = (
        f"import json, sys; from vertigrad.cli import main; main({arguments!r}); print(json.dumps(list(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900)
    modules = set(json.loads(done.stdout.splitlines()[-1]))
    assert "vertigrad.cli" in modules
    assert modules.isdisjoint(LATE)
