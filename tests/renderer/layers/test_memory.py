"""What pictures leave behind in the process: nothing, on the adapter that compiles shaders anew if they ask for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera
from vertigrad.renderer.annotations.overlay import ColorBar
from vertigrad.renderer.view import themed_view

from .kinds import KINDS, drawn

PICTURES = 6
KEPT = 512 << 10  # bytes a picture: half of what the compiler of llvmpipe keeps for one shader
NOTED = {"axes": True, "scale_bar": True, "unit": "m", "floor": "under", "labels": "here 0 0 0"}


def resident() -> int:
    """Bytes of this process that lie in memory."""
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return 1024 * int(found.split()[1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux what a process has in memory")
@pytest.mark.parametrize(("colored", "theme"), [(True, "custom"), (False, "studio")])
def test_no_shader_is_compiled_in_every_picture(steady: Gpu, layer: Any, shot: Any, colored: bool, theme: str) -> None:
    """A condition of uniforms alone around much of a shader: 1.1 to 1.8 MB a picture, see docs/decisions/0074."""
    made = []
    for kind in KINDS:
        style, given = drawn(kind)
        made.append(layer(kind, style, **{n: v for n, v in given.items() if colored or n not in ("color", "width")}))
        made[-1].colorbar = ColorBar(title=kind, unit="m") if kind in ("points", "image") else None
    view = themed_view(theme).model_copy(update=NOTED)

    def draw(number: int) -> None:
        camera = OrbitCamera.from_position((1.2 + 0.02 * number, 1.5, 3.0), (0, 0, 0), fov=45)
        shot(*made, camera=camera, view=view, time=0.1 * number)

    for number in range(4):
        draw(number)
    before = resident()
    for number in range(PICTURES):
        draw(4 + number)
    assert (resident() - before) / PICTURES < KEPT
    for one in made:
        one.close()
