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


def test_options_reach_the_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    passed: list[object] = []

    class Recorded:
        def __init__(self, model: Path, **options: object):
            passed.append((str(model), options))

        def __enter__(self) -> Recorded:
            return self

        def __exit__(self, *error: object) -> None: ...

        def generate(self, prompt: str, max_tokens: int, **sampling: object) -> list[str]:
            passed.append((prompt, max_tokens, sampling))
            return [" b", " c"]

    monkeypatch.setattr("vertigrad.language.LanguageModel", Recorded)
    options = ["--weights", "int4", "--context", "64", "--max-tokens", "2"]
    options += ["--temperature", "0.5", "--top-k", "7", "--top-p", "0.9", "--seed", "3"]
    assert main(["generate", "model", "--prompt", "a", *options]) == 0
    assert passed == [
        ("model", {"weights": "int4", "context": 64}),
        ("a", 2, {"temperature": 0.5, "top_k": 7, "top_p": 0.9, "seed": 3}),
    ]
    printed = capsys.readouterr()
    assert printed.out == "a b c\n"
    assert "2 tokens" in printed.err
