# One command each: demo, test, test-quick, test-slow, check, wheel. A C compiler, a Rust toolchain and Python 3.11+ are needed;
# everything else is fetched into .venv and .tools.

PYTHON ?= python3
UV := $(or $(shell command -v uv),.tools/bin/uv)
RUN := .venv/bin
# the engine for JDBC drivers is built where Java and Maven are installed
BUILT := .venv/built $(if $(and $(shell command -v javac),$(shell command -v mvn)),src/steelyard/_jdbc.jar)

IN_PARALLEL := --numprocesses 6 --dist worksteal
PYTEST ?=
PYTHON_TESTS = $(RUN)/pytest tests/quick tests/live $(IN_PARALLEL) $(PYTEST)
# every setting of every server with values that harm: two halves side by side, about 12 minutes on two cores
ATTACK = $(RUN)/pytest -s tests/slow/attack.py -k "postgresql or pgbouncer" & half=$$!; \
	$(RUN)/pytest -s tests/slow/attack.py -k "not postgresql and not pgbouncer" || failed=1; \
	wait $$half || failed=1
# mutated studies, damaged and forged bundles, kills: other ones each time, by a seed that is printed; about 20 minutes
SEED := $(shell date +%s)
TRIALS = $(RUN)/python benches/fuzz_study.py --first $(SEED) --count 9500 || failed=1; \
	$(RUN)/python benches/damage.py --first $(SEED) --count 500 || failed=1; \
	$(RUN)/python benches/random_kills.py --seed $(SEED) --trials 60 || failed=1
CRATES := $(addprefix --package steelyard-,engine load dispatch latch probe confine)

.PHONY: demo build wheel try-wheel sdist test test-quick test-python test-slow attack check format bench docs clean

demo: $(BUILT)
	$(RUN)/steelyard run demo

build: $(BUILT)

# without servers, JVMs and browsers
test-quick: $(BUILT)
	$(RUN)/pytest tests/quick $(IN_PARALLEL) $(PYTEST)

test-python: $(BUILT)
	$(PYTHON_TESTS)

# every part runs, whatever became of those before it; one that failed fails the whole
test: $(BUILT)
	@failed=0; set -x; \
	$(PYTHON_TESTS) || failed=1; \
	cargo test --quiet --no-fail-fast $(CRATES) || failed=1; \
	exit $$failed

# boots, simulations, fleets, browsers, every server by every handle, each interleaving of the latches; and the attack
test-slow: $(BUILT)
	@failed=0; set -x; \
	$(RUN)/pytest tests/slow $(IN_PARALLEL) $(PYTEST) || failed=1; \
	cargo test --quiet --package steelyard-latch --features loom --release --test models || failed=1; \
	$(ATTACK); $(TRIALS); \
	exit $$failed

attack: $(BUILT)
	@failed=0; $(ATTACK); $(TRIALS); exit $$failed

check: $(BUILT)
	@failed=0; set -x; \
	$(RUN)/ruff check . || failed=1; \
	$(RUN)/ruff format --check . || failed=1; \
	$(RUN)/pyright || failed=1; \
	cargo fmt --all --check || failed=1; \
	cargo clippy --quiet --workspace --all-targets -- --deny warnings || failed=1; \
	exit $$failed

format: $(BUILT)
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .
	cargo fmt --all

bench: $(BUILT)
	for bench in brokerage_data damage dispatch driver_cost driver_cost_jdbc driver_cost_mysql fuzz_study latch latch_model latency_truth monitor_cost order_entry_data precision probe_cost report_scale scaling_truth truth; do $(RUN)/python benches/$$bench.py --quick || exit 1; done

docs: $(BUILT)
	$(UV) sync --quiet --group docs
	$(RUN)/sphinx-build --quiet --fail-on-warning docs docs/_build

# for one kind of processor in dist/: x86_64 or aarch64, for every Linux with glibc 2.28 or later, by zig as C compiler and
# linker; the same commit gives the same bytes, whatever the folder
ARCH := $(shell uname -m)
TARGET = $(ARCH)-unknown-linux-gnu
HOMES = $(CURDIR)=. $(or $(CARGO_HOME),$(HOME)/.cargo)=cargo
MADE = src/steelyard/commit.txt src/steelyard/licences.txt
MATURIN = $(UV) tool run --from maturin==1.16.0 --with ziglang==0.15.2 maturin
COMMIT = git describe --always --abbrev=40 --dirty=", changed since" --exclude='*' >src/steelyard/commit.txt
wheel: src/steelyard/_jdbc.jar | $(UV)
	$(COMMIT)
	$(PYTHON) wheel/licences.py $(TARGET) $< >src/steelyard/licences.txt
	RUSTFLAGS="$(HOMES:%=--remap-path-prefix=%)" SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
	$(MATURIN) build --release --locked --zig --target $(TARGET) --compatibility manylinux_2_28 --target-dir target/wheel --out dist; \
	built=$$?; rm -f $(MADE); exit $$built

# the wheel's first studies with Python alone, as an ordinary user and as root; needs root
try-wheel: wheel
	mkdir -p target/ci
	cp wheel/trial dist/*_$(ARCH).whl target/ci
	for user in ordinary root; do ALONE=$$user .ci/bare $(CURDIR)/target/ci/trial $(CURDIR)/target/ci/*_$(ARCH).whl || exit 1; done

sdist: | $(UV)
	$(COMMIT)
	$(MATURIN) sdist --out dist; built=$$?; rm -f $(MADE); exit $$built

clean:
	rm -rf .venv .tools target dist java/target docs/_build src/steelyard/*.so src/steelyard/*.jar

# the core is built again whenever a crate or the package's metadata has changed
.venv/built: pyproject.toml Cargo.toml $(shell find crates -name '*.rs' -o -name Cargo.toml) | $(UV)
	@echo "building the core and fetching what it needs: some minutes"
	$(UV) sync --quiet --compile-bytecode
	touch $@

src/steelyard/_jdbc.jar: java/pom.xml $(shell find java/src -name '*.java')
	mvn --quiet --batch-mode --file java/pom.xml package
	install --mode=644 java/target/jdbc-engine.jar $@

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet uv
