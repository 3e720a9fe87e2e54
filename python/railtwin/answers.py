# Answers that need evidence and a simulation: explanations of a figure, triage of bad hosts.
"""What a measured figure may be due to, and which bad host to take out first, as typed results."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railtwin import _native
from railtwin.evidence import Component, Files, _all


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A cause that a measured figure may have, simulated."""

    name: str
    """Its name, the same in each answer."""
    area: str
    """Where it lies: setting, algorithm, transport, host, fabric, collision, or as expected."""
    says: str
    """The cause in a few words."""
    figure: float | None
    """Simulated figure, GB/s or seconds; None where it was not simulated."""
    low: float | None
    """Lowest figure that it may come to."""
    high: float | None
    """Highest figure that it may come to."""
    off: float | None
    """Share by which the measured figure is above the simulated one."""
    fits: bool
    """Whether the measured figure is between `low` and `high`."""
    share: float | None
    """Share of a part's rate that comes to the measured figure; None where nothing was fitted."""
    shown_by: tuple[str, ...]
    """Findings of logs and telemetry that show it."""
    sign: str
    """What shows it directly."""
    remedy: str
    """What to do about it, where evidence names it."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement that parts the first two hypotheses."""

    how: str
    """How to make it."""
    first: float
    """Its figure under the first hypothesis, GB/s or seconds."""
    second: float
    """Its figure under the second one."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Causes of a measured figure, the likeliest first."""

    answer: str
    """The answer in a sentence."""
    unit: str
    """Unit of all figures: `"GB/s"` or `"s"`."""
    measured: float
    """The measured figure."""
    expected: Hypothesis
    """The figure without any fault."""
    hypotheses: tuple[Hypothesis, ...]
    """All causes that were simulated or are shown; that nothing is wrong is one."""
    alike: int
    """How many of the first fit about as well as the first."""
    next: Measurement | None
    """The measurement that parts the first two; None where none does."""
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it, as `railtwin explain --json` prints it."""


@dataclass(frozen=True, slots=True)
class JobCost:
    """Cost of a culprit to one job."""

    name: str
    """The job."""
    gpus: int
    """Its GPUs."""
    touched: int
    """Ranks on the culprit, or with a queue pair over it."""
    gpu_hours_per_hour: float | None
    """GPU-hours lost in each hour; None where no finding tells."""
    restart_gpu_hours: float
    """GPU-hours of the restart that taking it out needs."""


@dataclass(frozen=True, slots=True)
class Order:
    """A culprit with its costs."""

    name: str
    """Its name in the fabric."""
    suspects: tuple[Component, ...]
    """Suspects of findings that it stands for."""
    faults: tuple[str, ...]
    """Faults that it may have."""
    confidence: float
    """Confidence of the surest finding, 0 to 1."""
    jobs: tuple[JobCost, ...]
    """Costs of the jobs that it touches."""
    replaced_by: str | None
    """The host that takes its place; None where none is free or none is needed."""
    advice: str
    """Advice of the surest finding."""


@dataclass(frozen=True, slots=True)
class Triage:
    """Culprits in the order in which to take them out."""

    answer: str
    """The diagnosis in a sentence."""
    orders: tuple[Order, ...]
    """Culprits, the most costly first."""
    unsure: tuple[str, ...]
    """Names of suspects of which one alone is at fault."""
    restart_h: float
    """Hours of a job that one restart costs."""
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it, as `railtwin triage --json` prints it."""


def explain(
    files: Files = (),
    *,
    scenario: str | os.PathLike[str] | None = None,
    busbw: str | None = None,
    step_time: str | None = None,
    hosts: int | None = None,
    gpus: int | None = None,
    host: str | None = None,
    collective: str | None = None,
    bytes: str | None = None,  # noqa: A002 - the name that the command has
    job: str | None = None,
    draws: int = 16,
    progress: Callable[[int, int], object] | None = None,
) -> Explanation:
    """Say what a measured bus bandwidth or step time may be due to, each cause simulated.

    `files` are logs of nccl-tests, other logs of the job, or one run folder; `scenario` has the fabric and
    the job. Without a scenario `hosts`, `gpus`, `host`, `collective` and `bytes` describe the test. `busbw`
    and `step_time` are what was measured, where no file tells it.

    >>> import railtwin as rt
    >>> found = rt.explain(busbw="180 GB/s", hosts=32)
    >>> found.hypotheses[0].fits, found.expected.fits
    (True, False)

    Raises `FileError` for a file that is not there, `ArgumentError` for settings that cannot be and where
    nothing says what was measured, and `ScenarioError`.
    """
    data = _native.explain(
        _all(files), scenario, busbw, step_time, hosts, gpus, host, collective, bytes, job, draws, progress
    )
    after = data["next"]
    return Explanation(
        answer=data["answer"],
        unit=data["unit"],
        measured=data["measured"],
        expected=_hypothesis(data["expected"]),
        hypotheses=tuple(_hypothesis(one) for one in data["hypotheses"]),
        alike=data["alike"],
        next=None if after is None else Measurement(after["how"], after["first"], after["second"]),
        data=data,
    )


def _hypothesis(one: Mapping[str, Any]) -> Hypothesis:
    return Hypothesis(**{**one, "shown_by": tuple(one["shown_by"])})


def triage(
    files: Files,
    *,
    scenario: str | os.PathLike[str] | None = None,
    fabric: str | os.PathLike[str] | None = None,
    jobs: str | os.PathLike[str] | None = None,
    names: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    later: Files = (),
    checkpoint_interval: str = "3 h",
    draws: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Triage:
    """Say which culprits to take out first, what each costs the jobs of a scenario and what replaces it.

    `scenario` has the fabric and the jobs. In place of it `fabric` is a scenario whose fabric alone counts,
    and `jobs` a CSV with the columns `job` and `hosts`; without `jobs` no costs are told.

    >>> import pathlib, tempfile
    >>> import railtwin as rt
    >>> line = "host-3 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    >>> cluster = '''schema = 1
    ... name = "cluster"
    ... [fabric]
    ... preset = "fat-tree"
    ... k = 4
    ... [[job]]
    ... hosts = 8
    ... collective = { kind = "all-reduce", bytes = "1 MB" }
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log, scenario = pathlib.Path(folder) / "dmesg.log", pathlib.Path(folder) / "cluster.toml"
    ...     _ = log.write_text("Nov  3 10:00:00 " + line), scenario.write_text(cluster)
    ...     found = rt.triage(log, scenario=scenario)
    >>> found.orders[0].name, found.orders[0].replaced_by
    ('host-3', 'host-8')

    Raises as `diagnose`, and `ScenarioError`.
    """
    data = _native.triage(
        _all(files),
        scenario,
        fabric,
        jobs,
        names,
        baseline,
        _all(later),
        checkpoint_interval,
        draws,
        progress,
    )
    return Triage(
        answer=data["answer"],
        orders=tuple(_order(one) for one in data["orders"]),
        unsure=tuple(one["name"] for one in data["unsure"]),
        restart_h=data["restart_h"],
        data=data,
    )


def _order(one: Mapping[str, Any]) -> Order:
    return Order(
        name=one["name"],
        suspects=tuple(Component(**suspect) for suspect in one["suspects"]),
        faults=tuple(one["faults"]),
        confidence=one["confidence"],
        jobs=tuple(
            JobCost(
                name=job["name"],
                gpus=job["gpus"],
                touched=job["touched"],
                gpu_hours_per_hour=job["gpu_hours_per_hour"],
                restart_gpu_hours=job["restart_gpu_hours"],
            )
            for job in one["jobs"]
        ),
        replaced_by=one["replaced_by"],
        advice=one["advice"],
    )
