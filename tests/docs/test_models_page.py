"""The code of the page about custom models runs."""

import re
from pathlib import Path

import numpy as np
import pytest

from vertigrad.scene import trust
from vertigrad.session import Session
from vertigrad.session.commands import SetSpeed
from vertigrad.session.readbacks import wait_for_readbacks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.M | re.S)


@pytest.fixture
def shown(steady, tmp_path, monkeypatch):
    """Open the scene, run some frames, and return an output."""
    monkeypatch.setattr(trust, "_allowed", set())

    def open_(text: str, files: dict[str, str], output: str) -> tuple[np.ndarray, np.ndarray]:
        (tmp_path / "scene.toml").write_text(text, encoding="utf-8")
        for name, content in files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
            trust.allow([tmp_path / name])
        model, _, name = output.partition(".")
        with Session(steady, tmp_path / "scene.toml") as session:
            first = session.stage.instances[model].outputs[name].numpy()
            for _ in range(3):
                with steady.frames.frame():
                    session.apply()
                    session.advance()
            assert not session.messages
            return first, session.stage.instances[model].outputs[name].numpy()

    return open_


def test_a_model_in_twenty_lines_of_python(shown):
    code, (waves, _) = blocks("python")[0], blocks("toml")
    lines = [line for line in code.splitlines() if line.strip()]
    assert len([line for line in lines if "import" not in line]) <= 20
    _, after = shown(waves, {"waves.py": code}, "waves.position")
    x, z, time = after[..., 0], after[..., 2], 2 / 60
    assert after.shape == (128, 128, 3)
    assert after[..., 1] == pytest.approx(0.15 * np.sin(9 * x + 2 * time) * np.cos(7 * z - time), abs=1e-5)


def test_a_kernel_in_the_class(shown):
    scene = 'version = 1\n[models.fall]\ntype = "fall.py:Fall"\n'
    head = "\n".join(line for line in blocks("python")[0].splitlines() if "import" in line)
    before, after = shown(scene, {"fall.py": f"{head}\n{blocks('python')[1]}"}, "fall.position")
    fallen = sum(9.81 * step / 60 / 60 for step in (1, 2, 3))
    assert before[:, 1] - after[:, 1] == pytest.approx(np.full(1000, fallen), abs=1e-5)
    assert (before[:, 0] == after[:, 0]).all()


def measured_frame(session: Session) -> None:
    """A frame, and its diagnostics once they are read."""
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
        session.measure()
    wait_for_readbacks(session.gpu)
    session.apply()


def test_energy_as_a_diagnostic(steady, tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", set())
    head = "\n".join(line for line in blocks("python")[0].splitlines() if "import" in line)
    (tmp_path / "springs.py").write_text(f"{head}\n{blocks('python')[2]}")
    (tmp_path / "scene.toml").write_text('version = 1\n[models.springs]\ntype = "springs.py:Springs"\n')
    trust.allow([tmp_path / "springs.py"])
    energies = []
    with Session(steady, tmp_path / "scene.toml") as session:
        outputs = session.stage.instances["springs"].outputs
        for _ in range(30):
            measured_frame(session)
            position, velocity = (outputs[name].numpy().astype(float) for name in ("position", "velocity"))
            expected = 0.5 * (velocity**2).sum() + 0.5 * 40.0 * (position**2).sum()
            assert session.diagnostics["springs.energy"] == pytest.approx(expected, rel=1e-5)
            assert session.diagnostics["springs.largest_speed"] == pytest.approx(np.abs(velocity).max(), rel=1e-6)
            energies.append(session.diagnostics["springs.energy"])
        assert not session.messages and not session.limits.exceeded
        assert 0.8 < min(energies) / max(energies) < 1.0, "constant except for the step size"
        session.post(SetSpeed(20.0))
        for _ in range(30):
            measured_frame(session)
        assert session.limits.exceeded[0].name == "springs.largest_speed"


def test_a_model_without_python(shown):
    before, after = shown(blocks("toml")[1], {"cloud.wgsl": blocks("wgsl")[0]}, "cloud.position")
    assert before.shape == (4000, 3) and np.abs(before).max() <= 1.0 and before.std() > 0.5
    moved = np.abs(after - before)
    assert 0.0 < moved.mean() < 0.1 and moved.max() < 0.1
