"""`LanguageModel`: a transformer that continues a text while it is watched."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from ... import ops, params
from ...errors import InputError
from ...gpu import Kernel
from ...params import choice, file, integer, number, text
from ...tensor import i32
from ..base import Comparison, DiagnosticSpec, OutputSpec, WrittenText, compare
from ..model_bases import PartsModel
from ..parts import Parts
from ..stepping import FixedStep

if TYPE_CHECKING:
    from ...language import Config, Sampling
    from ...language import LanguageModel as Loaded
    from ...tensor import Readback, Tensor

TOP = 16  # most probable tokens that are an output
ROW = 64  # rows of scores have a multiple of so many elements
REFERENCE_WEIGHTS = 1 << 26  # beyond that, the reference in NumPy takes too long
BOUND = 5e-3  # of the relative error of logits: keys and values are stored in f16


class Params(params.Params):
    """Which model, the text that it continues, and how it chooses."""

    file: Path = file(
        ...,
        suffixes=[".json", ".onnx"],
        doc="config.json of the model, weights and tokenizer.json are beside it; or an ONNX file of a decoder",
    )
    prompt: str = text("", doc="text to continue; another one begins anew")
    rate: float = number(
        8.0, min=0.0, max=1000.0, slider_min=0.0, slider_max=60.0, unit="1/s", doc="tokens in a simulated second"
    )
    temperature: float = number(
        0.8, min=0.0, max=100.0, slider_min=0.0, slider_max=2.0, doc="0 takes the most probable token"
    )
    top_k: int = integer(
        0, min=0, max=1 << 20, slider_min=0, slider_max=100, doc="draw among so many of the most probable; 0 for all"
    )
    top_p: float = number(
        1.0, min=1e-3, max=1.0, doc="draw among the most probable that have so much of the probability"
    )
    weights: Literal["auto", "f16", "bf16", "int4"] = choice(
        "auto", ("auto", "f16", "bf16", "int4"), rebuild=True, doc="how weights are stored on the GPU"
    )
    context: int = integer(
        512,
        min=16,
        max=1 << 20,
        scale="log",
        rebuild=True,
        doc="tokens of prompt and text; not more than the model's own",
    )


class LanguageModel(PartsModel):
    """A causal transformer from safetensors and config.json, or from ONNX. Each step writes the tokens that are due.

    Without a tokenizer.json beside it, the prompt and the text are numbers of tokens. The text ends when the context is
    full. What the outputs show is of the last token. The attention of a decoder from ONNX is not among them.
    """

    Params = Params
    divisible = False  # a step would copy the cache of keys and values
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "entropy": DiagnosticSpec("entropy of the next token's probabilities", "nat"),
        "highest": DiagnosticSpec("highest probability of a next token"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        facts = _facts(params)
        rows, vocabulary = -(-facts.context // ROW) * ROW, facts.vocabulary
        attention = OutputSpec(
            (facts.heads, rows), "f32", "what each head of each layer attends, a fraction for each token"
        )
        return {
            "logits": OutputSpec((vocabulary,), "f32", "logits of the next token"),
            "probabilities": OutputSpec((vocabulary,), "f32", "probabilities of the next token, at temperature 1"),
            "top": OutputSpec((TOP,), "f32", "the highest of these, falling"),
            "top_tokens": OutputSpec((TOP,), "i32", "tokens that they belong to"),
            **({"attention": attention} if facts.heads else {}),
            "tokens": OutputSpec((rows,), "u32", "tokens of the text"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        from ...language import LanguageModel as Loaded

        self.name, self._params, self._seed = name, params, seed
        self._clock = FixedStep()
        self.clocks = (self._clock,)
        self._facts = _facts(params)
        with self._building() as parts:
            self._loaded: Loaded = parts.enter_context(
                Loaded(
                    params.file,
                    weights=params.weights,
                    context=self._facts.context,
                    inspect=True,
                )
            )
            self._decoder = self._loaded.decoder
            self._create(parts)
            self.reset()

    def step(self, dt: float) -> None:
        if self._params.prompt != self._begun:
            self._begin()
        sampling, generator = self._sampling(), self._loaded.generator
        due = self._clock.due(dt, 1.0 / self._params.rate) if self._params.rate > 0 else 0
        for _ in range(due):
            if not generator.full:
                generator.advance(sampling)
        self._observe()

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def written_text(self) -> WrittenText:
        self._collect()
        return self._text

    def diagnostics(self) -> dict[str, Tensor]:
        probabilities = self._tensors["probabilities"]
        entropy = -ops.sum(probabilities * ops.log(ops.maximum(probabilities, 1e-30)))
        return {"entropy": entropy, "highest": ops.max(probabilities)}

    def compare_with_reference(self) -> list[Comparison]:
        """Logits of the next token, by the same transformer in NumPy: in f64, or by ONNX's reference."""
        from ...language.checkpoint import read_weights
        from ...language.onnx_reference import onnx_logits
        from ...language.reference import logits

        decoder, config, file = self._decoder, self._facts.config, self._params.file
        if decoder.parameters > REFERENCE_WEIGHTS:
            raise InputError(f"{self.name}: too large for its NumPy reference")
        tokens = self._views["tokens"].numpy()[: self._loaded.generator.length].tolist()
        if config is None:
            expected = onnx_logits(file, tokens)
        else:
            expected = logits(config, read_weights(file.parent, config), tokens, self._params.weights == "int4")
        return [compare("logits", self._views["logits"].numpy(), expected, BOUND)]

    def reset(self) -> None:
        self._clock.remainder = 0.0
        self._begin()
        self._observe()

    def state(self) -> dict[str, Tensor]:
        return self._tensors

    def scalar_state(self) -> dict[str, float]:
        return {self._clock.name: self._clock.remainder, "length": self._loaded.generator.length}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        self._clock.remainder = scalars[self._clock.name]
        self._loaded.generator.length = int(scalars["length"])
        self._forget()

    # tensors and plans --------------------------------------------------------------------------------------------

    def _create(self, parts: Parts) -> None:
        decoder, specs = self._decoder, self.output_specs(self._params)
        for name in sorted({"probabilities", "top", "attention"} & specs.keys()):
            parts.zeros(name, *(decoder.vocabulary if size is None else size for size in specs[name].shape))
        parts.zeros("top_tokens", TOP, dtype=i32)
        own = dict(parts.tensors)
        self._tensors = own | decoder.state()
        self._views = parts.views(
            {
                "logits": decoder.logits[: decoder.vocabulary],
                **{name: tensor[...] for name, tensor in own.items()},
                "tokens": decoder.tokens[: specs["tokens"].shape[0]],
            }
        )
        self._plan = parts.plan("observe")
        with self._plan.recording():
            ops.softmax(self._views["logits"], out=own["probabilities"])
            values, tokens = ops.topk(own["probabilities"], min(TOP, decoder.vocabulary))
            ops.assign(own["top"][: values.size], values)
            ops.assign(own["top_tokens"][: values.size], tokens)
        if decoder.scores is not None:
            rows, columns = own["attention"].shape
            kernel = Kernel.load("language/observe.wgsl", defines={"CONTEXT": columns})
            self._plan.dispatch(kernel, 64 * rows, scores=decoder.scores, attention=own["attention"])

    def _begin(self) -> None:
        """Begin with the prompt. Raises `InputError` for one that is empty, or does not fit."""
        self._begun = self._params.prompt
        self._prompt = self._encoded(self._begun)
        self._loaded.generator.start(self._prompt)
        self._forget()

    def _sampling(self) -> Sampling:
        from ...language import Sampling

        values = self._params
        return Sampling(values.temperature, values.top_k, values.top_p, self._seed)

    def _observe(self) -> None:
        """Record the outputs, and the reading of the tokens that are new."""
        generator = self._loaded.generator
        self._plan.replay(**({} if self._decoder.scores is None else {"position": generator.length - 1}))
        if self._requested < generator.length:
            self._readings.append((self._requested, generator.read(self._requested)))
            self._requested = generator.length

    # text ---------------------------------------------------------------------------------------------------------

    @property
    def _speaks(self) -> bool:
        return (self._loaded.folder / "tokenizer.json").is_file()

    def _encoded(self, prompt: str) -> list[int]:
        if not prompt and self._facts.begin is not None:
            return [self._facts.begin]
        if self._speaks:
            return self._loaded.tokenizer.encode(prompt)
        try:
            return [int(number) for number in prompt.split(",")]
        except ValueError:
            raise InputError(
                f"{self._loaded.folder} has no tokenizer.json, so the prompt must be tokens such as 1, 20, 300, "
                f"not {prompt!r}"
            ) from None

    def _forget(self) -> None:
        """Read all tokens after the prompt again."""
        self._readings: deque[tuple[int, Readback]] = deque()
        self._requested = len(self._prompt)
        self._tokens: list[int] = []
        self._text = WrittenText(self._begun, "", False)

    def _collect(self) -> None:
        """Take the tokens that have arrived."""
        while self._readings and self._readings[0][1].done:
            self._tokens += self._readings.popleft()[1].result().tolist()
            ends = [self._tokens.index(end) for end in self._facts.end if end in self._tokens]
            written = self._tokens[: min(ends, default=None)]
            full = len(self._prompt) + len(self._tokens) >= self._decoder.context
            self._text = WrittenText(self._begun, self._decoded(written), bool(ends) or full)

    def _decoded(self, tokens: list[int]) -> str:
        if not self._speaks:
            return "".join(f", {token}" for token in tokens)
        whole, tokenizer = [*self._prompt, *tokens], self._loaded.tokenizer
        return tokenizer.decode(whole)[len(tokenizer.decode(self._prompt)) :]


class _Facts(NamedTuple):
    """What is known of a model without a GPU. `context` is that of the text; `heads` of all layers, 0 if not shown."""

    vocabulary: int | None
    context: int
    heads: int
    begin: int | None
    end: tuple[int, ...]
    config: Config | None  # of a model from safetensors


def _facts(values: Params) -> _Facts:
    from ...language import Config

    path: Path = values.file
    if path.suffix != ".onnx":
        config = Config.read(path)
        context, heads = min(values.context, config.context), config.layers * config.heads
        return _Facts(config.vocabulary, context, heads, config.begin, config.end, config)
    from ...language.config import text_limits
    from ...language.onnx_decoder import vocabulary_of

    limits, vocabulary = text_limits(path.parent), vocabulary_of(path, path.stat().st_mtime_ns)
    return _Facts(vocabulary, min(values.context, limits.context or values.context), 0, limits.begin, limits.end, None)
