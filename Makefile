# `make` alone lists the targets. Everything lives in this checkout: .venv and .airflow.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
TEST_ARGS ?=

export AIRFLOW_HOME ?= $(CURDIR)/.airflow
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help setup demo up test lint bench schemas clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

setup: .venv/ready ## Create the virtual environment (pinned by constraints.txt)

# torch first, by pip, so that a CPU build offered by the machine is taken; uv would fetch the CUDA build.
.venv/ready: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "needs Python 3.11 or newer: apt-get install python3 python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "needs venv: apt-get install python3-venv"; exit 1; }
	@echo "[setup] torch, then everything else (about two minutes)"
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/pip install -q torch==2.13.0
	@$(BIN)/pip install -q uv==$$(grep -oP '^uv==\K.*' constraints.txt)
	@VIRTUAL_ENV=.venv $(BIN)/uv pip install -q -e '.[dev]' -c constraints.txt
	@$(BIN)/python -m compileall -q -j 2 .venv/lib >/dev/null 2>&1 || true
	@touch $@
