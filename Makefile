# `make run` and `make test` set up whatever is missing first; nothing has to be called before them.

SHELL := bash
BIN := .venv/bin
SCENE ?= scenes/nbody.toml
NAME = $(basename $(notdir $(SCENE)))
STAMP := .venv/.set-up
WINDOW := tests/window tests/packaging
TIMED := tests/window/test_time.py tests/window/test_start.py  # with nothing beside them
CHECKED := tests/test_architecture.py tests/gpu/test_shaders_compile.py
MUTANTS ?= 160
MINUTES ?= 30

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
unexport PYTHONDONTWRITEBYTECODE  # half the time of collecting tests goes into compiling them

.PHONY: help setup run test quick mutants explore soak untimed lint styled typed check bench pages golden format lock wheel clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(STAMP) ## system packages if missing, .venv, locked dependencies; does nothing the second time

$(STAMP): pyproject.toml requirements.lock tools/setup.sh tools/system_packages.py tools/adapter.py
	@PYTHON='$(PYTHON)' tools/setup.sh
	@touch $@

run: setup ## the viewer on SCENE (scenes/nbody.toml); without a display, 120 frames of it to out/
	@if [ "$$(uname -s)" = Linux ] && [ -z "$$DISPLAY$$WAYLAND_DISPLAY" ]; then \
	  mkdir -p out; \
	  echo "No display here: rendering 120 frames of $(SCENE) to out/$(NAME).mp4 and out/$(NAME).png"; \
	  $(BIN)/vertigrad render $(SCENE) --frames 120 -o out/$(NAME).mp4 -o out/$(NAME).png; \
	else \
	  $(BIN)/vertigrad run $(SCENE); \
	fi

test: styled ## everything: ruff, pyright, import-linter, all tests; those that measure time last, with nothing beside them
	$(MAKE) --no-print-directory -j 2 typed untimed
	$(BIN)/pytest $(TIMED)
	$(BIN)/pytest tests/bench

quick: setup ## under a minute: the tests that need no window nor long simulations, and those of what you changed
	$(BIN)/python tools/quick_tests.py

mutants: setup ## put MUTANTS (160) faults into the program, one at a time, and see which the tests notice; SEED=n
	test -e .mutants/durations.json || $(BIN)/python tools/mutants.py map -n 2
	$(BIN)/python tools/mutants.py run --count $(MUTANTS) --seed $(or $(SEED),1) --report .mutants/report.md

explore: setup ## for MINUTES (30), new examples and seeds for the property tests, the window and damaged files; SEED=n
	$(BIN)/python tools/explore.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

soak: setup ## FRAMES (20,000) of edits, reloads, rebuilds, refused memory and a lost device: nothing grows, no edit is lost; SEED=n
	VERTIGRAD_SOAK=$(or $(FRAMES),20000) VERTIGRAD_SOAK_SEED=$(SEED) $(BIN)/python -m tests.headless.soak

untimed: setup
	$(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal $(addprefix --ignore=,$(WINDOW) tests/bench)
	$(BIN)/pytest -n 2 --dist loadfile $(WINDOW) $(addprefix --ignore=,$(TIMED))

lint: styled typed ## ruff, pyright, import-linter

styled: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/words.py

typed: setup
	$(BIN)/pyright

check: lint ## the same, and that the WGSL compiles
	$(BIN)/pytest -q $(CHECKED)

bench: setup ## the benchmarks alone; their results go to docs/benchmarks/ and into the page
	VERTIGRAD_BENCH=docs/benchmarks $(BIN)/pytest tests/bench -s
	$(BIN)/python tools/benchmarks_page.py

pages: setup ## docs/models/ from what the types of models declare, docs/api/ from signatures and docstrings
	$(BIN)/python tools/model_pages.py
	$(BIN)/python tools/api_pages.py

golden: setup ## keep the pictures and panels that tests draw now instead of those they are compared with, where they differ
	-VERTIGRAD_KEEP_GOLDEN=1 $(BIN)/pytest tests/renderer/test_golden.py tests/renderer/test_golden_reading.py tests/window/test_drawn.py
	git status --short tests/renderer/golden tests/window/drawn

format: setup ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup ## resolve pyproject.toml again, for every Python and system at once, into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --fork-strategy fewest --upgrade \
	  --no-annotate --custom-compile-command 'make lock' --output-file requirements.lock

wheel: setup ## sdist and wheel into dist/
	$(BIN)/python -m build --no-isolation

clean: ## remove what was built or rendered; .venv stays
	rm -rf out dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find app tests tools assets -name __pycache__ -type d -prune -exec rm -rf {} +
