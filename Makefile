# `make run` and `make test` set up what is missing first.

SHELL := bash
BIN := .venv/bin
SCENE ?= scenes/nbody.toml
NAME = $(basename $(notdir $(SCENE)))
STAMP := .venv/.set-up
CUDA := $(addprefix cuda/,pyproject.toml setup.py) $(wildcard cuda/src/* cuda/vertigrad_cuda/*.py cuda/vertigrad_cuda/*.json)
WINDOW := tests/window tests/packaging
TIMED := tests/window/test_time.py tests/window/test_start.py  # run separately
CHECKED := tests/test_architecture.py tests/gpu/test_shaders_compile.py
MUTANTS ?= 160
MINUTES ?= 30

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
unexport PYTHONDONTWRITEBYTECODE  # bytecode halves the time to collect tests

.PHONY: help setup run test exhaustive quick mutants explore soak untimed lint styled typed check bench pages golden format lock wheel clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(STAMP) ## system packages if missing, .venv, locked dependencies; does nothing the second time

$(STAMP): pyproject.toml requirements.lock tools/setup.sh tools/system_packages.py tools/adapter.py $(CUDA)
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

test: styled ## everything: ruff, pyright, import-linter, all tests; those that measure time last, one at a time
	$(MAKE) --no-print-directory -j 2 typed untimed
	$(BIN)/pytest $(TIMED) tests/bench

exhaustive: ## test, with all tests that otherwise take turns from commit to commit
	PYTEST_ADDOPTS=--exhaustive $(MAKE) --no-print-directory test

quick: setup ## under a minute: tests without windows or long simulations, and those of the changed files
	$(BIN)/python tools/quick_tests.py

mutants: setup ## mutation testing with MUTANTS (160) faults, one at a time; SEED=n
	test -e .mutants/durations.json || $(BIN)/python tools/mutants.py map -n 2
	$(BIN)/python tools/mutants.py run --count $(MUTANTS) --seed $(or $(SEED),1) --report .mutants/report.md

explore: setup ## search for bugs for MINUTES (30): new examples and seeds for property tests, the window and damaged files; SEED=n
	$(BIN)/python tools/explore.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

soak: setup ## FRAMES (20,000) with edits, reloads, rebuilds, failed allocations and a lost device; SEED=n
	VERTIGRAD_SOAK=$(or $(FRAMES),20000) VERTIGRAD_SOAK_SEED=$(SEED) $(BIN)/python -m tests.headless.soak

untimed: setup
	$(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal $(addprefix --ignore=,$(WINDOW) tests/bench)
	$(BIN)/pytest -n 2 --dist worksteal $(WINDOW) $(addprefix --ignore=,$(TIMED))

lint: styled typed ## ruff, pyright, import-linter

styled: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/words.py

typed: setup
	$(BIN)/pyright

check: lint ## lint, and compile the WGSL
	$(BIN)/pytest -q --exhaustive $(CHECKED)

bench: setup ## the benchmarks; writes results to docs/benchmarks/ and the page
	VERTIGRAD_BENCH=docs/benchmarks $(BIN)/pytest tests/bench -s --exhaustive
	$(BIN)/python tools/benchmarks_page.py

pages: setup ## generate docs/models/ from the model types, docs/api/ from signatures and docstrings
	$(BIN)/python tools/model_pages.py
	$(BIN)/python tools/api_pages.py

golden: setup ## renew golden images and panel descriptions that differ
	-VERTIGRAD_UPDATE_GOLDEN=1 $(BIN)/pytest tests/renderer/test_golden.py tests/renderer/test_golden_reading.py tests/window/test_drawn.py
	git status --short tests/renderer/golden tests/window/drawn

format: setup ## format, and fix what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup ## resolve pyproject.toml for every Python and system into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --fork-strategy fewest --upgrade \
	  --torch-backend cpu \
	  --no-annotate --custom-compile-command 'make lock' --output-file requirements.lock

wheel: setup ## sdist and wheel into dist/
	$(BIN)/python -m build --no-isolation

clean: ## remove build and render output; .venv stays
	rm -rf out dist cuda/build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find app tests tools assets -name __pycache__ -type d -prune -exec rm -rf {} +
