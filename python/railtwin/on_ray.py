# Who speaks to Ray for `railtwin sweep --on ray`.
"""Runs points on a Ray cluster: `python -m railtwin.on_ray`, started by `railtwin sweep --on ray`.

Lines of JSON come on standard input: first `version` and `address`, then `base`, `jobs`, `threads`, `limit`
and `points`. Lines of JSON go to standard output: `ready` or `refused`, then what is heard of points:
`started`, `ticks`, `ended`. When standard input closes, the sweep is gone and this process ends.
"""

import contextlib
import importlib
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from railtwin import point
from railtwin._native import __version__
from railtwin.errors import ArgumentError, Error, MissingPackageError

RETRIES = 5
"""Times that a point runs again because its node or its process of Ray was lost."""

POLL_S = 0.5
"""Seconds between two looks for what has been told."""

KNOCK_S = 10.0
"""Seconds for which somebody must answer at the cluster's address."""

HOMELESS_S = 60.0
"""Seconds for which no node may be large enough for a point before it is given up: nodes come back."""

ABANDONED = 130
"""Exit status when the sweep is gone: as of a command that Ctrl-C ended."""

Say: TypeAlias = Callable[[dict[str, Any]], None]

Ray: TypeAlias = Any
"""The module `ray`, which need not be installed."""

Ref: TypeAlias = Any
"""What Ray gives for something that it has or will have."""


class RefusedError(Exception):
    """What was asked cannot be done; the second argument is what to do about it."""


class Ear:
    """An actor that hears how far points are, so that one place can be asked."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, int]] = []

    def hear(self, run_id: str, ticks: int) -> None:
        """Note that a point has begun (-1), or how many more replicates are done."""
        self.notes.append((run_id, ticks))

    def take(self) -> list[tuple[str, int]]:
        """Return what was noted since the last time."""
        notes, self.notes = self.notes, []
        return notes


def at_node(asked: point.Point, ear: Ref, *files: bytes) -> point.Outcome:
    """Run a point on a node; `ear` is an `Ear`."""
    ear.hear.remote(asked.run_id, -1)
    return point.run_point(asked, files, lambda ticks: ear.hear.remote(asked.run_id, ticks))


@dataclass(frozen=True, slots=True)
class Room:
    """What a node has, or a point needs."""

    cpus: float
    bytes: float

    def holds(self, need: "Room") -> bool:
        """Return whether a node with this has room for a point that needs that."""
        return need.cpus <= self.cpus and need.bytes <= self.bytes

    def __str__(self) -> str:
        cpus = "1 CPU" if self.cpus == 1 else f"{self.cpus:g} CPUs"
        return f"{cpus} and {self.bytes / 2**30:.1f} GiB"


def rooms(ray: Ray) -> list[Room]:
    """Return what each living node has."""
    found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [Room(has.get("CPU", 0.0), has.get("memory", 0.0)) for has in found]


@dataclass(slots=True)
class Flying:
    """A point that was handed to Ray."""

    asked: point.Point
    folder: Path
    need: Room
    homeless_since: float | None = None


class Sweep:
    """The points of a sweep on a cluster that is connected."""

    def __init__(self, ray: Ray, asked: dict[str, Any], say: Say) -> None:
        self.ray = ray
        self.say = say
        self.base = Path(asked["base"])
        # Without a number Ray gets all at once: it knows best where there is room, and whether to add nodes.
        self.most = asked["jobs"] or sys.maxsize
        largest = max((room.cpus for room in rooms(ray)), default=1.0)
        self.cpus = max(1, min(int(asked["threads"]), int(largest)))
        self.limit: str | None = asked["limit"]
        self.waiting: deque[dict[str, Any]] = deque(asked["points"])
        self.flying: dict[Ref, Flying] = {}
        self.given: dict[str, Ref] = {}
        # On the driver's node: where that is lost, so is the sweep.
        here = ray.get_runtime_context().get_node_id()
        stay = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=True)
        self.ear = ray.remote(Ear).options(num_cpus=0, scheduling_strategy=stay).remote()
        self.heard = self.ear.take.remote()
        self.task = ray.remote(at_node)

    def run(self) -> None:
        """Run all points and say what becomes of each."""
        while self.waiting or self.flying:
            while self.waiting and len(self.flying) < self.most:
                self.hand_over(self.waiting.popleft())
            done, _ = self.ray.wait(list(self.flying), timeout=POLL_S) if self.flying else ([], [])
            self.listen()
            for ref in done:
                self.land(ref)
            if not done:
                self.give_up_homeless()

    def cancel(self) -> None:
        """End what still runs."""
        for ref in self.flying:
            self.ray.cancel(ref, force=True)

    def hand_over(self, row: dict[str, Any]) -> None:
        """Hand a point to Ray."""
        asked = point.Point(
            row["run_id"], row["text"], tuple(row["files"]), self.cpus, self.limit, __version__
        )
        need = Room(self.cpus, row["bytes"])
        largest = rooms(self.ray)
        if not any(room.holds(need) for room in largest):
            has = ", ".join(sorted({str(room) for room in largest})) or "none"
            self.ended(asked, failed=f"it needs {need}, and no node has that; the nodes have {has}")
            return
        try:
            files = [self.given_file(name) for name in asked.files]
        except OSError as error:
            self.ended(asked, failed=str(error))
            return
        task = self.task.options(
            num_cpus=need.cpus,
            memory=int(need.bytes),
            max_retries=RETRIES,
            scheduling_strategy="SPREAD",
        )
        ref = task.remote(asked, self.ear, *files)
        self.flying[ref] = Flying(asked, Path(row["folder"]), need)

    def given_file(self, name: str) -> Ref:
        """Return a file of the scenario in Ray's store, where each is once."""
        if name not in self.given:
            self.given[name] = self.ray.put((self.base / name).read_bytes())
        return self.given[name]

    def listen(self) -> None:
        """Say what points have told."""
        ready, _ = self.ray.wait([self.heard], timeout=0)
        if not ready:
            return
        heard, self.heard = self.heard, self.ear.take.remote()
        with contextlib.suppress(self.ray.exceptions.RayError):
            for run_id, ticks in self.ray.get(heard):
                if ticks < 0:
                    self.say({"say": "started", "run_id": run_id})
                elif ticks > 0:
                    self.say({"ticks": ticks})

    def land(self, ref: Ref) -> None:
        """Take the run folder of a point that is done, and put it in its place."""
        flown = self.flying.pop(ref)
        try:
            outcome: point.Outcome = self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            self.ended(flown.asked, failed=self.why(error))
            return
        if outcome.failed is None:
            try:
                point.write_folder(flown.folder, outcome.files)
            except (OSError, ValueError) as error:
                self.ended(flown.asked, failed=str(error))
                return
        self.ended(flown.asked, failed=outcome.failed, wall_s=outcome.wall_s)

    def why(self, error: BaseException) -> str:
        """Return why Ray has no outcome, in one line."""
        errors = self.ray.exceptions
        if isinstance(error, errors.RayTaskError):
            # A traceback, whose last line says it.
            return one_line(error, -1)
        if isinstance(error, errors.RaySystemError):
            return one_line(error)
        return f"lost {RETRIES + 1} times: {one_line(error)}"

    def give_up_homeless(self) -> None:
        """Give up points that no node has had room for, for long."""
        now, found = time.monotonic(), rooms(self.ray)
        for ref, flown in list(self.flying.items()):
            if any(room.holds(flown.need) for room in found):
                flown.homeless_since = None
            elif flown.homeless_since is None:
                flown.homeless_since = now
            elif now - flown.homeless_since > HOMELESS_S:
                del self.flying[ref]
                self.ray.cancel(ref, force=True)
                why = f"it needs {flown.need}, and the nodes that had that are gone"
                self.ended(flown.asked, failed=why)

    def ended(self, asked: point.Point, *, failed: str | None, wall_s: float = 0.0) -> None:
        """Say that a point is over."""
        self.say({"say": "ended", "run_id": asked.run_id, "failed": failed, "wall_s": wall_s})


def run_missing(
    points: list[dict[str, Any]],
    on: str,
    base: Path,
    folder: Path,
    threads: int,
    progress: Callable[[int, int], object] | None,
) -> None:
    """Run points for `railtwin.sweep`, on the cluster that is connected, or by one for this call alone.

    `points` are what `_native.missing_points` gives; each is put into `folder` by its name.

    Raises `ArgumentError`, `MissingPackageError`, and `Error` for no cluster and for points that failed.
    """
    way = re.fullmatch(r"ray(?:|:(?!//)(?P<at>.+)|(?P<client>://.+))", on)
    if way is None:
        hint = "write ray, ray:ADDRESS or ray://HOST:PORT"
        raise ArgumentError(f"{on!r} is no place to run points", hint=hint)
    ray: Ray = sys.modules.get("ray")
    is_ours = ray is None or not ray.is_initialized()
    if is_ours:
        try:
            ray = connect({"version": __version__, "address": way["at"] or (way["client"] and on)})
        except RefusedError as refused:
            what, hint = refused.args
            missing = isinstance(refused.__cause__, ImportError)
            raise (MissingPackageError if missing else Error)(what, hint=hint) from refused
    labels = {row["run_id"]: " ".join(f"{k}={v}" for k, v in row["label"].items()) for row in points}
    total, done, failures = sum(row["replicates"] for row in points), 0, []

    def hear(said: dict[str, Any]) -> None:
        nonlocal done
        if said.get("failed"):
            failures.append(f"{labels[said['run_id']]}: {said['failed']}")
        if "ticks" in said and progress is not None:
            done = min(done + said["ticks"], total)
            progress(done, total)

    asked = {
        "base": base,
        "jobs": None,
        "threads": threads,
        "limit": os.environ.get(point.LIMIT),
        "points": [{**row, "folder": folder / row["name"]} for row in points],
    }
    sweep = Sweep(ray, asked, hear)
    try:
        sweep.run()
    finally:
        sweep.cancel()
        if is_ours:
            ray.shutdown()
    if failures:
        few = "; ".join(failures[:3])
        raise Error(
            f"{len(failures)} of {len(points)} points failed: {few}", hint="those that did not are kept"
        )
    if progress is not None and done < total:
        progress(total, total)


def one_line(error: BaseException, which: int = 0) -> str:
    """Return a line of an error: of those that say something the first, or by number."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[which] if lines else type(error).__name__


def connect(asked: dict[str, Any]) -> Ray:
    """Find a cluster, or make one; return the module `ray`.

    Raises `RefusedError`.
    """
    if asked["version"] != __version__:
        what = f"{sys.executable} has railtwin {__version__}, and this is {asked['version']}"
        raise RefusedError(what, "install the same, or name another Python in RAILTWIN_PYTHON")
    # Ray tells its makers of its use unless somebody says no: whoever wants that can say so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        what = f"--on ray needs Ray, and {sys.executable} has none ({error})"
        raise RefusedError(what, f"{sys.executable} -m pip install 'railtwin[ray]'") from error
    address = asked["address"]
    try:
        knock(address or os.environ.get("RAY_ADDRESS", ""))
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    # What Ray raises where it cannot connect is many things.
    except Exception as error:
        place = f"at {address}" if address else "where Ray looks for one"
        what = f"cannot reach a Ray cluster {place}: {one_line(error)}"
        help = "begin one with `ray start --head`, or write `--on ray` and let Ray make one for the sweep"
        raise RefusedError(what, help) from error
    return ray


def knock(address: str) -> None:
    """See whether anybody is at an address of host and port: where nobody is, Ray tries for ever.

    Raises `OSError`.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S):
            pass


def end_with_the_sweep(done: threading.Event) -> None:
    """End this process when the sweep closes its end before all is done."""
    with contextlib.suppress(OSError):
        while os.read(sys.stdin.fileno(), 1 << 16):
            pass
    if done.is_set():
        return
    os.kill(os.getpid(), signal.SIGINT)
    # Ray takes down what it made.
    time.sleep(10.0)
    os._exit(ABANDONED)


def own_output() -> TextIO:
    """Return standard output for us alone: what Ray and its like print goes to standard error."""
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return ours


def main() -> int:
    """Serve one sweep; return the exit status."""
    output = own_output()

    def say(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=output, flush=True)

    try:
        asked = json.loads(sys.stdin.readline() or "null")
        if asked is None:
            return ABANDONED
        ray = connect(asked)
    except RefusedError as refused:
        what, help = refused.args
        say({"refused": what, "help": help})
        return 2
    done = threading.Event()
    try:
        found = rooms(ray)
        nodes = "1 node" if len(found) == 1 else f"{len(found)} nodes"
        say({"ready": f"on Ray: {nodes}, {sum(room.cpus for room in found):g} CPUs"})
        line = sys.stdin.readline()
        if not line:
            return ABANDONED
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=end_with_the_sweep, args=(done,), daemon=True).start()
        Sweep(ray, json.loads(line), say).run()
    except (KeyboardInterrupt, BrokenPipeError):
        return ABANDONED
    finally:
        done.set()
        ray.shutdown()
    return 0


if __name__ == "__main__":
    # What travels to nodes is found there by the module's name, which is not `__main__`.
    sys.exit(importlib.import_module("railtwin.on_ray").main())
