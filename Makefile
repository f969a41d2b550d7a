# `make help` lists the targets. Every target does its own set-up, from a fresh clone on.
# (cluster-up builds the control plane by itself, and not what only the tests need.)
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
NODES ?= 50
REAL_NODES ?= 0
N ?= 100000
SEEDS ?= 200
FIRST_SEED ?= 0
MINUTES ?= 30
ENGINE ?= docker
IMAGE ?= kube-rescheduler
VERSION_NOW = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/rescheduler/__init__.py)
# Where images forbid Python to keep what it compiled, each of the hundreds of processes that tests
# start would compile its modules anew: half of what it does until it begins.
export PYTHONDONTWRITEBYTECODE :=
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet install
COMPILE := $(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 \
	--generate-hashes --no-header --no-emit-index-url --no-emit-find-links

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: .venv/installed ## Leave a working .venv/bin/rescheduler

.PHONY: demo
demo: .venv/installed ## Watch pods move without a dip, in a cluster inside the process: only Python is needed
	$(BIN)/rescheduler demo

.PHONY: test
test: test-unit test-browser test-cluster ## Run all tests, on the embedded cluster, in a browser and on a real control plane

.PHONY: test-unit
test-unit: test-page ## Run the tests that need no control plane: units, and all scenarios on the embedded cluster
	CLUSTERS=embedded $(BIN)/python -m tools.pytest_twice tests/unit tests/scenarios -n 2 --dist worksteal

.PHONY: test-browser
test-browser: browser dashboard controlplane ## Look at the dashboard in Chromium, which is fetched if there is none
	$(BIN)/python -m pytest tests/browser -n 2 --durations=5

# The page of the dashboard, which is not Python. npm fetches what its lock names once, and again when
# that has changed; what is checked or built already is not again, until a file of it changes.
PAGE := src/rescheduler/serve/dashboard/page/index.html
PAGE_FILES := $(shell find dashboard -name node_modules -prune -o -type f -print)
NPM := $(BIN)/python -m tools.npm

dashboard/node_modules/.installed: dashboard/package.json dashboard/package-lock.json dashboard/.npmrc | .venv/installed-dev
	$(NPM) ci --prefer-offline --no-progress
	@touch $@

dashboard/node_modules/.checked: dashboard/node_modules/.installed $(PAGE_FILES)
	$(NPM) run --silent check
	@touch $@

$(PAGE): dashboard/node_modules/.installed $(PAGE_FILES)
	$(NPM) run --silent build

.PHONY: dashboard
dashboard: $(PAGE) ## Build the page that `run`, `demo --web` and `simulate --web` serve; Node is fetched if there is none

.PHONY: test-page
test-page: dashboard/node_modules/.installed ## Run the unit tests of that page
	$(NPM) run --silent test

.PHONY: test-cluster
test-cluster: controlplane ## Run the tests on a real control plane, the same scenarios among them
	CLUSTERS=real $(BIN)/python -m tools.pytest_twice tests/twin tests/cluster tests/scenarios -n 6 --dist worksteal --durations=5
	CLUSTERS=real $(BIN)/python -m pytest tests/neighbours/test_vpa.py

.PHONY: test-nodes
test-nodes: realnodes ## Run the tests on real nodes: kubelets, containers, kube-proxy, real requests. Needs root
	$(BIN)/python -m pytest tests/nodes -n 2 --dist loadfile --no-loadscope-reorder -rP --durations=10

.PHONY: test-monitoring
test-monitoring: controlplane ## Check the alerts by promtool, and see each fire on a real Prometheus; Debian's is installed if there is none
	$(BIN)/python -m testbed install-prometheus
	$(BIN)/python -m pytest tests/monitoring --durations=5

.PHONY: test-full
test-full: test crash-matrix test-monitoring ## Run all tests, and those that CI samples in full
	MANY_MIGRATIONS=200 EXACT_REQUESTS_PODS=12000 QUANTITIES=1000000 FIT_VERDICTS=10000 README_ROWS=all $(BIN)/python -m pytest \
		tests/cluster/test_readme_figures.py tests/cluster/test_exact_requests.py tests/cluster/test_quantities.py \
		tests/cluster/test_fit_oracle.py tests/scenarios/test_many_at_once.py
	CLUSTERS=real SCENARIO_MATRIX=all $(BIN)/python -m pytest tests/scenarios tests/cluster/test_unmakeable.py -n 4
	MUTATED_CONFIGURATIONS=100000 $(BIN)/python -m pytest tests/unit/config/test_mutations.py --timeout 7200
	CLUSTERS=embedded FLOOD=10000 $(BIN)/python -m pytest tests/scenarios/test_flood.py
	CONVERGING_MATRIX=all $(BIN)/python -m pytest tests/unit/simulation/test_converging.py -n 2
	WHATIF_REFUSALS=1000 $(BIN)/python -m pytest tests/unit/plan/whatif/test_refusals.py -rP --timeout 1800

.PHONY: test-neighbours
test-neighbours: controlplane ## Run beside VPA, Argo Rollouts, descheduler and, for MINUTES=30, karpenter; each is built once
	$(BIN)/python -m testbed build vpa argo-rollouts descheduler karpenter
	MINUTES=$(MINUTES) $(BIN)/python -m pytest tests/neighbours -rP --durations=5

# What every version is held to. On 1.35, which has no admission policies, nobody is steered.
VERSIONS ?= 1.35 1.36 1.37
VERSION_SCENARIOS := tests/scenarios/test_surge.py tests/scenarios/test_drain.py tests/scenarios/test_crashes.py \
	tests/scenarios/test_strategies.py tests/scenarios/test_whole_plans.py tests/cluster/test_server_lacks.py

.PHONY: test-versions
test-versions: .venv/installed-dev ## Run scenarios on every supported Kubernetes version, VERSIONS="1.35 1.36 1.37", and print what each has
	@$(BIN)/python -m testbed build $(VERSIONS)
	@for version in $(VERSIONS); do \
		echo "Kubernetes $$version"; \
		KUBERNETES=$$version CLUSTERS=real SCENARIO_MATRIX=all $(BIN)/python -m pytest $(VERSION_SCENARIOS) -n 4 -q || exit 1; \
	done
	$(BIN)/python -m testbed versions

.PHONY: crash-matrix
crash-matrix: controlplane ## Disturb migrations at every write, by crashes, pauses, users and faults: all cases on a real control plane, of which CI draws some
	CLUSTERS=real CRASH_MATRIX=all USER_MATRIX=all FAULT_MATRIX=all UPGRADE_MATRIX=all $(BIN)/python -m pytest -n 6 \
		tests/scenarios/test_upgrade.py tests/scenarios/test_upgrade_plans.py tests/scenarios/test_crash_matrix.py tests/scenarios/test_pausing_matrix.py tests/scenarios/test_user_wins.py \
		tests/scenarios/test_api_faults.py tests/scenarios/test_watch_faults.py tests/cluster/test_guard_crashes.py

.PHONY: converging
converging: .venv/installed-dev ## Show how many passes 20 generated clusters take to come to rest below their thresholds
	$(BIN)/python -m bench.converging

.PHONY: twin
twin: controlplane ## Do the same random acts to the embedded cluster and a real one, SEEDS=200 times, and compare
	SEEDS=$(SEEDS) FIRST_SEED=$(FIRST_SEED) SHRINK=1 $(BIN)/python -m pytest tests/twin -n 2

.PHONY: fit-oracle
fit-oracle: controlplane ## Hold N=100000 verdicts on what fits where against the real kube-scheduler
	FIT_VERDICTS=$(N) $(BIN)/python -m pytest tests/cluster/test_fit_oracle.py -s

# MkDocs Material would print an advertisement of its successor each time.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs

.PHONY: check
check: .venv/installed-dev dashboard/node_modules/.checked ## Format, lint, types, layers, of the page too; links of the docs, their commands that need no cluster, and that generated files are up to date
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.generate --check
	@folder=$$(mktemp -d) && trap "rm -r $$folder" EXIT && $(MKDOCS) build --strict --site-dir "$$folder"
	$(BIN)/python -m pytest -q -n 2 tests/unit/test_documented_commands.py

.PHONY: docs
docs: .venv/installed-dev ## Build the documentation into site/, for any web server
	$(MKDOCS) build --strict

.PHONY: pictures
pictures: .venv/installed-dev browser dashboard ## Draw the pictures of the docs anew, of a terminal and of the dashboard, by running what they show
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.dashboard_pictures
	$(BIN)/rescheduler simulate --compare none,LoadBalancing --svg docs/images/day.svg > /dev/null

.PHONY: bench
bench: controlplane browser dashboard ## Print what things cost, each beside its limit, goal or peer
	$(BIN)/python -m bench

.PHONY: compare
compare: controlplane ## Empty and balance nodes beside kubectl drain and descheduler, and print who noticed; SCENES=e: whose requests fail, on real nodes, as root; SCENES=f: others empty nodes beside our guard
	SCENES="$(SCENES)" WORKLOADS="$(WORKLOADS)" $(BIN)/python -m bench.compare

.PHONY: cluster-up
cluster-up: .venv/installed-dev ## Start a control plane with NODES=50 simulated and REAL_NODES=0 real nodes and print its KUBECONFIG
	$(BIN)/python -m testbed up --nodes $(NODES) --real-nodes $(REAL_NODES)

.PHONY: cluster-down
cluster-down: .venv/installed-dev ## Stop what cluster-up started; no process and no file is left
	$(BIN)/python -m testbed down

.PHONY: image
image: ## Make the image IMAGE=kube-rescheduler with ENGINE=docker or podman; nothing is pushed
	@command -v "$(ENGINE)" >/dev/null || { echo "there is no $(ENGINE) here; name an engine that is: make image ENGINE=podman"; exit 1; }
	$(ENGINE) build --build-arg VERSION=$(VERSION_NOW) --build-arg REVISION=$$(git rev-parse HEAD) -t $(IMAGE):$(VERSION_NOW) .

.PHONY: cut
cut: .venv/installed-dev ## Set VERSION=0.1.0 everywhere, and cut the changelog if it is to be released; see docs/releasing.md
	$(BIN)/python -m tools.versioning $(VERSION)
	$(BIN)/python -m tools.generate
	@if [[ "$(VERSION)" != *dev* ]]; then $(BIN)/python -m tests.scenarios.leaving_behind; fi

# What is tried is what somebody gets who installs the wheel and nothing else: the same pins, without the tools that build it.
TRIED := $(CURDIR)/dist/tried
UV_TRIED := $(BIN)/uv pip install -q --python $(TRIED)

.PHONY: release
release: .venv/installed-dev dashboard ## Build sdist and wheel into dist/, try the wheel in an empty environment, check its metadata, write its bill of materials and checksums
	rm -rf dist
	$(BIN)/hatchling build -d dist
	$(COMPILE) -c requirements.lock -o dist/requirements.txt
	$(PYTHON) -m venv --without-pip $(TRIED)
	$(UV_TRIED) --require-hashes -r dist/requirements.txt
	$(UV_TRIED) --no-deps dist/*.whl
	$(BIN)/uv pip check -q --python $(TRIED)
	cd $(TRIED) && bin/rescheduler version && bin/rescheduler install --print > installed.yaml
	cd $(TRIED) && bin/rescheduler demo --nodes 8 --seed 0
	cd $(TRIED) && bin/rescheduler plan -f $(CURDIR)/docs/examples/uneven-cluster.json
	sed 's/^dynamic = \["version"\]/version = "$(VERSION_NOW)"/' pyproject.toml > $(TRIED)/pyproject.toml
	$(BIN)/cyclonedx-py environment --pyproject $(TRIED)/pyproject.toml --output-reproducible --short-PURLs -o dist/sbom.cdx.json $(TRIED)
	$(BIN)/python -m tools.bundled dist/sbom.cdx.json
	rm -r $(TRIED)
	$(BIN)/python -m tools.releasing dist
	cd dist && sha256sum *.whl *.tar.gz requirements.txt sbom.cdx.json | tee SHA256SUMS

.PHONY: controlplane
controlplane: .venv/installed-dev ## Build the programs that the tests run on into the user cache, if their pins changed
	@$(BIN)/python -m testbed build

.PHONY: browser
browser: .venv/installed-dev ## Fetch Chromium, if there is none: Debian's, installed as root, else unpacked into the user cache; says why if it cannot be had
	@$(BIN)/python -m testbed install-browser

.PHONY: realnodes
realnodes: controlplane ## Build what real nodes run, and install what Debian has of it; says why if the machine cannot have any
	@$(BIN)/python -m testbed build-nodes

.PHONY: format
format: .venv/installed-dev ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

.PHONY: generate
generate: .venv/installed-dev ## Write what is made from other files: the pages of settings, metrics, API and rights, schema and starting file, dashboard, the resource definition of the manifests
	$(BIN)/python -m tools.generate

.PHONY: upgrade-data
upgrade-data: .venv/installed-dev ## Write what the version of today leaves in clusters and on disks into tests/left_behind, for the tests of later ones: once, at its release
	$(BIN)/python -m tests.scenarios.leaving_behind

.PHONY: lock
lock: $(BIN)/uv ## Write the lock files anew from pyproject.toml; versions stay where they can
	$(COMPILE) --group build -o requirements.lock
	$(COMPILE) --group build --group dev -c requirements.lock -o requirements-dev.lock

.PHONY: upgrade
upgrade: COMPILE += --upgrade
upgrade: lock ## Write the lock files anew, with the newest versions

# Not by way of .venv/installed, which fails as long as the locks do not match pyproject.toml.
$(BIN)/uv: | .venv/made-from
	$(PIP) --no-compile --require-hashes -r requirements-dev.lock

# What .venv was made from: the interpreter, the place (its scripts know it) and the locks. When one
# of them is another now, or the interpreter is gone, .venv is made anew. A PYTHON that you name is
# obeyed; when you name none, .venv keeps the interpreter that it has.
.venv/made-from: FORCE
	@python="$(PYTHON)"; \
	if [ "$(origin PYTHON)" = file ]; then \
		python=$$($(BIN)/python -c 'import sys; print(sys._base_executable)' 2>/dev/null || echo "$(PYTHON)"); \
	fi; \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed, for example: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }; \
	now=$$("$$python" -c 'import sys; print(sys.base_prefix, sys.version)'; pwd; cksum requirements*.lock); \
	if [ "$$now" != "$$(cat $@ 2>/dev/null)" ] || ! $(BIN)/python -c '' 2>/dev/null; then \
		echo "making .venv with $$("$$python" --version)"; \
		"$$python" -m venv --clear .venv && echo "$$now" > $@; \
	fi

.PHONY: FORCE
FORCE:

# --no-compile: the Kubernetes client has thousands of modules of which we import a few dozen.
.venv/installed: .venv/made-from pyproject.toml
	$(PIP) --no-compile --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	$(BIN)/pip check
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP) --no-compile --require-hashes -r requirements-dev.lock
	$(BIN)/pip check
	@touch $@
