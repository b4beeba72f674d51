"""`LanguageModel`: a language model from its folder, which continues texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ..closing import Closing
from ..errors import InputError
from ..gpu import gpu
from .checkpoint import read_weights
from .config import Config, text_limits
from .generation import Generator
from .onnx_decoder import OnnxDecoder
from .sampling import Sampling
from .tokenizer import FILE, Tokenizer
from .transformer import CHUNK, Cache, Choice, Transformer

BATCH = 8  # tokens that are read back together, on a GPU that makes hundreds a second


class LanguageModel(Closing):
    """A causal transformer, its tokenizer, and texts that it continues.

        with LanguageModel("models/small") as model:
            for text in model.generate("Once upon a time", temperature=0.8, top_p=0.95, seed=1):
                print(text, end="", flush=True)

    `path` is a folder with config.json, safetensors and tokenizer.json, or a file in it; or an ONNX file of a decoder
    with a cache, of which `weights`, `cache`, `chunk` and `inspect` say nothing. `weights` says how the weights are
    stored on the GPU: "f16", "bf16", "int4", or "auto" as they are in the file; `context` how many tokens a text may
    have, prompt included, by default the model's own, 4096 at most; `cache` the type of keys and values, "f16" or
    "f32"; `chunk` how many tokens of a prompt are worked on together; `progress` is called with the layers that are
    there so far, and all. Raises `InputError` for files that cannot be used, naming what is missing or wrong.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        weights: Choice = "auto",
        context: int | None = None,
        cache: Cache = "f16",
        inspect: bool = False,
        chunk: int = CHUNK,
        progress: Callable[[int, int], object] | None = None,
    ):
        path = Path(path)
        self.decoder: Transformer | OnnxDecoder
        if path.suffix == ".onnx":
            if weights != "auto":
                raise InputError(f"{path}: weights of an ONNX file are used as they are, not as {weights}")
            self.folder, limits = path.parent, text_limits(path.parent)
            self.ends = limits.end
            self.decoder = OnnxDecoder(path, context, limits.context)
        else:
            self.folder = folder_of(path)
            config = Config.read(self.folder / "config.json")
            self.ends = config.end
            found = read_weights(self.folder, config)
            options: dict[str, Any] = {"cache": cache, "inspect": inspect, "chunk": chunk, "progress": progress}
            self.decoder = Transformer(config, found, format=weights, context=context, **options)
        try:
            self.generator = Generator(self.decoder)
        except BaseException:
            self.decoder.close()
            raise

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Of the folder's tokenizer.json. Raises as `Tokenizer`."""
        return Tokenizer(self.folder / FILE, self.decoder.vocabulary)

    def generate(
        self,
        prompt: str,
        max_tokens: int | None = None,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> Iterator[str]:
        """Pieces of text that continue `prompt`, one for each token, as they come; some are empty. See `Sampling`.

        Ends after `max_tokens`, at the model's own end of a text, or when the context is full. Raises `InputError` for
        a prompt that the context has no room for, and as `tokenizer` does.
        """
        tokens, stream = self.tokenizer.encode(prompt), self.tokenizer.stream()
        for token in tokens:
            stream.step(token)  # so that what comes next is decoded as its continuation
        for token in self.generate_tokens(tokens, max_tokens, Sampling(temperature, top_k, top_p, seed)):
            yield stream.step(token)

    def generate_tokens(
        self,
        prompt: Sequence[int],
        max_tokens: int | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008  frozen
    ) -> Iterator[int]:
        """Tokens that continue those of `prompt`; needs no tokenizer. Raises `InputError` as `generate` does."""
        batch = 1 if gpu().adapter.kind == "software" else BATCH
        count = self.decoder.context if max_tokens is None else max_tokens
        return self.generator.generate(prompt, count, sampling, self.ends, batch)

    def close(self) -> None:
        """Release tensors and plans. Idempotent."""
        self.generator.close()
        self.decoder.close()


def folder_of(path: Path) -> Path:
    """The folder of a model: `path` itself, or that of a file in it. Raises `InputError` if there is none."""
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: there is no config.json; a language model is a folder with one beside its weights")
    return folder
