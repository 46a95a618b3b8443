# Everything below makes its own environment in .venv; only Python >= 3.11, make and the package registry are needed.
VENV ?= .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN = $(VENV)/Scripts
else
PYTHON ?= python3
BIN = $(VENV)/bin
endif
JOBS ?= 2
PYTEST ?=
# The build for CPUs where the index has one: that of Linux brings gigabytes.
TORCH ?= torch==2.13.0
export PYTHONDONTWRITEBYTECODE =
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test lint types tests test-slow test-exports durations bench operations pictures clean

## demo: install neuler and write a report on a built-in robot
demo: $(VENV)/.installed-view
	$(BIN)/neuler report puma560 -o report.html
	@echo "Open report.html in a browser. Others: $(BIN)/neuler report rx90 -o rx90.html; $(BIN)/neuler info stanford"

## test: install what tests need, then lint, types and tests (the slow ones: make test-slow; options: PYTEST=--cold)
test: lint
	+$(MAKE) -j 2 types tests

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

tests: export NEULER_OPTIMIZE = 0
tests: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not exports" $(PYTEST)

test-slow: $(VENV)/.installed-slow
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[ray]'  # no wheel on some systems
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "slow and not exports" $(PYTEST)

## test-exports: JAX (the newest and the oldest that is supported), PyTorch, FMUs, pages in a browser; what does not install is skipped
test-exports: $(VENV)/.installed-exports build/jax-oldest/.installed
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m exports $(PYTEST)
	test ! -e build/jax-oldest/.installed || build/jax-oldest/bin/python -m pytest -m exports tests/test_export_jax*.py

build/jax-oldest/.installed: pyproject.toml
	test -d build/jax-oldest || $(PYTHON) -m venv build/jax-oldest
	-build/jax-oldest/bin/python -m pip install --quiet --disable-pip-version-check -e . jax==0.5.0 jaxlib==0.5.0 'scipy<1.16' pytest pytest-xdist hypothesis && touch $@

## durations: run all tests with an empty kernel cache; refresh tests/DURATIONS.md
durations: $(VENV)/.installed-slow
	mkdir -p build
	NEULER_OPTIMIZE=0 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not exports" --cold --record-durations=build/daily.json
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "slow and not exports" --cold --record-durations=build/slow.json
	$(BIN)/python tests/durations.py build/daily.json build/slow.json > tests/DURATIONS.md

## bench: measure speed, start-up and compile time against Pinocchio; refresh benchmarks/RESULTS.md
bench: $(VENV)/.installed-bench build/mjbatch/.installed
	$(BIN)/python benchmarks/run.py

build/mjbatch/.installed:
	$(PYTHON) -m venv build/mjbatch
	-build/mjbatch/bin/python -m pip install --quiet --disable-pip-version-check mjbatch && touch $@

## operations: count multiplications and additions for n = 1..12
operations: $(VENV)/.installed-view
	$(BIN)/python benchmarks/operations.py

## pictures: draw the pictures of the documentation again
pictures: $(VENV)/.installed-test
	$(BIN)/python docs/pictures.py

$(VENV)/.installed-%: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "neuler needs Python 3.11 or newer; set PYTHON=...")'
	test -d $(BIN) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) build dist report.html
