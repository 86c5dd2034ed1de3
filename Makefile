# make evolve | test | check: each makes its own virtual environment when there is none.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-bench
PYTEST_WORKERS ?= 2
ARGS ?=

.PHONY: evolve test check format calibrate bench-cage bench-kernel bench-search bench-report bench-sir bench-paper bench-evidence bench-prefect bench-night bench-workers clean

evolve: $(VENV)/.app
	@$(BIN)/trigate evolve $(ARGS)

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -q $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# How often noise is promoted, and how often an edge is; long (see scripts/calibrate.py --help).
calibrate: $(VENV)/.dev
	@$(BIN)/python scripts/calibrate.py $(ARGS)

bench-cage: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_cage.py $(ARGS)

# What the statistics over 2,000 trials cost, on one core.
bench-evidence: $(VENV)/.dev
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_evidence.py

# The kernel beside other engines, each in a virtual environment of its own under $(PEERS) (see benchmarks/requirements-peers.txt).
bench-kernel: $(VENV)/.dev $(PEERS)/.done
	@$(BIN)/python benchmarks/bench_kernel.py --peers $(PEERS) $(ARGS)

$(PEERS)/.done: benchmarks/requirements-peers.txt
	@echo "Installing the engines to compare with into $(PEERS) (once, a few minutes)"
	@rm -rf $(PEERS) && mkdir $(PEERS)
	@grep -v '^#' $< | while IFS= read -r line; do \
	  name=$${line%%=*}; \
	  test -d $(PEERS)/$$name || $(PYTHON) -m venv $(PEERS)/$$name || exit 3; \
	  $(PEERS)/$$name/bin/python -m pip install --quiet --disable-pip-version-check numpy pandas "$$line" >>$(PEERS)/$$name.log 2>&1 || true; \
	done
	@touch $@

# Documents: compile and hash.
bench-sir: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_sir.py --peers $(PEERS) $(ARGS)

# Whether evolution beats random draws of the same operators, and what a candidate costs the parent; long.
bench-search: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_search.py $(ARGS)
	@$(BIN)/python benchmarks/bench_search_scaling.py

# What the page of a run of 2,000 candidates costs.
bench-report: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_report.py $(ARGS)
# 50 paper runs in one process: seconds from a bar's close to its committed decision, and memory.
bench-paper: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_paper.py $(ARGS)
# What Prefect costs per candidate, and its server's start.
bench-prefect: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_prefect.py $(ARGS)

# What a candidate of a whole night costs: our process, the caged children, memory.
bench-night: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_night.py $(ARGS)

# What a second process on the same run brings.
bench-workers: $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_workers.py $(ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) -V 2>&1); Trigate needs Python 3.11 to 3.13: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 3; }
	@echo "Making a virtual environment in $(VENV) (once, a minute or two)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.app: $(BIN)/python pyproject.toml constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.app

clean:
	rm -rf $(VENV) $(PEERS) build *.egg-info
