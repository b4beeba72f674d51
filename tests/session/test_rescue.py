"""The device is lost during a session: data on the host survives, and the models continue."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest

from vertigrad.sharing import cuda

from ..onnx_import.networks import layered

PRELUDE = """
import numpy as np
import vertigrad
from vertigrad import resources
from vertigrad.errors import DeviceLost
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.renderer import Renderer
from vertigrad.session import STEP, Session
from vertigrad.session.commands import SetParameter, SetSeed, Undo
from vertigrad.session.rescue import recover

gpu = vertigrad.gpu()

def open_session():
    return Session(gpu, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"])

def drawing():
    return Renderer(gpu, FORMAT), Offscreen(gpu, (32, 24))

def frames(session, count, renderer, offscreen):
    for _ in range(count):
        with gpu.frames.frame():
            session.apply()
            session.advance()
            session.draw(renderer, offscreen.view, offscreen.size)

def bits(session):
    return [tensor.numpy().tobytes() for tensor in session.stage.instances["galaxy"].model.state().values()]

def lose(session, shown):
    gpu.device.destroy()
    try:
        frames(session, 1, *shown)
    except DeviceLost:
        return recover(session)
    raise AssertionError("nobody noticed")
"""


def run(code: str, sharing: str = "") -> None:
    """Run `code` in a subprocess, after the prelude; fail with its output unless it succeeds."""
    whole = PRELUDE + textwrap.dedent(code) + "\nprint('done')"
    environment = os.environ | {"VERTIGRAD_SHARING": sharing}
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=900, env=environment)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


@pytest.mark.turns(3)
def test_models_continue_from_the_last_state_on_the_host() -> None:
    run("""
        with open_session() as session:
            shown = drawing()
            session.post(SetParameter("models.galaxy", "softening", 0.07))
            frames(session, 4, *shown)
            session.rescue.every = 1e-9
            frames(session, 1, *shown)
            session.rescue.every = 0.0
            was, frame = bits(session), session.frame
            assert session.rescue.usable(session.clock).frame == frame
            frames(session, 3, *shown)
            camera, scene = session.camera.yaw, session.scene
            message = lose(session, shown)
            assert f"continue from frame {frame}" in message and session.messages["device"] == message, message
            assert (session.frame, session.playing) == (frame, True)
            assert abs(session.time - frame * STEP) < 1e-9
            assert bits(session) == was
            assert session.stage.instances["galaxy"].params.softening == 0.07
            assert session.unsaved and session.scene is scene and session.camera.yaw == camera
            shown = drawing()
            frames(session, 3, *shown)
            assert session.frame == frame + 3
            images = []
            with gpu.frames.frame():
                session.draw(shown[0], shown[1].view, shown[1].size)
                shown[1].read(images.append)
            gpu.wait_idle()
            assert images[0][..., :3].std() > 0
            session.post(Undo())
            frames(session, 1, *shown)
            assert session.stage.instances["galaxy"].params.softening != 0.07
            assert not session.unsaved
        assert session.allocations.left_behind() == [], gpu.tracker.leak_report()
        """)


@pytest.mark.turns(3)
def test_models_are_reset_when_no_state_is_on_the_host() -> None:
    run("""
        with open_session() as session:
            shown = drawing()
            frames(session, 3, *shown)
            session.post(SetSeed(5, "galaxy"))
            session.post(SetParameter("models.galaxy", "count", 96))
            frames(session, 2, *shown)
            message = lose(session, shown)
            assert "from the start" in message, message
            assert (session.frame, session.time) == (0, 0.0), (session.frame, session.time)
            instance = session.stage.instances["galaxy"]
            found = instance.params.count, session.stage.specs["galaxy"].seed
            assert found == (96, 5), found
            frames(session, 2, *drawing())
            assert session.frame == 2, (session.frame, session.messages)
        """)


@pytest.mark.turns(3)
@pytest.mark.parametrize("thread", [True, False])
def test_a_network_that_was_being_recorded_is_recorded_again(tmp_path: Path, thread: bool) -> None:
    onnx.save(layered(40), tmp_path / "net.onnx")
    run(f"""
        from pathlib import Path
        from vertigrad import slices
        from vertigrad.session import loading
        from vertigrad.session.commands import Open
        slices.LEAST = slices.MOST = 0.0
        loading.LARGE_NETWORK = 0 if {thread} else 1 << 30
        path = Path({str(tmp_path / "net.onnx")!r})
        with open_session() as session:
            shown, session.reads_ahead = drawing(), True
            session.post(Open(path))
            frames(session, 1, *shown)
            while "9 of 80 nodes" not in (session.loading or session.commands.current).what:
                frames(session, 1, *shown)
            lose(session, shown)
            assert session.scene.path != path
            shown = drawing()
            while session.scene.path != path:
                assert session.loading or session.commands, session.messages
                frames(session, 1, *shown)
            assert all(one.holds for one in session.stage.instances["net"].model.compare_with_reference())
        assert session.allocations.left_behind() == [], gpu.tracker.leak_report()
        """)


@pytest.mark.turns(3)
def test_a_state_from_before_a_reset_is_not_used() -> None:
    run("""
        with open_session() as session:
            shown = drawing()
            session.rescue.every = 1e-9
            frames(session, 3, *shown)
            bits(session)
            session.rescue.every = 0.0
            assert session.rescue.usable(session.clock) is not None
            session.reset()
            frames(session, 9, *shown)
            assert "from the start" in lose(session, shown)
        """)


TORCH = """
import torch
from vertigrad.models import TorchModel
from vertigrad.params import Params

class Fit(TorchModel):
    Params = Params
    tensors = {"points": (64, 3), "loss": (1,)}

    def start(self, random):
        self.x = torch.linspace(-1, 1, 64, device=self.device)[:, None]
        self.net = torch.nn.Linear(1, 1).to(self.device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.1)

    def advance(self, dt):
        if dt:
            self.optimizer.zero_grad()
            loss = ((self.net(self.x) - 3 * self.x + 0.1 * torch.randn_like(self.x)) ** 2).mean()
            loss.backward()
            self.optimizer.step()
            self.loss = loss
        self.points = torch.cat([self.x, self.net(self.x), 0 * self.x], dim=1)
"""
SCENE = """
version = 1
[models.galaxy]
type = "fit.py:Fit"
[layers.p]
type = "points"
position = "galaxy.points"
"""


def sharing() -> list[str]:
    """How memory can be shared with PyTorch here, as `VERTIGRAD_SHARING` has it."""
    if not cuda.is_present():
        return ["off", "host"]
    return ["off", ""] if find_spec("vertigrad_cuda") else ["off"]


@pytest.mark.turns(3)
@pytest.mark.parametrize("sharing", sharing())
def test_models_in_pytorch_continue_and_views_of_lost_memory_stay_readable(tmp_path: Path, sharing: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / "fit.py").write_text(TORCH)
    (tmp_path / "fit.toml").write_text(SCENE)
    run(
        f"""
        from pathlib import Path
        from vertigrad.scene import trust
        trust.allow([Path({str(tmp_path / "fit.py")!r})])
        with Session(gpu, Path({str(tmp_path / "fit.toml")!r})) as session:
            shown = drawing()
            frames(session, 4, *shown)
            session.rescue.every = 1e-9
            frames(session, 1, *shown)
            session.rescue.every = 0.0
            was, frame = bits(session), session.frame
            frames(session, 3, *shown)
            later = bits(session)
            model = session.stage.instances["galaxy"].model
            assert bool(gpu.frameworks.reason) == ("{sharing}" == "off")
            view = model.points
            message = lose(session, shown)
            assert f"continue from frame {{frame}}" in message, message
            values = view.clone()
            assert values.abs().max() > 0
            assert bits(session) == was
            frames(session, 3, *drawing())
            assert (view == values).all()  # the memory belongs to the view as well, and is not the new model's
            assert bits(session) == later  # weights, moments and random numbers went on alike
        """,
        sharing,
    )
