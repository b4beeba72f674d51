"""Python models edited while they run: hot-swapped with their state, or unchanged, with the error reported."""

import os
from dataclasses import replace

import pytest

from vertigrad.errors import CodeError, SceneError, UntrustedCode
from vertigrad.scene import trust
from vertigrad.session.commands import Ask, Open, SetParameter, Undo
from vertigrad.session.hot_reload import HotReload
from vertigrad.session.parameters import Key

from .running import run_frame, values, written

CODE = """
from vertigrad import ops
from vertigrad.models import Sketch
from vertigrad.params import Params, integer, number

class Row(Sketch):
    class Params(Params):
        count: int = integer(8, min=1, max=100, rebuild=True, doc="points")
        speed: float = number(1.0, min=0.0, max=9.0, doc="of the rise")

    tensors = {"position": ("count", 3)}

    def start(self, random):
        return {"position": random.random((self.params.count, 3))}

    def advance(self, dt):
        self.position[:, 1] += self.params.speed * dt
"""
SCENE = """
version = 1

[models.own]
type = "own.py:Row"

[models.echo]
type = "scaled"
inputs = { source = "own.position" }

[models.other]
type = "rising"

[layers.dots]
type = "points"
position = "own.position"

[layers.echoes]
type = "points"
position = "echo.position"
"""


@pytest.fixture
def own(opened, tmp_path, monkeypatch):
    """A session with a model in own.py, watched with a clock that the test moves."""
    monkeypatch.setattr(trust, "_allowed", set())
    (tmp_path / "own.py").touch()
    trust.allow([tmp_path / "own.py"], edits=True)

    def open_(text=SCENE, code=CODE):
        (tmp_path / "own.py").write_text(code)
        session, now = opened(text), [0.0]
        session.hot_reload = HotReload(lambda: now[0])
        session.hot_reload.on = True

        def edit(code: str, name="own.py"):
            file = tmp_path / name
            file.write_text(code)
            os.utime(file, ns=(edit.count * 10**9, edit.count * 10**9))
            edit.count += 1
            for _ in range(4):
                now[0] += 1.1
                run_frame(session)

        edit.count = 1
        run_frame(session)
        return session, edit

    return open_


def test_an_edit_swaps_the_class_and_keeps_the_state(own):
    session, edit = own()
    run_frame(session)
    old, other, echo = (session.stage.instances[name] for name in ("own", "other", "echo"))
    session.playing = False
    before, frame = values(session, "own.position"), session.frame
    edit(CODE.replace("+= self.params.speed", "-= self.params.speed"))
    fresh = session.stage.instances["own"]
    assert fresh is not old and not session.messages and session.frame == frame
    assert (values(session, "own.position") == before).all() and fresh.model.time == old.model.time > 0
    assert session.stage.instances["other"] is other and session.stage.instances["echo"] is not echo
    assert values(session, "echo.position") == pytest.approx(2 * before)
    session.playing = True
    run_frame(session)
    assert values(session, "own.position")[:, 1] == pytest.approx(before[:, 1] - 1 / 60)


def test_values_set_by_the_user_stay(own):
    session, edit = own()
    session.post(SetParameter("models.own", "speed", 3.0))
    run_frame(session)
    edit(CODE.replace("number(1.0,", "number(2.0,").replace("max=9.0", "max=8.0"))
    assert session.parameters()["models.own"].speed == 3.0, "ours stays, although the file has another value now"
    assert "models.own.speed: 3.0 here, 2.0 in the file" in session.messages["edits"]
    session.post(SetParameter("models.own", "speed", 4.0))
    run_frame(session)
    edit(CODE.replace("number(1.0,", "number(2.0,").replace("max=9.0", "max=7.0"))
    assert session.parameters()["models.own"].speed == 4.0 and session.unsaved
    edit(CODE.replace("number(1.0,", "number(2.0,").replace("max=9.0", "max=3.0"))
    assert session.parameters()["models.own"].speed == 2.0, "4 is not allowed any more"
    session.post(Undo())
    run_frame(session)
    assert session.parameters()["models.own"].speed == 3.0


def test_a_state_with_other_shapes_is_reset(own):
    session, edit = own()
    edit(CODE.replace("integer(8,", "integer(5,"))
    assert values(session, "own.position").shape == (5, 3) and not session.messages
    edit(CODE.replace('{"position": ("count", 3)}', '{"position": ("count", 3), "more": ("count",)}'))
    assert session.stage.instances["own"].outputs.keys() == {"position", "more"}


FOLLOWING = """
class Total(Sketch):
    class Params(Params):
        share: float = number(1.0, doc="of what is added up")

    inputs = {"source": "points"}
    required_inputs = frozenset({"source"})
    tensors = {"sum": (3,)}

    def start(self, random):
        return {}

    def advance(self, dt):
        self.sum[:] += dt * ops.sum(self.source, axis=0)
"""
FOLLOWED = SCENE.replace(
    "[models.other]", '[models.total]\ntype = "own.py:Total"\ninputs = { source = "own.position" }\n\n[models.other]'
)


def test_a_dependent_model_keeps_its_state_unless_its_source_is_reset(own):
    code = CODE + FOLLOWING
    session, edit = own(FOLLOWED, code)
    run_frame(session)
    session.playing = False
    run_frame(session)
    before = values(session, "total.sum")
    assert before.all()
    edit(code.replace("+= self.params.speed", "-= self.params.speed"))
    assert not session.messages and (values(session, "total.sum") == before).all(), "both are other classes now"
    edit(code.replace("integer(8,", "integer(5,"))
    assert values(session, "own.position").shape == (5, 3) and not session.messages
    assert (values(session, "total.sum") == 0.0).all(), "what it had added up was of other points"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("def advance(self, dt):", "def advance(self, dt:", "own.py:16: '(' was never closed"),
        ("* dt", "* tt", "own.py:17: NameError: name 'tt' is not defined"),
        ("random.random(", "random.rndom(", "own.py:14: AttributeError"),
        ("class Row", "class Raw", 'unknown class "Row"; did you mean "Raw"?'),
        ('{"position"', '{"place"', "position"),
    ],
)
def test_a_broken_edit_leaves_the_last_good_version_running(own, old, new, expected):
    session, edit = own()
    instance = session.stage.instances["own"]
    edit(CODE.replace(old, new, 1))
    (message,) = session.messages.values()
    assert expected in message and session.stage.instances["own"] is instance and session.playing
    before = values(session, "own.position")
    run_frame(session)
    assert values(session, "own.position")[:, 1] == pytest.approx(before[:, 1] + 1 / 60), "it continues"
    edit(CODE + "\n# mended\n")
    assert not session.messages and session.stage.instances["own"] is not instance
    assert (values(session, "own.position")[:, 1] > before[:, 1]).all()


def test_a_step_that_fails_later_stops_the_run_without_changing_it(own):
    session, edit = own()
    edit(
        CODE + "        self.position[:, 0] += 1.0\n        if self.time > 0.5:\n            raise ValueError('late')\n"
    )
    while not session.messages:
        before = values(session, "own.position")
        with session.gpu.frames.frame():
            session.apply()
            session.try_to_advance()
    (message,) = session.messages.values()
    assert message == "own.py:20: ValueError: late" and not session.playing
    assert (values(session, "own.position") == before).all(), "half a step was not taken"
    run_frame(session)
    assert session.messages and session.clock.idle, "it is not tried again and again"
    edit(CODE + "\n")
    assert not session.messages


def test_an_error_in_a_diagnostic_is_reported_with_its_line(own):
    session, edit = own()
    edit(CODE + "\n    def diagnostics(self):\n        return {'a': 1 / 0}\n")
    with pytest.raises(CodeError, match=r"own\.py:20: ZeroDivisionError"):
        session.measure()


def test_another_scene_that_runs_code_is_asked_about_first(own, tmp_path):
    session, _ = own()
    runs = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    (tmp_path / "stranger.py").write_text(runs + CODE)
    other = written(tmp_path, SCENE.replace("own.py", "stranger.py"), "other.toml")
    session.post(Open(other))
    run_frame(session)
    question = session.questions.first
    assert question is not None and question.about == "code" and "stranger.py" in question.reason
    assert session.scene.path.name == "scene.toml" and not session.messages and not (tmp_path / "ran").exists()
    session.post(Ask(None))
    run_frame(session)
    assert session.questions.first is None and session.scene.path.name == "scene.toml"
    session.post(Open(other))
    run_frame(session)
    session.post(Ask(None))
    session.post(session.questions.first.then)
    for _ in range(2):
        run_frame(session)
    assert session.scene.path == other and (tmp_path / "ran").exists() and trust.is_trusted(tmp_path / "stranger.py")


def test_a_scene_that_is_edited_to_run_code_asks_too(own, opened, tmp_path):
    session, edit = own(SCENE.replace("own.py:Row", "rising"))
    (tmp_path / "stranger.py").write_text(CODE)
    edit(SCENE.replace("own.py", "stranger.py"), "scene.toml")
    assert session.questions.first is not None and session.questions.first.about == "code"
    session.post(session.questions.first.then)
    run_frame(session)
    run_frame(session)
    assert session.stage.instances["own"].source == tmp_path / "stranger.py"


def test_an_edit_of_code_that_was_allowed_once_asks_before_it_runs(own, tmp_path, monkeypatch):
    session, edit = own()
    trust.forget()
    trust.allow([tmp_path / "own.py"])
    before = session.stage.instances["own"].model
    edit(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + CODE)
    question = session.questions.first
    assert question is not None and "changed since it was allowed" in question.reason
    assert session.stage.instances["own"].model is before and not (tmp_path / "ran").exists()
    session.post(replace(question.then, always=True))
    run_frame(session)
    run_frame(session)
    assert session.stage.instances["own"].model is not before and (tmp_path / "ran").exists()
    assert session.questions.first is None
    edit(CODE + "\n# more\n")
    assert session.questions.first is None and not session.messages, "it is asked once"


def test_a_model_that_cannot_be_built_leaks_nothing(own, tmp_path):
    session, edit = own()
    blocks = len(session.allocations.left_behind())
    for wrong in ("self.nothing", "self.run('main', 3)", "ops.sum(self.position, axis=9)"):
        edit(CODE + f"        {wrong}\n")
        assert session.messages
    session.clock.rewind.snapshots.limit = 0
    session.gpu.wait_idle()
    assert len(session.allocations.left_behind()) == blocks


def test_code_that_fails_when_the_scene_is_opened(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", set())
    (tmp_path / "own.py").write_text(CODE.replace("* dt", "* tt"))
    with pytest.raises(UntrustedCode):
        opened(SCENE)
    trust.allow([tmp_path / "own.py"])
    with pytest.raises(SceneError, match=r"models\.own: own\.py:17: NameError"):
        opened(SCENE)


def test_undo_skips_a_value_beyond_a_tighter_limit(own):
    session, edit = own()
    for value in (8.0, 2.0):
        session.post(SetParameter("models.own", "speed", value))
        run_frame(session)
    session.post(SetParameter("layers.dots", "emissive", 0.5))
    edit(CODE.replace("max=9.0", "max=5.0"))
    assert session.scene_edits.value(Key("models.own", "speed")) == 2.0 and not session.messages
    session.post(Undo())
    session.post(Undo())
    run_frame(session)
    assert session.scene_edits.value(Key("layers.dots", "emissive")) == 0.0
    assert session.scene_edits.value(Key("models.own", "speed")) == 2.0
    assert "speed stays as it is: 8.0 is above the maximum 5.0" in session.messages["undo"]
    session.post(Undo())
    run_frame(session)
    assert session.scene_edits.value(Key("models.own", "speed")) == 1.0, "what was done before can still be undone"
    assert not session.messages and session.scene_edits.history.done == []


def test_a_value_beyond_a_tighter_limit_is_reported_when_the_code_is_edited(own):
    session, edit = own()
    session.post(SetParameter("models.own", "speed", 8.0))
    edit(CODE.replace("max=9.0", "max=5.0"))
    assert session.scene_edits.value(Key("models.own", "speed")) == 1.0
    assert "models.own.speed: 8.0 is no longer allowed; it is 1.0" in session.messages["edits"]
