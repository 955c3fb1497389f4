# Everything runs in .venv, which `make env` builds from requirements.txt.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
BROWSER := .venv/browser
PEERS := .venv/peers
TESTS := $(BIN)/pytest -n auto --maxprocesses 4

.DEFAULT_GOAL := help
.PHONY: help env book pdf proofs formal check test test-all lab serve zip links lint format test-gpu bench sanitize lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: $(STAMP) ## the environment in .venv (PYTHON=python3.12 picks another Python)

$(STAMP): requirements.txt pyproject.toml setup.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -r requirements.txt -e .
	@touch $@

$(BROWSER)/fetched: book/lite/fetch.py book/lite/wheels.txt book/lite/node.txt | $(STAMP)
	rm -rf $(BROWSER)
	$(BIN)/python book/lite/fetch.py $(BROWSER)
	@touch $@

$(PEERS)/installed: tests/peers.txt | $(STAMP)
	rm -rf $(PEERS)
	$(BIN)/pip install --no-deps --target $(PEERS) -r tests/peers.txt
	@touch $@

book: export OMP_NUM_THREADS ?= 1# the notebooks' arrays are small: more threads wait for each other
book: proofs $(BROWSER)/fetched ## the executed book, in _build/html; fails if a cell, a proof or a link does
	rm -rf _build/html
	$(BIN)/jupyter-book build . -W --keep-going -n --all
	$(BIN)/python book/lite/build.py $(BROWSER) _build/html/lite

pdf: env ## the built book as one PDF, _build/gdn-book.pdf; `make book` first, needs Chromium
	PYTHONPATH=book/_ext $(BIN)/python -m gdn_book.pdf

proofs: export OMP_NUM_THREADS ?= 1# as for the book
proofs: env ## every machine check of the equations, its mutants included
	$(BIN)/python -m gdn_ref.proofs --json _build/proofs.json

formal: env ## the formal proofs (needs Rocq with MathComp), and their record: RECORD=1 writes it anew
	$(BIN)/python -m gdn_ref.proofs.formal $(if $(RECORD),--record)

check: env ## the core of the tests: 90 s on 2 cores
	$(TESTS) -m "core and not gpu"

test: env $(PEERS)/installed ## those, and all others of the code: 10 minutes on 2 cores
	$(TESTS) -m "not gpu and not book"

test-all: env $(PEERS)/installed ## those, and the tests of the book, the package and the record; after `make book`
	$(TESTS) -m "not gpu"

lab: env ## the chapters as notebooks, in JupyterLab (LAB=... adds options)
	@case "$$(id -u) $(LAB)" in *--allow-root* | [1-9]*) ;; *) \
		echo 'JupyterLab does not start as root, for whoever reaches it could then do anything here.'; \
		echo 'Run `make lab` as another user; or, in a container, `make lab LAB=--allow-root`.'; \
		exit 1;; esac
	$(BIN)/jupyter lab $(LAB) chapters

serve: env ## the built book, on http://localhost:8000
	@test -f _build/html/index.html || { echo 'no built book in _build/html: run `make book` first'; exit 1; }
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

zip: env ## the built book as _build/gated-deltanet.zip, to open from its files
	$(BIN)/python book/site/zip.py _build/html _build/gated-deltanet.zip

links: env ## ask for every external address of book/_data/external_links.txt, over the network
	$(BIN)/python book/site/links.py check

lint: env ## ruff, types of the public functions by mypy and pyright, and no outputs in the notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/check_types.py
	$(BIN)/nbstripout --verify --keep-id chapters/*.ipynb book/*.ipynb

format: env ## let ruff mend what it can, and strip the notebooks
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/nbstripout --keep-id chapters/*.ipynb book/*.ipynb

test-gpu: env ## the kernels' tests on a CUDA device, 8 minutes on 16 cores
	$(BIN)/python kernels/bench/device_tests.py --json _build/bench/tests.json

bench: env ## errors on every listed shape, and times beside the installed peers, on a CUDA device
	$(BIN)/python kernels/bench/check_shapes.py --json _build/bench/forward_errors.json
	$(BIN)/python kernels/bench/compare.py --json _build/bench/forward.json
	$(BIN)/python kernels/bench/compare_backward.py --json _build/bench/training.json
	$(BIN)/python kernels/bench/compare_decode.py --json _build/bench/decode.json
	$(BIN)/python kernels/bench/layer_step.py --json _build/bench/layer_step.json

sanitize: env ## the kernels' device tests under compute-sanitizer, on a CUDA device
	$(BIN)/python kernels/bench/sanitize.py --json _build/bench/sanitizer.json

lock: ## uv.lock anew, with the versions of requirements.txt (needs uv)
	uv lock $$(sed -nE 's/^([A-Za-z0-9_.-]+==[^ ;]+).*/-P \1/p' requirements.txt)

clean: ## remove what was built; .venv stays
	rm -rf _build build dist *.egg-info .pytest_cache .ruff_cache
