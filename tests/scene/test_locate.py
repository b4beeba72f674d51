"""The locations of keys and values, against the standard library's parser on documents of every style."""

import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertigrad.scene.locate import MAX_DEPTH, TooDeep, dotted, locate

KEYS = st.text(alphabet="ab-_ .\"'#=é😀\t\\[]", max_size=4)
SCALARS = st.sampled_from(
    [
        *("0", "-17", "1_000", "0xdead_beef", "3.5e-2", "inf", "nan", "true", "false"),
        *("1979-05-27", "07:32:00", "1979-05-27 07:32:00.5", "1979-05-27T07:32:00Z"),
        *('""', '"a # b"', r'"\" ] } , \\"', r'"\u00e9\U0001F600"', "''", r"'C:\dir'", "'\"'"),
        *('""""""', '"""a\n"b" ""c"""', '"""""quoted"""""', '"""\\\n   folded \\""""""', "'''a\n'b'''''"),
    ]
)
FILLS = st.sampled_from(["", " ", "\n", " # ] } \" '\n", "\t\r\n"])
BLANKS = st.sampled_from(["", " ", "\t "])


def written(key: str, draw) -> str:
    """The key in one of the styles it can have."""
    styles = [quoted(key)]
    if re.fullmatch(r"[A-Za-z0-9_-]+", key):
        styles.append(key)
    if "'" not in key and "\n" not in key:
        styles.append(f"'{key}'")
    return draw(st.sampled_from(styles))


def quoted(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', r"\"").replace("\t", r"\t").replace("é", r"\u00e9") + '"'


@st.composite
def values(draw, depth=0) -> str:
    kind = draw(st.sampled_from(["scalar"] * 4 + ["array", "table"] * (depth < 3)))
    if kind == "scalar":
        return draw(SCALARS)
    if kind == "array":
        items = [draw(FILLS) + draw(values(depth + 1)) + draw(FILLS) for _ in range(draw(st.integers(0, 3)))]
        comma = "," + draw(FILLS) if items and draw(st.booleans()) else ""
        return "[" + ",".join(items) + comma + draw(FILLS) + "]"
    pairs = [draw(pairs_of(key, depth + 1)) for key in draw(st.lists(KEYS, max_size=3, unique=True))]
    return "{" + ",".join(draw(BLANKS) + pair + draw(BLANKS) for pair in pairs) + "}"


@st.composite
def pairs_of(draw, key: str, depth=0) -> str:
    parts = [key, *draw(st.lists(KEYS, max_size=2))]
    dot = draw(BLANKS) + "." + draw(BLANKS)
    name = dot.join(written(part, draw) for part in parts)
    return name + draw(BLANKS) + "=" + draw(BLANKS) + draw(values(depth))


@st.composite
def tables(draw, header=(), depth=0) -> str:
    """The lines of one table and of the tables below it, whose headers start with `header`."""
    keys = draw(st.lists(KEYS, max_size=4, unique=True))
    inner = draw(st.integers(0, len(keys))) if depth < 3 else 0
    text = "".join(draw(BLANKS) + draw(pairs_of(key)) + draw(BLANKS) + "\n" for key in keys[inner:])
    for key in keys[:inner]:
        path = (*header, written(key, draw))
        name = (draw(BLANKS) + "." + draw(BLANKS)).join(path)
        if draw(st.booleans()):
            text += f"[{draw(BLANKS)}{name} ]{draw(FILLS)}\n" + draw(tables(path, depth + 1))
        else:
            for _ in range(draw(st.integers(1, 2))):
                text += f"[[{name}]]\n" + draw(tables(path, depth + 1))
    return text


def walk(value, path=()):
    if path:
        yield path, value
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*path, key))


def is_key(text: str, key: str) -> bool:
    """Whether `text` starts with `key`, in whatever style."""
    for end in range(1, len(text) + 1):
        try:
            if tomllib.loads(text[:end] + "=1") == {key: 1}:
                return True
        except tomllib.TOMLDecodeError:
            continue
    return False


@pytest.mark.turns(2)
@settings(max_examples=150, deadline=None)
@given(tables())
def test_every_key_and_value_is_at_the_reported_location(text):
    document = dict(walk(tomllib.loads(text)))
    locations = locate(text)
    assert locations.keys.keys() == document.keys()
    for path, offset in locations.keys.items():
        if isinstance(path[-1], str):
            assert is_key(text[offset : offset + 60], path[-1])
    for path, (start, end) in locations.values.items():
        # As text, because NaN is not equal to itself.
        assert repr(tomllib.loads(f"value = {text[start:end]}")["value"]) == repr(document[path])
    leaves = {path for path, value in document.items() if not isinstance(value, dict | list)}
    assert leaves <= locations.values.keys()


def test_lines_and_columns_count_characters_from_one():
    text = 'a = 1\r\n[models."é😀"]  # comment\r\n  seed = 7\r\n'
    locations = locate(text)
    assert locations.of_key(("a",)) == (1, 1)
    assert locations.of_value(("a",)) == (1, 5)
    assert locations.of_key(("models", "é😀")) == (2, 9)
    assert locations.of_key(("models", "é😀", "seed")) == (3, 3)
    assert locations.of_value(("models", "é😀", "seed")) == (3, 10)


def test_an_omitted_key_has_the_location_of_its_table():
    locations = locate("x = 1\n[a]\nb.c = 2\n")
    assert locations.of_key(("a", "b", "z")) == (3, 1)
    assert locations.of_value(("a", "z", "z")) == (2, 2)
    assert locations.of_key(("z",)) == (1, 1)
    assert locations.of_value(()) == (1, 1)


def test_a_table_has_the_location_of_its_own_header_even_if_subtables_come_first():
    locations = locate("[a.b]\n[a]\nc = 1\n")
    assert locations.of_key(("a",)) == (2, 2)


def test_tables_of_an_array_have_separate_locations():
    locations = locate("[[a]]\nx = 1\n[[a]]\n[a.b]\nx = 2\n")
    assert locations.of_value(("a", 0, "x")) == (2, 5)
    assert locations.of_value(("a", 1, "b", "x")) == (5, 5)


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * (MAX_DEPTH + 1)) + " = 1",
        "[" + ".".join("a" * (MAX_DEPTH + 1)) + "]",
        "a = " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "a = " + "{a=" * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
    ],
)
def test_depth_is_limited(text):
    tomllib.loads(text)
    with pytest.raises(TooDeep):
        locate(text)


def test_paths_are_shown_as_they_would_be_written():
    assert dotted(("models", "galaxy", "ui", "a b", 'c"d')) == r'models.galaxy.ui."a b"."c\"d"'
