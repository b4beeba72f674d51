"""Choosing variants by measurement: only correct ones, stored on disk; without the file the default is used."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.cli import main
from vertigrad.errors import DtypeError, InputError
from vertigrad.gpu import Gpu
from vertigrad.ops import tuning
from vertigrad.ops.mlp_training import BACKWARDS
from vertigrad.ops.mlp_variants import NETWORKS
from vertigrad.ops.product_variants import LINES, TILES, Lines
from vertigrad.ops.tunable import tuned
from vertigrad.ops.tuning import Family, Measurement, Tuned

VARIANTS = {"slow": 2.0, "fast": 0.5, "wrong": 0.01, "failing": 0.01, "huge": 0.01}
FAMILY: Family[float] = Family(
    "pretend", 3, VARIANTS, lambda key, gpu: 2.0, lambda variant, key, gpu: variant != "huge"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(tuning.FOLDER, str(tmp_path))
    tuning._read.cache_clear()
    yield tmp_path
    tuning._read.cache_clear()


class Pretend:
    """Runs for the number of milliseconds of its variant, on the CPU."""

    def __init__(self) -> None:
        self.result = math.nan
        self.log: list[str] = []

    def reset(self) -> None:
        self.log.append("reset")
        self.result = math.nan

    def run(self, variant: str, /) -> None:
        self.log.append(variant)
        if variant == "failing":
            raise DtypeError("does not run here")
        time.sleep(VARIANTS[variant] * 1e-3)
        ops.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))  # an operation for a plan to replay
        self.result = 0.0 if variant == "wrong" else 1.0

    def error(self) -> float:
        return abs(self.result - 1.0) * 10.0


def test_without_a_file_the_default_is_used(gpu: Gpu) -> None:
    assert FAMILY.choose("any") == 2.0


def test_a_stored_choice_is_used(gpu: Gpu, folder: Path) -> None:
    path = tuning.keep([FAMILY], {"pretend": {"small": "fast"}})
    assert path.parent == folder / "tuning" and path == tuning.file(gpu)
    assert FAMILY.choose("small") == 0.5
    assert FAMILY.choose("large") == 2.0
    other = Family("other", 1, {"a": 1}, lambda key, gpu: 0, lambda variant, key, gpu: True)
    tuning.keep([other], {"other": {"small": "a"}})
    assert (FAMILY.choose("small"), other.choose("small")) == (0.5, 1)  # independent of each other
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_changed_kernel_invalidates_measurements(gpu: Gpu) -> None:
    tuning.keep([FAMILY], {"pretend": {"small": "fast"}})
    changed = Family("pretend", 4, VARIANTS, FAMILY.default, FAMILY.fits)
    assert changed.choose("small") == 2.0


def test_unknown_or_unsupported_variants_are_not_chosen(gpu: Gpu) -> None:
    tuning.keep([FAMILY], {"pretend": {"small": "removed since", "large": "huge"}})
    fits = Family("pretend", 3, VARIANTS, FAMILY.default, lambda variant, key, gpu: key != "large")
    assert (FAMILY.choose("small"), fits.choose("large")) == (2.0, 2.0)


GOOD = {
    "version": tuning.VERSION,
    "adapter": "",
    "families": {"pretend": {"revision": 3, "choices": {"small": "fast"}}},
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": tuning.VERSION + 1}, "version"),
        ({"adapter": "another card, Vulkan, 1.0"}, "it is for another card"),
        ({"families": {"pretend": {"revision": 3, "choices": {"small": 7}}}}, "names of variants"),
        ({"families": {"pretend": {"choices": {}}}}, "revision"),
        ({"families": []}, "AttributeError"),
        (None, "JSONDecodeError"),
    ],
)
def test_damaged_and_foreign_files_are_ignored_with_a_warning(
    gpu: Gpu, caplog: pytest.LogCaptureFixture, change: dict | None, reason: str
) -> None:
    path = tuning.file(gpu)
    path.parent.mkdir(parents=True)
    content = json.dumps({**GOOD, "adapter": tuning._identity(gpu), **(change or {})})
    path.write_text(content if change is not None else content[:40])
    with caplog.at_level(logging.WARNING, "vertigrad"):
        assert FAMILY.choose("small") == 2.0
        assert FAMILY.choose("small") == 2.0
    (record,) = caplog.records  # once
    assert str(path) in record.getMessage() and reason in record.getMessage()
    tuning.keep([FAMILY], {"pretend": {"small": "fast"}})
    assert FAMILY.choose("small") == 0.5


def test_a_file_that_cannot_be_written_reports_it(folder: Path) -> None:
    (folder / "tuning").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        tuning.keep([FAMILY], {})


def test_only_correct_variants_are_chosen(gpu: Gpu) -> None:
    created = Pretend()

    @contextmanager
    def problem() -> Iterator[Pretend]:
        yield created

    names = {name: name for name in VARIANTS}
    family: Family[str] = Family("pretend", 1, names, lambda key, gpu: "slow", lambda v, key, gpu: v != "huge")
    pretend = Tuned(family, {"small": problem})
    measurements = list(tuning.measure(pretend))
    found = {m.variant: m for m in measurements}
    assert tuning.count(pretend) == len(found) == 4
    assert found["wrong"].ms == math.inf and found["wrong"].error == 10.0
    assert found["failing"].ms == math.inf
    assert math.isfinite(found["slow"].ms) and math.isfinite(found["fast"].ms)
    for name in ("slow", "fast", "wrong"):
        assert created.log[created.log.index(name) - 1] == "reset"  # so that no variant uses another's result


def test_the_fastest_correct_variant_is_chosen() -> None:
    measured = [
        Measurement("a", "x", "one", 2.0, 0.1),
        Measurement("a", "x", "two", 1.0, 0.2),
        Measurement("a", "x", "three", math.inf, 9.0),
        Measurement("a", "y", "one", math.inf, math.nan),
        Measurement("b", "x", "one", 3.0, 0.0),
    ]
    assert tuning.fastest(measured) == {"a": {"x": "two"}, "b": {"x": "one"}}


def test_every_class_has_a_problem_and_a_default_that_fits(gpu: Gpu) -> None:
    families = {one.family.name: one for one in tuned(small=True)}
    assert list(families) == ["matmul", "gemv", "mlp", "mlp_backward"]
    for one in (*tuned(small=True), *tuned(small=False)):
        for key in one.problems:
            default = one.family.default(key, gpu)
            assert default in one.family.variants.values()
            assert one.family.fits(default, key, gpu)
    assert len(families["matmul"].problems) == 7 and len(families["gemv"].problems) == 4
    ours = (TILES, LINES, NETWORKS, BACKWARDS)
    assert [family is one.family for family, one in zip(ours, tuned(True), strict=True)] == [True] * 4


def test_the_problems_detect_wrong_results(gpu: Gpu) -> None:
    for one, key in ((tuned(True)[1], "row-major some"), (tuned(True)[2], "16 16"), (tuned(True)[3], "4 3 16 4")):
        with one.problems[key]() as problem:
            problem.reset()
            assert not problem.error() <= 1.0
            problem.run(one.family.default(key, gpu))
            assert problem.error() <= 1.0
            problem._out[..., 1:2] *= 1.01  # type: ignore[attr-defined]
            assert problem.error() > 1.0


def test_the_tune_verb(gpu: Gpu, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "ROUNDS", 1)
    monkeypatch.setattr(tuning, "LEAST_SECONDS", 1e-4)
    monkeypatch.setattr(tuning, "WARM_UP_SECONDS", 0.0)
    tried = {LINES.default(key, gpu) for one in tuned(small=False) if one.family is LINES for key in one.problems}
    few = {name: lines for name, lines in LINES.variants.items() if lines in tried} | dict(
        [*LINES.variants.items()][-1:]
    )
    monkeypatch.setitem(vars(LINES), "variants", few)  # each variant is a kernel to compile
    assert main(["tune", "gemv"]) == 0
    printed = capsys.readouterr()
    assert "row-major one" in printed.out and str(tuning.file(gpu)) in printed.out.replace("\n", "")
    saved = json.loads(tuning.file(gpu).read_text())
    assert set(saved["families"]) == {"gemv"} and len(saved["families"]["gemv"]["choices"]) == 4
    assert main(["tune", "gemm"]) == 2
    assert "gemm: no such kernel to tune; there are matmul, gemv, mlp, mlp_backward" in capsys.readouterr().err


def test_the_chosen_variant_runs(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    kernel = ops.tuning.Family.choose
    monkeypatch.setattr(Family, "choose", lambda family, key: used.append((family.name, key)) or kernel(family, key))
    tuning.keep([LINES], {"gemv": {"row-major one": "256x8x4"}})
    assert LINES.choose("row-major one") == Lines(256, 8, 4)
    a, b = np.ones((1, 40), np.float32), np.ones((40, 24), np.float32)
    assert np.all(ops.matmul(Tensor.from_numpy(a), Tensor.from_numpy(b)).numpy() == 40.0)
    assert used == [("gemv", "row-major one"), ("gemv", "row-major one")]
