# One command each: demo, test, check. A C compiler, a Rust toolchain and Python 3.11+ are needed;
# everything else is fetched into .venv and .tools.

PYTHON ?= python3
UV := $(or $(shell command -v uv),.tools/bin/uv)
RUN := .venv/bin

.PHONY: demo test check format bench docs clean

demo: .venv/built
	$(RUN)/steelyard run demo

test: .venv/built
	$(RUN)/pytest tests --numprocesses 3 --dist loadfile
	cargo test --quiet --package steelyard-load --package steelyard-dispatch --package steelyard-latch --package steelyard-probe
	cargo test --quiet --package steelyard-latch --features loom --release --test models

check: .venv/built
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/pyright
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- --deny warnings

format: .venv/built
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .
	cargo fmt --all

bench: .venv/built
	for bench in damage dispatch driver_cost driver_cost_mysql latch latch_model latency_truth monitor_cost probe_cost report_scale; do $(RUN)/python benches/$$bench.py --quick || exit 1; done

docs: .venv/built
	$(UV) sync --quiet --group docs
	$(RUN)/sphinx-build --quiet --fail-on-warning docs docs/_build

clean:
	rm -rf .venv .tools target docs/_build src/steelyard/*.so

# the core is built again whenever a crate or the package's metadata has changed
.venv/built: pyproject.toml Cargo.toml $(shell find crates -name '*.rs' -o -name Cargo.toml) | $(UV)
	@echo "building the core and fetching what it needs: some minutes"
	$(UV) sync --quiet
	touch $@

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet uv
