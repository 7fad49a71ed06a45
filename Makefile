# Everything runs in .venv, made once. `make demo` is the shortest way to see the course work.
PYTHON ?= python3
VENV   := .venv
STAMP  := $(VENV)/.installed
# nbgrader calls the program `alembic` from PATH.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help setup demo test full lab release bench matrix lint clean

help:    ## show this
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## */\1\t/' | expand -t 12

$(STAMP): requirements.txt pyproject.toml
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

setup: $(STAMP)    ## make .venv and install what the course needs

demo: $(STAMP)    ## grade three sample submissions for real, in build/demo
	poslab demo

test: $(STAMP)    ## what CI runs
	ruff check .
	pytest -n 2 --dist loadfile -m "not full"

full: $(STAMP)    ## what is too long for CI: the whole kill matrix, redraws, results over twelve seeds, and all tests
	python -m pip install --quiet --disable-pip-version-check -r requirements.txt -e '.[outside]'
	poslab matrix
	poslab messages
	poslab redraw
	poslab results
	-poslab opening
	poslab readme
	POSLAB_KEEP=1 pytest -n 2 --dist loadfile

matrix: $(STAMP)    ## try every wrong and unusual answer; keep the result in tests/results
	poslab matrix
	poslab messages

lab: $(STAMP)    ## open JupyterLab on a copy of the students' notebooks; what you wrote there is kept
	mkdir -p my_work
	for file in release/embeddings_and_position/*.ipynb; do test -e my_work/$$(basename $$file) || cp $$file my_work/; done
	jupyter lab my_work

release: $(STAMP)    ## build the students' notebooks
	poslab release

bench: $(STAMP)    ## seconds a cell and a notebook; then classes: stock nbgrader against poslab grade
	poslab bench
	poslab bench --class

lint: $(STAMP)    ## look over the notebooks and the code
	poslab lint
	ruff check .

clean:    ## take away what is made again (not .venv)
	rm -rf build .pytest_cache .hypothesis .ruff_cache
