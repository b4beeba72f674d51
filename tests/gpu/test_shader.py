"""Shader files as templates."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vertigrad import resources
from vertigrad.errors import InputError, ShaderError
from vertigrad.gpu import shader

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files of a shader folder of its own."""
    (tmp_path / "shaders").mkdir()
    monkeypatch.setattr(resources, "root", lambda: tmp_path)
    shader._environment.cache_clear()

    def write(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / "shaders" / f"{name}.wgsl").write_text(text)

    yield write
    shader._environment.cache_clear()


def test_line_statements_expressions_and_includes(write: Write) -> None:
    write(
        common="fn twice(x: f32) -> f32 { return 2.0 * x; }\n",
        main="// plain comment\n"
        '//% include "common.wgsl"\n'
        "//% for i in range(N)\n"
        "let x${i} = ${SCALE * i};\n"
        "//% endfor\n",
    )
    text = shader.render("main.wgsl", {"N": 2, "SCALE": 1.5})
    assert text.split("\n") == [
        "// plain comment",
        "fn twice(x: f32) -> f32 { return 2.0 * x; }",
        "let x0 = 0.0;",
        "let x1 = 1.5;",
        "",
    ]


def test_wgsl_stays_as_it_is(write: Write) -> None:
    source = "// {{ x }} {% if %} {# #} 100% $ {}\nstruct A { b: f32 }\n"
    write(main=source)
    assert shader.render("main.wgsl").rstrip("\n") == source.rstrip("\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("//\n//% for i in\nx\n//% endfor\n", r"shaders/main.wgsl:2: Expected"),
        ("//\n\n//% if A\nx\n", r"shaders/main.wgsl:\d: Unexpected end of template"),
        ("//\n${A | nofilter}\n", r"shaders/main.wgsl:2: No filter named 'nofilter'"),
        ("//\n\nlet x = ${MISSING};\n", r"shaders/main.wgsl:3: 'MISSING' is undefined; give it in defines"),
        ("//\nlet x = ${A.b.c};\n", r"shaders/main.wgsl:2: .* has no attribute 'b'"),
        ("//\nlet x = ${1 // (A - A)};\n", r"shaders/main.wgsl:2: .*by zero"),
        ('//\nlet x = ${A + "x"};\n', r"shaders/main.wgsl:2: unsupported operand"),
    ],
)
def test_mistakes_are_named_with_file_and_line(write: Write, text: str, message: str) -> None:
    write(main=text)
    with pytest.raises(ShaderError, match=message):
        shader.render("main.wgsl", {"A": 1})


def test_a_mistake_in_an_included_file_is_named_there(write: Write) -> None:
    write(main='//% include "part.wgsl"\n', part="//\n//\nlet x = ${MISSING};\n")
    with pytest.raises(ShaderError, match=r"shaders/part.wgsl:3: 'MISSING' is undefined"):
        shader.render("main.wgsl")


def test_a_missing_file_is_the_users_mistake(write: Write) -> None:
    with pytest.raises(InputError, match=r"nowhere.wgsl: no such resource"):
        shader.render("nowhere.wgsl")
