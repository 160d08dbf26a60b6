# Two commands on a fresh machine (Python 3.11 and make): `make demo` and `make test`.
# Packages come from wheels/ alone when that folder exists (see `make wheels`), else from your index.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
TOOLS := $(VENV)-tools
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
FROM := $(if $(wildcard wheels),--no-index --find-links wheels)

.PHONY: docs demo serve test coverage bench chaos paper methods openapi client notebook examples golden roundtrip tools lock wheels package release setup clean

demo: $(VENV)/.runtime
	@$(BIN)/tastetest demo

serve: $(VENV)/.runtime
	@$(BIN)/tastetest serve

# A file's tests stay together: they share servers and data.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile

# The same tests, counting the lines they reach; then build/coverage/html/index.html.
coverage: $(VENV)/.dev
	@mkdir -p build/coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n logical --maxprocesses 4 --dist loadfile $(ARGS)
	$(BIN)/coverage combine -q
	$(BIN)/coverage html -q
	$(BIN)/coverage report

setup: $(VENV)/.dev

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# For example: make chaos ARGS="--seconds 20 --jobs 60 --seed 7"
chaos: $(VENV)/.dev
	$(BIN)/python -m tools.chaos $(ARGS)

paper: $(VENV)/.dev
	$(BIN)/python -m benchmarks.paper

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

methods: $(VENV)/.dev
	$(BIN)/python -m benchmarks.frontier --write

# The notebook of the documentation with the outputs of a run as things are now.
notebook: $(VENV)/.dev
	$(BIN)/python -m tools.docs.notebook

# Answers of the service as it is now, for the OpenAPI document; then make openapi.
examples: $(VENV)/.dev
	$(BIN)/python -m tests.contract.record

# Answers of the service as it is now, for tests/golden; numbers may change with ENGINE_VERSION only.
golden: $(VENV)/.dev
	$(BIN)/python -m tests.golden.record

# With lm-eval and inspect-ai, in an environment of their own: about a gigabyte.
roundtrip: $(VENV)/.dev tools
	$(BIN)/python -m pytest tests/roundtrip

tools: $(TOOLS)/.installed

openapi: $(VENV)/.runtime
	$(BIN)/tastetest openapi > openapi/openapi.json

# The client's models and its synchronous half; after make openapi.
client: $(VENV)/.dev
	$(BIN)/python -m tools.client

$(VENV)/.runtime: requirements.lock requirements-local.lock pyproject.toml clients/python/pyproject.toml
	@echo "Setting up $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes $(FROM) -r requirements.lock -r requirements-local.lock
	@$(PIP) install --no-deps --no-build-isolation $(FROM) -e .
	@$(PIP) install --no-deps --no-build-isolation $(FROM) -e clients/python
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	@$(PIP) install --require-hashes $(FROM) -r requirements-dev.lock
	@touch $@

$(VENV)/.docs: $(VENV)/.runtime requirements-docs.lock
	@$(PIP) install --require-hashes $(FROM) -r requirements-docs.lock
	@touch $@

# The lock is whole, and pip cannot match the extras of one package to the hashes of another's.
$(TOOLS)/.installed: requirements-tools.lock
	@echo "Setting up $(TOOLS) ..."
	@test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r requirements-tools.lock
	@touch $@

wheels: $(VENV)/.runtime
	$(PIP) download --require-hashes -d wheels -r requirements.lock -r requirements-local.lock -r requirements-dev.lock
	$(PIP) wheel --no-deps --no-build-isolation -w wheels ./clients/python .

# Builds dist/ from what is committed and runs the demo from the wheel, in an environment of its own.
package: $(VENV)/.dev
	$(BIN)/python -m tools.release

# For example: make release VERSION=0.2.0
release: $(VENV)/.dev
	@test -n "$(VERSION)" || { echo "say which: make release VERSION=0.2.0" >&2; exit 1; }
	$(BIN)/python -m tools.release $(VERSION)

clean:
	rm -rf $(VENV) $(TOOLS) .tastetest build dist

# What the image installs; the servers that only the default stack needs; then what tests, documentation and tools need.
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-package tastetest-client $(ARGS)
# For example: make lock ARGS="--upgrade-package numpy", or --upgrade for all.
lock:
	$(COMPILE) --extra build --extra otel --extra figures pyproject.toml -o requirements.lock
	$(COMPILE) --extra local -c requirements.lock pyproject.toml -o requirements-local.lock
	$(COMPILE) --extra dev -c requirements-local.lock -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --extra docs -c requirements-dev.lock pyproject.toml -o requirements-docs.lock
	$(COMPILE) tests/roundtrip/requirements.in -o requirements-tools.lock
