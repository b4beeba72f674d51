"""`vertigrad serve` as a program of its own: it ends when asked to, and continues on another device if one is lost."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from vertigrad.errors import DeviceLost
from vertigrad.remote.requests import Requests

from .driver import PATIENCE, Kind, Program

LOSING = """
import sys
from vertigrad.remote import Served

drawn, count = Served.frame, [0]

def frame(served):
    count[0] += 1
    if count[0] in (60, 120):
        served._session.gpu.device.destroy()
    return drawn(served)

Served.frame = frame
sys.argv = ["vertigrad", *sys.argv[1:]]
from vertigrad.cli import main
sys.exit(main())
"""
SERVE = "serve", "nbody", "--set", "galaxy.count=64", "--size", "320x240", "--port", "0"


@contextmanager
def program(*words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address(process: subprocess.Popen[str]) -> str:
    """What it prints as soon as browsers may come."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line.startswith("http://"):
        process.kill()
        raise AssertionError(line + process.communicate()[1])
    return line


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("watched", [True, False], ids=["watched", "alone"])
def test_a_signal_ends_it_and_frees_the_port(number: signal.Signals, watched: bool) -> None:
    with program("-m", "vertigrad", *SERVE) as process:
        url = address(process)
        if watched:
            with Program(url) as viewer:
                viewer.call("watch", codec="jpeg")
                viewer.image()
                process.send_signal(number)
                out, errors = process.communicate(timeout=PATIENCE)
        else:
            process.send_signal(number)
            out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors and "error" not in errors.lower() and not out, out + errors
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", int(url.split(":")[2].split("/")[0])))


@pytest.mark.turns(3)
def test_a_signal_while_it_starts() -> None:
    with program(
        "-c",
        "import os, signal, vertigrad.cli as cli, vertigrad.cli.running as r\n"
        "r.open_session = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "import sys; sys.argv = ['vertigrad', 'serve', 'nbody']; sys.exit(cli.main())",
    ) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "Traceback" not in errors


@pytest.mark.turns(3)
def test_a_lost_device_is_replaced_and_viewers_stay() -> None:
    with program("-c", LOSING, *SERVE) as process, Program(address(process)) as viewer:
        viewer.call("set_parameters", values={"galaxy.softening": 0.07})
        viewer.call("watch", codec="h264")
        messages = ""
        while "reopened" not in messages:
            viewer.image()
            messages = viewer.call("status")["messages"].get("device", "")
        for _ in range(12):
            viewer.image()
        (softening,) = [
            one["value"] for one in viewer.call("list_parameters") if one["path"] == "models.galaxy.softening"
        ]
        assert softening == 0.07
        viewer.call("pause")
        viewer.image(Kind.PNG)
        viewer.call("step", count=3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and "Traceback" not in errors, errors


def test_a_request_that_met_the_loss_is_answered_on_the_next_device() -> None:
    session: Any = SimpleNamespace(gpu=SimpleNamespace(lost=True))
    calls = []

    def work(session: Any) -> str:
        calls.append(session.gpu.lost)
        if session.gpu.lost:
            raise RuntimeError("wgpu's own error")
        return "answer"

    requests = Requests(lambda: None)
    future = requests.ask(work)
    with pytest.raises(DeviceLost):
        requests.work(session)
    session.gpu.lost = False
    requests.work(session)
    assert future.result(0) == "answer" and calls == [True, False]
