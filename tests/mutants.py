"""Breaks what decides about rows, one place at a time, and names what no test notices.

``make mutants``; ``ARGS="--only 'arctic/scan/*'"`` narrows. Each mutant runs against the tests that
reach its function and no others, without Spark. A survivor is a line whose bound or rule no test
holds, or one that says the same in other words: which of both, somebody must read.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FOLDER = ROOT / ".mutants"
_LOG = _FOLDER / "log"
_MUTMUT = Path(sys.executable).with_name("mutmut")

_FILES = {
    "arctic/tree": ["key_hash", "key_range", "node"],
    "arctic/scan": [
        "assemble",
        "changes/change_limit",
        "changes/change_tasks",
        "choose/key_filter",
        "choose/plan_files",
        "depth/node_loads",
        "divide/pack",
        "divide/split",
        "file_order",
        "reach",
        "set_apart/clean_files",
        "set_apart/dirty_files",
    ],
    "arctic/optimizing/planning": [
        "balance",
        "divide",
        "evaluate",
        "grow_tree",
        "health",
        "partition_files",
        "plan_run",
        "select",
        "subtrees",
    ],
    "arctic/iceberg/commits": ["commit", "commit_loop", "commit_rewrite"],
    "arctic/iceberg/snapshots": ["pin"],
}
MUTATED = [f"{folder}/{name}.py" for folder, names in _FILES.items() for name in names]
TESTS_OF = {
    "arctic/tree": ["tests/tree"],
    "arctic/scan": ["tests/scan"],
    "arctic/optimizing/planning": ["tests/optimizing"],
    "arctic/iceberg/commits": ["tests/iceberg/commits/test_commit.py"],
    "arctic/iceberg/snapshots": ["tests/iceberg/snapshots/test_pin.py"],
}
_PYTEST = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-o",
    "addopts=--import-mode=importlib",
    "-m",
    "not spark and not slow",
)
_COLUMNS = ("killed", "survived", "timeout", "no tests", "not checked")
_PROGRESS_SECONDS = 20


def main() -> int:
    """Run, and print a page; 1 when the tests do not even pass without a mutation."""
    arguments = _arguments()
    files = [name for name in MUTATED if any(fnmatch(name, each) for each in arguments.only)]
    if not files:
        _say(f"no file matches {' '.join(arguments.only)}; there are: {' '.join(MUTATED)}")
        return 1
    _prepare(files)
    _say(f"mutating {len(files)} files; first their tests show which of them reach what ({_LOG})")
    is_whole = _run(workers=arguments.workers, seconds=60 * arguments.minutes)
    found = _results()
    if not any(status != "not checked" for status in found.values()):
        _say(_LOG.read_text()[-3_000:])
        return 1
    if not is_whole:
        _say(f"stopped after {arguments.minutes} minutes; what was not checked is counted as such")
    for line in page(found):
        print(line, flush=True)
    for name in sorted(name for name, status in found.items() if status == "survived"):
        print(f"\n{_mutmut('show', name).strip()}", flush=True)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="GLOB", help="of the files: arctic/scan/*"
    )
    parser.add_argument("--minutes", type=float, default=60, help="after which to stop")
    parser.add_argument("--workers", type=int, default=2, help="mutants that run at a time")
    return parser.parse_args()


def _prepare(files: Iterable[str]) -> None:
    """Make a folder that looks like the project, with nothing in it from a run before."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir()
    for name in ("arctic", "tests", "pyproject.toml"):
        (_FOLDER / name).symlink_to(ROOT / name)
    chosen = list(files)
    folders = [each for each in TESTS_OF if any(name.startswith(f"{each}/") for name in chosen)]
    settings = {
        "source_paths": ["arctic"],
        "only_mutate": chosen,
        "pytest_add_cli_args": _PYTEST,
        "pytest_add_cli_args_test_selection": [name for each in folders for name in TESTS_OF[each]],
        # Such a line pairs what has one length: its `strict` can be anything, and all laws are run.
        "do_not_mutate_patterns": ["strict=True"],
        "use_git_change_detection": ["false"],
        # A test of one millisecond takes a hundred on a busy machine.
        "timeout_constant": ["5.0"],
        "timeout_multiplier": ["10.0"],
    }
    lines = [_setting(name, values) for name, values in settings.items()]
    (_FOLDER / "setup.cfg").write_text("[mutmut]\n" + "".join(lines))


def _setting(name: str, values: Sequence[str]) -> str:
    return f"{name} =" + "".join(f"\n    {value}" for value in values) + "\n"


def _run(*, workers: int, seconds: float) -> bool:
    """Try mutants until there is none left, or the time is over; say which."""
    command = [str(_MUTMUT), "run", "--max-children", str(workers)]
    with (
        _LOG.open("wb") as log,
        subprocess.Popen(
            command, cwd=_FOLDER, env=_environment(), stdout=log, stderr=log, start_new_session=True
        ) as running,
    ):
        ends = time.monotonic() + seconds
        tried = 0
        while (left := ends - time.monotonic()) > 0:
            if _has_ended(running, min(_PROGRESS_SECONDS, left)):
                return True
            codes = [code for path in _FOLDER.rglob("*.meta") for code in _exit_codes(path)]
            if (now := sum(code is not None for code in codes)) != tried:
                tried = now
                _say(f"{tried} of {len(codes)} mutants tried")
        os.killpg(running.pid, signal.SIGINT)
        if not _has_ended(running, _PROGRESS_SECONDS):
            os.killpg(running.pid, signal.SIGKILL)
        return False


def _has_ended(running: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _environment() -> Mapping[str, str]:
    return {**os.environ, "HYPOTHESIS_PROFILE": "mutants", "PYTHONHASHSEED": "0"}


def _exit_codes(path: Path) -> list[int | None]:
    try:
        return list(json.loads(path.read_text())["exit_code_by_key"].values())
    except ValueError:  # it is being written
        return []


def _results() -> dict[str, str]:
    """Return what became of each mutant, by its name."""
    lines = _mutmut("results", "--all", "true").splitlines()
    return dict(line.strip().split(": ", 1) for line in lines if ": " in line)


def _mutmut(*arguments: str) -> str:
    command = [str(_MUTMUT), *arguments]
    return subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True, check=True).stdout


def page(found: Mapping[str, str]) -> Iterable[str]:
    """Return the lines that count what became of the mutants of each module."""
    by_file: dict[str, Counter[str]] = defaultdict(Counter)
    for name, status in found.items():
        module = name.rpartition(".")[0]
        by_file[module][status if status in _COLUMNS else "other"] += 1
        by_file["all"][status if status in _COLUMNS else "other"] += 1
    columns = [*_COLUMNS, "other"] if by_file["all"]["other"] else list(_COLUMNS)
    yield f"\n{'':36} {'mutants':>11} " + " ".join(f"{name:>11}" for name in columns)
    for module in sorted(by_file, key=lambda name: (name == "all", name)):
        counts = by_file[module]
        numbers = [counts.total(), *(counts[name] for name in columns)]
        yield f"{module:36} " + " ".join(f"{number:>11,}" for number in numbers)


def _say(text: str) -> None:
    print(f"arctic: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
