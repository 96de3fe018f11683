# `make tour` and `make test` do all set-up from a fresh clone; they need Python ≥ 3.11 with
# venv, pip and make. `make help` lists the rest.
PYTHON ?= python3
TORCH := 2.13.0
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# One thread a process, several processes: oversubscribed OpenMP threads spin.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup deps docs-deps tour test test-slow check proof generate docs tightness format \
  bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

tour: $(VENV)/.stamp ## the main job, start to end
	$(BIN)/dudley tour

test: $(VENV)/.stamp ## unit tests, conformance, doctests
	$(PYTEST) -m "not slow" -n $(JOBS) -p no:benchmark

test-slow: $(VENV)/.stamp ## the tests marked slow
	$(PYTEST) -m slow -n $(JOBS) -p no:benchmark || \
	  { rc=$$?; [ $$rc -eq 5 ] && echo "make test-slow: no test is marked slow"; exit $$((rc == 5 ? 0 : rc)); }

check: $(VENV)/.stamp ## lint, format, names, types, import layers, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/lint_names.py
	$(BIN)/pyright
	$(BIN)/lint-imports
	@if [ -f scripts/generate.py ]; then $(BIN)/python scripts/generate.py --check; \
	  else echo "make check: nothing is generated yet"; fi

proof: ## check the formal proofs with Coq, and what they assume
	@$(PYTHON) scripts/check_proofs.py -j $(JOBS)

generate: $(VENV)/.stamp ## rewrite the generated files
	@if [ -f scripts/generate.py ]; then $(BIN)/python scripts/generate.py; \
	  else echo "make generate: nothing is generated yet"; fi

docs: docs-deps ## build the site into build/docs, offline; a warning is an error
	$(BIN)/python -m sphinx -b html -W --keep-going -q -E -a -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

tightness: $(VENV)/.stamp ## the full audit, its record and its table
	$(BIN)/dudley audit --full --record results/audit/tightness.json
	$(BIN)/python scripts/generate.py

format: $(VENV)/.stamp ## apply ruff's fixes and its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.stamp ## the benchmarks: ratios within one run
	$(PYTEST) benchmarks -s

lock: ## write requirements.lock anew (ARGS=--upgrade moves the pins)
	PYTHON=$(PYTHON) scripts/lock.sh $(ARGS)

clean: ## remove everything that make made, .venv included
	rm -rf $(VENV) build dist dudley-certificate dudley-report .pytest_cache .ruff_cache .hypothesis \
	  .import_linter_cache .benchmarks
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +

setup: $(VENV)/.stamp ## make .venv with the package in it
deps: $(VENV)/.stamp-deps ## make .venv, without the package
docs-deps: $(VENV)/.stamp-docs ## make .venv, with what the site needs

# Set-up is a chain of stamps inside .venv, so that an interrupted step is done again and a
# second `make` costs nothing.
$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dudley needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1)." \
	    "Name another one: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Torch comes first and brings its own dependencies: which build it is (CPU, CUDA) depends on
# the machine, so it stays out of the lock.
$(VENV)/.stamp-torch-$(TORCH): $(VENV)/.stamp-venv
	$(PIP) install torch==$(TORCH)
	@touch $@

$(VENV)/.stamp-deps: $(VENV)/.stamp-torch-$(TORCH) requirements.lock
	$(PIP) install --no-deps --require-hashes -r requirements.lock
	@touch $@

# Without build isolation: the build backend stands in the lock, pinned and hashed, and this
# step needs no network.
$(VENV)/.stamp: $(VENV)/.stamp-deps pyproject.toml
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# What only the site needs: `make tour` and `make test` go without it.
$(VENV)/.stamp-docs: $(VENV)/.stamp docs/requirements.lock
	$(PIP) install --no-deps --require-hashes -r docs/requirements.lock
	@touch $@
