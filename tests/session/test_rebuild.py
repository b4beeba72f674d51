"""Parameters that reshape tensors: a model is rebuilt, with all that depends on it; or nothing changes."""

import numpy as np
import pytest

from vertigrad.errors import OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.session import STEP, Session
from vertigrad.session.commands import Play, Reload, SetParameter

from .running import LINKED, Fault, Rising, copied, run_frame, values


def blocks(session: Session) -> dict[str, int]:
    return {
        f"{name}.{output}": tensor.block.id
        for name, instance in session.stage.instances.items()
        for output, tensor in instance.outputs.items()
    }


def drawn(session: Session) -> dict[str, int]:
    """Block of each layer's position."""
    return {name: layer.report()["position"]["block"] for name, layer in session.stage.layers.items()}


def test_linked_models_share_one_block_and_copy_nothing(opened, steady: Gpu):
    session = opened(LINKED)
    instances = session.stage.instances
    assert instances["echo"].model.source.block is instances["row"].outputs["position"].block
    assert instances["late"].model.source.block is instances["echo"].outputs["position"].block
    before = copied(steady)
    for _ in range(3):
        run_frame(session)
    assert copied(steady) == before
    row = values(session, "row.position")
    assert np.array_equal(values(session, "late.position"), -2.0 * row)
    assert row[0, 1] == pytest.approx(3 * STEP)


def test_a_rebuilt_model_rebuilds_its_dependents_and_layers(opened):
    session = opened(LINKED)
    run_frame(session)
    old = dict(session.stage.instances)
    session.post(SetParameter("models.row", "count", 20))
    session.post(Play(False))
    run_frame(session)
    instances = session.stage.instances
    assert list(instances) == list(old)
    assert all(instances[name] is not old[name] for name in instances)
    assert values(session, "late.position").shape == (20, 3)
    assert np.array_equal(values(session, "late.position"), -2.0 * values(session, "row.position"))
    assert instances["echo"].model.source.block is instances["row"].outputs["position"].block
    assert drawn(session) == {"dots": blocks(session)["row.position"], "echoes": blocks(session)["late.position"]}


def test_independent_models_continue(opened):
    session = opened(LINKED + '\n[models.other]\ntype = "rising"\n')
    for _ in range(3):
        run_frame(session)
    other, row = session.stage.instances["other"], session.stage.instances["row"]
    session.post(SetParameter("models.row", "count", 20))
    run_frame(session)
    assert session.stage.instances["other"] is other
    assert session.stage.instances["row"] is not row
    assert values(session, "other.phase")[0] == pytest.approx(4 * STEP)
    assert values(session, "row.phase")[0] == pytest.approx(STEP)


def test_the_other_parameters_and_the_seed_survive(opened):
    session = opened(seed=3)
    session.post(SetParameter("models.row", "height", 2.0))
    session.post(SetParameter("models.row", "count", 20))
    run_frame(session)
    assert session.parameters()["models.row"].height == 2.0
    assert session.stage.instances["row"].model.seed == 3
    session.post(SetParameter("models.row", "height", 1.0))
    session.post(Play(False))
    run_frame(session)
    assert values(session, "row.position")[0, 1] == pytest.approx(1.0 + STEP), "the new model reads the new parameters"


def test_the_same_value_rebuilds_nothing(opened):
    session = opened()
    session.post(SetParameter("models.row", "count", 8))
    run_frame(session)
    assert Rising.built == 1


def test_a_rebuild_releases_the_old_memory(opened, steady: Gpu):
    session = opened(LINKED)
    run_frame(session)
    steady.wait_idle()
    before = (len(steady.tracker.live), steady.tracker.live_bytes)
    for count in (300, 5, 8):
        session.post(SetParameter("models.row", "count", count))
        run_frame(session)
    steady.wait_idle()
    assert (len(steady.tracker.live), steady.tracker.live_bytes) == before


def state(session: Session) -> tuple[object, ...]:
    steady = session.gpu
    steady.wait_idle()
    held = len(steady.tracker.live), steady.tracker.live_bytes
    return (
        held,
        dict(session.stage.instances),
        blocks(session),
        drawn(session),
        session.parameters()["models.row"].count,
    )


def test_a_failed_rebuild_leaves_the_old_model_running(opened):
    session = opened(LINKED.replace('"rising"', '"rising"\nforbidden = 20'))
    run_frame(session)
    before = state(session)
    session.post(SetParameter("models.row", "count", 20))
    run_frame(session)
    assert "not with 20 points" in session.messages["models.row.count"]
    assert state(session) == before
    assert values(session, "row.phase")[0] == pytest.approx(2 * STEP), "and its time continues"


ROWS = """
version = 1
[models.row]
type = "rising"
[models.other]
type = "rising"
[layers.dots]
type = "points"
position = "row.position"
[layers.both]
type = "points"
position = "row.position"
color = "other.phase"
"""


def test_a_layer_that_cannot_draw_the_new_model_keeps_the_old_one(opened):
    session = opened(ROWS)
    run_frame(session)
    before = state(session)
    session.post(SetParameter("models.row", "count", 20))
    run_frame(session)
    message = session.messages["models.row.count"]
    assert "scene.toml:10:9  layers.both" in message
    assert state(session) == before
    assert values(session, "row.phase")[0] == pytest.approx(2 * STEP)


def test_too_little_memory_keeps_the_old_model_and_its_state(opened, steady: Gpu, monkeypatch):
    session = opened(LINKED)
    run_frame(session)
    before, never_closed = state(session), steady.tracker.leak_count
    steady.pool.trim()
    monkeypatch.setattr(steady.pool, "budget", steady.pool.held_bytes + (1 << 16))
    session.post(SetParameter("models.row", "count", 1 << 20))
    run_frame(session)
    assert "out of GPU memory" in session.messages["models.row.count"]
    assert state(session) == before
    assert steady.tracker.leak_count == never_closed
    assert values(session, "late.position")[0, 1] == pytest.approx(-2.0 * 2 * STEP)
    session.post(SetParameter("models.row", "count", 200))
    run_frame(session)
    assert session.messages == {}, "what fits is built"


def test_too_little_memory_for_a_reload_keeps_the_old_scene(opened, steady: Gpu, tmp_path, monkeypatch):
    session = opened(LINKED)
    run_frame(session)
    before = state(session)
    (tmp_path / "scene.toml").write_text(LINKED.replace('"rising"', '"rising"\ncount = 1000000'))
    steady.pool.trim()
    monkeypatch.setattr(steady.pool, "budget", steady.pool.held_bytes + (1 << 16))
    session.post(Reload(restart=True))
    run_frame(session)
    assert "out of GPU memory" in session.messages["scene"]
    assert state(session) == before


# a step that fails --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [Fault("no"), OutOfMemory("none left")])
def test_a_step_that_fails_does_not_change_the_session(opened, steady: Gpu, monkeypatch, error):
    session = opened(LINKED)
    for _ in range(2):
        run_frame(session)
    before = state(session)
    monkeypatch.setattr(Rising, "fails", error)
    with pytest.raises(type(error)):
        run_frame(session)
    assert state(session) == before
    assert values(session, "row.phase")[0] == pytest.approx(2 * STEP)
    assert session.time == pytest.approx(2 * STEP)
    assert all(tensor.block.published for tensor in session.stage.instances["row"].outputs.values())
    monkeypatch.setattr(Rising, "fails", None)
    run_frame(session)
    assert values(session, "late.position")[0, 1] == pytest.approx(-2.0 * 3 * STEP)


def test_a_step_that_fails_does_not_undo_the_command_before_it(opened, monkeypatch):
    session = opened()
    monkeypatch.setattr(Rising, "fails", Fault("no"))
    session.post(SetParameter("models.row", "height", 7.0))
    session.post(SetParameter("models.row", "count", 20))
    with pytest.raises(Fault):
        run_frame(session)
    monkeypatch.setattr(Rising, "fails", None)
    position = values(session, "row.position")
    assert position.shape == (20, 3)
    assert position[:, 1].tolist() == [7.0] * 20, "the new model's start was drawn up in the frame that was dropped"


def test_outputs_that_moved_in_a_failed_step_are_published_in_their_old_blocks(opened, steady: Gpu, monkeypatch):
    session = opened()
    run_frame(session)
    output = session.stage.instances["row"].outputs["position"]
    with output.clone() as clone:
        old = output.block
        monkeypatch.setattr(Rising, "fails", Fault("no"))
        with pytest.raises(Fault):
            run_frame(session)
        assert output.block is old
        assert (old.published, old.owners) == (1, 2)
        assert np.array_equal(output.numpy(), clone.numpy())


# publication --------------------------------------------------------------------------------------------------------


def test_writes_of_others_into_a_published_output_go_into_a_copy(opened, steady: Gpu):
    session = opened()
    run_frame(session)
    output = session.stage.instances["row"].outputs["position"]
    published, before = output.block, output.numpy()
    count = copied(steady)
    output.add_(100.0)
    assert output.block is not published
    assert published.published == 1
    assert copied(steady) - count == output.nbytes, "and the copy is counted"
    old = np.frombuffer(steady.queue.read_buffer(published.buffer, 0, output.nbytes), np.float32)
    assert np.array_equal(old.reshape(before.shape), before), "the published bytes are whole"
    assert np.array_equal(output.numpy(), before + 100.0)


def test_the_next_step_publishes_the_copy_and_releases_the_old_block(opened, steady: Gpu):
    session = opened()
    run_frame(session)
    steady.wait_idle()
    live = len(steady.tracker.live)
    for _ in range(20):
        session.stage.instances["row"].outputs["position"].add_(1.0)
        run_frame(session)
    steady.wait_idle()
    assert len(steady.tracker.live) == live
    row = session.stage.instances["row"].outputs["position"]
    assert row.block.published == 1
    assert drawn(session) == {"dots": row.block.id}
    assert row.numpy()[0, 1] == pytest.approx(21 * STEP)


def test_a_models_own_step_writes_in_place(opened, steady: Gpu):
    session = opened(LINKED)
    where, before = blocks(session), copied(steady)
    for _ in range(5):
        run_frame(session)
    assert blocks(session) == where
    assert copied(steady) == before
