"""Shader files as templates."""

from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest

from vertigrad import resources
from vertigrad.errors import InputError, ShaderError
from vertigrad.gpu import Kernel, shader

from .test_shaders_compile import SHADERS, asked_for

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files to a temporary shader folder."""
    (tmp_path / "shaders").mkdir()
    monkeypatch.setattr(resources, "root", lambda: tmp_path)
    shader.forget()

    def write(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / "shaders" / f"{name}.wgsl").write_text(text)

    yield write
    shader.forget()


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


def test_plain_wgsl_is_unchanged(write: Write) -> None:
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
def test_errors_are_reported_with_file_and_line(write: Write, text: str, message: str) -> None:
    write(main=text)
    with pytest.raises(ShaderError, match=message):
        shader.render("main.wgsl", {"A": 1})


def test_an_error_in_an_included_file_is_reported_there(write: Write) -> None:
    write(main='//% include "part.wgsl"\n', part="//\n//\nlet x = ${MISSING};\n")
    with pytest.raises(ShaderError, match=r"shaders/part.wgsl:3: 'MISSING' is undefined"):
        shader.render("main.wgsl")


def test_a_missing_file_is_an_error_of_the_user(write: Write) -> None:
    with pytest.raises(InputError, match=r"nowhere.wgsl: no such resource"):
        shader.render("nowhere.wgsl")


# errors of the compiler ---------------------------------------------------------------------------------------------


def error_of(path: str, defines: dict[str, object], trusted: bool = True) -> str:
    with pytest.raises(ShaderError) as error:
        Kernel.load(path, "main", defines, trusted).pipeline  # noqa: B018  which is compiled by a thread
    return str(error.value)


BODY = "@group(0) @binding(0) var<storage, read_write> a: array<f32>;\n@compute @workgroup_size(64)\nfn main() {\n"


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("before", ["", "//% for i in range(7)\n// a line, ${i} times\n//% endfor\n", "/*# gone #*/\n"])
def test_a_compiler_error_names_the_line_in_the_file(gpu, write, before, trusted):
    text = f"// a shader\n{before}{BODY}    a[0] = ${{N}};\n    let x: u32 = 1.5;\n}}\n"
    write(main=text)
    line = text.splitlines().index("    let x: u32 = 1.5;") + 1
    expected_message = error_of("main.wgsl", {"N": 2.0}, trusted)
    assert expected_message.splitlines()[0].startswith(f"shaders/main.wgsl:{line}: the type of `x`")
    assert expected_message.splitlines()[1] == f"{line} | let x: u32 = 1.5;"


def test_a_compiler_error_in_an_included_file_names_that_file(gpu, write):
    write(
        common="// helpers\n//% for k in range(3)\nfn f${k}() -> f32 { return ${k}.0; }\n//% endfor\nfn g() { h(); }\n",
        main=f'// a shader\n\n//% include "common.wgsl"\n{BODY}    a[0] = f2();\n}}\n',
    )
    assert error_of("main.wgsl", {}).startswith("shaders/common.wgsl:5: no definition in scope for identifier: `h`")
    write(main=f'// a shader\n\n//% include "common.wgsl"\n{BODY}    a[0] = f7();\n}}\n', common="// fine\n")
    shader.forget()
    assert error_of("main.wgsl", {"X": 0}).startswith("shaders/main.wgsl:7: no definition")


@pytest.mark.turns(3)
def test_the_source_lines_of_every_shader_are_found(gpu):
    for name, values in SHADERS.items():
        asked = asked_for(name)
        complete = [defines for defines in values if not asked - defines.keys()]
        for defines in complete[:: max(len(complete), 1)]:
            lines, origins = shader.render(name, defines).splitlines(), shader._origins(name, defines)
            assert len(lines) == len(origins)
            lost, used = [], shader.used()
            for line, origin in zip(lines, origins, strict=True):
                written = used[origin.file].splitlines()[origin.line - 1].strip()
                if written not in line and "${" not in written and line.strip():
                    lost.append((line, origin))
            assert len(lost) <= 0.03 * len(lines), (name, lost[:5])  # the ends of macros within a line


def test_a_missing_brace_is_reported_by_the_compiler(gpu, write):
    write(main=f"{BODY}    a[0] = 1.0;\n")
    assert "expected" in error_of("main.wgsl", {}) and "shaders/main.wgsl" in error_of("main.wgsl", {})


def test_an_error_found_at_the_end_of_the_file(gpu, write):
    write(main=f"// a shader\n\nfn f() -> f32 {{\n}}\n{BODY}    a[0] = f();\n}}\n")
    expected_message = error_of("main.wgsl", {})
    assert expected_message.startswith("shaders/main.wgsl:3: Function [0] 'f' is invalid: The `return` expression")
    assert expected_message.endswith("3 | fn f() -> f32 {")


def test_files_that_include_a_file(write):
    write(a="//% include 'b.wgsl'\n", b="//% include 'c.wgsl'\n", c="// c\n", d="// d\n")
    for name in ("a.wgsl", "d.wgsl"):
        shader.render(name)
    assert shader.dependents({"c.wgsl"}) == {"a.wgsl", "b.wgsl", "c.wgsl"}
    assert shader.dependents({"d.wgsl"}) == {"d.wgsl"}


def test_an_edit_that_fails_leaves_the_text_in_use(write):
    write(a="// one\n")
    assert shader.render("a.wgsl") == "// one\n"
    write(a="// two\n")
    assert shader.render("a.wgsl") == "// one\n", "only a reload takes it in"
    with pytest.raises(ShaderError), shader.replaced({"a.wgsl": "${"}):
        shader.render("a.wgsl")
    assert shader.render("a.wgsl") == "// one\n"
    assert shader.is_as_shipped("a.wgsl")
    with shader.replaced({"a.wgsl": "// two\n"}):
        assert shader.render("a.wgsl") == "// two\n"
    assert shader.render("a.wgsl") == "// two\n"
    assert not shader.is_as_shipped("a.wgsl")


def test_compiled_templates_are_read_from_the_cache(write, tmp_path, monkeypatch):
    monkeypatch.setenv("VERTIGRAD_CACHE", str(tmp_path / "cache"))
    compiled, compile_ = [], jinja2.Environment.compile

    def noted(environment, source, *arguments, **options):
        compiled.append(source)
        return compile_(environment, source, *arguments, **options)

    monkeypatch.setattr(jinja2.Environment, "compile", noted)

    def rendered(text: str) -> int:
        """How many templates a new process would compile for it."""
        compiled.clear()
        write(a=text)
        shader.forget()
        assert shader.render("a.wgsl", {"N": 3}) == text.replace("${N}", "3")
        return len(compiled)

    assert [rendered("let n = ${N};\n"), rendered("let n = ${N};\n"), rendered("let m = ${N};\n")] == [1, 0, 1]
    (file,) = (tmp_path / "cache" / "templates").iterdir()
    file.write_bytes(file.read_bytes()[:30])
    assert [rendered("let m = ${N};\n"), rendered("let m = ${N};\n")] == [1, 0]
    (tmp_path / "file").touch()
    monkeypatch.setenv("VERTIGRAD_CACHE", str(tmp_path / "file"))
    assert [rendered("let m = ${N};\n"), rendered("let m = ${N};\n")] == [1, 1]
