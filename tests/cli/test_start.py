"""What a start does not do: import what the first image does not need, or read the scene twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RENDERED = """
import gc, importlib, sys
scene = importlib.import_module('vertigrad.scene.load')
from vertigrad.cli import main
read, found = [], scene._scene
scene._scene = lambda *values: read.append(1) or found(*values)
code = main(["render", "cloth", "-o", sys.argv[1], "--size", "64x36", "--set", "cloth.resolution=8"])
print(code, len(read), gc.isenabled(), *sorted(sys.modules))
"""
NOT_NEEDED = {  # by the image of a surface
    *("av", "imgui_bundle", "matplotlib", "networkx", "onnx", "pandas", "scipy", "tomlkit", "torch", "trimesh"),
    *(f"vertigrad.renderer.layers.{kind}" for kind in ("slices", "streamlines", "vectors")),
    *("vertigrad.panels", "vertigrad.viewer", "vertigrad.sweeps", "vertigrad.remote", "vertigrad.learn"),
}


def test_a_start_imports_and_reads_no_more_than_the_image_needs(tmp_path: Path) -> None:
    program = [sys.executable, "-c", RENDERED, str(tmp_path / "image.png")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=900)
    assert done.stdout, done.stderr
    code, reads, collects, *modules = done.stdout.splitlines()[-1].split()
    assert (code, reads, collects) == ("0", "1", "True"), done.stderr
    assert not NOT_NEEDED & set(modules)
