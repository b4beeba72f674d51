"""The command line, called in this process; a few tests start a subprocess."""

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
    def messages(self) -> list[str]:
        """The lines on stderr, without the one about software adapters."""
        return [line for line in self.err.splitlines() if not line.startswith("no GPU found: drawing on the processor")]


@pytest.fixture
def vertigrad(
    steady: Gpu, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Run a command in this process; the test fails if GPU memory leaks."""
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
    """Run a command in a subprocess, in `tmp_path`; `env` is added to the environment, None removes."""

    def run(*arguments: object, env: dict[str, str | None] | None = None) -> Outcome:
        changes = {"VERTIGRAD_TRACEBACK": None, **(env or {})}
        inherited = {name: value for name, value in os.environ.items() if name not in changes}
        added = {name: value for name, value in changes.items() if value is not None}
        call = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())"]
        done = subprocess.run(
            [*call, *map(str, arguments)],
            cwd=tmp_path,
            env=inherited | added,
            capture_output=True,
            text=True,
            timeout=900,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scene with a cheap model and a cheap layer."""
    use_models(monkeypatch)
    return written(tmp_path, SCENE)
