"""A viewer at the prompt of a real IPython, in a pseudo terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vertigrad as vg
from vertigrad.errors import InputError

from .desktop import Desktop, wait_until

pexpect = pytest.importorskip("pexpect", reason="IPython brings it, except on Windows")
ROOT = Path(__file__).parents[2]


class Prompt:
    """What is typed at IPython's prompt, and the values of expressions there."""

    def __init__(self, child, folder: Path):
        self.child, self._folder, self._count = child, folder, 0

    def run(self, line: str) -> None:
        self.child.send(line + "\r")

    def value(self, expression: str) -> str:
        self._count += 1
        path = self._folder / f"{self._count}.txt"
        temporary = path.with_suffix(".tmp")
        self.run(f"open({str(temporary)!r}, 'w').write(str({expression}))")
        self.run(f"__import__('os').rename({str(temporary)!r}, {str(path)!r})")
        assert wait_until(path.exists, 120), self.child.before
        return path.read_text()


@pytest.fixture
def prompt(desktop: Desktop, tmp_path: Path) -> Iterator[Prompt]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "app"), os.environ.get("PYTHONPATH", "")]),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "TERM": "xterm",
    }
    child = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--no-banner", "--colors=NoColor", "--no-autoindent", "--no-confirm-exit"],
        env=environment,
        dimensions=(40, 250),
        timeout=300,
        encoding="utf-8",
    )
    try:
        child.expect(r"In \[")
        yield Prompt(child, tmp_path)
    finally:
        child.close(force=True)


def eventually(condition: Callable[[], object]) -> None:
    assert wait_until(condition, 120)


@pytest.mark.turns(3)
def test_the_window_lives_at_the_prompt(prompt: Prompt, desktop: Desktop) -> None:
    prompt.run("import numpy as np, vertigrad as vg")
    prompt.run("v = vg.Viewer('Vertigrad at a prompt', (500, 400)); c = v.points('c', position=np.eye(3), size=0.2)")
    assert prompt.value("v.session.frame") == "0"
    prompt.run("v.show(block=False)")
    eventually(lambda: int(prompt.value("v.session.frame")) > 5)
    before = int(prompt.value("v.session.frame"))
    time.sleep(0.5)
    assert int(prompt.value("v.session.frame")) > before
    prompt.run("c.position = 2 * np.eye(3)")
    assert prompt.value("c.position.numpy().max()") == "2.0"
    prompt.run("v.on_key('k', lambda: setattr(c, 'size', 0.4))")
    assert prompt.value("c.size") == "0.2"
    (window,) = desktop.windows()
    desktop.xdotool("mousemove", 200, 200)
    desktop.xdotool("windowfocus", window)
    desktop.key("k")
    eventually(lambda: prompt.value("c.size") == "0.4")
    desktop.press_close_button(window)
    eventually(lambda: prompt.value("v.closed") == "True")
    eventually(lambda: not desktop.windows())
    prompt.run("exit")
    prompt.child.expect(pexpect.EOF)
    prompt.child.wait()
    assert prompt.child.exitstatus == 0


@pytest.mark.turns(3)
def test_another_event_loop_is_reported(prompt: Prompt) -> None:
    prompt.run("import numpy as np, vertigrad as vg")
    prompt.run("%gui asyncio")
    prompt.run("v = vg.Viewer('Vertigrad at a prompt', (500, 400))")
    prompt.run("try: v.show(block=False)\nexcept Exception as e: error = e\n")
    assert "IPython runs another event loop already" in prompt.value("error")
    prompt.run("v.close()")
    prompt.value("v.closed")


@pytest.mark.turns(3)
def test_an_exit_with_an_open_window_is_clean(prompt: Prompt, desktop: Desktop) -> None:
    prompt.run("import numpy as np, vertigrad as vg")
    prompt.run("v = vg.show(np.eye(3), 'Vertigrad at a prompt', block=False)")
    eventually(lambda: int(prompt.value("v.session.frame")) > 3)
    prompt.run("exit")
    prompt.child.expect(pexpect.EOF)
    prompt.child.wait()
    assert prompt.child.exitstatus == 0


def test_outside_of_ipython_the_error_says_what_to_do(desktop: Desktop, steady) -> None:
    with vg.Viewer("Vertigrad of a script", (300, 200)) as viewer:
        with pytest.raises(InputError, match=r"needs IPython in a terminal; elsewhere call viewer\.update"):
            viewer.show(block=False)
        viewer.update()
        desktop.press_close_button(desktop.windows()[-1])
        viewer.show()
    with vg.Viewer(offscreen=True) as viewer, pytest.raises(InputError, match="an offscreen viewer has no window"):
        viewer.show()
