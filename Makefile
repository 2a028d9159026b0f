# One command each: demo, test, check. A C compiler, a Rust toolchain and Python 3.11+ are needed;
# everything else is fetched into .venv and .tools.

PYTHON ?= python3
UV := $(or $(shell command -v uv),.tools/bin/uv)
RUN := .venv/bin

.PHONY: demo test check format bench docs clean

demo: .venv/built
	$(RUN)/steelyard run demo

# every part runs, whatever became of those before it; one that failed fails the whole
test: .venv/built
	@failed=0; set -x; \
	$(RUN)/pytest tests --numprocesses 3 --dist loadfile || failed=1; \
	cargo test --quiet --no-fail-fast --package steelyard-engine --package steelyard-load --package steelyard-dispatch --package steelyard-latch --package steelyard-probe || failed=1; \
	cargo test --quiet --package steelyard-latch --features loom --release --test models || failed=1; \
	exit $$failed

check: .venv/built
	@failed=0; set -x; \
	$(RUN)/ruff check . || failed=1; \
	$(RUN)/ruff format --check . || failed=1; \
	$(RUN)/pyright || failed=1; \
	cargo fmt --all --check || failed=1; \
	cargo clippy --quiet --workspace --all-targets -- --deny warnings || failed=1; \
	exit $$failed

format: .venv/built
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .
	cargo fmt --all

bench: .venv/built
	for bench in damage dispatch driver_cost driver_cost_mysql fuzz_study latch latch_model latency_truth monitor_cost precision probe_cost report_scale scaling_truth truth; do $(RUN)/python benches/$$bench.py --quick || exit 1; done

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
