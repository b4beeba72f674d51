"""Python files of scenes: the class that is used, errors in invalid files, and trust."""

import json

import pytest

from vertigrad import resources, scene
from vertigrad.errors import CodeError, SceneError, UntrustedCode
from vertigrad.scene import code, trust

GOOD = """
from vertigrad.models import Sketch
from vertigrad.params import Params, integer, number

class Row(Sketch):
    class Params(Params):
        count: int = integer(8, min=1, max=100, rebuild=True, doc="points")
        pull: float = number(1.0, doc="strength")

    tensors = {"position": ("count", 3), "cell": ("count", "u32")}

    def start(self, random):
        return {}

    def advance(self, dt):
        pass
"""
TEXT = 'version = 1\n\n[models.row]\ntype = "row.py:Row"\n'


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a scene whose model is in row.py, with this text; the file is trusted unless `trusted` is false."""
    monkeypatch.setattr(trust, "_allowed", set())

    def load_(text=GOOD, scene_text=TEXT, trusted=True, **options):
        (tmp_path / "row.py").write_text(text, encoding="utf-8")
        (tmp_path / "scene.toml").write_text(scene_text, encoding="utf-8")
        if trusted:
            trust.allow([tmp_path / "row.py"])
        return scene.load(tmp_path / "scene.toml", **options)

    return load_


def problems(load, text, scene_text=TEXT):
    with pytest.raises(SceneError) as raised:
        load(text, scene_text)
    return str(raised.value).split("scene.toml:")[1]


def test_the_class_is_an_ordinary_model(load):
    found = load(sets=["row.count=12"]).models["row"]
    assert found.type == "row.py:Row" and found.params.count == 12 and found.params.pull == 1.0
    assert {name: spec.shape for name, spec in found.outputs.items()} == {"position": (12, 3), "cell": (12,)}
    assert found.outputs["cell"].dtype == "u32"
    assert code.source(found.kind).name == "row.py" and code.source(scene.Camera) is None


def test_the_class_is_cached_by_the_text(load):
    first = load().models["row"].kind
    assert load().models["row"].kind is first
    assert load(GOOD + "\n# more\n").models["row"].kind is not first


def test_a_problem_in_its_table_is_reported_as_of_any_model(load):
    line = problems(load, GOOD, TEXT + "cuont = 3\n")
    assert line.startswith('5:1  models.row.cuont: unknown parameter; did you mean "count"?')


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "    def start(self, random):",
            "    def start(self, random:",
            "4:8  models.row.type: row.py:12: '(' was",
        ),
        ("class Row(Sketch)", "x = 1 / 0\nclass Row(Sketch)", "row.py:5: ZeroDivisionError: division by zero"),
        ("class Row(Sketch)", "raise SystemExit(3)\nclass Row(Sketch)", "row.py:5: SystemExit: 3"),
        (
            "class Row(Sketch)",
            "import nosuchthing\nclass Row(Sketch)",
            "row.py:5: ModuleNotFoundError: No module",
        ),
        ("class Row(Sketch)", "class Raw(Sketch)", 'row.py: unknown class "Row"; did you mean "Raw"?'),
        ("class Row(Sketch)", "class Row", "row.py:5: Row is not a model; derive it from vertigrad.models.CustomModel"),
        ("    def advance", "    def advnce", "row.py:5: Row lacks advance"),
        ("    class Params(Params):", "    class Parms(Params):", "row.py:5: Row needs a class Params"),
        ('number(1.0, doc="strength")', "1.0", "row.py:5: Row.Params: pull is not declared with a function of"),
        ("        pull: float", "        seed: float", "Row.Params: seed means something else in a scene file"),
        ('"cell": ("count",', '"cell": ("cuont",', "models.row: tensors: cell: 'cuont' is neither an integer"),
        ('"count", "u32"', '"count", "u33"', "models.row: tensors: cell: u33 is not the name of a dtype"),
        ('"cell"', '"state"', "models.row: tensors: a tensor cannot be called state"),
    ],
)
def test_errors_are_reported_with_file_and_line(load, old, new, expected):
    assert old in GOOD
    assert expected in problems(load, GOOD.replace(old, new, 1))


def test_custom_output_specs_that_fail(load):
    text = GOOD + "\n    @classmethod\n    def output_specs(cls, params):\n        return {}[params.count]\n"
    assert "models.row: row.py:20: KeyError: 8" in problems(load, text)


def test_bytes_that_are_not_python(load, tmp_path):
    trust.allow([tmp_path / "row.py"], edits=True)
    for content in (b"\xff\xfe", b"x = '\0'", b"#" * (code.MAX_BYTES + 1)):
        (tmp_path / "row.py").write_bytes(content)
        with pytest.raises(CodeError):
            code.model_class(tmp_path / "row.py", "Row")


def test_nothing_runs_before_it_is_trusted(load, tmp_path):
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + GOOD
    with pytest.raises(UntrustedCode, match="runs the Python of row") as raised:
        load(text, trusted=False)
    assert raised.value.files == ((tmp_path / "row.py").resolve(),) and raised.value.exit_code == 2
    assert not (tmp_path / "ran").exists()
    load(text)
    assert (tmp_path / "ran").exists()


def test_a_setting_cannot_run_code(load):
    with pytest.raises(UntrustedCode):
        load(scene_text='version = 1\n[models.row]\ntype = "nbody"\n', sets=["row.type='row.py:Row'"], trusted=False)


def test_a_link_is_trusted_by_its_target(load, tmp_path):
    load()
    (tmp_path / "other.py").symlink_to(tmp_path / "row.py")
    load(scene_text=TEXT.replace("row.py", "other.py"))


def test_trust_persists_in_the_next_run(load, tmp_path, monkeypatch):
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    for name in ("row.py", "other.py"):
        (tmp_path / name).write_text(GOOD)
    trust.allow([tmp_path / "row.py"], remember=True)
    trust.allow([tmp_path / "other.py"])
    trust.forget()
    assert trust.is_trusted(tmp_path / "row.py") and not trust.is_trusted(tmp_path / "other.py")
    with pytest.raises(UntrustedCode, match="which changed since it was allowed"):
        load(GOOD + "\n# edited\n", trusted=False)
    load(trusted=False)  # back to what was allowed
    list_of_paths = json.dumps([str(tmp_path / "row.py")])  # without their contents
    for broken in ("{", "3", '["a", 4]', "\0", list_of_paths, '{"version": 2, "files": [3]}'):
        (tmp_path / "state" / trust.FILE).write_text(broken)
        assert not trust.is_trusted(tmp_path / "row.py")


def test_watched_edits_run_and_are_trusted(load, tmp_path, monkeypatch):
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    (tmp_path / "row.py").write_text(GOOD)
    trust.allow([tmp_path / "row.py"], remember=True, edits=True)
    load(GOOD + "\n# edited\n", trusted=False)
    trust.forget()
    load(GOOD + "\n# edited\n", trusted=False)
    with pytest.raises(UntrustedCode):
        load(GOOD + "\n# edited in another run\n", trusted=False)


def test_code_written_between_the_question_and_the_run_does_not_run(load, tmp_path, monkeypatch):
    load()
    evil = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + GOOD
    is_trusted = trust.is_trusted

    def write_after(file, text=None):
        found = is_trusted(file, text)
        file.write_text(evil)
        return found

    monkeypatch.setattr(trust, "is_trusted", write_after)
    with pytest.raises(UntrustedCode, match="was changed by another program just now"):
        load(trusted=False)
    assert not (tmp_path / "ran").exists()


def test_only_the_confirmed_text_is_trusted(load, tmp_path):
    with pytest.raises(UntrustedCode) as raised:
        load(trusted=False)
    (tmp_path / "row.py").write_text(GOOD + "\n# another\n")
    trust.allow_texts(raised.value.texts)
    assert not trust.is_trusted(tmp_path / "row.py")


def test_a_trust_file_that_cannot_be_written_is_only_reported(tmp_path, monkeypatch, caplog):
    (tmp_path / "state").write_text("a file where the folder should be")
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(trust, "_allowed", set())
    trust.allow([tmp_path / "row.py"], remember=True)
    assert trust.is_trusted(tmp_path / "row.py") and "cannot be written" in caplog.text


def test_packaged_scenes_are_trusted():
    packaged = resources.path("scenes", "attractor.py")
    assert trust.is_trusted(packaged) and not trust.is_trusted(resources.root() / "elsewhere.py")
    assert scene.load(resources.path("scenes", "attractor.toml")).models["thomas"].kind.__name__ == "Thomas"
