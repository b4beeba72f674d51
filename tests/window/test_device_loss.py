"""The device is lost while a window is open: a new window opens, with everything that was not on the device."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import vertigrad
from vertigrad import resources
from vertigrad.session import Session
from vertigrad.session.commands import SetParameter
from vertigrad.viewer import Viewer, view

gpu = vertigrad.gpu()
drawn = Viewer.frame
count = [0]

def frame(viewer):
    count[0] += 1
    if count[0] == 4:
        viewer._session.post(SetParameter("models.galaxy", "softening", 0.07))
    if count[0] in (8, 14):
        gpu.device.destroy()
    return drawn(viewer)

Viewer.frame = frame
with Session(gpu, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"]) as session:
    record = view(session, (320, 240), frames=18)
    assert record.frames == 18
    assert "lost and has been reopened" in session.messages["device"]
    assert session.stage.instances["galaxy"].params.softening == 0.07
    assert session.unsaved and session.playing
    assert session.failures is None
print("done")
"""


def test_a_new_window_replaces_the_one_whose_device_was_lost(desktop) -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr
