"""The reference of the Python interface is that of the code, and describes everything public."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import vertigrad

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))


@pytest.mark.turns(2)
def test_the_pages_equal_the_generated_ones() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "api_pages.py", "--check"], check=False)
    assert done.returncode == 0, "run make pages"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_public_name_has_a_docstring(page: Path) -> None:
    sections = re.split(r"^##+ ", page.read_text(encoding="utf-8"), flags=re.M)
    bare = [section.splitlines()[0] for section in sections if not section.partition("\n")[2].strip()]
    assert len(sections) > 4 and not bare
    assert "<object" not in page.read_text(encoding="utf-8") and " at 0x" not in page.read_text(encoding="utf-8")


def test_every_operation_is_on_its_page() -> None:
    text = (ROOT / "docs" / "api" / "ops.md").read_text(encoding="utf-8")
    names = [name for name in vertigrad.ops.__all__ if not isinstance(getattr(vertigrad.ops, name), ModuleType)]
    assert len(names) > 200 and not [n for n in names if not re.search(rf"^## (class )?`{n}\b", text, re.M)]
