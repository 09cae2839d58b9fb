# `make` lists the targets. A target that needs Python packages makes their environment first.
#   PYTHON=python3.13   the interpreter the environment is made with
#   VENV=.venv-3.13     the folder it lives in
#   WORKERS=4           processes of `make test-accelerator`
#   SELECT=kernel       those of its tests whose names match
#   SHARE=7/20          the part of the slow tests that `make nightly-share` runs, from 0/20 to 19/20

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= auto

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:

python := $(VENV)/bin/python
pip := $(python) -m pip --disable-pip-version-check
# Tests start many processes: their bytecode is written, also where the environment says otherwise.
bytecode := PYTHONDONTWRITEBYTECODE=
sources := benchmarks dialect examples hlobatch lowering test

# Stamps: the environment (one per PYTHON, so another PYTHON makes it anew), the package, each dependency group.
made := $(VENV)/.made-with-$(subst /,-,$(PYTHON))
package := $(VENV)/.package
test_group := $(VENV)/.group-test
lint_group := $(VENV)/.group-lint
demo_group := $(VENV)/.group-demo
examples_group := $(VENV)/.group-examples
bench_group := $(VENV)/.group-benchmarks
site_group := $(VENV)/.group-site

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(package) $(test_group) $(lint_group) ## make the development environment

.PHONY: demo
demo: $(package) $(demo_group) ## run examples/demo.py
	$(python) -m examples.demo

.PHONY: examples
examples: $(package) $(examples_group) ## run every example that is a program
	@for example in $$(grep -l '__name__ == "__main__"' examples/*.py); do \
	  name=$$(basename $$example .py); \
	  echo "== examples.$$name"; \
	  $(python) -m examples.$$name || exit 1; \
	done

.PHONY: bench
bench: $(package) $(bench_group) ## measure everything; write docs/benchmarks.md
	$(python) -m benchmarks --json benchmarks/results
	$(python) -m benchmarks.nuts.figure7 --json benchmarks/results/figure7.json
	$(python) -m benchmarks.sampling --json benchmarks/results/sampling.json
	$(python) -m benchmarks.report benchmarks/results/*.json docs/benchmarks.md

.PHONY: bench-quick
bench-quick: $(package) $(bench_group) ## one small size of every workload; writes nothing
	$(python) -m benchmarks --quick

.PHONY: bench-gpu
bench-gpu: $(package) $(bench_group) ## code of its own for each lane against XLA's loop on a GPU, in under eight minutes
	$(python) -m benchmarks.gpu

.PHONY: on-a-card
on-a-card: $(test_group) $(bench_group) ## all tests and measurements of a GPU, in a quarter of an hour; results in card/
	$(python) -m benchmarks.on_a_card

.PHONY: test
test: lit pytest ## run all tests but the slow ones

.PHONY: lit
lit: $(test_group) ## run the tests of test/lit
	$(VENV)/bin/lit -sv test/lit

.PHONY: pytest
pytest: $(test_group) ## run the tests of test/py, and the examples in docstrings
	$(bytecode) $(python) -m pytest -n auto --dist worksteal

.PHONY: nightly
nightly: $(test_group) ## run all tests, the slow ones too, with more generated programs
	$(VENV)/bin/lit -sv -Dinterpreters=own test/lit
	$(bytecode) $(python) -m pytest -n auto --dist worksteal -m '' --hypothesis-profile=nightly -o faulthandler_timeout=3600 # 500 programs are one test

.PHONY: nightly-share
nightly-share: $(test_group) ## run a twentieth of the slow tests, chosen by the commit; SHARE=7/20, that one
	share=$(SHARE); : $${share:=$$((0x$$(git rev-parse --short=7 HEAD) % 20))/20}; \
	$(bytecode) $(python) -m pytest -n auto --dist worksteal --share-of-slow=$$share -o faulthandler_timeout=3600

.PHONY: test-accelerator
test-accelerator: $(test_group) ## run all programs in all forms on the accelerator that JAX finds; SELECT=kernel, those in own code
	$(python) -m pytest -c test/py/accelerator.ini -n $(WORKERS) --dist loadgroup $(if $(SELECT),-k '$(SELECT)') test/py/accelerator.py test/py/accelerator_generated.py test/py/test_captured_loops.py

.PHONY: generate
generate: $(package) ## regenerate the classes of the dialect and the tables of the documentation
	$(python) -m hlobatch.dialect.generate
	$(python) test/py/generated_docs.py

.PHONY: site
site: $(package) $(site_group) ## build the documentation as a site, in build/site
	$(python) -m sphinx --quiet --fail-on-warning --keep-going docs build/site
	@echo build/site/index.html

.PHONY: format
format: $(lint_group) ## format the sources
	$(python) -m ruff format $(sources)
	$(python) -m ruff check --select I --fix $(sources)

.PHONY: format-check
format-check: $(lint_group) ## list the sources that `make format` would rewrite
	$(python) -m ruff format --check $(sources)

.PHONY: lint
lint: $(lint_group) ## run the linter
	$(python) -m ruff check $(sources)

.PHONY: types
types: $(lint_group) ## check the package's types
	$(python) -m mypy

.PHONY: layers
layers: $(lint_group) ## check which module imports which
	$(VENV)/bin/lint-imports --no-logo

.PHONY: check
check: format-check lint types layers demo test ## everything CI asks for; the tests run the other examples

.PHONY: clean
clean: ## remove everything made here
	rm -rf $(VENV) .venv-* build dist docs/messages.md test/lit/Output .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(sources) -name __pycache__ -prune -exec rm -rf {} +

# An environment that somebody else made is used as it is; one that another PYTHON made here is replaced.
$(made):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hlobatch needs Python 3.11 or later, and PYTHON=$(PYTHON) is not: choose another, as in" >&2; \
	  echo "  make PYTHON=python3.12" >&2; exit 1; }
	@if [ -x $(python) ] && ! ls $(VENV)/.made-with-* >/dev/null 2>&1; then exit; fi; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: it came without venv or ensurepip." >&2; \
	  echo "Install them (Debian, Ubuntu: apt install python3-venv), or choose another Python:" >&2; \
	  echo "  make PYTHON=/path/to/python3" >&2; exit 1; }; \
	echo "$(PYTHON) -m venv $(VENV)"; \
	$(PYTHON) -m venv --clear $(VENV)
	$(pip) install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(package): pyproject.toml $(made)
	$(pip) install --quiet --editable .
	@touch $@

$(VENV)/.group-%: pyproject.toml $(package)
	$(pip) install --quiet --group $*
	@touch $@
