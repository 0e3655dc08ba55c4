"""A schema registry for a test run: Apicurio's, which answers the calls of Confluent's."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kafka.broker import JARS, SMALL_JAVA, free_ports, listening


@contextmanager
def running_registry() -> Iterator[str]:
    """Start a registry that keeps all in memory; yield its address."""
    java = shutil.which("java")
    archive = next(iter(JARS.glob("apicurio-registry-app-*-all.tar.gz")), None)
    if java is None or archive is None:
        pytest.skip("needs Java and a schema registry, which `make` fetches with Maven")
    folder = Path(tempfile.mkdtemp(prefix="arctic-registry-"))
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (runner,) = folder.glob("*-runner.jar")
        (port,) = free_ports(1)
        listens = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
        command = [java, *SMALL_JAVA, *listens, "-jar", str(runner)]
        with listening(command, port, folder / "log"):
            yield f"http://127.0.0.1:{port}/apis/ccompat/v7"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
