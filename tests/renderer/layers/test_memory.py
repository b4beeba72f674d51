"""Memory of the process after drawing: none is retained, on the adapter that may compile shaders per draw."""

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

IMAGES = 16
RETAINED = 160 << 10  # bytes per image: the compiler of llvmpipe retains 220 KB for a small shader, and up to 1.8 MB
NOTED = {"axes": True, "scale_bar": True, "unit": "m", "floor": "under", "labels": "here 0 0 0"}


def resident() -> int:
    """Resident bytes of this process."""
    found = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return 1024 * int(found.split()[1])


@pytest.mark.turns(3)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux what a process has in memory")
@pytest.mark.parametrize(("colored", "theme"), [(True, "custom"), (False, "studio")])
def test_no_shader_is_compiled_in_every_image(steady: Gpu, layer: Any, shot: Any, colored: bool, theme: str) -> None:
    """A uniform condition around much of a shader costs 1.1 to 1.8 MB per image, see docs/decisions/0074."""
    created = []
    for kind in KINDS:
        style, attributes = drawn(kind)
        created.append(
            layer(kind, style, **{n: v for n, v in attributes.items() if colored or n not in ("color", "width")})
        )
        created[-1].colorbar = ColorBar(title=kind, unit="m") if kind in ("points", "image") else None
    view = themed_view(theme).model_copy(update=NOTED)

    def draw(number: int) -> None:
        camera = OrbitCamera.from_position((1.2 + 0.02 * number, 1.5, 3.0), (0, 0, 0), fov=45)
        shot(*created, camera=camera, view=view, time=0.1 * number)

    for number in range(4):
        draw(number)
    before = resident()
    for number in range(IMAGES):
        draw(4 + number)
    assert (resident() - before) / IMAGES < RETAINED
    for one in created:
        one.close()
