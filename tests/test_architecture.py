"""Who may import which part of an outside package; import-linter sees only whole packages."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "vertigrad"

# Outside module, with everything below it -> the places that may import it, relative to the package.
ONLY = {
    "cffi": ("gpu/native/",),
    "wgpu.backends": ("gpu/native/",),
    "wgpu.utils.imgui": ("panels/", "viewer/"),
}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported absolutely, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def trespasses(source: str, place: str) -> list[str]:
    """The imports in `source` that a file at `place` must not have."""
    found = []
    for line, name in imported(ast.parse(source)):
        for module, places in ONLY.items():
            within = name == module or name.startswith(module + ".")
            if within and not place.startswith(places):
                found.append(f"{place}:{line} imports {name}; only {', '.join(places)} may")
    return found


def test_no_file_imports_what_only_others_may():
    files = sorted(PACKAGE.rglob("*.py"))
    assert files
    found = [
        line
        for file in files
        for line in trespasses(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "place", "allowed"),
    [
        ("import wgpu", "gpu/device.py", True),
        ("import wgpu.backends.wgpu_native", "gpu/native/queue.py", True),
        ("import wgpu.backends.wgpu_native", "gpu/device.py", False),
        ("from wgpu import backends", "tensor/transfer.py", False),
        ("def late():\n    from wgpu.backends.wgpu_native import ffi", "gpu/plan.py", False),
        ("from wgpu.utils.imgui import ImguiWgpuBackend", "panels/parameters.py", True),
        ("from wgpu.utils.imgui import ImguiWgpuBackend", "renderer/camera.py", False),
        ("import cffication", "session.py", True),
        ("from . import cffi", "session.py", True),
    ],
)
def test_the_rule_sees_every_way_to_import(source, place, allowed):
    assert (not trespasses(source, place)) == allowed
