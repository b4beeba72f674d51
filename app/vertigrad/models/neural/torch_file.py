"""Files of PyTorch: functions and modules in Python, programs of `torch.export`, TorchScript, and weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, ParameterError
from ...params import unknown
from ..function_params import arguments_of
from ..registry import SceneFiles

SUFFIXES = [".py", ".pt2", ".pt", ".ts"]
WEIGHTS = [".safetensors", ".pt", ".pth"]


@dataclass(frozen=True)
class TorchFile:
    """A file, and in a Python file the function or the class of a module that is the network."""

    file: Path
    entry: str
    files: SceneFiles

    def arguments(self) -> list[inspect.Parameter]:
        """What the network takes. Raises `InputError`, and for Python `CodeError`."""
        if self.file.suffix != ".py":
            empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
            return [inspect.Parameter(name, kind, default=empty) for name in self._loaded("cpu")[1]]
        found = self._defined()
        is_class = inspect.isclass(found)
        called: Any = found
        arguments = arguments_of(getattr(called, "forward", called), self.entry)
        return arguments[1:] if is_class else arguments  # without self

    def network(self, device: Any, weights: Path | None = None, compiled: bool = False) -> Callable[..., Any]:
        """The network on a device, called with its arguments by name; with the weights of a file, if there is one.

        With `compiled` by torch.compile, when it is called first; TorchScript is compiled anyway.

        Raises `InputError`, and for Python `CodeError`; the network, when it is called, too.
        """
        module = self._module(device) if self.file.suffix == ".py" else self._loaded(device)[0]
        if weights is not None:
            self._load_weights(module, weights, device)
        if compiled and self.file.suffix in (".py", ".pt2"):
            import torch

            return torch.compile(module)
        return module

    def checked(self, network: Callable[..., Any]) -> Callable[..., Any]:
        """The network with its exceptions turned into errors that name the file."""
        if self.file.suffix == ".py":
            return self.files.guarded(network, self.file)

        def call(**values: Any) -> Any:
            try:
                return network(**values)
            except (RuntimeError, TypeError, ValueError, AssertionError) as error:
                raise InputError(f"{self.file.name}: {_shortened(error)}") from error

        return call

    def _defined(self) -> Any:
        import torch

        if not self.entry:
            raise InputError(f'{self.file.name}: entry must name a function or a torch.nn.Module: entry = "Net"')
        found = self.files.entry(self.file, self.entry)
        is_module = inspect.isclass(found) and issubclass(found, torch.nn.Module)
        if not (is_module or (callable(found) and not inspect.isclass(found))):
            raise InputError(f"{self.file.name}: {self.entry} is neither a function nor a torch.nn.Module")
        return found

    def _module(self, device: Any) -> Any:
        found = self._defined()
        module = self.files.guarded(found, self.file)() if inspect.isclass(found) else found
        return module.eval().to(device) if hasattr(module, "eval") else module

    def _loaded(self, device: Any) -> tuple[Callable[..., Any], list[str]]:
        """The program in a file on a device, and the names of its inputs."""
        import torch

        self.files.require_trust(self.file)
        if self.file.suffix == ".pt2":
            return _exported(torch, self.file, device)
        try:
            script = torch.jit.load(str(self.file), map_location=device).eval()
        except (RuntimeError, ValueError, OSError) as error:
            raise InputError(
                f"{self.file.name}: no file of TorchScript ({_shortened(error)}); weights alone need the module's "
                'Python: file = "net.py", entry = "Net", weights = "net.pt"'
            ) from error
        return script, [argument.name for argument in script.forward.schema.arguments[1:]]

    def _load_weights(self, module: Any, weights: Path, device: Any) -> None:
        if not hasattr(module, "load_state_dict"):
            raise InputError(f"{self.entry or self.file.name}: takes no weights: it is no torch.nn.Module")
        state = _weights(weights, device)
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise InputError(
                f"{weights.name}: does not fit {self.entry or self.file.name}: {_shortened(error)}"
            ) from error


def read_entry(table: Mapping[str, Any]) -> str:
    """The entry `entry` of a scene's table. Raises `ParameterError`."""
    entry = table.get("entry", "")
    if not isinstance(entry, str) or (entry and not entry.isidentifier()):
        raise ParameterError(f"expected the name of a function or class, got {entry!r}")
    return entry


def _exported(torch: Any, file: Path, device: Any) -> tuple[Callable[..., Any], list[str]]:
    from torch.export.passes import move_to_device_pass

    try:
        program = move_to_device_pass(torch.export.load(file), str(device))
    except Exception as error:  # of zip files, JSON, pickles and schemas, all its own
        raise InputError(f"{file.name}: no program of torch.export ({_shortened(error)})") from error
    module = program.module()
    names = list(inspect.signature(module.forward).parameters)
    positional = _positional(program.call_spec.in_spec)

    def call(**values: Any) -> Any:
        return module(
            *(values[name] for name in names[:positional]), **{name: values[name] for name in names[positional:]}
        )

    return call, names


def _positional(spec: Any) -> int:
    """How many arguments are passed by position, in the tree of a program's arguments."""
    return spec.child(0).num_children if hasattr(spec, "child") else spec.children_specs[0].num_children


def _weights(file: Path, device: Any) -> Mapping[str, Any]:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if file.suffix == ".safetensors":
            return load_file(file, device=str(device))
        found = torch.load(file, map_location=device, weights_only=True)
    except (SafetensorError, OSError, RuntimeError, ValueError, EOFError) as error:
        raise InputError(f"{file.name}: not a readable file of weights ({_shortened(error)})") from error
    except Exception as error:
        if type(error).__name__ != "UnpicklingError":
            raise
        raise InputError(f"{file.name}: is damaged, or has more in it than weights, which is not loaded") from error
    if isinstance(found, Mapping) and isinstance(found.get("state_dict"), Mapping):
        found = found["state_dict"]  # of a checkpoint
    if not isinstance(found, Mapping):
        raise InputError(f"{file.name}: expected a state_dict, got {type(found).__name__}")
    return found


def _shortened(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[:3])[:300] or type(error).__name__


def choose(result: Any, key: str | int, file: str) -> Any:
    """One of the network's results: that of an index or a key; the only one is also 0. Raises `InputError`."""
    if isinstance(result, Mapping | tuple | list):
        try:
            return result[key]  # type: ignore[call-overload]
        except (LookupError, TypeError):
            pass
    elif key == 0:
        return result
    known = [str(one) for one in named(result).values()]
    raise InputError(f"{file}: {unknown('output', str(key), known)}")


def named(result: Any) -> dict[str, str | int]:
    """Names for all results of a network, with the key of each: of one tensor, of a tuple, or of a dict."""
    if isinstance(result, Mapping):
        return {"".join(c if c.isalnum() else "_" for c in str(key)): key for key in result}
    if isinstance(result, tuple | list):
        return {f"output_{number}": number for number in range(len(result))}
    return {"output": 0}
