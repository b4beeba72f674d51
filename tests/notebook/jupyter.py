"""A Jupyter server of its own, whose kernels import this checkout."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "vertigrad"
PATIENCE = 60.0


def environment(folder: Path) -> dict[str, str]:
    """Variables for a server, or a kernel: settings and kernels in this folder, one thread less to wait for."""
    names = "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "XDG_CONFIG_HOME"
    own = {name: str(folder / name.lower()) for name in names}
    return {**os.environ, **own, "PYTHONPATH": str(ROOT / "app"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def write_notebook(path: Path, *cells: str) -> Path:
    """Write a notebook of these code cells."""
    import nbformat  # takes four seconds, which no process should spend that only collects tests
    from nbformat.v4 import new_code_cell, new_notebook

    book = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)
    return path


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A JupyterLab that shows this folder; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": TOKEN,
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "LabApp.expose_app_in_browser": True,
        "ServerApp.terminals_enabled": False,
    }
    words = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "jupyter.log").open("wb") as log:
        process = subprocess.Popen(words, env=environment(folder), stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/api?token={TOKEN}", process, folder / "jupyter.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            with urllib.request.urlopen(url, timeout=5.0):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace")[-2000:])
