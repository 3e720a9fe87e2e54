# The calls of railtwin, as Python sees them.
"""The calls: run, sweep, open, design, schedule, what jobs cost, intranode, cluster, schema."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from railtwin import _native
from railtwin.control import Factory
from railtwin.errors import ArgumentError

Scenario: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""A path, a TOML text (it has line breaks), or a dictionary of the same structure.

Quantities are text with units, such as `"400 Gbps"`. Paths within a text or dictionary are relative to the
current folder; within a file, to the file's folder.
"""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with replicates done and replicates in all."""


def run(
    scenario: Scenario,
    *,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    threads: int = 1,
    controllers: Iterable[Factory] = (),
) -> _native.Run:
    """Run a scenario.

    `engine` is `"flow"` or `"packet"`, whatever the scenario says; `threads` are those of one run of the
    packet engine, whose result does not depend on them.

    Of a scenario with `[cluster]` it is the weeks of jobs under its policy and seed.

    With `folder` the run is written there; if a complete run of the same case is there already, it is taken
    as it is. Ctrl-C ends the call at once; the simulation behind it breaks off soon after,
    between replicates.

    >>> import railtwin as rt
    >>> run = rt.run('''
    ... schema = 1
    ... name = "ring-of-two"
    ... [fabric]
    ... preset = "fat-tree"
    ... k = 4
    ... [[job]]
    ... gpus = 2
    ... collective = { kind = "all-reduce", bytes = "1 GB" }
    ... ''')
    >>> run.figure("step_time").unit
    's'

    `controllers` are classes of `railtwin.control.Controller`, or functions that make one: they steer beside
    the scenario's balancer. What they do is in no hash, so with `folder` such a run is never taken for one
    that is there; what they raise ends the run, leaves no folder, and is raised here.

    Raises `ScenarioError`, `FileError`, `FolderError`, `ControllerError`, and `ArgumentError` for a sweep.
    """
    return _native.run_one(scenario, folder, progress, engine, threads, controllers)


def sweep(
    scenario: Scenario,
    *,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    threads: int = 1,
    controllers: Iterable[Factory] = (),
    on: str | None = None,
) -> list[_native.Run]:
    """Run every point of a scenario in which a list stands where one value is wanted.

    `engine`, `threads` and `controllers` are those of `run`. An axis of engines ends where `engine` is given.
    With `folder` each point has a run folder in it, named by scenario and run id, and a sweep that was broken
    off goes on where it was.

    >>> import railtwin as rt
    >>> runs = rt.sweep({
    ...     "schema": 1,
    ...     "name": "sizes",
    ...     "fabric": {"preset": "fat-tree", "k": 4},
    ...     "job": [{"gpus": [2, 4], "collective": {"kind": "all-reduce", "bytes": "1 GB"}}],
    ... })
    >>> [run.label for run in runs]
    [{'job.gpus': '2'}, {'job.gpus': '4'}]

    With `on="ray"` the points that are missing in `folder` run on a Ray cluster: the one that is connected,
    else what Ray finds or makes. `"ray:ADDRESS"` and `"ray://HOST:PORT"` name another. It needs the extra
    `ray`, and takes no controllers, which do not travel.

    Raises `ScenarioError`, `FileError`, `FolderError`, `ControllerError`, with `on` also `ArgumentError`,
    `MissingPackageError`, and `Error` for points that failed; those that did not are kept.
    """
    if on is not None:
        if folder is None or tuple(controllers):
            what = "needs a folder" if folder is None else "takes no controllers"
            raise ArgumentError(f"a sweep on {on} {what}", hint="give folder= and no controllers=")
        path = scenario if isinstance(scenario, os.PathLike) or "\n" not in scenario else None
        base = Path(path).parent if isinstance(path, str | os.PathLike) else Path()
        missing = _native.missing_points(scenario, folder, engine, threads)
        if missing:
            # Not before it is asked for: `python -m railtwin.on_ray` is a program too.
            from railtwin import on_ray

            on_ray.run_missing(missing, on, base, Path(folder), threads, progress)
            progress = None
        controllers = ()
    return _native.run_sweep(scenario, folder, progress, engine, threads, controllers)


def open(folder: str | os.PathLike[str]) -> _native.Run:
    """Open a run folder; its tables are read when they are asked for.

    >>> import pathlib, tempfile
    >>> import railtwin as rt
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "two"
    >>> done = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]}, folder=folder)
    >>> rt.open(folder).tables
    ['actions', 'exposed', 'flows', 'incidents', 'links', 'operations', 'steps']

    Raises `FolderError`.
    """
    return _native.open_folder(folder)


def design(preset_or_scenario: Scenario, *, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Count what a fabric consists of: switches, cables, ports, oversubscription.

    A bare word is a preset (hpn, superpod, fat-tree and others); `settings` are keys of
    `[fabric]`.

    >>> import railtwin as rt
    >>> rt.design("hpn", settings={"segments": 2})["gpus_active"]
    2048

    Raises `ScenarioError`, `FileError`, `ArgumentError`.
    """
    return _native.design(preset_or_scenario, settings)


def schedule(
    jobs: Scenario,
    *,
    policy: str | None = None,
    profile: str | None = None,
    optimum: bool = False,
    replicate: int = 0,
) -> dict[str, Any]:
    """Say whose communication goes first, and by which path, when jobs share links.

    `jobs` is what `railtwin schedule` reads: a path, a TOML text or a dictionary with `link` and `job`, or a
    scenario, of which the answer is what the controller that ranks jobs hands out in replicate `replicate` of
    its run: per job its traffic class, and per queue pair its UDP source port and its links.
    `policy` is `"crux"` (where nothing is said and the scenario's balancer ranks no jobs), `"crux-pa"`,
    `"crux-ps-pa"`, `"sincronia"`, `"varys"` or `"taccl"`, and of links and jobs `"ecmp"` or `"cassini"`, too.
    With `profile`, such as `"30 s"`, intensities are measured as Crux's daemon does, each job first for this
    long. With `optimum` all paths and all orders on the levels of the network are tried in place of a policy:
    at most 6 jobs and 1024 ways.
    Both are of links and jobs.
    Times of the answer are in seconds (`..._s`), `utilization` is 0..1, `level` 0 goes first.

    >>> import railtwin as rt
    >>> def job(name, seconds):
    ...     path = {"links": ["spine"], "source_port": 49152}
    ...     transfer = {"bytes": f"{seconds} GB", "path": [path]}
    ...     return {"name": name, "gpus": 10, "compute": f"{seconds} s", "transfer": [transfer]}
    >>> plan = rt.schedule({
    ...     "schema": 1,
    ...     "link": [{"name": "spine", "capacity": "8 Gbps"}],
    ...     "job": [job("long", 2), job("short", 1)],
    ... })
    >>> [(job["name"], job["level"], job["traffic_class"]) for job in plan["jobs"]]
    [('long', 1, 192), ('short', 0, 224)]

    Raises `ScenarioError`, `FileError`, `ArgumentError`.
    """
    return _native.schedule(jobs, policy, profile, optimum, replicate)


def interference(
    scenario: Scenario, *, draws: int = 50, steps: int = 8, progress: Progress | None = None
) -> dict[str, Any]:
    """Say what jobs on one fabric cost each other, as `railtwin interference --json` does.

    Each job runs alone on its hosts and all together, over `draws` of starts, hash seeds and computing
    times; each is measured over `steps` of the slowest job. Bands are `p5`, `median`, `p95`; times are in
    seconds (`..._s`).

    >>> import railtwin as rt
    >>> job = {"gpus": 16, "collective": {"kind": "all-reduce", "bytes": "1 GB", "compute": "1 ms"}}
    >>> fabric = {"preset": "leaf-spine", "leaves": 4, "host": {"model": "hgx-a100"}}
    >>> told = rt.interference(
    ...     {"schema": 1, "name": "two", "fabric": fabric, "job": [{**job, "count": 2}]}, draws=2
    ... )
    >>> [job["name"] for job in told["jobs"]]
    ['job-0-0', 'job-0-1']

    Raises `ScenarioError`, `FileError`, `ArgumentError`.
    """
    return _native.interference(scenario, draws, steps, progress)


def what_if(
    scenario: Scenario,
    *,
    job: str | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compare the placements of a job before it is placed, as `railtwin schedule --what-if --json` does.

    `job` is the name of the one that is to be placed, by default the last. The best comes first in `ways`;
    each of the other jobs has its step time beside the job and, in `without`, without it.

    >>> import railtwin as rt
    >>> told = rt.what_if({
    ...     "schema": 1,
    ...     "name": "two",
    ...     "fabric": {"preset": "hpn", "segments": 2, "hosts": 4},
    ...     "job": [{"gpus": 16, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}],
    ... })
    >>> told["job"], any(way["is_written"] for way in told["ways"])
    ('job-0', True)

    Raises `ScenarioError`, `FileError`, `ArgumentError`.
    """
    return _native.what_if(scenario, job, draws, progress)


def impact(
    scenario: Scenario,
    device: str | Sequence[str],
    *,
    draws: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the jobs and ranks on a device and the cost of draining it, as `railtwin impact --json` does.

    `device` is a leaf, spine, core, host, NIC or cable, by the name that reports use. Of several names the
    answer has `devices`, each drained alone, and `together`, all of them drained at once.

    >>> import railtwin as rt
    >>> told = rt.impact({
    ...     "schema": 1,
    ...     "name": "two",
    ...     "fabric": {"preset": "hpn", "segments": 2, "hosts": 4},
    ...     "job": [{"gpus": 16, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}],
    ... }, "host-1")
    >>> told["kind"], len(told["jobs"][0]["touched"])
    ('host', 16)

    Raises `ScenarioError`, `FileError`, `ArgumentError`.
    """
    devices = [device] if isinstance(device, str) else list(device)
    return _native.impact(scenario, devices, draws, progress)


def intranode(
    scenario: Scenario, *, threads: int = 1, regress: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Run all points of a scenario with `[intranode]`, as `railtwin intranode --json` does.

    Points run side by side, or with several `threads` one after another, each on so many; the answer does not
    depend on it. Each of `points` has its `label`, the axes and what was chosen, and its `figures`: rates in
    bit/s, latencies in seconds, shares 0..1; one without a value has a `reason`. `saturations` and `orders`
    are told of a sweep over loads, `warnings` of keys that change nothing; with `regress` also `regressions`,
    equation 3 of SAURON fitted to a sweep over shares that leave hosts.

    >>> import railtwin as rt
    >>> told = rt.intranode({
    ...     "schema": 1,
    ...     "name": "inside",
    ...     "fabric": {"preset": "rlft", "ports": 4, "host": {"gpus": 2, "nics": 1, "nvlink": "512 Gbps"}},
    ...     "intranode": {"load": [0.1, 0.5], "duration": "30 us", "warm_up": "10 us"},
    ... })
    >>> [point["label"] for point in told["points"]]
    [[['intranode.load', '0.1']], [['intranode.load', '0.5']]]
    >>> told["saturations"]
    [{'label': [], 'load': None}]

    Raises `ScenarioError`, `FileError`, `ArgumentError`.
    """
    return _native.intranode(scenario, threads, regress, progress)


def cluster(
    scenario: Scenario,
    *,
    policies: Sequence[str] = (),
    seeds: int = 1,
    controllers: Sequence[Factory] = (),
) -> list[dict[str, Any]]:
    """Simulate weeks of jobs that share a fabric, as `railtwin cluster --json` does.

    `scenario` has `[cluster]`; `policies` are those of `schedule`, by default the one of the scenario.
    One dictionary for each policy and seed, policy after policy: `figures`, `jobs`, `hours`, `contended`, in
    `reasons` why figures have no value, and in `assumed` what was drawn at random.
    Times are in seconds (`..._s`) from the begin, shares 0..1. With `placement = "own"` in `[cluster]` the
    `controllers` (`railtwin.control`) say which job starts where.

    >>> import railtwin as rt
    >>> fabric = {"preset": "leaf-spine", "leaves": 4, "host": {"model": "hgx-a100"}}
    >>> weeks = {"schema": 1, "name": "weeks", "fabric": fabric, "cluster": {"days": 0.5}}
    >>> [run["policy"] for run in rt.cluster(weeks, policies=["ecmp", "crux"])]
    ['ecmp', 'crux']

    Raises `ScenarioError`, `FileError`, `ArgumentError`, and what a controller raised.
    """
    return _native.cluster(scenario, list(policies), seeds, list(controllers))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario.

    >>> import railtwin as rt
    >>> rt.schema()["title"]
    'railtwin scenario'
    """
    return _native.schema()
