# Every target sets up what it needs: a fresh machine wants Python 3.10+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
BENCH_READY := $(VENV)/.bench-ready
GPYOPT := $(VENV)/gpyopt
DATA := $(or $(ADDTREE_DATA),$(abspath build/data))
LINTED := src tests benchmarks examples docs hub tools

# One BLAS thread: the matrices are small, and timings stay comparable.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
# Where this is set, every process that a test starts would compile the package again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-slow test-all soak programs lint format release-check docs gallery picture bench speed paper clean

# Which classifier for the digits? 40 trials, about half a minute; then open report.html.
demo: $(DEMO_READY)
	rm -f $(VENV)/demo.db
	$(BIN)/addtree run examples/cash.py --trials 40 --seed 0 --storage $(VENV)/demo.db
	$(BIN)/addtree explain --storage $(VENV)/demo.db
	$(BIN)/addtree report --storage $(VENV)/demo.db -o report.html

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

# What needs minutes, Ray or Dask.
test-slow: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,ray,dask]'
	$(BIN)/python -m pytest -m slow

# Every test, with everything that one of them needs. It fails if one is skipped, and the summary says which and why.
test-all: $(BENCH_READY) programs $(GPYOPT)/.ready $(DATA)/yahpo $(DATA)/mnist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,ray,dask,paper,bench,docs]'
	ADDTREE_DATA=$(DATA) ADDTREE_GPYOPT_PYTHON=$(abspath $(GPYOPT))/bin/python \
	ADDTREE_SPACES=20 $(BIN)/python -m pytest -m '' --skip-nothing --hypothesis-profile=thorough

# The surrogates of the benchmark.
$(DATA)/yahpo:
	rm -rf $@.part
	git clone --quiet --depth 1 --filter=blob:none --sparse https://github.com/slds-lmu/yahpo_data $@.part
	git -C $@.part sparse-checkout set iaml_super rbv2_super rbv2_svm rbv2_xgboost
	mv $@.part $@

$(DATA)/mnist:
	rm -rf $@.part && mkdir -p $@.part
	cd $@.part && for name in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do \
	curl --fail --silent --show-error --remote-name https://ossci-datasets.s3.amazonaws.com/mnist/$$name-ubyte.gz || exit 1; done
	mv $@.part $@

# Kills, restarts, outages and full disks, and an account at the end. A minute: make soak SOAK='--trials 200'
soak: $(READY) programs
	$(BIN)/python -m tests.study.soak $(SOAK)

# PostgreSQL's server and Chromium, by apt where that is permitted.
programs:
	@missing=""; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing=" postgresql"; \
	which chromium >/dev/null || which chromium-browser >/dev/null || which google-chrome >/dev/null \
	|| missing="$$missing chromium"; \
	test -z "$$missing" && exit 0; \
	sudo=""; test "$$(id -u)" = 0 || sudo="sudo -n"; \
	$$sudo apt-get install --yes --no-install-recommends $$missing \
	|| echo "cannot install$$missing; install it by hand, or its tests are skipped"

# GPyOpt needs an old NumPy, and so Python 3.11 or older, in an environment of its own.
$(GPYOPT)/.ready:
	@python3.11 -m venv $(GPYOPT) \
	&& $(GPYOPT)/bin/pip install --quiet numpy==1.23.5 scipy==1.11.4 "matplotlib<3.9" setuptools==65.5.0 six decorator cython paramz \
	&& $(GPYOPT)/bin/pip install --quiet --no-deps GPy==1.13.2 GPyOpt==1.2.6 \
	&& touch $@ || echo "cannot install GPyOpt; its tests are skipped"

lint: $(READY)
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy src benchmarks examples

format: $(READY)
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)

# The source distribution and the wheel, built and tested with the oldest and the newest versions that are supported.
# Name the interpreters, for instance: make release-check RELEASE='--oldest /opt/python3.10/bin/python'
release-check: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	$(BIN)/python tools/release_check.py $(RELEASE)

# The site, into site/; a warning is an error.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# docs/gallery.md: every example with its output and its picture; needs Chromium.
gallery: $(READY)
	$(BIN)/python docs/gallery.py

# docs/img/report.png, by a photograph of the demo's report; needs Chromium.
picture: $(READY)
	$(BIN)/python docs/picture.py

# BENCH takes options, e.g. make bench BENCH='--tasks function --methods addtree random --seeds 3'
bench: $(BENCH_READY)
	$(BIN)/python -m benchmarks.run $(BENCH)

# What a suggestion costs; SPEED takes options, e.g. make speed SPEED='--parts vertices choices'
speed: $(BENCH_READY)
	$(BIN)/python -m benchmarks.speed $(SPEED)

# Resumable: raw results stay in build/paper; set ADDTREE_DATA to a folder that contains mnist/ to save the download.
JOBS ?= 2
paper: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[paper]'
	$(BIN)/python -m addtree.paper all --out build/paper --docs docs --jobs $(JOBS)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# The demo needs less than the tests do, and is there sooner.
$(DEMO_READY): pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli]' scikit-learn
	touch $@

# PyTorch first and alone, so that a build without CUDA that is already there (or that TORCH names) is kept.
TORCH ?= torch==2.13.0
$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
