"""`docs/regressions.md`: the tests and records that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "regressions.md"
ROW = re.compile(r"^\| (?!what was wrong|---)(.+) \| (.+) \|$", re.M)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
RECORD = re.compile(r"\]\((decisions/[^)]+)\)")


def test_each_bug_names_an_existing_test_or_record() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) > 60
    for fault, references in rows:
        tests, records = TEST.findall(references), RECORD.findall(references)
        assert tests or records, fault
        for file, name in tests:
            assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), f"{file}::{name}"
        for record in records:
            assert (PAGE.parent / record).exists(), record
