# What a node of a cluster does with one point of a sweep.
"""One point of a sweep, run where the files of the sweep are not: text and files in, a run folder out.

It is run as `railtwin sweep` runs points beside itself, by `railtwin run-point` in a process of its own: a
point that crashes is lost alone, and the run folder has the same bytes.
"""

import contextlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from railtwin._native import __version__
from railtwin.console import OWN

WORDS_MAX = 600
"""Characters of a process's words that a failure repeats."""

TELL_EVERY_S = 0.5
"""Seconds between two tellings of replicates that are done."""

CORES = "RAYON_NUM_THREADS"
"""Variable that says how many threads an engine uses."""

LIMIT = "RAILTWIN_INPUT_LIMIT"
"""Variable that says how much is read of a file."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a sweep, as it travels."""

    run_id: str
    """The id that its run must have."""
    text: str
    """Its scenario, in TOML."""
    files: tuple[str, ...]
    """Paths of the files that the scenario names; their bytes travel beside."""
    threads: int
    """Threads of a run of the packet engine, and cores that it has for itself."""
    limit: str | None
    """How much may be read of a file, where somebody said."""
    version: str
    """The railtwin that asks."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a point."""

    wall_s: float
    """Seconds on the clock."""
    failed: str | None
    """Why there is no run; None where there is one."""
    files: tuple[tuple[str, bytes], ...]
    """The files of the run folder, by name."""


def run_point(point: Point, files: tuple[bytes, ...], tell: Callable[[int], object]) -> Outcome:
    """Run a point in a process of its own; `tell` hears how many replicates are done since it heard last.

    The process ends when this one does, however that ends.
    """
    if point.version != __version__:
        return failed(f"{where()} has railtwin {__version__}, and the sweep is of {point.version}")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="railtwin-") as place:
        folder = Path(place) / point.run_id
        given = Path(place) / "files"
        given.mkdir()
        (given / "paths.json").write_text(json.dumps(point.files))
        for number, content in enumerate(files):
            (given / str(number)).write_bytes(content)
        status, words = call(point, folder, given, tell)
        if status != 0:
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            return failed(f"{words[-WORDS_MAX:]} ({how})" if words else f"its process ended with {how}")
        found = tuple((path.name, path.read_bytes()) for path in sorted(folder.iterdir()))
    return Outcome(time.monotonic() - begin, None, found)


def call(point: Point, folder: Path, given: Path, tell: Callable[[int], object]) -> tuple[int, str]:
    """Call `railtwin run-point`; return its exit status and its last words in one line."""
    env = dict(os.environ)
    env.setdefault(CORES, str(point.threads))
    if point.limit is not None:
        env[LIMIT] = point.limit
    args = [*OWN, "run-point", "--run-id", point.run_id, "--folder", str(folder)]
    args += ["--files", str(given), "--base", str(given), "--threads", str(point.threads)]
    pipe = subprocess.PIPE
    with subprocess.Popen(args, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        words: list[bytes] = []
        reader = threading.Thread(target=read_all, args=(process.stderr, words), daemon=True)
        reader.start()
        # Where the process has ended already its exit status says why. The pipe stays open until then: when
        # it closes early, as where this process is killed, the process ends itself.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(point.text.encode() + b"\0")
            process.stdin.flush()
        count, told = 0, time.monotonic()
        for _ in process.stdout:
            count += 1
            if time.monotonic() - told > TELL_EVERY_S:
                tell(count)
                count, told = 0, time.monotonic()
        status = process.wait()
        reader.join()
        tell(count)
    return status, " ".join(b"".join(words).decode(errors="replace").split())


def read_all(stream: IO[bytes], into: list[bytes]) -> None:
    """Read a stream to its end."""
    into.append(stream.read())


def write_folder(folder: Path, files: tuple[tuple[str, bytes], ...]) -> None:
    """Write a run folder that came from elsewhere: it appears whole or not at all.

    Raises `OSError`, and `ValueError` for a name that is not one of a file in it.
    """
    hidden = folder.with_name(f".{folder.name}.arriving")
    # Of a sweep that was killed at it; the sweep folder has one writer.
    shutil.rmtree(hidden, ignore_errors=True)
    hidden.mkdir(parents=True)
    try:
        for name, content in files:
            if Path(name).name != name:
                raise ValueError(f"{name!r} is no name of a file in a run folder")
            (hidden / name).write_bytes(content)
        hidden.rename(folder)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def failed(reason: str) -> Outcome:
    """Return the outcome of a point that did not come to its end."""
    return Outcome(0.0, reason, ())


def where() -> str:
    """Return the name of this machine."""
    return f"node {platform.node()}"
