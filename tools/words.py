"""Find words that this project does not use, in code, shaders, tests and docs: one word for each thing, the field's.

`WORDS` has the pattern of each with the word to use. `IDENTIFIERS` are words of ordinary English that may not be a part
of a name in Python or WGSL, `PROSE` words that may not be in comments and docstrings of tests, tools and examples.
`EXCEPTIONS` are files where a word has to stay, with the reason. `NOT_SEARCHED` are words that no pattern can find.
Prints each word that is left with its line, and exits with 1 if there are any. `make lint` runs it.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CLEAN = ROOT / ".venv" / ".words"  # hashes of files in which no word was found
FOLDERS = (
    "app",
    "assets",
    "cuda",
    "docs",
    "examples",
    "scenes",
    "shaders",
    "tests",
    "tools",
)  # and the files next to them
SUFFIXES = (".py", ".c", ".h", ".wgsl", ".md", ".toml", ".html")

WORDS = {
    r"\btwins?\b|(?<![A-Za-z])twin_|_twins?(?![a-z])": "reference implementation",
    r"\bways? back\b": "backward pass",
    r"colour|Colour": "color",
    r"\b[Gg]rey": "gray",
    r"centre\b|centres\b|centred|Centre": "center",
    r"optimis|Optimis": "optimizer, optimize",
    r"neighbour|Neighbour": "neighbor",
    r"normalis|randomis|regularis|minimis|initialis|summaris": "American spelling",
    r"behaviour|labelled|travelled|judgement": "American spelling",
    r"\b[Mm]etres?\b": "meter",
    r"\b[Ww]hole numbers?\b": "integer",
    r"\bsoft_m(in|ax)\b": "slider_min, slider_max",
    r"openness": "ambient occlusion",
    r"\b[Dd]evelop(er|ed|s)?_|\b_develop|develop\.wgsl": "post-process, tone mapping",
    r"\bspots\.(py|wgsl)|\b_spots\b": "point splatting",
    r"\b(Crew|Reel|Tweaks|KeepPast|keep_past|merged_kept)\b|\btweaks\.|clock\.past\b": "SceneEdits, RewindBuffer",
    r"\b(Touches|(Save|Play|Move|End)Touch(es)?|[a-z]+_touches)\b|\btouch_(point|radius|velocity)\b": "interaction",
    r"\bhand_(rate|radius|velocity|mass|softening|share|reach|pull)\b|session\.hand\b": "tool",
    r"\bLook(At|From)\b|\bpicture_size\b|\bread_everything\b": "InspectTensor, ViewFrom, viewport_size",
    r"Restart the scene|Reset the models|Put the panels|Leave out\"|[Aa]ngle of view": "the labels",
    r"\b[Aa]ctors?\b": "model instance: instance, ModelInstance",
    r"\b[Uu]nderway\b": "in progress",
    r"\bMistakes?\b|\b_?mistakes\b(?=[.:,\])])": "problem, SceneProblem",
    r"nbody_far|NBodyFar|FarTree|far_tree": "nbody_barnes_hut, NBodyBarnesHut, BarnesHutTree",
    r"\bsmall_steps\b": "substeps: solver_substeps",
    r"\blongest_step\b": "time_step, max_time_step",
    r"hand_pull\b|smoke_carry|cloth_look": "hand_drag_rate, smoke_advect, cloth_surface",
    r"\b(Built|Sealed|Timeless|Still|Clocked)Model\b": "PartsModel, NamedTensorsModel, ... of models/model_bases.py",
    r"\bLearningModel\b": "TrainingModel",
    r"\bLaidOut\b|\blaid_out\.py": "strided layout",
    r"\bfulfil": "commit",
    r"\blaunch\.(apart|destination)\b": "copy_if_aliased, prepare_output",
    r"worked out again|works? \w+ out again": "recomputed",
    r"common/slope\.wgsl|\b(relu|sigmoid|silu|tanh|elu|gelu)_slope\b": "derivative",
    r"\b[ABW]_DOWN\b": "column-major",
    r", made at ": "created at",
    r"\bnumbered_places\b": "linear indices",
    r"\bno slope\b|slope by nature": "not differentiable",
    r"\b[Rr]ulers?\b|(?<![A-Za-z])ruler_": "axis, axes, ticks",
    r"\b(sun_width|occlusion_reach|clip_place(_\d)?|pulse_(length|speed)|dimmed)\b": "see scene/renamed.py",
    r"\bLOOKS\b|view\.look\b|\brenderer[./]looks\b": "theme",
    r"\bmlp_pull\b|\bpull_back\b": "mlp_backward, backward pass",
    r"\b(Studio|Shot|Film)\b": "video writer, request, recording",
    r"\b[Uu]nder way\b": "in flight, in progress",
    r"\b[Ss]un's map\b": "shadow map",
    r"\bnumbers per row\b": "components",
    r"\bmakes? \w+ anew\b|\bmakes? anew\b": "rebuild",
    r"network that learns|what was learned\"": "network in training, trained weights",
    r"trace of the last seconds|Flip between|Keep the changes|what is to be done\?": "the labels",
    r"Select nothing|[Vv]iew before\"|[Pp]anel before\"|done by hand|\bmissed –|\"sound, ": "the labels",
    r"relief by which each band|looks wanted|MB a frame\b": "the labels",
    r"common/seen\.wgsl|\bSeenPixel\b|\bseen_(row|cell|nothing)\b": "pick_pixel, picked_row",
    r"\ball_or_nothing\b|\bAllOrNothing\b": "atomic_recording",
    r"\bsample_place\b|\bby_place\b|\b(clip|nearest|arrow|line|seen)_place\b|\bplace_of\(": "position, pixel",
    r"\b_tell_harmonics\b|\b_made_good\b|\bkept_out\b|\b_beside\b": "warn, corrected, pushed_out, neighbor",
    r"\bdef (numbers|resume|reread)\(self|\bmodel\.(numbers|resume|reread)\(": "scalar_state, load_...",
    r"\bin_place of\b|a walk over the places": "index, position",
}
IDENTIFIERS = {  # parts of names of the program: of functions, classes, variables, parameters, fields
    **dict.fromkeys(("twin", "twins"), "reference"),
    **dict.fromkeys(("tells", "says"), "reports, returns"),
    **dict.fromkeys(("picture", "pictures"), "frame, image, viewport"),
    **dict.fromkeys(("looks", "openness", "pulse"), "style presets, ambient occlusion, dash animation"),
    **dict.fromkeys(("lend", "promise", "fulfil"), "borrow, reserve, commit"),
    **dict.fromkeys(("maker", "become", "mend"), "factory, replace, correct"),
    **dict.fromkeys(("actor", "actors", "rulers"), "model instance, axes"),
    **dict.fromkeys(("pressing", "motions", "fading"), "pressure, velocities, dissipation"),
    **dict.fromkeys(("crew", "studio", "reel", "tweaks", "missed"), "capture service, video writer, edits, dropped"),
    **dict.fromkeys(("develop", "underway", "mistake", "keeps"), "post-process, in progress, problem, holds"),
    **dict.fromkeys(("place", "places"), "index, position, slot"),
    **dict.fromkeys(("way", "ways", "apart"), "direction, method, separation"),
    **dict.fromkeys(("given", "made", "kept", "seen", "joined"), "a name that says what is in it"),
    **dict.fromkeys(("told", "said", "tell", "wanted"), "report, message, target"),
    **dict.fromkeys(("lie", "lies", "beside", "adopt", "settle"), "layout, neighbor, replace"),
    **dict.fromkeys(("figure", "figures"), "statistic"),
}
STAYS = {  # names with such a part
    **dict.fromkeys(("in_place", "_in_place"), "in-place operations are PyTorch's"),
    **dict.fromkeys(("max_pool_with_places", "places", "wanted"), "old names that still work"),
    "JoinedStr": "of Python's ast",
    **dict.fromkeys(("figure", "Figure", "FigureCanvasAgg"), "of Matplotlib"),
    "tell": "of Optuna's studies",
}
STAYS_IN_TESTS = {"given": "Hypothesis's decorator"}
NAMES_IN = ("app/", "examples/", "shaders/", "tests/", "tools/")
IN_TEST_NAMES = {  # parts that names of tests may have, since these are sentences
    **dict.fromkeys(("keeps", "become", "looks"), "verbs of a sentence"),
    **dict.fromkeys(("seen", "way", "ways", "apart", "given", "says"), "in their ordinary meaning"),
}
PROSE_IN = ("examples/", "tests/", "tools/")
PROSE = {  # words of comments and docstrings there
    r"\b[Pp]ictures?\b": "frame, image, viewport",
    r"\b([Tt]ells?|told)\b": "report, message",
    r"\bwant(ed|s)?\b": "expected, requested, requires",
    r"\b[Pp]laces\b|(?<![Ii]n )(?<![Ii]n-)\bplace\b": "position, index, location",
    r"\b(lie|lies|lying)\b": "is at, layout",
    r"\b([Mm]ade|making)\b(?! with)": "created, computed",
    r"\bkept\b": "stored, cached, retained",
    r"\b[Bb]eside\b": "next to, and",
    r"\banew\b": "again, rebuild",
    r"\bmend(s|ed)?\b": "fix",
    r"\b[Ww]ork(s|ed)? out\b": "compute",
    r"\b(goes|go|went|going) on\b": "continue",
    r"\bfigures?\b(?! \d)": "statistic, value",
    r"\b(give[ns]?|gave|giving) back\b": "release, return",
    r"\bl(ent|ends?)\b": "borrow",
    r"\b[Mm]istakes?\b": "error, problem",
    r"\b(looks?|looked|looking) at\b": "check, inspect, poll",
    r"\bthrow(s|n)?\b": "cast",
}
NOT_SEARCHED = {  # words of the glossary that no pattern finds, with the reason
    "span, ring, page, row, room": "also the standard word of another thing: time, buffers, files, tensors",
    "rate, decay, deviation, length, start": "part of standard names: learning_rate, weight_decay",
    "numbers, result, even, rest, sound, past": "ordinary words in correct use",
    "share, slope, curve, thickness, stride, lift, film": "the standard word of geometry and rendering in other files",
    "net, carry, spots, dense, longest": "part of other names: networks, carry bits, dense layers, longest edge",
    "touch, hand": "of files, of people",
    "again, still, nothing, look, keep": "ordinary words in correct use: read_again, StillInUse, look_up, keep_alive",
}
_OLD_NAME = "an old name that still works"
EXCEPTIONS = {  # files, or folders, with the reason
    "tools/words.py": "names the words",
    "tests/docs/test_words.py": "names the words",
    "CHANGELOG.md": "tells of names that were",
    "app/vertigrad/scene/renamed.py": _OLD_NAME,
    "tests/scene/test_renamed.py": _OLD_NAME,
    "tests/scene/corpus": "files as they were written once",
    "tests/scene/old_scenes": "files as they were written once",
    "tests/scene/test_old_scenes.py": _OLD_NAME,
    "tests/scene/broken": "mistakes that users make",
    "app/vertigrad/cli/check.py": _OLD_NAME,
    "tests/cli/test_verbs.py": _OLD_NAME,
    "app/vertigrad/models/base.py": _OLD_NAME,
    "tests/models/test_old_names.py": _OLD_NAME,
    "app/vertigrad/params/declare.py": _OLD_NAME,
    "app/vertigrad/models/data/point_formats/numpy_table.py": "names of arrays in others' files",
    "assets": "programs that made the data, kept as they ran",
}


class Found(NamedTuple):
    """A word that is not used here: where, and what to write."""

    file: str
    line: int
    word: str
    instead: str


def files() -> list[str]:
    """All files that the words are looked for in."""
    found = [*ROOT.glob("*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    names = [
        path.relative_to(ROOT).as_posix()
        for path in found
        if (path.suffix in SUFFIXES or path.name == "Makefile") and path.is_file()
    ]
    return sorted(name for name in names if not excepted(name))


def excepted(name: str) -> bool:
    """Whether the words may stay in a file."""
    return any(name == one or name.startswith(f"{one}/") for one in EXCEPTIONS)


def found(name: str, text: str) -> Iterator[Found]:
    """Each word in a file's text and in its name, with its line."""
    text = f"{name}\n{text}".replace("metres_per_unit", "")  # of a file format
    for pattern, instead in WORDS.items():
        for match in re.finditer(pattern, text):
            yield Found(name, text.count("\n", 0, match.start()), match[0], instead)
    source = text.partition("\n")[2]
    for line, identifier in identifiers(name, source):
        for part in parts(identifier):
            if part.lower() in IDENTIFIERS and not stays(name, identifier, part.lower()):
                yield Found(name, line, identifier, IDENTIFIERS[part.lower()])
    if name.startswith(PROSE_IN) and name.endswith(".py"):
        for line, sentence in prose(source):
            for pattern, instead in PROSE.items():
                for match in re.finditer(pattern, sentence):
                    yield Found(name, line, match[0], instead)


@cache
def parts(identifier: str) -> list[str]:
    """The words of a name."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)


@lru_cache(maxsize=1)
def tokens(source: str) -> list[tokenize.TokenInfo]:
    """The tokens of a Python file, for names and prose."""
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def stays(name: str, identifier: str, part: str) -> bool:
    """Whether a name may have a part that others may not have."""
    if name.startswith("tests/") and identifier.startswith("test_"):
        return part in IN_TEST_NAMES or (part == "place" and "in_place" in identifier)
    return identifier in STAYS or (name.startswith("tests/") and identifier in STAYS_IN_TESTS)


def prose(source: str) -> Iterator[tuple[int, str]]:
    """The lines of docstrings, and the comments, of a Python file, each with its line number."""
    before = tokenize.NEWLINE
    for token in tokens(source):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and before == tokenize.NEWLINE):
            yield from enumerate(token.string.splitlines(), start=token.start[0])
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            before = token.type


def identifiers(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Names in a file of the program, each with its line; comments and strings of other files have none."""
    if not name.startswith(NAMES_IN):
        return
    if name.endswith(".py"):
        for token in tokens(text):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string
    if name.endswith(".wgsl"):
        for number, line in enumerate(text.splitlines(), start=1):
            for match in re.finditer(r"[A-Za-z_]\w*", re.sub(r"//(?!%).*", "", line)):
                yield number, match[0]


def main() -> int:
    """Print what is left. Files in which nothing was found before are remembered by their names and contents."""
    clean = set(CLEAN.read_text(encoding="utf-8").split()) if CLEAN.exists() else set()
    rules = Path(__file__).read_bytes()
    left, checked = [], set()
    for name in files():
        text = (ROOT / name).read_text(encoding="utf-8")
        key = hashlib.sha256(rules + name.encode() + text.encode()).hexdigest()
        problems = [] if key in clean else list(found(name, text))
        left += problems
        checked |= set() if problems else {key}
    if CLEAN.parent.exists():
        CLEAN.write_text("\n".join(sorted(checked)), encoding="utf-8")
    for one in left:
        print(f"{one.file}:{one.line}: {one.word!r}: use {one.instead}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
