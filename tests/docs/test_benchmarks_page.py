"""The tables of the benchmarks page equal the stored results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_page_shows_the_stored_results() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "benchmarks_page.py", "--check"], check=False)
    assert done.returncode == 0, "run tools/benchmarks_page.py"


def test_every_stored_result_meets_its_bound_and_names_its_machine() -> None:
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "docs" / "benchmarks").glob("*.json")]
    assert runs
    for run in runs:
        assert all(run[key] for key in ("adapter", "backend", "driver", "cpu", "packages", "commit", "date"))
        assert run["commit"] != "unknown"
        for result in run["results"]:
            assert result["least"] is None or result["ratio"] >= result["least"], result
