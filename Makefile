# `make` alone lists the targets. Everything they make lives in this checkout: .venv and .airflow.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
TEST_ARGS ?=

export AIRFLOW_HOME ?= $(CURDIR)/.airflow
export PATH := $(BIN):$(PATH)

.PHONY: faults help setup demo up test slow lint bench schemas clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

setup: .venv/ready ## Create the virtual environment, pinned by constraints.txt

# torch first, by pip, so that a CPU build offered by the machine is taken; uv would fetch the CUDA build.
.venv/ready: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "needs Python 3.11: apt-get install python3 python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "needs venv: apt-get install python3-venv"; exit 1; }
	@echo "[setup] torch, then the rest: about a minute"
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/pip install -q torch==2.13.0
	@$(BIN)/pip install -q -c constraints.txt uv
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv pip install -q -e '.[dev]' -c constraints.txt
	@# Every Airflow process pays for what is not compiled; one of torch's files is for Python 3.12.
	@$(BIN)/python -m compileall -q -j 2 .venv/lib >/dev/null 2>&1 || true
	@touch $@

demo: setup ## Run include/jobs/char_gpt.yaml through Airflow to its report
	@seedance run include/jobs/char_gpt.yaml

up: setup ## Airflow with its page on port 8080 and the object store, until Ctrl-C
	@seedance up

test: setup ## The whole suite
	@pytest $(TEST_ARGS)

slow: setup ## Tests that take minutes and are no part of `make test`
	@SEEDANCE_SLOW=1 pytest -n 0 tests/faults/test_a_person_is_asked.py

faults: setup ## A thousand kills of a process that saves checkpoints, and a store that lies for long
	@mkdir -p benchmarks/results
	@SEEDANCE_KILLS=1000 SEEDANCE_STARTS=40 SEEDANCE_FAULTS_JSON=$(CURDIR)/benchmarks/results/faults.json \
	  pytest -n 0 -s --timeout 7200 tests/faults/checkpoint

lint: setup ## ruff, mypy --strict, import-linter
	@ruff check .
	@ruff format --check .
	@mypy
	@lint-imports

bench: setup ## Every benchmark, results into benchmarks/results
	@mkdir -p benchmarks/results
	@for script in benchmarks/*.py; do \
	  echo "== $$script"; python $$script --json benchmarks/results/$$(basename $$script .py).json || exit 1; done

schemas: setup ## Write the JSON Schemas anew after a change to the models
	@seedance schema --write include/schemas
	@seedance report --schema --output include/schemas/report.schema.json

clean: ## Stop the object store; remove the Airflow home, its runs and the virtual environment
	@test ! -x $(BIN)/seedance || seedance storage down
	@rm -rf .airflow .venv benchmarks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
