# Two commands to know: `make demo` and `make test`. Both set themselves up.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo setup test test-cluster check format bench lock clean

demo: .stamp/run
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/demo.sh

# Installs what tests and checks need. Minutes the first time, nothing after that.
setup: .stamp/dev
	@echo "Ready: make check (fast tests), make test (everything)."

test: .stamp/dev
	@sh scripts/test.sh

# Deploys to a real control plane, which is built first: minutes, and once.
test-cluster: .stamp/dev
	@sh scripts/test-cluster.sh

check: .stamp/dev
	@sh scripts/check-all.sh

format: .stamp/dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: .stamp/dev
	@$(BIN)/python -m benchmarks

.stamp/run: pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" sh scripts/setup.sh run

.stamp/dev: pyproject.toml requirements-dev.lock scripts/setup.sh scripts/test-tools.sh tests/support/downloads.py \
		$(wildcard tests/corpus/*/package-lock.json tests/corpus/*/requirements.txt) \
		sdk/node/package-lock.json tests/sdk/nodes/package-lock.json
	@PYTHON="$(PYTHON)" sh scripts/setup.sh dev

# Installs the newest allowed versions into a new environment, and writes them down.
lock:
	@PYTHON="$(PYTHON)" sh scripts/lock.sh

clean:
	rm -rf .venv .stamp
