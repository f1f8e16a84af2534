# Everything a target needs is installed by the target itself: a machine with Python 3.11 or newer is enough
# (make test-real, make matrix and make clients need Node.js, Go, Rust and Java too). Stamp files make repeated runs fast.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first interpreter found that is new enough; `make PYTHON=... test` names another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

VENV := .venv
BIN := $(VENV)/bin
SDK_VENV := .venvs/sdk
PROXY_VENV := .venvs/mitmproxy
SDK_PYTHON := $(CURDIR)/$(SDK_VENV)/bin/python
TS_CLIENT := tests/clients/typescript
CONFORMANCE := tests/conformance
WORKERS ?= 2
# Most of the other tests wait for servers, and need no core for that.
REST_WORKERS ?= 4

PIP := -m pip --disable-pip-version-check --quiet install
EXTRA := -c 'import sys, tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]])'
RUN := $(VENV)/.reattach-run
TEST := $(VENV)/.reattach-test
SDK := $(SDK_VENV)/.reattach-sdk
TS := $(TS_CLIENT)/node_modules/.reattach-ts
BROWSER := $(VENV)/.reattach-browser
PROXY := $(PROXY_VENV)/.reattach-proxy
NGINX := $(VENV)/.reattach-nginx
SUITE := $(CONFORMANCE)/node_modules/.reattach-suite
EXAMPLE := .venvs/oracle-typescript/.reattach-example

export REATTACH_SDK_PYTHON := $(SDK_PYTHON)

.PHONY: bench help demo test test-machine explore test-rest test-real matrix clients middleboxes prove mutants-proofs mutants lint readme format clean

help: ## List every target
	@awk -F ':[^#]*## ' '/^[a-z-]+:[^#]*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN) $(SDK) ## Probe the official Python SDK's server and the reference server, side by side
	$(BIN)/reattach demo

test: lint test-machine test-rest ## Lint, types, every test that needs only Python, and the coverage gate

test-machine: $(TEST) ## The tests of the machine, with its gate: every branch is covered
	$(BIN)/pytest tests/machine -m "not real" -n $(WORKERS) --dist loadgroup \
		--cov=reattach.machine --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered

explore: $(TEST) ## The tests of the machine within larger bounds, with many more examples
	REATTACH_TESTS=long $(BIN)/pytest tests/machine -n $(WORKERS) --timeout 7200

test-rest: $(TEST) ## The other tests that need only Python
	$(BIN)/pytest tests --ignore=tests/machine -m "not real" -n $(REST_WORKERS) --dist loadgroup

test-real: $(TEST) $(SDK) $(TS) $(EXAMPLE) $(SUITE) $(BROWSER) $(PROXY) $(NGINX) ## The tests against real SDKs and in a browser (needs Node.js, Go, Rust and Java too)
	$(BIN)/pytest tests -m real

matrix: $(TEST) ## Build and probe every real server (Python, Node.js, Go, Rust, Java); writes docs/matrix.md
	$(BIN)/python -m tests.matrix

clients: $(TEST) ## Build every real client and judge it with every script; writes docs/clients-matrix.md
	$(BIN)/python -m tests.matrix.clients

middleboxes: $(TEST) $(NGINX) ## Put every middlebox before the reference server; writes docs/middleboxes.md
	$(BIN)/python -m tests.middleboxes

prove: $(TEST) ## Prove every theorem with both solvers, refute every named mutant, write spec/ledger.md
	$(BIN)/reattach prove --solver both --mutants

mutants-proofs: $(TEST) ## Change every comparison and constant of the kernel, and list what no proof notices
	$(BIN)/python -m reattach_proofs.mutation

mutants: $(RUN) $(SDK) ## Probe every served mutant, and run the official conformance suite beside it; writes docs/mutants.md
	@command -v npm >/dev/null && $(MAKE) --no-print-directory $(SUITE) || echo "the conformance suite cannot be installed (npm)" >&2
	$(BIN)/python -m reattach.live.mutants --sdk-python $(SDK_PYTHON)

bench: $(TEST) ## Measure what judging costs beside decoding its JSON, memory, and cores (BENCH=--full: ten million); writes docs/bench.md
	$(BIN)/python -m bench $(BENCH)
	$(BIN)/python -m bench.watch

lint: $(TEST) ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

readme: $(TEST) ## Write the README's tables from the command line's own help
	$(BIN)/python tests/project/readme.py
	$(BIN)/python -m tests.watch.pages

format: $(TEST) ## Let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environments and everything that was generated
	rm -rf $(VENV) .venvs $(TS_CLIENT)/node_modules $(CONFORMANCE)/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .build dist

$(BIN)/python $(SDK_VENV)/bin/python $(PROXY_VENV)/bin/python: %/bin/python:
	@test -n "$(PYTHON)" || { echo "reattach needs Python 3.11 or newer; name it: make PYTHON=/path/to/python ..." >&2; exit 1; }
	$(PYTHON) -m venv $*

$(RUN): pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP) --editable .
	@touch $@

$(TEST): pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP) --editable '.[test,proofs]'
	@touch $@ $(RUN)

# What is installed here is the `sdk` extra alone: the demo's server imports nothing of reattach.
$(SDK): pyproject.toml | $(SDK_VENV)/bin/python
	$(SDK_VENV)/bin/python $(PIP) $$($(SDK_VENV)/bin/python $(EXTRA) sdk)
	@touch $@

$(PROXY): pyproject.toml | $(PROXY_VENV)/bin/python
	$(PROXY_VENV)/bin/python $(PIP) $$($(PROXY_VENV)/bin/python $(EXTRA) proxy)
	@touch $@

$(TS): $(TS_CLIENT)/package.json
	@command -v npm >/dev/null || { echo "make test-real needs Node.js with npm" >&2; exit 1; }
	npm install --prefix $(TS_CLIENT) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

$(SUITE): $(CONFORMANCE)/package.json
	npm install --prefix $(CONFORMANCE) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# $(call from-debian,PROGRAM,PACKAGE): where there is no such program and apt-get may install it, Debian's.
from-debian = command -v $(1) >/dev/null || { command -v apt-get >/dev/null && apt-get update --quiet=2 && \
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install --yes --quiet=2 --no-install-recommends $(2) >/dev/null; }

# Not where the example stands: what it needs is no part of the documentation.
$(EXAMPLE): docs/examples/oracle-typescript/package.json
	mkdir -p $(@D) && cp $< $(@D)
	npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# Playwright drives the system's Chromium; it need not fetch a browser of its own.
$(BROWSER): pyproject.toml | $(TEST)
	$(BIN)/python $(PIP) --editable '.[browser]'
	@$(call from-debian,chromium,chromium) || \
		echo "there is no Chromium, and none could be installed: the tests in a browser need one" >&2
	@touch $@

# The tests run one of their own, on the loopback interface; RUNLEVEL keeps Debian from starting one as a service.
$(NGINX): | $(TEST)
	@$(call from-debian,nginx,nginx) || \
		echo "there is no nginx, and none could be installed: the tests of it are skipped" >&2
	@touch $@
