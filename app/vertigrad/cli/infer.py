"""`vertigrad infer`: run an ONNX network once, on arrays from files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..errors import InputError, RequirementError
from .options import AdapterOption, console, printable
from .progress import shown_progress

if TYPE_CHECKING:
    import numpy as np

    from ..onnx_import import Network, Program

SHOWN_NODES = 40


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="the network")],
    input: Annotated[
        list[str],
        typer.Option("--input", "-i", metavar="FILE", help="an .npz with an array for each input, or NAME=array.npy"),
    ] = [],  # noqa: B006
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE.npz", help="write the outputs")] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="compare with these; exit with 3 if they differ")
    ] = None,
    rtol: Annotated[float, typer.Option(min=0.0, help="relative tolerance")] = 1e-3,
    atol: Annotated[float, typer.Option(min=0.0, help="absolute tolerance")] = 1e-5,
    dim: Annotated[
        list[str], typer.Option("--dim", metavar="NAME=SIZE", help="size of a dimension that has a name, e.g. batch=1")
    ] = [],  # noqa: B006
    inside: Annotated[
        list[str], typer.Option("--inside", metavar="NAME", help="give this tensor inside of the network, too")
    ] = [],  # noqa: B006
    tensors: Annotated[bool, typer.Option("--tensors", help="list the tensors inside of the network, and end")] = False,
    float64_as_f32: Annotated[
        bool, typer.Option("--float64-as-f32", help="calculate float64 in float32, also of inputs and outputs")
    ] = False,
    profile: Annotated[bool, typer.Option("--profile", help="show how long each node takes on the GPU")] = False,
    adapter: AdapterOption = "",
) -> None:
    """Run MODEL.onnx on arrays, and write, compare or profile what it gives."""
    from ..onnx_import import Network
    from ..tensor.weights import read_arrays
    from .running import open_gpu

    if output is not None and output.suffix != ".npz":
        raise InputError(f"--output {output}: expected a name that ends in .npz")
    dims = dict(_dim(text) for text in dim)
    with Network(model, dims, inside, float64_as_f32) as network:
        if tensors:
            _show_tensors(network)
            return
        inputs = _inputs(network, input)
        if float64_as_f32:
            inputs = {name: array.astype("f4") if array.dtype == "f8" else array for name, array in inputs.items()}
        expected = read_arrays(compare) if compare is not None else None
        open_gpu(adapter)
        with shown_progress():
            program = network.program(inputs)
        results = network.run(inputs)
        for name, array in results.items():
            console.print(f"{printable(name)}: {_described(array)}")
        for decision in program.decisions:
            console.print(f"read back: {_described(decision.numbers)}, which decides a shape in {decision.node}")
        if output is not None:
            _write(output, results)
        if profile:
            _show_times(program)
    if expected is not None:
        _compare(results, expected, rtol, atol)


def _dim(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not name or not size.isdigit() or not int(size):
        raise InputError(f"--dim {text}: expected NAME=SIZE, such as batch=1")
    return name, int(size)


def _inputs(network: Network, options: list[str]) -> dict[str, np.ndarray]:
    """The arrays for a network. Raises `InputError` if a file cannot be read, or holds something else."""
    from ..tensor.weights import read_arrays

    found: dict[str, np.ndarray] = {}
    for text in options:
        name, equals, path = text.partition("=")
        if equals and not Path(text).exists():
            found[name] = _array(Path(path))
        elif Path(text).suffix == ".npy":
            if len(network.inputs) != 1:
                raise InputError(
                    f"--input {text}: {network.source} takes {', '.join(network.inputs)}; write NAME={text}"
                )
            found[next(iter(network.inputs))] = _array(Path(text))
        else:
            found |= read_arrays(Path(text))
    unknown = sorted(set(found) - set(network.inputs))
    if unknown:
        raise InputError(f"--input: {network.source} has no {', '.join(unknown)}; it takes {', '.join(network.inputs)}")
    return found


def _array(path: Path) -> np.ndarray:
    import numpy as np

    try:
        found = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: not an array of numbers ({error})") from error
    if hasattr(found, "files"):
        raise InputError(f"{path}: holds several arrays; give it without NAME=")
    return found


def _write(path: Path, results: dict[str, Any]) -> None:
    import numpy as np

    arrays = {name: array for name, array in results.items() if isinstance(array, np.ndarray)}
    if len(arrays) < len(results):
        raise InputError(f"{path}: {', '.join(sorted(set(results) - set(arrays)))}: sequences cannot be written")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def _described(array: Any) -> str:
    if not hasattr(array, "dtype"):
        return f"a sequence of {len(array)}" if isinstance(array, list) else str(array)
    sizes = " x ".join(str(size) for size in array.shape) or "one number"
    if not array.size or array.dtype.kind not in "fiu":
        return f"{array.dtype}, {sizes}"
    return f"{array.dtype}, {sizes}, from {array.min():.6g} to {array.max():.6g}"


def _compare(results: dict[str, Any], expected: dict[str, np.ndarray], rtol: float, atol: float) -> None:
    """Print how far each output is from the reference. Raises `RequirementError` if one is too far."""
    import numpy as np

    missing = sorted(set(expected) - set(results))
    if missing:
        raise InputError(f"--compare: the network gives no {', '.join(missing)}; it gives {', '.join(results)}")
    differing = []
    for name, reference in expected.items():
        array = results[name]
        if array.shape != reference.shape:
            raise RequirementError(f"{name}: shape {array.shape}, and {reference.shape} in the reference")
        ours, theirs = array.astype(float), reference.astype(float)
        close = np.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
        with np.errstate(invalid="ignore"):
            difference = np.abs(ours - theirs)
        worst = float(np.nanmax(difference)) if difference.size and not np.isnan(difference).all() else 0.0
        console.print(f"{name}: {np.count_nonzero(~close):,} of {close.size:,} numbers differ, largest {worst:.3g}")
        differing += [] if close.all() else [name]
    if differing:
        raise RequirementError(f"differs from the reference: {', '.join(differing)}")


def _show_tensors(network: Network) -> None:
    """What nodes compute, in their order."""
    table = Table("tensor", "operator", "type", "shape")
    for name, found in network.tensors.items():
        shape = "?" if found.shape is None else " x ".join("?" if size is None else str(size) for size in found.shape)
        table.add_row(printable(name), printable(found.operator), found.dtype or "?", shape or "one number")
    console.print(table)


def _show_times(program: Program) -> None:
    """Times of the nodes, the slowest first."""
    times = program.profile()
    if times is None:
        program.replay()
        started = time.perf_counter()
        program.wait()
        console.print(f"whole network: {(time.perf_counter() - started) * 1e3:.3f} ms (this adapter has no timestamps)")
        return
    table = Table("node", "dispatches", "ms", "share")
    total = sum(taken.ms for taken in times) or 1.0
    for taken in sorted(times, key=lambda taken: -taken.ms)[:SHOWN_NODES]:
        table.add_row(taken.node, str(taken.dispatches), f"{taken.ms:.4f}", f"{taken.ms / total:.1%}")
    console.print(table)
    more = f"; the {SHOWN_NODES} slowest are shown" if len(times) > SHOWN_NODES else ""
    console.print(f"{len(times)} nodes with kernels, {total:.3f} ms in all, each kernel timed by itself{more}")
