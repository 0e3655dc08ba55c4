# The one command surface: CI calls the same targets. A fresh machine needs make and Python 3.10
# or newer; the first target that needs more makes .venv and installs it there.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
PYTHON := $(VENV)/bin/python
# Written last by .ci/install, so a broken installation is never taken for a whole one.
READY := $(VENV)/.installed
# The oldest PySpark that pyproject.toml allows, beside the one in the environment.
OLDEST := $(VENV)/oldest-pyspark
# dbt, beside what it cannot be installed with.
DBT := $(VENV)/dbt
# Engines that read published tables, where they cannot disturb what Arctic is installed with. With
# numpy Arctic is imported there too, for what gives them a table in one line.
ENGINES := $(VENV)/engines
# For tests: Iceberg's Java library and its REST catalog, as strangers read and write tables, and
# Spark's way to object stores. Spark would fetch the latter by itself, but takes what Maven keeps of
# a library for the whole of it.
ICEBERG_JAVA := $(VENV)/iceberg-java
HADOOP_STORES := $(VENV)/hadoop-stores
# Iceberg's runtime for Spark, which reads published tables on the oldest PySpark.
ICEBERG_SPARK := $(VENV)/iceberg-spark
# Spark's own suites, as Maven has them, and a PySpark of their release.
SPARK_SUITES := $(VENV)/spark-suites
# An environment that tests pack for executors: Arctic comes into it then, PySpark is theirs already.
PACKED := $(VENV)/packed
# A broker, whose jars are all that it needs.
KAFKA := $(VENV)/kafka
HDFS := $(VENV)/hdfs
# Hive's metastore, of two releases that PySpark does not bring.
HIVE_3 := $(VENV)/hive-3.1
HIVE_4 := $(VENV)/hive-4.0
# Azure's blob storage, as npm has it.
AZURITE := $(VENV)/azurite
JARS := $(ICEBERG_JAVA)/.installed $(HADOOP_STORES)/.installed $(KAFKA)/.installed $(HDFS)/.installed \
	$(HIVE_3)/.installed $(HIVE_4)/.installed $(ICEBERG_SPARK)/.installed
# What the JVMs of tests share: the classes of Spark, ready to be mapped. They live for seconds, in
# which the second compiler and parallel collectors cost more than they give. The one that lives for
# minutes compiles more than the 48 MB hold that one compiler gets: it would sweep, and compile again.
ARCHIVE := $(VENV)/spark.jsa
SHORT_LIVED := -Xlog:disable -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m \
	-XX:MetaspaceSize=192m
# Where tests keep their tables: in memory where there is enough, because a commit to a catalog waits
# for the disk twenty times as long as it works. Some tests put a program there, and run it.
MEMORY := $(shell [ -w /dev/shm ] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts && \
	df -Pk /dev/shm | awk 'NR == 2 && $$4 > 3000000 { print "/dev/shm" }')
# Hundreds of processes import the same modules: each is compiled once, whatever the shell wishes.
export PYTHONDONTWRITEBYTECODE :=
PYTEST = TMPDIR=$(or $(TMPDIR),$(MEMORY),/tmp) $(PYTHON) -m pytest
# Test files that run at a time; each process starts a Spark of its own when it needs one. One more
# than the two cores of CI, because most tests wait for a process to start or to end.
WORKERS ?= 3
# A file of tests stays in one process, and files begin in the order that conftest.py gives them.
SPREAD := --dist loadfile --no-loadscope-reorder

.PHONY: help install demo test test-servers test-oldest quick mutants lint types layers fmt docs docs-site pictures house bench bench-merge bench-ordering bench-merge-engines engines-beside-paimon bench-changes bench-views bench-optimize bench-memory bench-spark-memory bench-key-joins bench-write bench-spark-write bench-commits bench-growth bench-skipping bench-streaming bench-small-queries bench-sources bench-publish bench-repair bench-requests bench-cache bench-serve bench-peers bench-drift bench-tpch bench-ch bench-world engines matrix fuzz fuzz-layers soak sim ci clean

help: ## Show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY) ## Make .venv and install Arctic with everything that development needs
	@:

$(READY): pyproject.toml .ci/install
	@.ci/install $(VENV)

demo: $(READY) ## Replay weeks of real promotions through Spark, and check the result with DuckDB
	@$(PYTHON) -m examples.demo $(ARGS)

test: export SPARK_SUBMIT_OPTS = -XX:SharedArchiveFile=$(abspath $(ARCHIVE)) $(SHORT_LIVED)
test: $(READY) $(ARCHIVE) ## Run the tests of everything that needs no server; ARGS="-k name" narrows, HYPOTHESIS_PROFILE=deep explores
	@$(PYTEST) -n $(WORKERS) $(SPREAD) -m "not servers" $(ARGS)

test-servers: export SPARK_SUBMIT_OPTS = -XX:SharedArchiveFile=$(abspath $(ARCHIVE)) $(SHORT_LIVED)
test-servers: $(READY) $(ARCHIVE) $(OLDEST)/.installed $(DBT)/.installed $(ENGINES)/.installed $(JARS) $(AZURITE)/.installed ## Run the tests beside databases, brokers, object stores, clusters, a browser, other engines
	@$(PYTEST) -n $(WORKERS) $(SPREAD) -o testpaths=tests -m servers $(ARGS)

$(ARCHIVE): $(READY) tests/jvm_archive.py
	@printf 'arctic: mapping the classes of Spark (log: %s)\n' $@.log
	@SPARK_SUBMIT_OPTS="$(SHORT_LIVED)" $(PYTHON) -m tests.jvm_archive $@ 2> $@.log || { tail -n 20 $@.log >&2; exit 1; }

.PHONY: test-archive
test-archive: export SPARK_SUBMIT_OPTS = -XX:SharedArchiveFile=$(abspath $(ARCHIVE)) $(SHORT_LIVED)
test-archive: $(READY) $(ARCHIVE) $(PACKED)/.installed ## Send an environment that venv-pack packed to executors; takes a minute or two
	@$(PYTEST) $(ARGS) tests/spark/cluster/archived_environment.py

test-oldest: export SPARK_SUBMIT_OPTS = $(SHORT_LIVED)
test-oldest: $(READY) $(OLDEST)/.installed ## Run the tests of what PySpark changes on the oldest that is supported
	@PYTHONPATH=$(abspath $(OLDEST)) $(PYTEST) -n $(WORKERS) $(SPREAD) $(ARGS) \
		$(addprefix tests/spark/, jvm base/test_private_names.py write/test_write_frame.py \
		catalog/test_catalog.py catalog/test_catalog_writes.py::test_columns_are_added_by_a_write_that_says_so \
		catalog/test_catalog_ddl.py::test_a_table_is_replaced_when_the_other_is_whole \
		catalog/test_row_level.py::test_keys_move_with_their_rows_and_none_is_lost \
		catalog/test_row_level.py::test_rows_move_between_partitions catalog/test_row_level_keyless.py \
		$(addprefix test_, clean_files.py deletion_vectors.py live_rows.py known_aggregates.py stream_offsets.py \
		partial_aggregates.py::test_drawn_queries_are_as_without \
		partial_aggregates.py::test_sums_that_overflow_fail_or_wrap_as_sparks_do \
		key_groups.py::test_a_union_keeps_groups key_groups.py::test_tables_in_buckets_join_by_them \
		companion.py::test_jdbc_connect_and_a_shell_see_the_same_tables))

.PHONY: archive prepare
archive: $(ARCHIVE) ## Map the classes of Spark for the JVMs of tests
	@:

prepare: $(ARCHIVE) $(OLDEST)/.installed $(DBT)/.installed $(ENGINES)/.installed $(JARS) $(AZURITE)/.installed ## Make what all runs of tests need beside the environment
	@:

$(OLDEST)/.installed: pyproject.toml $(READY)
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --upgrade \
		--target $(OLDEST) "pyspark==$$(sed -n 's/.*"pyspark>=\([0-9.]*\),.*/\1/p' pyproject.toml)"
	@touch $@

$(DBT)/.installed: pyproject.toml $(READY)
	@rm -rf $(DBT)
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --group dbt \
		--target $(DBT) 2> $(DBT).log || { tail -n 20 $(DBT).log >&2; exit 1; }
	@touch $@

$(PACKED)/.installed: pyproject.toml $(READY)
	@rm -rf $(PACKED)
	@$(PYTHON) -m venv $(PACKED)
	@$(PACKED)/bin/python -m pip install --quiet --no-input --disable-pip-version-check 'pip>=25.1'
	@$(PYTHON) -c 'from importlib.metadata import requires; print(*(each for each in requires("arctic-lakehouse") \
		if "extra ==" not in each and not each.startswith("pyspark")), sep="\n")' > $(PACKED)/needed.txt
	@$(PACKED)/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
		--group packed -r $(PACKED)/needed.txt 2> $(PACKED).log || { tail -n 20 $(PACKED).log >&2; exit 1; }
	@touch $@

$(ICEBERG_JAVA)/.installed: tests/java/pom.xml $(READY)
$(HADOOP_STORES)/.installed: tests/spark/pom.xml $(READY)
$(ICEBERG_SPARK)/.installed: benchmarks/engines/pom.xml $(READY)
$(KAFKA)/.installed: tests/kafka/pom.xml $(READY)
$(HDFS)/.installed: tests/stores/pom.xml $(READY)
$(HIVE_3)/.installed: tests/catalogs/hive-3.1.xml $(READY)
$(HIVE_4)/.installed: tests/catalogs/hive-4.0.xml $(READY)
$(JARS):
	@rm -rf $(@D)
	@if command -v mvn > /dev/null; then \
		mvn -B -q -f $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(abspath $(@D)) \
			> $(@D).log 2>&1 || { tail -n 20 $(@D).log >&2; exit 1; }; \
		touch $@; \
	elif [ "$${CI:-}" = true ]; then \
		printf 'arctic: Maven is needed, which fetches the jars of %s\n' $(@D) >&2; exit 1; \
	else \
		printf 'arctic: no Maven (mvn) here: the tests that need %s are SKIPPED\n' $(@D) >&2; \
	fi

$(AZURITE)/.installed: tests/stores/package.json $(READY)
	@rm -rf $(@D)
	@if command -v npm > /dev/null; then \
		mkdir -p $(@D) && cp $< $(@D)/package.json; \
		npm install --prefix $(@D) --ignore-scripts --no-audit --no-fund --no-package-lock \
			> $(@D).log 2>&1 || { tail -n 20 $(@D).log >&2; exit 1; }; \
		touch $@; \
	elif [ "$${CI:-}" = true ]; then \
		printf 'arctic: npm is needed, which installs %s\n' $(@D) >&2; exit 1; \
	else \
		printf 'arctic: no npm here: the tests that need %s are SKIPPED\n' $(@D) >&2; \
	fi

.PHONY: dbt-suites
dbt-suites: export SPARK_SUBMIT_OPTS = $(SHORT_LIVED)
dbt-suites: $(READY) $(DBT)/.installed ## Run dbt's own tests of adapters, the slow ones too
	@cd $(DBT) && PYTHONPATH=$(abspath $(DBT)) ARCTIC_WAREHOUSE="$$(mktemp -d)" $(abspath $(PYTHON)) -m pytest -q \
		-c /dev/null --rootdir . -p dbt.tests.fixtures.project -p no:cacheprovider --durations 5 $(ARGS) $(abspath tests/spark/dbt_suites.py)

quick: $(READY) ## Run the tests that need neither Spark nor patience
	@$(PYTEST) -q -m "not spark and not slow" $(ARGS)

mutants: $(READY) $(VENV)/.mutmut ## Break planning in one place at a time; ARGS="--only 'arctic/scan/*'" narrows
	@$(PYTHON) -m tests.mutants $(ARGS)

$(VENV)/.mutmut: pyproject.toml $(READY)
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --group mutants
	@touch $@

lint: $(READY) ## Check style and formatting
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .

types: $(READY) ## Check the types
	@$(PYTHON) -m mypy

layers: $(READY) ## Check that modules import only what their layer may
	@$(VENV)/bin/lint-imports --no-logo

fmt: $(READY) ## Format the code and sort the imports
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

docs: $(READY) ## Write docs/options.md and the rooms in docs/architecture.md anew from the code
	@$(PYTHON) -m tests.options_table > docs/options.md
	@$(PYTHON) -m tests.house --write

docs-site: $(READY) ## Make the pages and the reference of the API into a site, in build/site
	@$(PYTHON) -m sphinx -q -W --keep-going -c docs/site docs build/site
	@echo "arctic: build/site/index.html"

.PHONY: links
links: ## List the addresses outside that the pages name, each with its places; asks nobody
	@grep -noE 'https?://[^][ )>"`]+' README.md CONTRIBUTING.md docs/*.md | \
		awk -F: '{ place = $$1 ":" $$2; sub(/^[^:]*:[^:]*:/, ""); places[$$0] = places[$$0] "  " place } \
			END { for (link in places) print link places[link] }' | LC_ALL=C sort

pictures: $(READY) ## Draw the pictures of docs/page.md anew; needs Chromium
	@$(PYTHON) -m tests.page.pictures

house: $(READY) ## Count the rooms of the package; ARGS=--tests lists which file tests which module
	@$(PYTHON) -m tests.house $(ARGS)

bench: $(READY) ## Measure a table through Spark, planning and merging
	@$(PYTHON) -m benchmarks $(ARGS)

bench-merge: $(READY) ## Measure merging reads beside pyarrow decoding the same bytes
	@$(PYTHON) -m benchmarks.merge $(ARGS)

bench-ordering: $(READY) ## Measure merged reads with ordering columns beside those without
	@$(PYTHON) -m benchmarks.ordering $(ARGS)

bench-merge-engines: $(READY) ## Measure ordering and merge engines beside pypaimon, rows compared
	@$(PYTHON) -m benchmarks.merge_costs $(ARGS)

engines-beside-paimon: $(READY) ## Compare random histories of merge engines with what pypaimon reads
	@$(PYTHON) -m benchmarks.merge_engines $(ARGS)

bench-changes: $(READY) ## Measure net changes beside merged reads of the same keys
	@$(PYTHON) -m benchmarks.changes $(ARGS)

bench-views: $(READY) ## Measure refreshes of views beside computing them anew
	@$(PYTHON) -m benchmarks.views $(ARGS)

bench-optimize: $(READY) ## Measure minor, major and full beside pyarrow on the same bytes
	@$(PYTHON) -m benchmarks.optimize $(ARGS)

bench-node-load: $(READY) ## Measure what rows of changes cost beside rows of base, where a node is read and merged
	@$(PYTHON) -m benchmarks.node_load $(ARGS)

bench-memory: $(READY) ## Load, change, read and optimize a table larger than the memory it gets; ARGS="--limit-mib 1024"
	@$(PYTHON) -m benchmarks.limited_memory $(ARGS)

bench-spark-memory: $(READY) ## Measure the memory of a Spark session's processes that read a changed table
	@$(PYTHON) -m benchmarks.spark_memory $(ARGS)

bench-key-joins: $(READY) ## Measure joins and group-bys by key, with a shuffle and without
	@$(PYTHON) -m benchmarks.key_joins $(ARGS)

bench-write: $(READY) ## Measure loads and upserts beside pyarrow on the same rows
	@$(PYTHON) -m benchmarks.writing $(ARGS)

bench-spark-write: $(READY) ## Measure saves of many tasks of Spark beside its own Parquet
	@$(PYTHON) -m benchmarks.spark_writing $(ARGS)

bench-commits: $(READY) $(VENV)/.ducklake ## Measure tiny commits beside those of PyIceberg and DuckLake
	@$(PYTHON) -m benchmarks.commits $(ARGS)

bench-skipping: $(READY) ## Measure what filters open in a table that is sorted and indexed
	@$(PYTHON) -m benchmarks.skipping $(ARGS)

bench-growth: $(READY) ## Measure a table that grows by upserts, beside one of four nodes
	@$(PYTHON) -m benchmarks.growth $(ARGS)

bench-small-queries: $(READY) ## Measure what a small query costs through Spark beside spark.read.parquet
	@$(PYTHON) -m benchmarks.small_queries $(ARGS)

$(VENV)/.ducklake: pyproject.toml $(READY)
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --group ducklake
	@touch $@

bench-sources: $(READY) $(KAFKA)/.installed ## Measure mirrors of MySQL and Kafka beside a raw Parquet append
	@$(PYTHON) -m benchmarks.sources $(ARGS)

bench-streaming: $(READY) ## Measure streams into tables beside streams into plain Parquet
	@$(PYTHON) -m benchmarks.streaming $(ARGS)

bench-publish: $(READY) ## Measure publishes beside the upserts that they follow
	@$(PYTHON) -m benchmarks.publish $(ARGS)

bench-repair: $(READY) ## Measure the repair of equality deletes beside Spark's rewrite_data_files
	@$(PYTHON) -m benchmarks.repair $(ARGS)

bench-requests: $(READY) ## Count what each verb asks an object store for; ARGS=--write-docs writes the page
	@$(PYTHON) -m benchmarks.requests $(ARGS)

bench-cache: $(READY) ## Measure repeated reads of the newest day with a cache and without, near and far
	@$(PYTHON) -m benchmarks.cached $(ARGS)

bench-serve: $(READY) ## Measure what a service costs that has nothing to do; ARGS="--tables 200"
	@$(PYTHON) -m benchmarks.idle_service $(ARGS)

engines: $(READY) $(ENGINES)/.installed $(ICEBERG_JAVA)/.installed $(ICEBERG_SPARK)/.installed $(OLDEST)/.installed ## Try which engines read published tables; ARGS=--write-docs writes the pages
	@$(PYTHON) -m benchmarks.engines --python $(abspath $(ENGINES))/bin/python $(ARGS)

$(ENGINES)/.installed: pyproject.toml $(READY)
	@$(PYTHON) -m venv $(ENGINES)
	@$(ENGINES)/bin/python -m pip install --quiet --no-input --disable-pip-version-check 'pip>=25.1'
	@$(ENGINES)/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
		--group engines numpy 2> $(ENGINES).log || { tail -n 20 $(ENGINES).log >&2; exit 1; }
	@touch $@

.PHONY: spark-suites
spark-suites: $(READY) $(SPARK_SUITES)/.installed ## Run Spark's own suites of commands on Arctic's catalog
	@$(PYTHON) -m benchmarks.spark_suites --home $(abspath $(SPARK_SUITES)) $(ARGS)

.PHONY: pyspark-suites
pyspark-suites: $(READY) ## Run PySpark's own tests of data sources beside Arctic; ARGS="--checkout ~/spark"
	@$(PYTHON) -m benchmarks.spark_suites.python $(ARGS)

$(SPARK_SUITES)/.installed: benchmarks/spark_suites/pom.xml $(READY)
	@rm -rf $(SPARK_SUITES)
	@mvn -B -q -f $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(SPARK_SUITES))/jars
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --target $(SPARK_SUITES)/python \
		"pyspark==$$(sed -n 's/.*<spark.version>\(.*\)<.*/\1/p' $<)"
	@touch $@

matrix: $(READY) ## Try versions of Python, PySpark, pyarrow and pandas together; ARGS=--write-docs writes the page
	@$(PYTHON) -m benchmarks.matrix $(ARGS)

bench-peers: $(READY) ## Measure Arctic beside Iceberg, Delta, Hudi, Paimon and DuckLake; --write-docs writes the page
	@$(PYTHON) -m benchmarks.peers $(ARGS)

bench-drift: $(READY) ## Measure upserts and queries over many commits beside peers; ARGS="--commits 40 --skew 1"
	@$(PYTHON) -m benchmarks.drift $(ARGS)

bench-tpch: $(READY) ## Measure TPC-H with its refreshes beside Iceberg and Parquet; ARGS="--scale 1"
	@$(PYTHON) -m benchmarks.tpch $(ARGS)

bench-ch: $(READY) ## Measure analytic queries on the mirror of a database at work; ARGS="--warehouses 1"
	@$(PYTHON) -m benchmarks.ch $(ARGS)

bench-world: $(READY) ## Measure all that docs/benchmarks.md shows, within two hours, and write it
	@$(PYTHON) -m benchmarks.world $(ARGS)

soak: $(READY) ## Let many processes write, read, optimize and expire; ARGS="--minutes 10 --seed 1", --serve kills services
	@$(PYTHON) -m soak $(ARGS)

fuzz: $(READY) ## Damage files of every kind and look what reads make of it; ARGS="--trials 500 --seed 7"
	@$(PYTHON) -m fuzz $(ARGS)

fuzz-layers: $(READY) ## Live random lives of late events, merge engines and shared files; ARGS="--histories 10000 --seed 7"
	@TMPDIR=$(or $(TMPDIR),$(MEMORY),/tmp) $(PYTHON) -m fuzz.layers $(ARGS)

.PHONY: fuzz-sql
fuzz-sql: export SPARK_SUBMIT_OPTS = -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
fuzz-sql: $(READY) ## Live random lives of tables by statements of SQL; ARGS="--histories 500 --seed 7"
	@TMPDIR=$(or $(TMPDIR),$(MEMORY),/tmp) $(PYTHON) -m fuzz.sql $(ARGS)

sim: $(READY) ## Live through a day of a service's schedulers in virtual time; ARGS="--tables 200 --seed 7"
	@$(PYTHON) -m simulation $(ARGS)

ci: ## Run what CI runs: lint, types, layers, test, test-servers, test-oldest; a test that is skipped fails
	@.ci/run

clean: ## Remove .venv and every cache
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .bench .mutants
