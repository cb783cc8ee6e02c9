# Sapwood. `make` alone says what there is; every target that needs `.venv` makes it first.

PYTHON_VENV := .venv/bin/python
COMPLETE := .venv/.complete
SEED ?= 1
COUNT ?= 1
INPUTS ?= 1000000
TESTS ?= tests tests_lab
BOOK ?= --quick

.DEFAULT_GOAL := help
.PHONY: help setup demo test lab style types coverage simulate chaos fuzz fuzz-bytes long console bench book docs release lock clean

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## Make .venv with the pinned packages, and a Java if there is none (PYTHON= chooses)
	@python=$$(scripts/find-python) && exec "$$python" scripts/setup.py

$(COMPLETE): pyproject.toml src/sapwood_lab/pyproject.toml requirements/build.txt requirements/lock.txt requirements/jvm.txt
	@$(MAKE) --no-print-directory setup

demo: $(COMPLETE)  ## Take the guided tour
	@.venv/bin/sapwood demo

test: $(COMPLETE)  ## Run the gate: style, format, types, kernels, tests
	@$(PYTHON_VENV) scripts/gate.py

lab: $(COMPLETE)  ## Run the tests of the lab alone
	@.venv/bin/pytest -q -n 2 --dist loadfile tests_lab

style: $(COMPLETE)  ## Format the code and mend what can be mended
	@.venv/bin/ruff check --fix
	@.venv/bin/ruff format

types: $(COMPLETE)  ## Check the types
	@.venv/bin/mypy src tests tests_lab scripts

coverage: $(COMPLETE)  ## Run the tests and show which branches they miss
	@.venv/bin/pytest -q --cov=sapwood --cov=sapwood_lab --cov-branch --cov-report=term-missing:skip-covered

simulate: $(COMPLETE)  ## Run random overlays with churn and faults (SEED=1 COUNT=1 PROTOCOL=), judged
	@PYTHONPATH=. $(PYTHON_VENV) scripts/simulate.py --seed $(SEED) --count $(COUNT) $(PROTOCOL:%=--protocol %)

fuzz: $(COMPLETE)  ## Search for new counterexamples with all property tests (TESTS=tests/model)
	@.venv/bin/pytest -q -n 2 --dist loadfile --hypothesis-profile fuzz -m "not spark and not network" $(TESTS)

fuzz-bytes: $(COMPLETE)  ## Read hostile bytes and texts of every kind (SEED=1 INPUTS=1000000)
	@$(PYTHON_VENV) -m sapwood_lab.fuzz --seed $(SEED) --inputs $(INPUTS)

chaos: $(COMPLETE)  ## Kill, stop and cut off real brokers and clients, and judge (SEED=1)
	@$(PYTHON_VENV) -m sapwood_lab.chaos --seed $(SEED)

long: $(COMPLETE)  ## Run the tests that the gate has no time for, all examples of the others; make the book
	@.venv/bin/pytest -q --long -m long $(TESTS)
	@.venv/bin/pytest -q --hypothesis-profile full -m hypothesis $(TESTS)
	@$(MAKE) --no-print-directory book

console: $(COMPLETE)  ## Test the console in a browser (needs chromium, chromium-driver and npm)
	@for one in chromium chromedriver npm; do command -v $$one > /dev/null || { \
	    echo "make console needs $$one: apt-get install chromium chromium-driver npm" >&2; exit 2; }; done
	@npm install --silent --no-save --prefix build/axe axe-core@4.11.0
	@.venv/bin/pytest -q --long -m browser tests/broker/http

bench: $(COMPLETE)  ## Measure matching, the network and Spark on this machine
	@.venv/bin/sapwood bench

book: $(COMPLETE)  ## Make the book of published figures beside ours in build/book (BOOK=--all: hours)
	@.venv/bin/sapwood experiment $(BOOK) --out build/book

docs: $(COMPLETE)  ## Build the API reference from the docstrings into build/docs
	@$(PYTHON_VENV) scripts/reference.py

release: $(COMPLETE)  ## Make archives, manual pages and a bill of materials in dist/, and try them
	@$(PYTHON_VENV) scripts/release.py

lock:  ## Pin the packages again (needs uv; UPGRADE=1 moves all pins)
	@scripts/lock

clean:  ## Remove .venv, caches and what was built
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build dist
	@rm -rf demo-output spark-warehouse metastore_db derby.log
	@find src tests tests_lab scripts -name __pycache__ -prune -exec rm -rf {} +
