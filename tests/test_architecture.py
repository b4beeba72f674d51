"""Who may import which part of an outside package; import-linter sees only whole packages."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "vertigrad"

# External module, with its submodules -> the files that may import it, relative to the package.
ONLY = {
    "cffi": ("gpu/native/",),
    "vertigrad_cuda": ("sharing/",),
    "wgpu.backends": ("gpu/native/",),
    "wgpu.utils.imgui": ("panels/", "viewer/"),
}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of all absolute imports, anywhere in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def trespasses(source: str, file: str) -> list[str]:
    """The imports in `source` that a file at `file` must not have."""
    found = []
    for line, name in imported(ast.parse(source)):
        for module, allowed in ONLY.items():
            within = name == module or name.startswith(module + ".")
            if within and not file.startswith(allowed):
                found.append(f"{file}:{line} imports {name}; only {', '.join(allowed)} may")
    return found


def test_no_file_imports_a_restricted_module():
    files = sorted(PACKAGE.rglob("*.py"))
    assert files
    found = [
        line
        for file in files
        for line in trespasses(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "file", "allowed"),
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
def test_the_rule_detects_every_form_of_import(source, file, allowed):
    assert (not trespasses(source, file)) == allowed


def test_the_layer_for_cuda_imports_only_the_standard_library():
    files = sorted((PACKAGE.parent.parent / "cuda" / "vertigrad_cuda").glob("*.py"))
    assert files
    names = {name.split(".")[0] for file in files for _, name in imported(ast.parse(file.read_text(encoding="utf-8")))}
    assert names <= sys.stdlib_module_names


def test_the_frame_rate_of_videos_is_defined_once():
    """Videos of the window and those without one have an image for each frame, and so the same rate."""
    files = [file for part in ("session", "headless", "viewer") for file in (PACKAGE / part).rglob("*.py")]
    lines = {file: file.read_text(encoding="utf-8").splitlines() for file in files}
    found = {file for file, each in lines.items() if any(re.match(r"(FPS|RATE|STEP)\b.*=", line) for line in each)}
    assert found == {PACKAGE / "session" / "clock.py"}


# Drivers of a session may call these of it, and of its parts; its state is changed by commands only.
CALLED = {
    *("post", "carry_out", "close"),
    *(
        "apply",
        "advance",
        "try_to_advance",
        "measure",
        "request_readbacks",
        "inspect_now",
        "cameras.advance",
    ),  # a frame
    *("draw", "draw_to_file", "look"),
    *("guarded", "fail", "frame_dropped", "require_device"),  # errors in it
    *("parameters", "originals", "hints"),  # read only
    *("scene_edits.value", "scene_edits.values", "scene_edits.differing"),
    *("pacing.specs", "view.specs"),
    *("autosave.follow", "autosave.finish"),
}
INSTALLED = {"failures", "capture", "autosave", "rescue.every", "refusal", "reads_ahead"}  # set by a window or a server
PARTS = {
    *("autosave", "cameras", "clock", "hot_reload", "inspector", "limits", "pacing"),
    *("quality", "questions", "rescue", "running", "scene_edits", "selection", "tool", "view", "watches"),
}
DRIVERS = ("cli", "remote", "viewer", "panels", "headless")


def of_session(node: ast.AST) -> str:
    """The part of a session that an expression refers to, as "clock.play"; empty if there is none."""
    names = []
    while isinstance(node, ast.Attribute):
        if node.attr in ("session", "_session"):
            return ".".join(reversed(names))
        names.append(node.attr)
        node = node.value
    return ".".join(reversed(names)) if isinstance(node, ast.Name) and node.id == "session" else ""


def changes(source: str) -> Iterator[str]:
    """Locations where a driver changes a session without a command."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            name = of_session(node.value if isinstance(node, ast.Subscript) else node)
            if name and name not in INSTALLED:
                yield f"{node.lineno} sets session.{name}"
        elif isinstance(node, ast.Call) and (name := of_session(node.func)):
            part, _, method = name.partition(".")
            if name not in CALLED and "." not in method and (not method or part in PARTS):
                yield f"{node.lineno} calls session.{name}"


def test_only_commands_change_a_session():
    files = [file for driver in DRIVERS for file in sorted((PACKAGE / driver).rglob("*.py"))]
    assert len(files) > 50
    found = [
        f"{file.relative_to(PACKAGE).as_posix()}:{line}"
        for file in files
        for line in changes(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ("session.watches.thorough = True", False),
        ("self._session.clock.steps += 1", False),
        ("del viewer.session.messages['step']", False),
        ("session.messages['step'] = 'late'", False),
        ("session.clock.set_rewind_memory(0)", False),
        ("session.set_pacing({})", False),
        ("session.quality.take(0.0, 1.0)", False),
        ("session.post(Reset())", True),
        ("session.autosave = None", True),
        ("now = session.clock.frame", True),
        ("self._session = session", True),
        ("list(session.stage.instances.items())", True),
    ],
)
def test_the_rule_detects_changes_of_a_session(source, allowed):
    assert (not list(changes(source))) == allowed
