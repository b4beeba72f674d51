"""`vertigrad generate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertigrad.cli import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--prompt TEXT or --tokens N,N,... is needed"),
        (["--prompt", "a", "--tokens", "1"], "and not both"),
        (["--tokens", "1,x"], "--tokens 1,x: expected integers"),
        (["--prompt", "a", "--temperature", "-1"], "temperature -1.0: expected 0 to 100"),
        (["--prompt", "a"], "there is no such file or folder"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "absent", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", str(tmp_path), "--prompt", "a"]) == 2
    assert "there is no config.json" in capsys.readouterr().err
