"""`vertigrad render --path-trace`: what is written, refused, left out, and written after Ctrl-C."""

from __future__ import annotations

import signal

import numpy as np
import OpenEXR
import pytest
from PIL import Image

from vertigrad.path_trace import PathTracer

SMALL = ("--set", "galaxy.count=64", "--set", "layers.stars.size=0.3", "--size", "32x24")


@pytest.mark.turns(3)
def test_png_and_exr_have_the_traced_image(vertigrad, tmp_path):
    png, exr = tmp_path / "a.png", tmp_path / "a.exr"
    call = ("render", "nbody", *SMALL, "--path-trace", 2, "--bounces", 1, "--exr-bits", 32)
    outcome = vertigrad(*call, "-o", png, "-o", exr)
    assert outcome.code == 0, outcome.err
    assert "2 samples of 32x24 pixels" in outcome.out
    shown = np.asarray(Image.open(png))
    assert shown.shape == (24, 32, 3)
    with OpenEXR.File(str(exr)) as file:
        light = file.channels()["RGB"].pixels
    assert light.dtype == np.float32 and light.max() > 0.1
    bright = light.sum(axis=2) > 0.5 * light.sum(axis=2).max()
    assert shown[bright].mean() > 1.5 * shown[~bright].mean()
    vertigrad("render", "nbody", *SMALL, "-o", tmp_path / "drawn.png")
    assert (np.asarray(Image.open(tmp_path / "drawn.png")) != shown).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--path-trace", 0, "-o", "a.png"), "'--path-trace': Input should be greater than or equal to 1"),
        (("--path-trace", 4, "-o", "a.mp4"), "a.mp4: a path-traced image is written as .png or .exr, not as .mp4"),
        (("--path-trace", 4, "-o", "a.ply"), "not as .ply"),
        (("--path-trace", 4, "-o", "a_%d.png"), "a path-traced image is one of the last frame"),
        (("--path-trace", 4, "-o", "a.png", "--supersample", 2), "--supersample: not of path-traced images"),
        (("--path-trace", 4, "-o", "a.exr", "--exr-depth"), "--exr-depth: not of path-traced images"),
        (("--bounces", 4, "-o", "a.png"), "--bounces: are of path-traced images; add --path-trace N"),
        (
            ("--path-trace", 4, "--bounces", -1, "-o", "a.png"),
            "'--bounces': Input should be greater than or equal to 0",
        ),
    ],
)
def test_what_cannot_be_path_traced_is_refused_before_the_run(vertigrad, monkeypatch, tmp_path, options, message):
    monkeypatch.chdir(tmp_path)
    outcome = vertigrad("render", "nbody", *SMALL, *options)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
    assert not list(tmp_path.iterdir())


def test_layers_that_are_left_out_are_named(vertigrad, tmp_path):
    scene = tmp_path / "s.toml"
    scene.write_text(
        'version = 1\n[models.a]\ntype = "nbody"\ncount = 8\n[layers.blobs]\ntype = "splats"\nposition = "a.position"\n'
        '[layers.body]\ntype = "points"\nposition = "a.position"\n'
    )
    call = ("render", scene, "--size", "16x16", "--path-trace", 1, "--set", "view.shutter=0.5")
    outcome = vertigrad(*call, "-o", tmp_path / "a.png")
    assert outcome.code == 0, outcome.err
    assert not any("motion blur" in line for line in outcome.messages)
    assert any("warning: layer 'blobs' is not path-traced: it draws splats" in line for line in outcome.messages)
    scene.write_text(scene.read_text().split("[layers.body]")[0])
    refused = vertigrad("render", scene, "--size", "16x16", "--path-trace", 1, "-o", tmp_path / "b.png")
    assert refused.code == 2 and "layer 'blobs' is not path-traced" in refused.err
    assert not (tmp_path / "b.png").exists()


def test_after_an_interrupt_the_image_has_the_samples_so_far(vertigrad, tmp_path, monkeypatch):
    """Ctrl-C after the third submission: a real signal, as a terminal sends it."""
    advance, calls = PathTracer.advance, []

    def interrupted(self: PathTracer, limit: int) -> None:
        advance(self, limit)
        calls.append(self.samples)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(PathTracer, "advance", interrupted)
    file = tmp_path / "a.png"
    outcome = vertigrad("render", "nbody", *SMALL, "--path-trace", 100000, "-o", file)
    assert outcome.code == 130
    assert len(calls) == 3
    assert f"interrupted after {calls[-1]} of 100000 samples; {file}: the image has these" in outcome.err
    assert np.asarray(Image.open(file)).std() > 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
