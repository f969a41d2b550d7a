# `make help` lists the targets. Every target does its own set-up, from a fresh clone on.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
NODES ?= 50
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet install
COMPILE := $(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 \
	--generate-hashes --no-header --no-emit-index-url

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: .venv/installed ## Leave a working .venv/bin/rescheduler

.PHONY: demo
demo: controlplane ## Watch one pod move without a dip, on a real control plane
	$(BIN)/python -m testbed demo

.PHONY: test
test: test-unit test-cluster ## Run all tests, on a real control plane

.PHONY: test-unit
test-unit: .venv/installed-dev ## Run the tests that need no cluster
	$(BIN)/python -m pytest tests/unit -n 2

.PHONY: test-cluster
test-cluster: controlplane ## Run the tests on a real control plane
	$(BIN)/python -m pytest tests/cluster -n 4 --durations=5

.PHONY: check
check: .venv/installed-dev ## Format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: bench
bench: controlplane ## Print what things cost, beside their limit from the same run
	$(BIN)/python -m bench

.PHONY: cluster-up
cluster-up: controlplane ## Start a control plane with NODES=50 simulated nodes and print its KUBECONFIG
	$(BIN)/python -m testbed up --nodes $(NODES)

.PHONY: cluster-down
cluster-down: .venv/installed-dev ## Stop what cluster-up started; no process and no file is left
	$(BIN)/python -m testbed down

.PHONY: controlplane
controlplane: .venv/installed-dev ## Build the control plane into the user cache, if its pins changed
	@$(BIN)/python -m testbed build

.PHONY: format
format: .venv/installed-dev ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

.PHONY: lock
lock: .venv/installed-dev ## Write the lock files anew from pyproject.toml
	$(COMPILE) --upgrade --group build -o requirements.lock
	$(COMPILE) --upgrade --group build --group dev -c requirements.lock -o requirements-dev.lock

# --no-compile: the Kubernetes client has thousands of modules of which we import a few dozen.
.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed, for example: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --no-compile --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/installed-dev: .venv/installed requirements-dev.lock
	$(PIP) --no-compile --require-hashes -r requirements-dev.lock
	@touch $@
