"""Python in a scene, on the command line: refused without a terminal, run with --trust or after confirmation."""

import sys

import pytest

from vertigrad.cli import main
from vertigrad.scene import trust

CODE = """
from vertigrad.models import Sketch
from vertigrad.params import Params

class Still(Sketch):
    class Params(Params):
        pass

    tensors = {"position": (4, 3)}

    def start(self, random):
        return {}

    def advance(self, dt):
        pass
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", set())
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    (tmp_path / "still.py").write_text(CODE)
    (tmp_path / "scene.toml").write_text('version = 1\n[models.still]\ntype = "still.py:Still"\n')
    return tmp_path / "scene.toml"


def test_without_confirmation_nothing_runs(steady, scene, capsys):
    assert main(["check", str(scene)]) == 2
    printed = capsys.readouterr().err
    assert "scene.toml runs the Python of still.py" in printed and "--trust" in printed
    assert not trust.is_trusted(scene.parent / "still.py")


def test_training_asks_too(steady, scene, capsys):
    assert main(["train", str(scene)]) == 2
    assert "--trust" in capsys.readouterr().err
    assert main(["train", str(scene), "--trust"]) == 2  # it ran, and has nothing to train
    assert "--trust" not in capsys.readouterr().err


def test_the_option_is_for_this_run_only(steady, scene, capsys):
    assert main(["check", str(scene), "--trust"]) == 0
    assert "OK, 1 model" in capsys.readouterr().out
    trust.forget()
    assert main(["check", str(scene)]) == 2


@pytest.mark.parametrize(
    ("answer", "code", "later"), [("always", 0, 0), (" Once", 0, 2), ("no", 2, 2), ("y", 2, 2), ("", 2, 2)]
)
def test_a_terminal_is_asked(steady, scene, monkeypatch, answer, code, later):
    import typer

    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True, raising=False)
    answers = iter([answer])
    monkeypatch.setattr(typer, "prompt", lambda text, default, err: next(answers, "no") if "still.py" in text else "")
    assert main(["check", str(scene)]) == code
    trust.forget()
    assert main(["check", str(scene)]) == later, "only always is remembered"
