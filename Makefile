# phistream: everything happens in .venv; nothing is installed outside of it.
# The first that is supported; any other by: make PYTHON=/path/to/python3.12
PYTHON ?= $(shell for each in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$each -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null && command -v $$each && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
LOCKS := deploy/locks
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Python compiles what it imports, once: also where an image's environment says not to.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all spark pythons check bench docs faults audit lock clean

help: ## show these lines
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

install: $(VENV)/.all ## everything but Spark, into .venv

# What each use needs, from a lock of its own.  All locks name the same versions, so one
# after the other goes into the same .venv.
PRESETS := hybrid meddocan
$(VENV)/.demo: PRESETS := hybrid
$(VENV)/.%: $(LOCKS)/%.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "needs Python 3.11 to 3.14: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "installing $< into $(VENV): half a minute to some minutes the first time"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --no-deps -r $<
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@echo "compiling the detectors for this machine: up to a minute the first time"
	$(BIN)/python -m deid_core.runtime.prepare $(PRESETS)
	@touch $@

demo: $(VENV)/.demo ## the main job on real Kafka: a ward of messages in, scrubbed notes out, reconciled
	$(BIN)/phistream demo

# A file stays in one process, and those that need Kafka come first (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder

test: $(VENV)/.test ## before every commit: all that needs no Kafka, and the promise on real Kafka
	$(PYTEST)

test-all: $(VENV)/.spark ## all tests, each whole: every fault, Spark and the browser included
	$(PYTEST) -m ""

spark: $(VENV)/.spark ## the tests of the Spark job and of Spark's view of the lake
	$(BIN)/python -m pytest -m "" tests/deploy/test_spark_rescrub.py tests/end_to_end/test_lake.py

pythons: ## the same on every supported interpreter that is found on this machine
	@$(PYTHON) -m tests.pythons

check: install ## ruff and mypy --strict
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: install ## the benchmarks' tables
	$(BIN)/python -m tests.benchmarks

docs: install ## the documentation, built into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file deploy/docs/mkdocs.yml
	@echo "build/docs: python -m http.server --directory build/docs"

AUDIT := .audit

$(AUDIT)/.installed: pyproject.toml
	test -x $(AUDIT)/bin/python || $(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet $$($(PYTHON) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['audit'])")
	@touch $@

audit: install $(AUDIT)/.installed ## licences, an SBOM (CycloneDX), and known vulnerabilities of the dependencies
	$(BIN)/python -m tests.audit $(AUDIT)/bin

# make faults NAMES="worker-kill network-cut" NOTES=2000
NOTES ?= 100000
SEED ?= 1
faults: install ## every fault to survive, on three brokers, with an audit from outside
	$(BIN)/python -m tests.faults $(NAMES) --notes $(NOTES) --seed $(SEED)

UV ?= uv
LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	$(2:%=--extra %) --output-file $(LOCKS)/$(1).lock
PINNED := --constraint $(LOCKS)/spark.lock
BUILD := $(LOCKS)/build.in
lock: ## renew deploy/locks from pyproject.toml: all packages first, then what each use needs of them
	$(call LOCK,spark,all spark) pyproject.toml $(BUILD)
	$(call LOCK,all,all) $(PINNED) pyproject.toml $(BUILD)
	$(call LOCK,test,test) $(PINNED) pyproject.toml $(BUILD)
	$(call LOCK,demo,broker documents fast) $(PINNED) pyproject.toml $(BUILD)
	$(call LOCK,image,documents fast ops stream) $(PINNED) pyproject.toml
	$(call LOCK,build) $(PINNED) $(BUILD)

clean: ## remove .venv and caches
	rm -rf $(VENV) $(AUDIT) .pythons .benchmark .mypy_cache .ruff_cache .pytest_cache .hypothesis .phistream
