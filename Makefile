# Denpex on one machine. `make help` lists what there is to do.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PORT ?= 8000
export PORT

# The first Python on PATH that is new enough; PYTHON= chooses another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$python >/dev/null && \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' && \
	echo $$python && break; done)

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
PIP := python -m pip --disable-pip-version-check --quiet --quiet
# A stamp for each step, so that a second start does no work with pip.
MADE := $(VENV)/made
FOR_RUNNING := $(VENV)/installed-for-running
FOR_ALL := $(VENV)/installed-for-all
# What `make check` checks the settings with: a site as it would be deployed.
DEPLOYED := DATABASE_URL=postgresql://denpex@db.example/denpex REDIS_URL=redis://redis.example/0 \
	DENPEX_ALLOWED_HOSTS=denpex.example DENPEX_HTTPS=1 DENPEX_DEBUG=0 \
	DENPEX_SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))')

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install
install: $(FOR_ALL) ## Set up .venv, with all that running and testing need and the denpex command

.PHONY: run
run: $(FOR_RUNNING) ## Run the site at http://127.0.0.1:8000 (PORT= chooses another port)
	@exec $(BIN)/denpex up --with-parent

.PHONY: test
test: $(FOR_ALL) ## Run all tests, on a PostgreSQL and a Valkey of their own (TESTS= chooses some)
	@$(RUN) tests.chromium
	@# Three at once also on two cores, since much of the time is spent in waiting for leases.
	@$(RUN) pytest --numprocesses 3 --dist worksteal $(TESTS)

CHECKS := check-style check-types check-imports check-failures check-settings check-migrations
.PHONY: check $(CHECKS)
check: $(CHECKS) ## Check style, types, imports, failure files, settings and migrations
$(CHECKS): $(FOR_ALL)

check-style:
	@$(RUN) ruff check --quiet --output-format concise .
	@$(RUN) ruff format --check --quiet .

check-types:
	@$(RUN) mypy

check-imports:
	@$(BIN)/lint-imports

check-failures:
	@$(BIN)/denpex check

check-settings:
	@$(DEPLOYED) $(BIN)/python manage.py check --deploy --fail-level WARNING

check-migrations:
	@DENPEX_DEBUG=1 $(RUN) denpex.embedded $(BIN)/python manage.py makemigrations --check --dry-run

.PHONY: figures
figures: $(FOR_ALL) ## Measure the engine on tests/cases, for the README and the site
	@$(BIN)/denpex eval tests/cases --into README.md --into denpex/figures.json

# A site of its own, for measurements of the pages: prepared, and without debugging.
MEASURED := DENPEX_HTTPS=0 DENPEX_DEBUG=0 DENPEX_ALLOWED_HOSTS=127.0.0.1,testserver \
	DENPEX_SECRET_KEY=measured-and-then-thrown-away-again-0123456789-abcdefghij \
	$(RUN) denpex.embedded

.PHONY: search-figures
search-figures: $(FOR_ALL) ## Print how often search puts the right page first, and how fast it is
	@$(MEASURED) sh -c '$(RUN) denpex.prepare >/dev/null && \
		$(BIN)/python manage.py measure_search --cases tests/cases \
		--queries tests/encyclopedia/short_queries.yaml'

.PHONY: html
html: $(FOR_ALL) ## Check the HTML of every page in each of its states (needs node)
	@$(MEASURED) sh -c '$(RUN) denpex.prepare >/dev/null && $(RUN) tests.html_validity'

.PHONY: lighthouse
lighthouse: $(FOR_ALL) ## Measure home, browse, a failure page and a verdict by Lighthouse (needs node)
	@$(RUN) tests.chromium
	@$(MEASURED) sh -c '$(RUN) denpex.prepare >/dev/null && $(RUN) tests.lighthouse'

.PHONY: screenshots
screenshots: $(FOR_ALL) ## Draw every page at three widths and in both themes (PAGES= chooses some)
	@$(RUN) tests.chromium
	@$(MEASURED) sh -c '$(RUN) denpex.prepare >/dev/null && $(RUN) tests.screenshots'

.PHONY: card
card: $(FOR_ALL) ## Draw what other sites and browsers show for a page (static/img/*.png)
	@$(RUN) tests.card

.PHONY: screenshot
screenshot: $(FOR_ALL) ## Take the picture of a verdict that the README shows (docs/verdict.png)
	@$(RUN) tests.chromium
	@$(MEASURED) sh -c '$(RUN) denpex.prepare >/dev/null && $(RUN) tests.screenshot'

.PHONY: bench
bench: $(FOR_ALL) ## Measure the engine beside grep, ripgrep and re, and pages beside an empty view
	@$(MEASURED) sh -c '$(RUN) denpex.prepare >/dev/null && $(RUN) pytest -q $(or $(TESTS),benchmarks)'

.PHONY: format
format: $(FOR_ALL) ## Lay out the code, and mend what ruff can mend
	@$(RUN) ruff format .
	@$(RUN) ruff check --fix .

.PHONY: lock
lock: ## Renew requirements.lock with the newest versions that pyproject.toml allows
	@$(PYTHON) -m venv --clear build/lock
	@# redis needs async-timeout below Python 3.11.3 alone.
	@build/lock/bin/$(PIP) install '.[server,test,check]' async-timeout
	@build/lock/bin/python -m pip freeze --exclude denpex > requirements.lock

.PHONY: clean
clean: ## Remove all that was installed or built; the database stays
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@test -n "$(PYTHON)" || { echo 'Denpex needs Python 3.11 or newer; PYTHON= names one.'; exit 1; }
	@# Debian keeps a part of venv in a package of its own.
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || test "$$(id -u)" != 0 || \
		{ apt-get update --quiet=2 && apt-get install --quiet=2 --yes python3-venv >/dev/null; } || true
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(FOR_RUNNING): $(MADE) pyproject.toml requirements.lock
	@echo 'Installing what Denpex needs …'
	@$(BIN)/$(PIP) install --constraint requirements.lock --editable '.[server]'
	@# pip compiles what it installs; a start without bytecode takes a quarter longer.
	@$(RUN) compileall -q denpex diagnosis encyclopedia
	@touch $@

$(FOR_ALL): $(FOR_RUNNING)
	@echo 'Installing what tests and checks need …'
	@$(BIN)/$(PIP) install --constraint requirements.lock --editable '.[server,test,check]'
	@touch $@
