"""Records of decisions: their form, their index, and the links in them and in the architecture page."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
MAP = ROOT / "app" / "ARCHITECTURE.md"
HEADINGS = ["Context", "Decision", "Consequences"]
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(#[^)]*)?\)")
PAGES = [*RECORDS, FOLDER / "README.md", MAP, ROOT / "CONTRIBUTING.md"]


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def title(record: Path) -> str:
    return text(record).splitlines()[0].removeprefix("# ")


def date(record: Path) -> datetime.date:
    (found,) = re.findall(r"^Date: (\S+)$", text(record), re.M)
    return datetime.date.fromisoformat(found)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_its_headings_and_is_short(record: Path) -> None:
    number, lines = record.name[:4], text(record).splitlines()
    assert title(record).startswith(f"{number}. ") and lines[2].startswith("Date: ")
    parts = re.split(r"^## (.*)$", text(record), flags=re.M)
    headings, bodies = parts[1::2], parts[2::2]
    assert headings in (HEADINGS, [*HEADINGS, "Measurement"])
    assert all(body.strip() for body in bodies)
    assert 10 <= len(lines) <= 25
    assert max(map(len, lines)) <= 125


def test_records_are_numbered_by_date() -> None:
    assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+", RECORDS[0].stem)
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))
    dates = [date(record) for record in RECORDS]
    assert dates == sorted(dates)


def test_the_index_lists_each_record_once_by_its_title() -> None:
    listed = re.findall(r"^- \[(.*)\]\(([^)]+)\)$", text(FOLDER / "README.md"), re.M)
    assert sorted((name, file) for file, name in listed) == [(record.name, title(record)) for record in RECORDS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_are_valid(page: Path) -> None:
    for target, anchor in LINK.findall(text(page)):
        if "://" in target:
            continue
        assert (page.parent / target).exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", text(page.parent / target), re.M)
            assert anchor[1:] in [re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings]


def test_the_architecture_page_has_at_most_two_pages() -> None:
    assert len(text(MAP).splitlines()) <= 130
    assert len(text(MAP).split()) <= 1300
