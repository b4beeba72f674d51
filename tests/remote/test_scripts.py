"""`viewer.serve`: a program at the socket sees what a script shows, and what it changes reaches the script's loop."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest
from PIL import Image

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.session import commands

from .driver import Program, Refused, settled

T = TypeVar("T")
POINTS = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)


@pytest.fixture
def viewer(steady: Gpu) -> Iterator[vg.Viewer]:
    with vg.Viewer("test", (96, 64), offscreen=True) as viewer:
        yield viewer


def looping(viewer: vg.Viewer, act: Callable[[], T], each: Callable[[], None] = lambda: None) -> T:
    """What `act` returns in another thread, while the script's loop continues."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(act)
        for _ in viewer.frames():
            each()
            if future.done():
                break
        return future.result()


def red(image: tuple[object, int, int, int, bytes]) -> int:
    pixels = np.asarray(Image.open(io.BytesIO(image[4])).convert("RGB")).astype(int)
    return int(((pixels[..., 0] > 60) & (pixels[..., 1] < pixels[..., 0] // 2)).sum())


def test_a_slider_moved_in_a_browser_reaches_the_loop(viewer: vg.Viewer) -> None:
    cloud = viewer.points("cloud", position=POINTS, color="#ff0000", size=0.01)
    size = viewer.slider("size", 0.01, min=0.01, max=0.5)
    url = viewer.serve(port=0)

    def act() -> tuple[int, int]:
        with Program(url) as browser:
            browser.call("watch", codec="jpeg")
            browser.call("resize", width=900, height=500, scale=1.0)
            while browser.image()[2] != 900:
                pass
            before = red(browser.image())
            (path,) = [one["path"] for one in browser.call("list_parameters") if one["path"].endswith(".size")]
            browser.call("set_parameters", values={path: 0.3})
            while (after := red(browser.image())) < 3 * before:
                pass
            return before, after

    before, after = looping(viewer, act, lambda: setattr(cloud, "size", size.value))
    assert size.value == pytest.approx(0.3) and after > 3 * before > 0
    assert viewer.image().shape == (64, 96, 3)  # as the script asked for


def test_keys_and_buttons_of_a_browser_call_the_script(viewer: vg.Viewer) -> None:
    pressed: list[str] = []
    viewer.on_key("k", lambda: pressed.append("k"))
    viewer.button("Go", lambda: pressed.append("Go"))
    url = viewer.serve(port=0)

    def act() -> bool:
        with Program(url) as browser:
            browser.call("watch", codec="h264")
            browser.image()
            browser.call("key", code="KeyK", key="k", action="press")
            browser.call("key", code="KeyK", key="k", action="release")
            viewer.session.post(commands.PressButton("Go"))
            return settled(lambda: len(pressed) == 2)

    assert looping(viewer, act) and set(pressed) == {"k", "Go"}


def test_the_address_token_and_port_are_those_asked_for(viewer: vg.Viewer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.listen()
        with pytest.raises(InputError, match="choose another port"):
            viewer.serve(port=port)
    assert viewer.serve(port=port, token="secret") == f"http://localhost:{port}/?token=secret"
    with pytest.raises(InputError, match="served already"):
        viewer.serve()


def test_it_ends_with_the_viewer_and_frees_its_port(steady: Gpu) -> None:
    in_flight = steady.frames.in_flight
    with vg.Viewer("test", (96, 64), offscreen=True) as viewer:
        url = viewer.serve(port=0)
        port = int(url.split(":")[2].split("/")[0])
        with Program(url) as browser:
            looping(viewer, lambda: browser.call("status"))
            assert steady.frames.in_flight == 1 < in_flight
            viewer.close()
            with pytest.raises(Exception, match=r"close|going away|1012|1001"):
                browser.call("status")
    assert steady.frames.in_flight == in_flight
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_a_browser_reaches_no_files_of_the_script(viewer: vg.Viewer) -> None:
    url = viewer.serve(port=0)

    def act() -> str:
        with Program(url) as browser, pytest.raises(Refused) as error:
            browser.call("save", path="/tmp/there")
        return str(error.value)

    assert "unknown method" in looping(viewer, act)
    viewer.session.post(commands.Save())
    viewer.update()
    assert "another machine" in viewer.session.messages["save"]
