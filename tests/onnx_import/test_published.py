"""Networks from packages of others against onnxruntime; only where VERTIGRAD_PUBLISHED names a folder for them."""

from __future__ import annotations

import os

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


def test_the_page_lists_at_least_forty_networks_equal_to_onnxruntime() -> None:
    rows = [line for line in published.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    errors = [row.split("|")[5].strip() for row in rows]
    assert sum(error != "" and float(error) < published.CLOSE for error in errors) >= 40
