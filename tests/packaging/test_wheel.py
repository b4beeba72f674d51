"""The wheel, built from the sdist, holds everything it needs: it renders outside the source tree."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def run(*command: object, cwd: Path) -> str:
    """Run in `cwd` with no path to this source tree; return the output, or fail with it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of a new environment with the wheel, which shares the dependencies of this one."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=False)
    paths = {"base": str(home), "platbase": str(home)}
    bin_folder = Path(sysconfig.get_path("scripts", "venv", paths))
    python = bin_folder / Path(sys.executable).name
    # A path added by a .pth file has its own .pth files ignored, so the editable install stays out.
    borrowed = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    target = Path(sysconfig.get_path("purelib", "venv", paths))
    (target / "dependencies.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python]
    run(*pip, "install", "--no-index", "--no-deps", "--ignore-installed", wheel, cwd=home)
    return bin_folder


def shipped_resources() -> set[str]:
    """Every file below the resource folders, by its name in the wheel."""
    files = {
        file.relative_to(REPOSITORY).as_posix()
        for folder in ("shaders", "scenes", "assets", "docs")
        for file in (REPOSITORY / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    return {f"vertigrad/_data/{file}" for file in {*files, "README.md"} if not file.startswith("assets/training/")}


@pytest.mark.turns(2)
def test_the_wheel_contains_every_resource_and_nothing_else(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    resources = {name for name in names if name.startswith("vertigrad/_data/")}
    assert resources == shipped_resources()
    assert any(name.endswith("nbody.wgsl") for name in resources)
    top = {name.split("/")[0] for name in names}
    assert top == {"vertigrad", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}


@pytest.mark.turns(2)
def test_the_installed_package_is_in_the_new_environment(scripts: Path, tmp_path: Path):
    ask = "import vertigrad, vertigrad.resources as r; print(vertigrad.__file__); print(r.root())"
    found = run(scripts / Path(sys.executable).name, "-c", ask, cwd=tmp_path).split()
    environment = scripts.parent.resolve()
    assert [Path(path).resolve().is_relative_to(environment) for path in found] == [True, True]


@pytest.mark.turns(3)
def test_installed_program_renders_outside_the_source_tree(scripts: Path, tmp_path: Path):
    image = tmp_path / "picture.png"
    program = scripts / "vertigrad"
    run(program, "render", "neural_field", "-o", image, "--frames", 2, "--size", "160x120", cwd=tmp_path)
    pixels = np.asarray(Image.open(image).convert("RGB"))
    assert pixels.shape == (120, 160, 3)
    colors = np.unique(pixels.reshape(-1, 3), axis=0)
    assert len(colors) > 100, f"a lit surface has many shades, this image has {len(colors)}"
