# Everything starts here: each target sets up its environment by itself, from Python >= 3.11 and make alone.

PYTHON ?= python3
WORKERS ?= 2
SITE ?= build/docs

BIN := .venv/bin
# What users install, and, beside it, the tools for tests, checks and docs.
INSTALLED := .venv/.installed
DEVELOPED := .venv/.installed-dev
PIP := $(BIN)/python -m pip --disable-pip-version-check
# PYTHONPATH could put other code in front of what is installed; without bytecode every process compiles it anew.
PYTEST := env -u PYTHONPATH -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q
# Each worker begins with half of the tests in their order, so that what a module makes once is rarely made by both. The
# one that ends first takes tests from the other.
PARALLEL := -n $(WORKERS) --dist worksteal
# Every marker of pyproject.toml: pytest refuses to select by one that is not registered there.
MARKED := statistical or slow or spark

# The demonstration: the pair of products most often bought together, one invoice being one privacy unit.
DEMO := $(BIN)/dpmine top-itemset datasets/online_retail.parquet --unit InvoiceNo --item Item --mechanism large-margin

.DEFAULT_GOAL := help
.PHONY: help demo demo-report docs test test-one test-marked test-sanitized test-all check style doctests kernels dist wheels sbom release reproducible workflows
.PHONY: figures bench bench-selection bench-success bench-mining bench-growth bench-linear
.PHONY: bench-audit bench-accuracy-first bench-ledger bench-utility bench-choice bench-all-sizes experiments-stability experiments-regulariser experiments-hypotheses
.PHONY: experiments-accuracy-first experiments-search experiments-defaults test-spark bench-spark fuzz fuzz-sanitized lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-28s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(INSTALLED) ## find the top pair of a real shop, privately
	$(DEMO)

docs: $(DEVELOPED) ## the pages of docs as a site, in build/docs (SITE=build/docs/0.2 keeps versions apart)
	env -u PYTHONPATH $(BIN)/sphinx-build -W --keep-going -n -b html docs $(SITE)

demo-report: $(INSTALLED) ## one page about the same shop, each customer protected, in build/report.html
	$(BIN)/python examples/customers.py build/customers.parquet
	$(BIN)/dpmine report examples/online_retail.toml -o build/report.html

test: $(DEVELOPED) ## the fast tests
	$(PYTEST) $(PARALLEL) -m "not ($(MARKED))"

test-one: $(DEVELOPED) ## the fast tests of one file: make test-one TEST=tests/test_privacy.py
	$(PYTEST) -m "not ($(MARKED))" $(TEST)

test-marked: $(DEVELOPED) ## the statistical, slow and environment-dependent tests, but for those on Spark
	$(PYTEST) $(PARALLEL) -m "($(MARKED)) and not spark"

test-spark: .venv-spark/.installed ## counting on Spark, on a small one of this machine; needs Java 17
	$(subst $(BIN),.venv-spark/bin,$(PYTEST)) -n $(WORKERS) --dist loadfile tests/itemsets/spark tests/project/test_licences.py

test-sanitized: $(DEVELOPED) ## the tests of the kernels under sanitizers, which test-marked runs too; needs GCC
	$(PYTEST) tests/project/test_sanitized.py

test-all: test test-marked ## all tests but those on Spark (make test-spark)

check: style doctests ## style, types, layers, doctests

style: $(DEVELOPED) ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy dpmine cli/dpmine_cli tests datasets/*.py release/*.py hatch_build.py
	$(BIN)/lint-imports

doctests: $(DEVELOPED) ## the examples in docstrings
	$(PYTEST) --doctest-modules dpmine

# Silent where nothing changed. Every environment uses the library that stands beside the sources; this comes before all
# of them, and needs Python alone.
kernels: ## compile the C files of dpmine/kernels, if they changed
	@$(or $(wildcard $(BIN)/python),$(PYTHON)) hatch_build.py

dist: $(INSTALLED) ## the wheel for this machine and the source archive, in dist
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

wheels: $(INSTALLED) ## the wheels for all platforms, cross-compiled, in dist
	rm -rf dist
	$(BIN)/python hatch_build.py --wheels

# Pins with hashes cannot constrain a wheel of our own, so the hashes are left out. Spark and what is for its tests only
# are pinned in requirements-spark.txt.
sbom: $(INSTALLED) .venv-release/.installed ## what pip installs with dpmine and its extras, versions and licences, in dist/dpmine.cdx.json
	rm -rf build/sbom
	$(PYTHON) -m venv --without-pip build/sbom
	sed -nE 's/^([A-Za-z0-9._-]+==[^\]*).*/\1/p' requirements-dev.lock requirements-spark.txt > build/sbom/pins.txt
	$(BIN)/python -m hatchling build -t wheel -d build/sbom/wheel
	.venv-release/bin/python -m pip --disable-pip-version-check --python build/sbom/bin/python install --quiet --no-compile \
		--constraint build/sbom/pins.txt "$$(ls build/sbom/wheel/*.whl)[postgres,sql,delta,spark]"
	@mkdir -p dist
	.venv-release/bin/python release/sbom.py build/sbom dist/dpmine.cdx.json

release: ## all that a release publishes, in dist: wheels, source archive, SBOM, and their hashes in SHA256SUMS
	$(MAKE) wheels
	$(MAKE) sbom
	$(BIN)/python -m hatchling build -t sdist -d dist
	cd dist && sha256sum * > SHA256SUMS

reproducible: $(INSTALLED) ## two clean clones build equal files (WHEELS=--wheels: those of all platforms, 10 minutes)
	$(BIN)/python release/reproduce.py $(WHEELS)

workflows: .venv-release/.installed ## the files of .github: their schemas, and what attackers look for
	.venv-release/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv-release/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[0-9]_*.yml
	.venv-release/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	.venv-release/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	.venv-release/bin/zizmor --offline --persona pedantic --quiet .github

figures: $(INSTALLED) ## the figures of one page again, by its commands: make figures PAGE=ridge (without PAGE: a list)
	$(BIN)/python benchmarks/figures.py $(PAGE)

bench: $(INSTALLED) ## time the selections; check the data sets
	$(BIN)/python benchmarks/bench_selection.py
	$(BIN)/python benchmarks/check_datasets.py

bench-selection: $(INSTALLED) .venv-peers/.installed ## one selection beside OpenDP and diffprivlib
	@mkdir -p benchmarks/results
	$(BIN)/python benchmarks/bench_selection_peers.py --plot benchmarks/results/selection_growth.svg

bench-success: $(INSTALLED) ## success probabilities of every mechanism on real supports
	$(BIN)/python benchmarks/bench_success.py

bench-mining: $(INSTALLED) .venv-peers-mining/.installed ## counting beside pyfim, rusket, mlxtend and efficient-apriori
	$(BIN)/python benchmarks/bench_mining.py

bench-growth: $(INSTALLED) ## from 1 to 100 million rows under a memory limit
	$(BIN)/python benchmarks/bench_growth.py

bench-linear: $(INSTALLED) .venv-peers/.installed ## private logistic regression beside diffprivlib
	$(BIN)/python benchmarks/bench_linear.py

bench-accuracy-first: $(INSTALLED) ## a fit to a target beside a plain loop over hypotheses
	$(BIN)/python benchmarks/bench_accuracy_first.py

bench-ledger: $(DEVELOPED) ## one charge to a ledger beside a bare transaction
	$(BIN)/python benchmarks/bench_ledger.py

bench-audit: $(INSTALLED) .venv-peers/.installed .venv-peers-audit/.installed ## the audit on broken and sound mechanisms, and on other libraries
	PYTHONPATH=tests $(BIN)/python benchmarks/audit_gallery.py
	PYTHONPATH=tests $(BIN)/python benchmarks/audit_learning.py --runs 2000
	$(BIN)/python benchmarks/audit_peers.py

bench-spark: .venv-spark/.installed ## counting on Spark beside dpmine's own miner and MLlib (QUICK=--quick: within 5 minutes)
	.venv-spark/bin/python benchmarks/bench_spark.py $(QUICK)

bench-utility: $(INSTALLED) .venv-peers/.installed ## top-k itemsets without a catalogue and with one: precision, beside OpenDP (15 minutes; QUICK=--quick: one)
	@mkdir -p benchmarks/results
	$(BIN)/python benchmarks/bench_utility.py $(QUICK) --out benchmarks/results

bench-choice: $(INSTALLED) ## every way by name beside "auto", on lists of any length: what of the best is missing (half an hour)
	@mkdir -p benchmarks/results
	$(BIN)/python benchmarks/bench_choice.py --out benchmarks/results

bench-all-sizes: $(INSTALLED) ## lists of all sizes: what of the best 100 is missing, beside other ways (five minutes)
	$(BIN)/python benchmarks/bench_all_sizes.py

experiments-stability: $(INSTALLED) ## the figures of stability-based validation (QUICK=--quick: within 5 minutes)
	@mkdir -p benchmarks/results
	$(BIN)/python experiments/stability.py $(QUICK) --out benchmarks/results
	$(BIN)/python experiments/stability.py $(QUICK) --scores --out benchmarks/results
	$(BIN)/python experiments/histogram.py $(QUICK) --plot benchmarks/results/histogram.svg
	$(BIN)/python experiments/histogram.py $(QUICK) --plane --plot benchmarks/results/histogram_plane.svg

experiments-regulariser: $(INSTALLED) ## the default classifier beside other regularisation and scaling
	$(BIN)/python experiments/regulariser.py
	$(BIN)/python experiments/noise.py

experiments-defaults: $(INSTALLED) .venv-peers/.installed ## the default classifiers beside diffprivlib and DP-SGD (half an hour)
	$(BIN)/python experiments/defaults.py
	$(BIN)/python experiments/defaults.py --losses

experiments-hypotheses: $(INSTALLED) ## the figures of private learning (QUICK=--quick: within 3 minutes)
	@mkdir -p benchmarks/results
	$(BIN)/python experiments/hypotheses.py $(QUICK) --out benchmarks/results

experiments-accuracy-first: $(INSTALLED) ## privacy loss by target excess risk (QUICK=--quick: within 5 minutes)
	@mkdir -p benchmarks/results
	$(BIN)/python experiments/accuracy_first.py $(QUICK) --out benchmarks/results

experiments-search: $(INSTALLED) ## private hyperparameter search beside half of the budget for tuning (QUICK=--quick: fewer splits)
	$(BIN)/python experiments/search.py $(QUICK)

# Whichever is reached first ends it; both are shared out among the targets.
FUZZ_SECONDS ?= 3600
FUZZ_RUNS ?= 1000000
FUZZ_FLAGS ?=
# What Atheris has of the sanitizer counts coverage too; the library of GCC would take its place.
SANITIZER = LD_PRELOAD="$$(.venv-fuzz/bin/python -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so $$(gcc -print-file-name=libstdc++.so.6)" \
	ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:malloc_context_size=1:hard_rss_limit_mb=4096

fuzz: .venv-fuzz/.installed ## fuzz all that reads untrusted input (FUZZ_SECONDS=300 or FUZZ_RUNS=10000 for less)
	env -u PYTHONPATH .venv-fuzz/bin/python -m fuzz.run --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS) $(FUZZ_FLAGS)

fuzz-sanitized: .venv-fuzz/.installed ## the same on kernels that end the process at a fault of memory or arithmetic; needs GCC
	CC=gcc LDFLAGS="-nodefaultlibs -lc" $(PYTHON) hatch_build.py --sanitize
	env -u PYTHONPATH DPMINE_KERNELS=build/sanitized/libkernels.so $(SANITIZER) .venv-fuzz/bin/python -m fuzz.run --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS) $(FUZZ_FLAGS)

.venv-fuzz/.installed: fuzz/requirements.txt requirements.lock | kernels
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements.lock
	.venv-fuzz/bin/python -m pip --disable-pip-version-check install --quiet -r fuzz/requirements.txt
	@touch $@

.venv-release/.installed: release/requirements.lock
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --require-hashes -r $<
	@touch $@

.venv-spark/.installed: requirements-spark.txt requirements-dev.lock pyproject.toml | kernels $(INSTALLED)
	$(PYTHON) -m venv --without-pip .venv-spark
	$(PIP) --python .venv-spark/bin/python install --quiet --no-compile --require-hashes -r requirements-dev.lock
	$(PIP) --python .venv-spark/bin/python install --quiet --no-compile -r requirements-spark.txt
	$(PIP) --python .venv-spark/bin/python install --quiet --no-deps --no-build-isolation -e .
	@touch $@

.venv-peers-mining/.installed: benchmarks/peers/mining_requirements.txt
	$(PYTHON) -m venv .venv-peers-mining
	.venv-peers-mining/bin/python -m pip --disable-pip-version-check install --quiet -r $<
	@touch $@

.venv-peers-audit/.installed: benchmarks/peers/audit_requirements.txt
	$(PYTHON) -m venv .venv-peers-audit
	.venv-peers-audit/bin/python -m pip --disable-pip-version-check install --quiet -r $<
	@touch $@

.venv-peers/.installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check install --quiet -r benchmarks/peers/requirements.txt
	@touch $@

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command 'make lock'

# Keeps the pins that still fit; `make lock UPGRADE=--upgrade` takes the newest versions.
lock: $(INSTALLED) ## pin the dependencies in requirements.lock (users) and requirements-dev.lock (developers)
	$(PIP) install --quiet uv
	printf 'hatchling\neditables\n' | $(COMPILE) $(UPGRADE) --extra dev --output-file requirements-dev.lock pyproject.toml -
	printf 'hatchling\neditables\n' | $(COMPILE) --constraint requirements-dev.lock \
		--output-file requirements.lock pyproject.toml -
	$(BIN)/python -c 'import hatch_build; print(hatch_build.ZIG)' | $(COMPILE) $(UPGRADE) --output-file requirements-compiler.lock -
	$(COMPILE) $(UPGRADE) --output-file release/requirements.lock release/requirements.in

clean: ## remove build products and caches; .venv stays
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# pip would compile all Python modules, of which most are never imported: dpmine's own, and what its doctor loads, suffice
# for the first run to be as quick as others.
# An edit of a C file compiles it and installs nothing again.
$(INSTALLED): requirements.lock pyproject.toml | kernels
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpmine needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet --no-compile --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q dpmine cli
	@mkdir -p build
	$(BIN)/dpmine doctor > build/doctor.txt
	@touch $@

# Pins of the same versions: nothing that users install is installed again.
$(DEVELOPED): requirements-dev.lock $(INSTALLED)
	$(PIP) install --quiet --no-compile --require-hashes -r requirements-dev.lock
	@touch $@
