# Every target sets up what it needs: a fresh machine wants Python 3.10+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LINTED := src tests benchmarks examples

# One BLAS thread: the matrices are small, and timings stay comparable.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test lint format bench clean

demo: $(READY)
	$(BIN)/python examples/quickstart.py

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy src benchmarks examples

format: $(READY)
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)

bench: $(READY)
	$(BIN)/python benchmarks/synthetic.py

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
