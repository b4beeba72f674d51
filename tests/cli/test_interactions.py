"""`--interactions FILE`: a run with the interactions of another."""

import json

import numpy as np
import pytest
from PIL import Image

from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.session import STEP, sizing
from vertigrad.session.interaction_recording import InteractionChange, InteractionRecording

HELD = Interaction(Gesture.DRAG, (0.0, 0.0, 20.0), (0.0, 0.0, -1.0), (3.0, 2.0, 0.0), radius=2.0, strength=40.0)


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "recording.jsonl"
    interactions = InteractionRecording([InteractionChange(0, STEP, None), InteractionChange(3, STEP, HELD)], 20)
    path.write_text(interactions.text("x"))
    return path


def rendered(vertigrad, out, *options):
    small = ("--set", "galaxy.count=128", "--size", "120x80", "--frames", "24")
    outcome = vertigrad("render", "nbody", "-o", out, *small, *options)
    assert outcome.code == 0, outcome.messages
    return np.asarray(Image.open(out))


def test_render_replays_the_recording(vertigrad, tmp_path, recording):
    plain = rendered(vertigrad, tmp_path / "plain.png")
    one = rendered(vertigrad, tmp_path / "one.png", "--interactions", recording)
    again = rendered(vertigrad, tmp_path / "again.png", "--interactions", recording)
    assert (one == again).all()
    assert (one != plain).any()


def test_the_old_option_works_with_a_notice(vertigrad, tmp_path, recording):
    outcome = vertigrad(
        *("render", "nbody", "--set", "galaxy.count=64", "--size", "64x64"),
        *("-o", tmp_path / "x.png", "--touches", recording),
    )
    assert outcome.code == 0, outcome.err
    assert "--touches is now called --interactions" in outcome.err


def test_an_invalid_recording(vertigrad, tmp_path, recording):
    recording.write_text(json.dumps({"format": "vertigrad interactions", "version": 1, "end": 2}) + "\n{}\n")
    outcome = vertigrad(
        "render", "nbody", "--set", "galaxy.count=64", "-o", tmp_path / "x.png", "--interactions", recording
    )
    assert outcome.code == 2
    assert outcome.messages == [f"{recording}:2: frame: expected an integer from 0 on, got nothing"]
    assert not (tmp_path / "x.png").exists()


def test_gestures_that_the_scene_does_not_support(vertigrad, tmp_path, recording):
    small = ("--set", "terrain.resolution=16")
    outcome = vertigrad("render", "neural_field", *small, "-o", tmp_path / "x.png", "--interactions", recording)
    assert outcome.code == 2
    assert outcome.messages == [f"{recording}: no model of the scene supports drag"]


def test_a_count_that_was_chosen_is_reported(vertigrad, tmp_path, monkeypatch):
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(sizing, "measured", lambda *arguments: 1230)
    small = ("--size", "32x32", "-o", tmp_path / "x.png", "--report", tmp_path / "x.json")
    outcome = vertigrad("render", "nbody", "--set", "galaxy.count=auto", *small)
    assert (outcome.code, outcome.messages) == (0, ["galaxy.count: auto, 1,230 on this adapter"])
    report = json.loads((tmp_path / "x.json").read_text())
    assert report["models"]["galaxy"]["position"]["shape"] == [1230, 3]
    assert report["memory"]["leaked_blocks"] == 0
