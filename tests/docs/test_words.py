"""`tools/words.py`, which `make lint` runs on all files, finds each of its words."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["words"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("compare_with_twin()", "reference implementation"),
        ("the way back", "backward pass"),
        ("Colours", "color"),
        ("a neighbour_grid", "neighbor"),
        ("of whole numbers", "integer"),
        ("a copy under way", "in flight, in progress"),
        ("the sun's map", "shadow map"),
    ],
)
def test_each_is_found_with_its_line(words: ModuleType, text: str, instead: str) -> None:
    (found,) = words.found("docs/page.md", f"first line\n{text}\n")
    assert (found.file, found.line, found.instead) == ("docs/page.md", 2, instead)


@pytest.mark.parametrize(
    ("name", "text", "identifier"),
    [
        ("app/a.py", "last_picture = 1\n", "last_picture"),
        ("app/a.py", "class PictureSize:\n    pass\n", "PictureSize"),
        ("shaders/a.wgsl", "fn all_looks() {}\n", "all_looks"),
        ("shaders/a.wgsl", "let linear_places = 1;\n", "linear_places"),
        ("app/a.py", "def pool(given):\n    pass\n", "given"),
        ("tests/test_a.py", "def test_the_picture_is_told(): ...\n", "test_the_picture_is_told"),
        ("tests/a.py", "kept = 1\n", "kept"),
        ("tools/a.py", "kept = 1\n", "kept"),
        ("examples/a.py", "kept = 1\n", "kept"),
    ],
)
def test_parts_of_names_are_found(words: ModuleType, name: str, text: str, identifier: str) -> None:
    assert {(found.line, found.word) for found in words.found(name, text)} == {(1, identifier)}


@pytest.mark.parametrize("name", ["tests/a.py", "tools/a.py", "examples/a.py"])
def test_prose_is_searched(words: ModuleType, name: str) -> None:
    """Docstrings of one line and of several, and comments; not strings in expressions."""
    text = '"""A picture."""\n\ndef f():\n    """First.\n\n    It is told.\n    """\n    return "told"  # a mistake\n'
    assert [(found.line, found.word) for found in words.found(name, text)] == [
        (1, "picture"),
        (6, "told"),
        (8, "mistake"),
    ]
    assert not list(words.found("app/a.py", text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("app/a.py", "keeper = 1  # says what it looks like\n"),
        ("app/a.py", "in_place = 1  # in place of what was given\n"),
        ("shaders/a.wgsl", "let value = 1;  // it keeps what it tells\n"),
        ("tests/test_a.py", "def test_it_keeps_the_image_as_seen_in_place(): ...\n"),
        ("tests/test_a.py", "from hypothesis import given\n"),
    ],
)
def test_words_of_sentences_are_allowed(words: ModuleType, name: str, text: str) -> None:
    assert not list(words.found(name, text))


def test_other_words_are_allowed(words: ModuleType) -> None:
    assert not list(words.found("a.py", "between, color, metres_per_unit, developer, Optimizer\n"))


def test_exceptions_are_needed(words: ModuleType) -> None:
    """Every excepted file has at least one of the words."""
    for name in words.EXCEPTIONS:
        path = ROOT / name
        files = [one for one in path.rglob("*") if one.suffix in words.SUFFIXES] if path.is_dir() else [path]
        assert any(list(words.found(name, one.read_text(encoding="utf-8"))) for one in files), name
