"""System packages in `make setup`, on machines that lack different packages."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

TOOL = Path(__file__).resolve().parent.parent.parent / "tools" / "system_packages.py"


def loaded():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("system_packages", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch):
    """The script, for an ordinary user of a fake Debian with all packages."""
    module = loaded()
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(module, "loads", lambda soname: True)
    monkeypatch.setattr(module, "manifests", lambda *folders: True)
    monkeypatch.setattr(module, "has_venv", lambda: True)
    monkeypatch.setattr(module, "lacks_headers", lambda: False)
    monkeypatch.setattr(module, "lacks_validation", lambda: False)
    monkeypatch.setattr(module, "install", lambda packages: pytest.fail(f"installed {packages} unasked"))
    return module


def test_a_complete_machine_needs_nothing_and_prints_nothing(tool, capsys):
    assert tool.main() == 0
    assert capsys.readouterr() == ("", "")


def test_a_user_without_any_driver_gets_one_line_and_an_error(tool, monkeypatch, capsys):
    monkeypatch.setattr(tool, "manifests", lambda *folders: False)
    monkeypatch.setattr(tool, "has_venv", lambda: False)
    assert tool.main() == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if "sudo" in line]
    assert len(lines) == 1
    assert {"libvulkan1", "mesa-vulkan-drivers", "libegl1"} < set(lines[0].split())
    assert "-venv" in lines[0]


@pytest.mark.parametrize("lost", ["libvulkan.so.1", "libEGL.so.1", "libXcursor.so.1"])
def test_one_driver_is_enough_and_a_window_library_only_a_note(tool, monkeypatch, capsys, lost):
    monkeypatch.setattr(tool, "loads", lambda soname: soname != lost)
    assert tool.main() == 0
    assert "sudo apt-get" in capsys.readouterr().err


def test_a_compiler_without_the_headers_of_vulkan_is_only_a_note(tool, monkeypatch, capsys):
    monkeypatch.setattr(tool, "lacks_headers", lambda: True)
    assert tool.main() == 0
    assert "sudo apt-get install libvulkan-dev" in capsys.readouterr().err


@pytest.mark.parametrize(("compiler", "status", "lacks"), [(True, 1, True), (True, 0, False), (False, 1, False)])
def test_headers_are_needed_only_with_a_compiler(monkeypatch, compiler, status, lacks):
    module = loaded()
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/usr/bin/{name}" if compiler else None)
    monkeypatch.setattr(module.subprocess, "run", lambda *words, **named: SimpleNamespace(returncode=status))
    assert module.lacks_headers() == lacks


def test_root_installs_missing_packages_and_checks_again(tool, monkeypatch, capsys):
    there = set()
    monkeypatch.setattr(tool.os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(tool, "loads", lambda soname: soname != "libXi.so.6" or "libxi6" in there)
    monkeypatch.setattr(tool, "install", there.update)
    assert tool.main() == 0
    assert there == {"libxi6"}
    assert capsys.readouterr().err == ""


def test_a_failing_apt_is_an_error_only_for_essential_packages(tool, monkeypatch):
    monkeypatch.setattr(tool.os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(tool, "install", lambda packages: None)
    monkeypatch.setattr(tool, "loads", lambda soname: soname != "libXi.so.6")
    assert tool.main() == 0
    monkeypatch.setattr(tool, "has_venv", lambda: False)
    assert tool.main() == 1


def test_without_apt_the_names_are_printed_without_a_command(tool, monkeypatch, capsys):
    monkeypatch.setattr(tool.shutil, "which", lambda name: None if name in {"apt-get", "Xvfb"} else name)
    assert tool.main() == 0
    printed = capsys.readouterr().err
    assert "xvfb" in printed
    assert "sudo" not in printed


def test_validation_is_installed_where_the_layer_is_compiled(tool, monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "lacks_validation", lambda: True)
    assert [missing.package for missing in tool.find_missing()].count("vulkan-validationlayers") == 1
