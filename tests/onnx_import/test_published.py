"""Networks from packages of others against onnxruntime; only where VERTIGRAD_PUBLISHED names a folder for them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from vertigrad.gpu import Gpu

from . import published

pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
NETWORKS = [pytest.param(package, file, id=f"{package.name}-{file}") for package, file in published.every()]


@pytest.mark.skipif("VERTIGRAD_PUBLISHED" not in os.environ, reason="packages are fetched to the folder it names")
@pytest.mark.parametrize(("package", "file"), NETWORKS)
def test_a_published_network_is_equal_to_onnxruntime(gpu: Gpu, package: published.Package, file: str) -> None:
    result = published.compare(package, file)
    if result is None:
        pytest.skip(f"{package.name} cannot be fetched")
    assert not result.refused
    assert result.error < published.CLOSE


def test_differences_are_relative_to_the_largest_number() -> None:
    a = np.array([1.0, -200.0, np.nan], np.float32)
    assert published.difference(a, a) == 0.0
    assert published.difference(a + np.float32(0.5), a) == pytest.approx(0.5 / 200.0)
    assert published.difference(np.array([1.0, -200.0, 3.0], np.float32), a) == np.inf
    assert published.difference(a[:2], a) == np.inf and published.difference(a.astype(np.float64), a) == np.inf


def test_the_page_has_a_line_for_each_network() -> None:
    lines = published.PAGE.read_text(encoding="utf-8").splitlines()
    listed = [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in lines if line.startswith("| ")][1:]
    assert listed == [(f"{one.name} ({one.registry})", file.strip("_")) for one, file in published.every()]


def test_lines_of_networks_that_are_not_there_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(published.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(published, "PAGE", page)
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    package, file = next(iter(published.every()))
    result = published.Result(package.name, file, 672, 0.25, 1.0, 2.0, 3.0)
    (tmp_path / published._cache_name(package, file)).write_text(json.dumps(asdict(result)), encoding="utf-8")
    before = page.read_text(encoding="utf-8").splitlines()
    published.write_page("1.0")
    after = page.read_text(encoding="utf-8").splitlines()
    (changed,) = [line for line in after[12:] if line not in before]
    assert changed.startswith(f"| {package.name} (PyPI) | {file} |") and "| 2e-01 | 1.0 | 2 | 3.0 |" in changed
    assert len(after) == len(before)


def test_the_page_lists_at_least_forty_networks_equal_to_onnxruntime() -> None:
    rows = [line for line in published.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    errors = [row.split("|")[5].strip() for row in rows]
    assert sum(error != "" and float(error) < published.CLOSE for error in errors) >= 40
