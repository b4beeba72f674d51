"""The programs and the scene of docs/torch.md, and the examples with other frameworks, where these are installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from PIL import Image
from tests.docs.test_scripting_page import FRAMES, opened  # noqa: F401

from vertigrad.cli import main
from vertigrad.gpu import Gpu
from vertigrad.scene import trust

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "frameworks"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
PROGRAMS = {path.name: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py"))}
PROGRAMS = {name: text for name, text in PROGRAMS.items() if "vg.Viewer" in text}
NEEDED = {"jax": ("jax",), "taichi": ("taichi", "torch"), "torch": ("torch",), "warp": ("warp",)}


def test_the_page_lists_every_example_with_its_image() -> None:
    names = re.findall(r"^\| \[`(\w+\.\w+)`\]", PAGE, re.M)
    assert names == sorted({*PROGRAMS, *(path.name for path in EXAMPLES.glob("*.toml"))})
    with Image.open(ROOT / "docs" / "images" / "frameworks.jpg") as sheet:
        assert sheet.size == (3 * 480, 2 * 300)


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_example_runs_and_draws(name: str, gpu: Gpu, opened, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for module in NEEDED[name.partition("_")[0]]:
        pytest.importorskip(module)
    path = EXAMPLES / name
    program = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(PROGRAMS[name], str(path), "exec", dont_inherit=True), program)
    (viewer,) = opened
    assert viewer.session.frame == FRAMES
    assert not viewer.session.failures
    assert viewer.image().std() > 2.0


@pytest.mark.turns(2)
@pytest.mark.parametrize("number", [1, 2])
def test_the_programs_of_the_page_run(number: int, gpu: Gpu, opened) -> None:  # noqa: F811
    pytest.importorskip("torch")
    exec(compile(BLOCKS[number], f"torch.md, {number}", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert opened[0].closed


@pytest.mark.parametrize("name", ["page", "torch_currents"])
def test_the_scenes_are_correct(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    if name == "page":
        (tmp_path / "net.py").write_text(BLOCKS[0])
        (scene,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)
        (tmp_path / "page.toml").write_text(scene)
        path = tmp_path / "page.toml"
    else:
        path = EXAMPLES / f"{name}.toml"
    assert main(["check", str(path), "--trust"]) == 0, capsys.readouterr()
    assert "agrees with PyTorch on the CPU" in capsys.readouterr().out
    trust.forget()
    sys.modules.pop("net", None)
