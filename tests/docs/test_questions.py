"""The code in docs/questions, and of other pages with code, runs, and its assertions pass."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "questions"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def code(page: Path) -> str:
    """The Python of a page, as one program whose line numbers are those of the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        lines[first : first + block[1].count("\n")] = block[1].splitlines()
    return "\n".join(lines)


def test_there_is_a_page_for_each_question() -> None:
    assert [page.stem for page in PAGES] == [
        "borrowing-host-memory",
        "buffer-under-a-tensor",
        "clone-and-detach",
        "models-in-wgsl",
    ]


@pytest.mark.turns(3)
@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("page", [*PAGES, FOLDER.parent / "gradients.md"], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path) -> None:
    program = code(page)
    assert program.count("assert ") >= 5
    exec(compile(program, str(page), "exec"), {"__name__": page.stem})


@pytest.mark.parametrize("page", [*PAGES, FOLDER.parent / "gradients.md"], ids=lambda page: page.stem)
def test_no_line_is_too_long_to_read(page: Path) -> None:
    assert max(len(line) for line in page.read_text(encoding="utf-8").splitlines()) <= 125
