# The doors of the house. Each says what it does in `make help`; the work is in scripts/.
#
# Parts that are not there yet (the command, python/, web/) are passed over. What is built is built once:
# a second call builds only what changed.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# PyO3 is built against the interpreter of .venv in every command, so that it is built once.
ifneq ($(wildcard pyproject.toml),)
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
endif

WEB_SOURCES := $(shell find web/src web/public -type f 2>/dev/null) \
	$(wildcard web/*.json web/*.ts web/*.js web/*.html web/.npmrc schemas/*)
RUST_SOURCES := $(wildcard scenarios/papers/*.toml) $(shell find crates -name '*.rs' -o -name '*.toml' 2>/dev/null) Cargo.toml Cargo.lock

# The parts that are there. The page comes before the command, which embeds it.
PAGE := $(if $(wildcard web/package.json),web/dist/report.html)
COMMAND := $(if $(wildcard crates/railtwin-cli/Cargo.toml),command)
PYTHON_TOOLS := $(if $(wildcard pyproject.toml),.venv/.tools)
MODULE := $(if $(wildcard pyproject.toml),.venv/.module)

.PHONY: help
help: ## list the doors
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: need $(COMMAND) ## build the command and show what it does
	@scripts/demo

.PHONY: demo-watch
demo-watch: need $(COMMAND) ## real ranks under faults in namespaces of this host, and what the watcher says (root)
	@scripts/demo-watch

.PHONY: soak
soak: need $(COMMAND) ## the healthy job for an hour (SOAK_S seconds) under the watcher: no accusation (root)
	@scripts/demo-watch soak

.PHONY: test
test: need-all $(PAGE) $(MODULE) ## everything that CI requires: check, then all tests
	@scripts/test

.PHONY: check
check: need-lint $(PYTHON_TOOLS) $(if $(PAGE),web/node_modules/.package-lock.json) ## format, lints, layers, tidy, schemas, types
	@scripts/check

.PHONY: fix
fix: need-lint $(PYTHON_TOOLS) $(if $(PAGE),web/node_modules/.package-lock.json) ## mend what a machine can
	@scripts/fix

.PHONY: golden
golden: need ## write the agreed figures in golden/ anew, printing old, new and change
	@UPDATE_GOLDEN=1 cargo test -q -p railtwin --test all -- --nocapture key_figures

.PHONY: reproduce
reproduce: need $(COMMAND) ## run the stale rows of the reproduction table and their sweeps; writes the agreed figures and the page
	@scripts/reproduce $(ROWS)

.PHONY: bench-peers
bench-peers: ## the same problems through our engines, SimGrid and ns-3: times and answers
	@scripts/bench-peers

.PHONY: engines
engines: need $(COMMAND) ## flows and packets side by side: writes docs/reference/engines.md
	@scripts/engines

.PHONY: fuzz
fuzz: need $(COMMAND) ## 10,000 mutated scenarios and 5,000 mutated foreign files through the command; counts what it did
	@scripts/fuzz $(FUZZ)

.PHONY: setup
setup: need-all $(COMMAND) $(if $(MODULE),$(MODULE)-release) ## build everything without running it

.PHONY: need need-lint need-all
need:
	@scripts/need build
need-lint:
	@scripts/need build lint
need-all:
	@scripts/need build lint browser prometheus frr ovs

.PHONY: command
command: $(PAGE)
	@scripts/step "release build of the command" cargo build -q --release -p railtwin-cli

web/node_modules/.package-lock.json: web/package-lock.json web/package.json | need-once
	@scripts/step -q "web: packages" npm --prefix web ci --no-fund --no-audit
	@mkdir -p web/node_modules
	@touch $@

web/dist/report.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	@scripts/step -q "web: page" npm --prefix web run --silent build
	@test -f $@ || { echo "error: npm run build made no $@" >&2; exit 1; }
	@touch $@

.venv/.tools: pyproject.toml $(wildcard uv.lock) scripts/venv | need-once
	@scripts/step "python: environment" scripts/venv
	@touch $@

# The module shares with the command (release), or with the tests (dev), whatever it does not need for itself:
# crates/railtwin-features says why. `make test` leaves the one that is built for tests in .venv.
.venv/.module .venv/.module-release: .venv/.tools $(RUST_SOURCES) $(PAGE)
	@VIRTUAL_ENV=$(CURDIR)/.venv PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/step -q "python: module" \
		maturin develop -q $(if $(filter %-release,$@),--release) $$(test ! -x .venv/bin/uv || echo --uv)
	@rm -f .venv/.module .venv/.module-release
	@touch $@

# Called before the first thing that a missing tool would break, whatever door was taken.
.PHONY: need-once
need-once: need
