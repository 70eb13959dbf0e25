# The commands of everyday work. PYTHON is the interpreter of the environment that preflight is installed in:
# the .venv of the README where there is one.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)

.PHONY: check test lint types layers docs docs-check bench fmt wheel

check: lint types layers docs-check test   ## what CI runs

test:           ## every test, those on real trees included
	$(PYTHON) -m pytest -n auto --dist worksteal

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types:
	$(PYTHON) -m pyrefly check --python-interpreter-path "$$(command -v $(PYTHON))" preflight

layers:         ## imports point downward only
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

docs:           ## write the rule pages anew from rules/*.toml
	$(PYTHON) -m preflight.rulebook.pages

docs-check:
	$(PYTHON) -m preflight.rulebook.pages --check

bench:          ## ratios, measured side by side
	$(PYTHON) -m tests.bench
	$(PYTHON) -m tests.bench_triage 1000

fmt:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

wheel:
	$(PYTHON) -m pip wheel --no-deps --wheel-dir dist .
