"""The command line, called in this process; a few tests start a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from vertigrad.cli import main
from vertigrad.gpu import Gpu

from ..session.running import SCENE, use_models, written


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> list[str]:
        """The lines on stderr, but for the one about software adapters."""
        return [line for line in self.err.splitlines() if not line.startswith("no GPU found: drawing on the processor")]


@pytest.fixture
def vertigrad(
    steady: Gpu, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Runs a command in this process; the test fails if anything of it stays on the GPU."""
    monkeypatch.delenv("VERTIGRAD_TRACEBACK", raising=False)

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        outcome = Outcome(code, *capsys.readouterr())
        if "VERTIGRAD_TRACEBACK" not in os.environ:
            assert "Traceback" not in outcome.out + outcome.err
        return outcome

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Outcome]:
    """Runs a command in a process of its own, in `tmp_path`; `env` is added to the environment, None removes."""

    def run(*arguments: object, env: dict[str, str | None] | None = None) -> Outcome:
        wanted = {"VERTIGRAD_TRACEBACK": None, **(env or {})}
        kept = {name: value for name, value in os.environ.items() if name not in wanted}
        given = {name: value for name, value in wanted.items() if value is not None}
        call = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())"]
        done = subprocess.run(
            [*call, *map(str, arguments)],
            cwd=tmp_path,
            env=kept | given,
            capture_output=True,
            text=True,
            timeout=900,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scene with a model and a layer that take no time."""
    use_models(monkeypatch)
    return written(tmp_path, SCENE)
