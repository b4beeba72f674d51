"""Interactions belong to their steps: rewinding, replay from a file and restart give the same bits."""

import json

import pytest

from vertigrad import resources
from vertigrad.atomic_file import write_file
from vertigrad.errors import InputError, ParameterError
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.session import STEP, Session
from vertigrad.session import commands as do_
from vertigrad.session.command_line import command_line
from vertigrad.session.commands import (
    EndInteraction,
    GoTo,
    MoveInteraction,
    Play,
    PlayInteractions,
    Reset,
    SaveInteractions,
    SetBrush,
    SetRewindMemory,
    SetSpeed,
)
from vertigrad.session.interaction_recording import (
    InteractionChange,
    InteractionRecording,
    read_interactions,
)

from .interactive import INTERACTIVE, bits, do, run_frame, use_interactive
from .running import LINKED, written

SIZE = (400, 300)
HELD = Interaction(Gesture.DRAG, (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.1, 0.0, 0.0), (1 / 3, 0.0, 0.0), 0.2, 1.5)


@pytest.fixture
def galaxy(steady, monkeypatch):
    use_interactive(monkeypatch)
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=96"]) as session:
        session.clock.set_rewind_memory(1 << 24)
        yield session


def dragged(session, frames=24):
    """The state after each frame of a run in which the galaxy is dragged, released, and dragged again."""
    states = {}
    for number in range(frames):
        if number in (1, 15):
            session.post(do_.BeginInteraction(Gesture.DRAG, (200.0, 150.0), SIZE))
        if number in (10, 20):
            session.post(EndInteraction())
        if number == 5:
            session.post(SetBrush("strength", 2.5))
        session.post(MoveInteraction((200.0 + 3.0 * number, 150.0), SIZE))
        run_frame(session)
        states[session.frame] = bits(session)
    return states


def test_interactions_change_what_happens(galaxy):
    states = dragged(galaxy)
    do(galaxy, Reset(), Play(False))
    galaxy.playing = True
    while galaxy.frame < 24:
        run_frame(galaxy)
    assert bits(galaxy) != states[24]


def test_rewinding_gives_the_same_bits(galaxy):
    was = dragged(galaxy)
    for frame in (23, 4, 12, 0, 17):
        do(galaxy, GoTo(frame))
        if frame:
            assert bits(galaxy) == was[frame], frame


def test_frames_without_a_snapshot_repeat_interactions(galaxy):
    tensors = galaxy.stage.instances["galaxy"].model.state().values()
    galaxy.clock.rewind.snapshots.limit = 4 * sum(tensor.block.capacity for tensor in tensors)  # every 8th frame
    was = dragged(galaxy)
    snapshots = set(galaxy.clock.rewind.snapshots)
    missing = [frame for frame in range(min(snapshots), 24) if frame not in snapshots]
    assert len(missing) > 8
    for frame in missing:
        do(galaxy, GoTo(frame))
        assert bits(galaxy) == was[frame], frame


def test_a_saved_run_is_replayed_bit_for_bit(galaxy, tmp_path):
    was = dragged(galaxy)
    path = tmp_path / "recording.jsonl"
    do(galaxy, SaveInteractions(path))
    assert galaxy.written["save inputs"] == path and not galaxy.messages
    saved_at = galaxy.frame
    do(galaxy, SetBrush("strength", 9.0), PlayInteractions(path))
    while galaxy.frame < 24:
        run_frame(galaxy)
        assert bits(galaxy) == was[galaxy.frame], galaxy.frame
    assert saved_at >= 24
    assert galaxy.clock.interactions.until(24) == galaxy.clock.played.until(24), "what is played can be saved again"


def test_another_session_replays_it_and_reset_replays_it_again(galaxy, tmp_path):
    was = dragged(galaxy)
    path = tmp_path / "recording.jsonl"
    do(galaxy, SaveInteractions(path))
    with Session(galaxy.gpu, galaxy.scene.path, ["galaxy.count=96"]) as other:
        other.carry_out(PlayInteractions(path, restart=False))
        for _ in range(2):
            while other.frame < 24:
                run_frame(other)
            assert bits(other) == was[24]
            other.reset()


def test_time_scales_are_replayed_too(galaxy, tmp_path):
    do(galaxy, SetSpeed(0.25))
    was = dragged(galaxy, 8)
    do(galaxy, SetSpeed(2.0))
    end, frame = bits(galaxy), galaxy.frame
    (tmp_path / "recording.jsonl").write_text(galaxy.clock.interactions.text("x"), encoding="utf-8")
    assert len({change.dt for change in galaxy.clock.interactions._changes}) == 2
    do(galaxy, SetSpeed(1.0), PlayInteractions(tmp_path / "recording.jsonl"))
    while galaxy.frame < frame:
        run_frame(galaxy)
    assert bits(galaxy) == end != was[8]
    run_frame(galaxy)
    assert galaxy.clock.interactions.at(galaxy.frame - 1).dt == STEP, "after its end the session's own speed holds"


def test_an_interaction_ends_the_replay(galaxy, tmp_path):
    dragged(galaxy, 12)
    do(galaxy, SaveInteractions(tmp_path / "recording.jsonl"), PlayInteractions(tmp_path / "recording.jsonl"))
    assert galaxy.clock.played is not None
    do(galaxy, do_.BeginInteraction(Gesture.DRAG, (10.0, 10.0), SIZE))
    assert galaxy.clock.played is None


def test_interactions_after_a_rewind_replace_the_later_ones(galaxy):
    dragged(galaxy, 12)
    do(galaxy, GoTo(6))
    galaxy.playing = True
    run_frame(galaxy)
    interactions = galaxy.clock.interactions
    assert (interactions.end, interactions.at(6).interaction) == (7, None)
    assert interactions.at(5).interaction is not None, "what was before stays"


def test_interactions_are_recorded_without_a_rewind_buffer(galaxy):
    do(galaxy, SetRewindMemory(0))
    dragged(galaxy, 12)
    assert galaxy.clock.interactions.at(5).interaction is not None


def test_a_step_in_parts_keeps_the_interaction_of_its_start(galaxy):
    """Its parts are recorded over several frames; the tool moves on meanwhile."""
    galaxy.playing = False
    galaxy.clock.pacer.budget = 1e-3
    galaxy.clock.pacer._long = True
    galaxy.post(do_.BeginInteraction(Gesture.DRAG, (200.0, 150.0), SIZE))
    galaxy.playing = True
    began = galaxy.frame
    for number in range(60):
        galaxy.post(MoveInteraction((200.0 + number, 150.0), SIZE))
        run_frame(galaxy)
    steps = galaxy.frame - began
    assert 2 <= steps < 50, "steps took several frames"
    end = bits(galaxy)
    played = galaxy.clock.interactions.until(galaxy.frame)
    interactions = [change.interaction for change in played._changes if change.interaction is not None]
    distance = sum(
        change.dt * change.interaction.velocity[0] for change in played._changes if change.interaction is not None
    )
    assert distance == pytest.approx(interactions[-1].point[0] - interactions[0].point[0]), "no part of its way is lost"
    galaxy.tool.release()
    galaxy.clock.pacer.budget = 0.0
    galaxy.clock.pacer._long = False
    galaxy.reset()
    galaxy.clock.played = played
    while galaxy.frame < steps:
        run_frame(galaxy)
    assert bits(galaxy) == end


# the recording ------------------------------------------------------------------------------------------------------


def noted(*steps):
    interactions = InteractionRecording()
    for frame, interaction in steps:
        interactions.record(frame, STEP, interaction)
    return interactions


def test_only_changes_are_stored():
    interactions = noted((0, None), (1, None), (2, HELD), (3, HELD), (4, None))
    assert [change.frame for change in interactions._changes] == [0, 2, 4]
    assert [interactions.at(frame).interaction for frame in range(5)] == [None, None, HELD, HELD, None]
    assert interactions.at(5) is None and InteractionRecording().at(0) is None
    assert interactions.gestures == {Gesture.DRAG}


def test_until_a_frame():
    interactions = noted((0, None), (1, HELD), (2, None))
    assert interactions.until(2) == noted((0, None), (1, HELD))
    assert interactions.until(9) == interactions and interactions.until(0) == InteractionRecording()
    interactions.clear()
    assert interactions == InteractionRecording()


def test_a_file_round_trip_is_exact(tmp_path):
    interactions = noted((0, None), (1, HELD._replace(point=(0.1, 1e-30, -1 / 7))), (2, HELD), (5, None))
    interactions.record(7, 0.1, HELD._replace(parallel=True))
    path = tmp_path / "recording.jsonl"
    path.write_text(interactions.text("Ein Bär „x“"), encoding="utf-8")
    assert read_interactions(path) == interactions
    path.write_text(path.read_text() + "\n\n")
    assert read_interactions(path) == interactions, "empty lines are none"


GOOD = [
    {"format": "vertigrad interactions", "version": 1, "scene": "x", "end": 9},
    {"frame": 0, "dt": 0.1, "interaction": None},
    {"frame": 3, "dt": 0.1, "interaction": HELD._asdict()},
]


def line(number, **changes):
    lines = [dict(entry) for entry in GOOD]
    lines[number].update(changes)
    return "\n".join(map(json.dumps, lines))


def test_files_of_version_0_1_are_read(tmp_path):
    path = tmp_path / "recording.jsonl"
    path.write_text(noted((0, None), (1, HELD)).text("x"), encoding="utf-8")
    path.write_text(
        path.read_text().replace("vertigrad interactions", "vertigrad touches").replace('"interaction"', '"touch"')
    )
    assert read_interactions(path) == noted((0, None), (1, HELD))


def changed(**changes):
    return line(2, interaction={**HELD._asdict(), **changes})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "1: not an interaction recording: expected a line of JSON"),
        ("[1]", "1: not an interaction recording: expected an object in braces, got an array of 1 value"),
        ('{"version": 1}', "1: not an interaction recording: it does not begin with"),
        (line(0, version=2), "1: not an interaction recording: this Vertigrad reads version 1, not 2"),
        (line(0, end=-1), "1: not an interaction recording: end: expected an integer from 0 on"),
        (line(0, end=3), "1: end is 3, but the last change is at step 3"),
        (line(0) + "\n{", "4: expected a line of JSON"),
        (line(1, frame=1), "2: the first change must be at frame 0, not 1"),
        (line(2, frame=0), "3: frame 0 does not come after 0"),
        (line(2, frame=True), "3: frame: expected an integer"),
        (line(1, dt="fast"), '2: dt: expected a finite number, got "fast"'),
        (line(1, dt=float("nan")), "2: dt: expected a finite number"),
        (line(1, dt=10**400), "2: dt: expected a finite number"),
        (line(1, gest=1), "2: unknown key"),
        (line(2, interaction=[1]), "3: interaction: expected an object in braces"),
        (changed(gesture="pul"), "3: unknown gesture"),
        (changed(gesture=7), "3: unknown gesture"),
        (changed(gesture=["drag"]), "3: unknown gesture"),
        (changed(point=[1, 2]), "3: point: expected 3 numbers"),
        (changed(point=[1, 2, 1e39]), "3: point: expected a finite number"),
        (changed(direction=[0, 0, -2]), "3: direction: expected a vector of length 1, got one of 2"),
        (changed(radius=0), "3: radius: expected a number above 0"),
        (changed(speed=1), "3: unknown key"),
        (changed(parallel=1), "3: parallel: expected true or false, got 1"),
        ("[" * 100_000, "1: not an interaction recording: expected a line of JSON"),
    ],
)
def test_an_invalid_recording(tmp_path, content, message):
    path = tmp_path / "recording.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as raised:
        read_interactions(path)
    assert str(raised.value).startswith(f"{path}:{message}")


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_interactions(tmp_path / "none.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="it is no text"):
        read_interactions(tmp_path / "bytes")
    with pytest.raises(InputError):
        write_file(tmp_path / "none" / "recording.jsonl", InteractionRecording().text("x").encode())


def test_a_recording_of_gestures_that_the_scene_does_not_support(steady, tmp_path, monkeypatch):
    use_interactive(monkeypatch)
    path = tmp_path / "recording.jsonl"
    path.write_text(noted((0, HELD)).text("x"), encoding="utf-8")
    with Session(steady, written(tmp_path, LINKED)) as session:
        with pytest.raises(ParameterError, match=r"recording\.jsonl: no model of the scene supports drag"):
            session.carry_out(PlayInteractions(path, restart=False))
        run_frame(session)
        frame = session.frame
        do(session, PlayInteractions(path))
        assert "drag" in session.messages["play inputs"] and session.frame == frame + 1, "the run continues"


def test_a_custom_model_is_replayed_too(steady, tmp_path, monkeypatch):
    use_interactive(monkeypatch)
    path = tmp_path / "recording.jsonl"
    interactions = InteractionRecording(
        [InteractionChange(0, STEP, None), InteractionChange(2, STEP, HELD._replace(gesture=Gesture.CUT))], 4
    )
    path.write_text(interactions.text("x"), encoding="utf-8")
    with Session(steady, written(tmp_path, INTERACTIVE)) as session:
        session.carry_out(PlayInteractions(path, restart=False))
        for _ in range(6):
            run_frame(session)
        model = session.stage.instances["row"].model
        assert [each and each.gesture for each in model.interactions] == [
            Gesture.CUT,
            Gesture.CUT,
            None,
        ]
        phase = model.outputs()["phase"].numpy()[0]
        assert phase == pytest.approx(STEP * (4 + 2 * (1 + 1.5 + 1 / 3)), rel=1e-6)


def test_a_recording_that_is_opened_or_dropped_is_replayed(galaxy, tmp_path):
    was = dragged(galaxy, 12)
    path = tmp_path / "recording.jsonl"
    do(galaxy, SaveInteractions(path), do_.Open(path))
    while galaxy.frame < 12:
        run_frame(galaxy)
    assert bits(galaxy) == was[12] and galaxy.scene.path.name == "nbody.toml" and not galaxy.messages
    path.write_text("{}")
    do(galaxy, do_.Open(path))
    assert "not an interaction recording" in galaxy.messages["scene"]


def test_a_command_line_lists_what_it_leaves_out(galaxy):
    assert "#" not in command_line(galaxy)
    dragged(galaxy, 8)
    assert command_line(galaxy).endswith("  # without interactions")


def test_a_restart_begins_a_new_recording(galaxy):
    dragged(galaxy, 12)
    assert galaxy.clock.interactions.gestures
    do(galaxy, Reset())
    assert not galaxy.clock.interactions.gestures and galaxy.clock.interactions.end <= 1
