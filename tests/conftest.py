"""What all tests share: the order they run in."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The suite runs cheapest first; these folders, in this order, wait for all others.
LAST = ("window", "packaging", "bench")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _folder(item) == "bench":
            item.add_marker("bench")
    items.sort(key=_rank)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


def _rank(item: pytest.Item) -> int:
    folder = _folder(item)
    return LAST.index(folder) + 1 if folder in LAST else 0
