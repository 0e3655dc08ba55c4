"""A broker of Kafka for a test run: one process, in a temporary folder, at free ports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from arctic.retry import RetryPolicy

JARS = Path(sys.prefix) / "kafka"
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""
SMALL_JAVA = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_JAVA = (*SMALL_JAVA, "-cp", f"{JARS}/*")
_PATIENCE = RetryPolicy(retries=600, min_wait_ms=100, max_wait_ms=100)


def free_ports(count: int) -> Sequence[int]:
    """Return ports that nobody listens at."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def running_broker() -> Iterator[str]:
    """Start a broker; yield its address, ``host:port``."""
    java = shutil.which("java")
    if java is None or not (JARS / ".installed").exists():
        pytest.skip("needs Java and the jars of Kafka, which `make` fetches with Maven")
    folder = Path(tempfile.mkdtemp(prefix="arctic-kafka-"))
    broker, controller = free_ports(2)
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(folder=folder, broker=broker, controller=controller))
    try:
        made = [java, *_JAVA, "kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw"]
        subprocess.run([*made, "-c", settings], capture_output=True, check=True)
        with listening([java, *_JAVA, "kafka.Kafka", str(settings)], broker, folder / "log"):
            yield f"127.0.0.1:{broker}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def listening(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    """Run a process that says everything to a file, from when it listens until the block ends."""
    with log.open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, process, log)
        yield
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a process listens."""
    for _ in _PATIENCE.tries():
        assert process.poll() is None, log.read_text()
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError(f"nobody listens at {port}: {log.read_text()}")
