# make run    install what is needed and open the example, ready to submit
# make test   install the test tools too and run every check
# Both are quick when nothing has changed: each install step leaves a stamp.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .cache/peers
TYPING := .cache/typing
DASHSCOPE := dashscope-2.0.2 dashscope-2.0.2-tracing dashscope-1.27.8
# Many tests wait for other processes: one worker more than cores keeps two cores busy.
WORKERS ?= 3

.PHONY: run test check lint types arrows pytest peers screenshots docs texts clean

run: $(VENV)/.run-ready
	@$(BIN)/agentic-rl-tui quickstart $(DIR)

test: check pytest

check: lint types arrows

lint: $(VENV)/.test-ready
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

# mypy reads the package under its installed name; the checkout's folders are linked into place.
types: $(VENV)/.test-ready $(TYPING)/.ready
	MYPYPATH=$(TYPING) $(BIN)/mypy --cache-dir .cache/mypy -p agentic_rl_tui

arrows: $(VENV)/.test-ready
	$(BIN)/lint-imports --cache-dir .cache/import-linter

pytest: $(VENV)/.test-ready peers
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup $(ARGS)

# The official clients, each in an environment of its own, drive the local platform in the conformance tests.
peers: $(VENV)/.python
	@$(MAKE) --no-print-directory --jobs 3 $(DASHSCOPE:%=$(PEERS)/%/.ready)

screenshots: $(VENV)/.test-ready
	$(BIN)/python screenshots/make.py

docs: $(VENV)/.test-ready
	$(BIN)/python -m agentic_rl_tui.app.docs.generate

texts: $(VENV)/.test-ready
	$(BIN)/python -m agentic_rl_tui.core.locale.update

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "agentic-rl-tui needs Python 3.11 or newer; $(PYTHON) was not found. Install python3, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "agentic-rl-tui needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "No virtual environment could be made; on Debian and Ubuntu: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@touch $@

$(VENV)/.run-ready: $(VENV)/.python pyproject.toml
	@echo "installing agentic-rl-tui into $(VENV) (once)" >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test-ready: $(VENV)/.python pyproject.toml
	@echo "installing agentic-rl-tui and its test tools into $(VENV) (once)" >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.run-ready

$(TYPING)/.ready:
	@mkdir -p $(TYPING)/agentic_rl_tui
	@for folder in app core styles widgets; do ln -sfn $(CURDIR)/$$folder $(TYPING)/agentic_rl_tui/$$folder; done
	@touch $@

$(PEERS)/dashscope-2.0.2/.ready: PACKAGE = dashscope==2.0.2
$(PEERS)/dashscope-1.27.8/.ready: PACKAGE = dashscope[rl]==1.27.8
$(PEERS)/dashscope-2.0.2-tracing/.ready: PACKAGE = dashscope==2.0.2
$(PEERS)/dashscope-2.0.2-tracing/.ready: ALSO = loongsuite-util-genai opentelemetry-processor-baggage opentelemetry-sdk openai
$(PEERS)/%/.ready: $(VENV)/.python
	@echo "installing $(PACKAGE) for the conformance tests (once)" >&2
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check '$(PACKAGE)' $(ALSO)
	@touch $@

clean:
	rm -rf $(VENV) .cache build dist *.egg-info
