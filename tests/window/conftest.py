"""The X screen on which windows are opened, and viewers on it."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.panels import native_dialog
from vertigrad.scene import Scene
from vertigrad.session import Session, quality, running

from .desktop import Desktop, running_server
from .driver import Driver, Items, Rows
from .shell import SMALL, Shell, shells

# On a Wayland desktop glfw would use Wayland. It chooses once, when it is first imported.
os.environ["PYGLFW_LIBRARY_VARIANT"] = "x11"
os.environ["XDG_SESSION_TYPE"] = "x11"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The name of the X server of these tests."""
    if sys.platform != "linux":
        pytest.skip("windows are tested on Linux only, where a virtual screen exists")
    for program in ("Xvfb", "xdotool"):
        if not shutil.which(program):
            pytest.fail(f"{program} is not installed; `make setup` says how (Debian: apt-get install xvfb xdotool)")
    with running_server() as name:
        yield name


@pytest.fixture(scope="session")
def opener(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a program that opens files and does nothing."""
    script = tmp_path_factory.mktemp("opener") / "xdg-open"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return script.parent


@pytest.fixture(autouse=True)
def no_external_programs(opener: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open no program on the user's desktop, whatever a test chooses."""
    monkeypatch.setenv("PATH", f"{opener}{os.pathsep}{os.environ.get('PATH', '')}")


@pytest.fixture(autouse=True)
def no_native_dialogs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the GUI's own file dialog, whatever dialog programs are installed."""
    monkeypatch.setattr(native_dialog, "PROGRAMS", ())


@pytest.fixture
def desktop(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    """The screen, and the environment for programs on it."""
    monkeypatch.setenv("DISPLAY", server)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    desktop = Desktop(server)
    desktop.move(0, 0)
    yield desktop
    desktop.close()
    assert not desktop.windows(), "a window was left open"


@pytest.fixture
def opened(desktop: Desktop, steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Driver]]:
    """Opens a viewer on a packaged scene or a scene file, paused by default; closed after the test."""
    from vertigrad.viewer import Viewer, loop

    monkeypatch.setattr(loop, "IDLE_AFTER", math.inf)  # a paused viewer draws only ten frames a second
    monkeypatch.setattr(quality, "FEWEST", math.inf)  # the quality level stays the same on a busy machine
    with ExitStack() as stack:

        def open_(
            scene: str | Path = "neural_field",
            *sets: str,
            size: tuple[int, int] = (640, 400),
            playing: bool = False,
            panels: bool = True,
        ) -> Driver:
            path = scene if isinstance(scene, Path) else resources.path("scenes", f"{scene}.toml")
            quick = ["view.bloom=0", "view.shadows=0", "view.quality=low"]
            quick += ["terrain.resolution=24"] if "neural_field" in path.stem else []
            session = stack.enter_context(Session(steady, path, [*quick, *sets]))
            session.playing = playing
            viewer = stack.enter_context(Viewer(session, size, vsync=False))
            viewer.gui.workspace.visible = panels
            driver = Driver(viewer, session, desktop)
            stack.callback(driver.require_no_failures)
            driver.frames()
            return driver

        yield open_


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    return Rows(monkeypatch)


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> Items:
    return Items(monkeypatch)


@pytest.fixture
def shell(steady: Gpu) -> Iterator[Callable[..., Shell]]:
    """Open a session in a GUI without a window; closed after the test."""
    with shells(steady) as open_:
        yield open_


@pytest.fixture
def small_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenes that are opened later are small too."""
    read = running.load

    def load(path: Path, *, sets: Sequence[str] = (), **options: Any) -> Scene:
        text = path.read_text("utf-8", "replace") if path.suffix == ".toml" and path.is_file() else ""
        small = [one for ones in SMALL.values() for one in ones if f"[models.{one.partition('.')[0]}]" in text]
        return read(path, sets=[*small, *sets], **options)

    monkeypatch.setattr(running, "load", load)


@pytest.fixture
def packaged_copy(tmp_path: Path) -> Callable[[str], Path]:
    """Create a writable copy of a packaged scene."""

    def copy(name: str) -> Path:
        return Path(shutil.copy(resources.path("scenes", f"{name}.toml"), tmp_path))

    return copy
