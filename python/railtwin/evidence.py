# Answers to evidence: diagnoses, checks of bandwidth, calibrations.
"""What telemetry, logs and measured bandwidths say, as typed results."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from railtwin import _native

Files: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A file, a folder, an archive (`.tar`, `.tar.gz`), or several of them."""


def _all(files: Files) -> list[str | os.PathLike[str]]:
    return [files] if isinstance(files, str | os.PathLike) else list(files)


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a cluster: a host, GPU, NIC, rank, cable, switch."""

    kind: str
    """Its kind, such as `"host"`."""
    name: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A component that may be at fault."""

    component: Component
    """The component."""
    share: float
    """Its part of the confidence, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation behind a finding."""

    words: str
    """The observation as a sentence."""
    seen: Mapping[str, Any]
    """The observation as a kind with fields."""
    table: str
    """The table that it is from."""
    value: float
    """The measured value."""
    expected: float
    """The value that was to be expected."""
    unit: str
    """The unit of both, empty for a count."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault that the evidence shows, and its suspects."""

    id: str
    """A name that stays the same over calls."""
    syndrome: str
    """What goes wrong, such as `"communication-hang"`."""
    accuses: bool
    """Whether it is sure enough to accuse its suspects."""
    faults: tuple[str, ...]
    """Faults that it may be, the likeliest first."""
    suspects: tuple[Suspect, ...]
    """Suspects, the likeliest first; none where the evidence is not enough."""
    confidence: float
    """Confidence, 0 to 1."""
    severity: float
    """The part of the work that is lost, 0 to 1."""
    at_ns: int
    """Time at which it was found; 0 where files have no clock."""
    since_ns: tuple[int, int]
    """Earliest and latest time at which it began."""
    time_lost_s: float | None
    """Seconds that the job lost to it."""
    evidence: tuple[Evidence, ...]
    """Observations."""
    advice: str
    """What to do next."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings with one cause."""

    findings: tuple[int, ...]
    """Rows of `Diagnosis.findings`."""
    follows: tuple[int, ...]
    """Rows of findings that follow from it."""
    confidence: float
    """Confidence, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file from which nothing was read."""

    file: str
    """The file."""
    reason: str
    """Why."""
    recognized: bool
    """Whether its format is known."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault of a live job, from the sign that opened it until it is over."""

    id: int
    """Number, from 1 on in the order of opening."""
    kind: str
    """What it is, such as `"silent-link"`; `"observer-starved"` accuses nobody."""
    accuses: bool
    """Whether it is of the job and names somebody."""
    opened_at: int
    """Time of the first sign, ns on the clock of the records."""
    confirmed_at: int | None
    """Time at which it was confirmed; None where it was not."""
    closed_at: int | None
    """Time at which it was over; None where it was not."""
    suspects: tuple[Suspect, ...]
    """Suspects, the likeliest first."""
    next_step: str
    """What to do."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The answer to telemetry of a job or of a cluster."""

    answer: str
    """The answer in a sentence."""
    findings: tuple[Finding, ...]
    """Findings, the surest first."""
    causes: tuple[Cause, ...]
    """Findings joined by cause."""
    notes: tuple[str, ...]
    """Remarks on the evidence."""
    unread: tuple[Unread, ...]
    """Files from which nothing was read."""
    failed_tests: int
    """Tests that did not come to their end."""
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it, as `railtwin diagnose --json` prints it."""
    incidents: tuple[Incident, ...] = ()
    """Incidents of live records, in the order of their opening."""

    @property
    def accusations(self) -> tuple[Finding, ...]:
        """Findings that accuse.

        >>> import railtwin as rt
        >>> rt.Diagnosis("", (), (), (), (), 0, {}).accusations
        ()
        """
        return tuple(finding for finding in self.findings if finding.accuses)

    @property
    def is_well(self) -> bool:
        """Whether nobody is accused, no test failed, and all recognized files were read."""
        return not (self.accusations or self.failed_tests or any(file.recognized for file in self.unread))


@dataclass(frozen=True, slots=True)
class CollectiveBandwidth:
    """Tests of one collective over as many hosts and GPUs."""

    collective: str
    """The collective."""
    hosts: int
    """Hosts of a test."""
    ranks: int
    """Ranks of a test."""
    verdict: str
    """`"normal"`, `"low"`, or why nothing can be said."""
    large_gb_per_s: float | None
    """Median bus bandwidth at large sizes, GB/s."""
    line_rate_gb_per_s: float | None
    """Line rate for this collective, GB/s; None where the hosts are not known."""
    tests: int
    """Number of tests."""


@dataclass(frozen=True, slots=True)
class LowTest:
    """A test below its peers, or one whose bandwidth falls with size."""

    file: str
    """The log."""
    hosts: tuple[str, ...]
    """The hosts."""
    gb_per_s: float | None
    """Median bus bandwidth at large sizes, GB/s."""
    peers_gb_per_s: float | None
    """That of its peers, GB/s."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Measured bandwidths against hardware and against each other."""

    answer: str
    """The answer in a sentence."""
    collectives: tuple[CollectiveBandwidth, ...]
    """Tests by collective and shape."""
    low: tuple[LowTest, ...]
    """Tests that are low."""
    unread: tuple[Unread, ...]
    """Files from which nothing was read."""
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it, as `railtwin check bandwidth --json` prints it."""


@dataclass(frozen=True, slots=True)
class FittedRange:
    """The cost of a collective over a range of sizes."""

    from_bytes: int
    """The smallest size."""
    until_bytes: int | None
    """The size above the range; None for all larger ones."""
    algorithm: str
    """The algorithm that fits."""
    step_us: float
    """Latency of a step, microseconds."""
    bus_gb_per_s: float
    """Bus bandwidth, GB/s."""


@dataclass(frozen=True, slots=True)
class FittedCollective:
    """The cost of a collective on some hosts."""

    collective: str
    """The collective."""
    hosts: int
    """Hosts."""
    gpus: int
    """GPUs of a host."""
    ranges: tuple[FittedRange, ...]
    """Ranges of sizes, ascending."""
    errors: tuple[float, ...]
    """Relative error of the fit at each measured size."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Costs of collectives and transfers, fitted to measurements."""

    host_model: str | None
    """The host model."""
    collectives: tuple[FittedCollective, ...]
    """Fitted collectives."""
    not_identified: tuple[str, ...]
    """Constants that the logs say nothing of."""
    caps: str = field(repr=False)
    """The caps file: `[fabric.host] caps` takes its path."""
    data: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it, as `railtwin calibrate --json` prints it."""

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the caps file and return its path.

        >>> import pathlib, tempfile
        >>> import railtwin as rt
        >>> fitted = rt.Calibration(None, (), (), "schema = 1", {})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fitted.write(pathlib.Path(folder) / "caps.toml").name
        'caps.toml'
        """
        written = Path(path)
        written.write_text(self.caps, encoding="utf-8")
        return written


def diagnose(
    files: Files,
    *,
    fabric: str | os.PathLike[str] | None = None,
    names: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    later: Files = (),
    hang_limit: str | None = None,
    job: str = "job",
) -> Diagnosis:
    """Find who is at fault in telemetry of a job or of a cluster.

    `fabric` is a scenario whose fabric the hosts are in, `names` a file with the names of hosts in it,
    `baseline` a folder in which all was well, `later` dumps or states of the same job that were made later,
    `hang_limit` how long a live job may stand before that is a hang (`"30 s"`).

    >>> import pathlib, tempfile
    >>> import railtwin as rt
    >>> line = "gpu-7 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pathlib.Path(folder) / "dmesg.log"
    ...     _ = log.write_text("Nov  3 10:00:00 " + line)
    ...     found = rt.diagnose(log)
    >>> found.is_well, found.findings[0].suspects[0].component.name
    (False, 'gpu-7/0000:3b:00')

    Raises `FileError` for a file that is not there, `ArgumentError` for files without telemetry, and
    `ScenarioError`.
    """
    data = _native.diagnose(_all(files), fabric, names, baseline, _all(later), hang_limit, job)
    return Diagnosis(
        answer=data["answer"],
        findings=tuple(_finding(one) for one in data["findings"]),
        causes=tuple(
            Cause(tuple(one["findings"]), tuple(one["follows"]), one["confidence"]) for one in data["causes"]
        ),
        notes=tuple(str(note) for note in data["notes"]),
        unread=_unread(data),
        failed_tests=data["failed_tests"],
        data=data,
        incidents=tuple(_incident(one) for one in data.get("incidents") or ()),
    )


def _incident(one: Mapping[str, Any]) -> Incident:
    return Incident(
        id=one["id"],
        kind=one["kind"],
        accuses=one["accuses"],
        opened_at=one["opened_at"],
        confirmed_at=one["confirmed_at"],
        closed_at=one["closed_at"],
        suspects=tuple(Suspect(Component(**who["component"]), who["share"]) for who in one["suspects"]),
        next_step=one["next_step"],
    )


def _finding(one: Mapping[str, Any]) -> Finding:
    return Finding(
        id=one["id"],
        syndrome=one["syndrome"],
        accuses=one["accuses"],
        faults=tuple(one["faults"]),
        suspects=tuple(Suspect(Component(**who["component"]), who["share"]) for who in one["suspects"]),
        confidence=one["confidence"],
        severity=one["severity"],
        at_ns=one["at_ns"],
        since_ns=(one["since_from_ns"], one["since_until_ns"]),
        time_lost_s=one["time_lost_s"],
        evidence=tuple(
            Evidence(
                line["what"], line["seen"], line["table"], line["value"], line["expected"], line["unit"] or ""
            )
            for line in one["evidence"]
        ),
        advice=one["advice"],
    )


def _unread(data: Mapping[str, Any]) -> tuple[Unread, ...]:
    return tuple(Unread(**one) for one in data["unread"])


def check_bandwidth(logs: Files, *, fabric: str | None = None) -> Bandwidth:
    """Hold bandwidths of nccl-tests against what hardware allows, and against their peers.

    `fabric` is a preset or a scenario file that says what the hosts are; without it the GPUs' names tell.

    >>> import pathlib, tempfile
    >>> import railtwin as rt
    >>> log = '''# Collective test starting: all_reduce_perf
    ... # nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5
    ... # Using devices
    ... #  Rank  0 Group  0 Pid      1 on       gpu1 device  0 [0000:19:00] NVIDIA H100 80GB HBM3
    ... #  Rank  1 Group  0 Pid      2 on       gpu2 device  0 [0000:19:00] NVIDIA H100 80GB HBM3
    ... #  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw
    ...   1073741824  268435456  float  sum  -1  25000.0  42.95  42.95  0  25000.0  42.95  42.95
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "all_reduce_perf.log"
    ...     _ = path.write_text(log)
    ...     found = rt.check_bandwidth(path)
    >>> found.collectives[0].hosts
    2

    Raises `FileError` for a file that is not there, and `ArgumentError` for logs without tests.
    """
    data = _native.check_bandwidth(_all(logs), fabric)
    return Bandwidth(
        answer=data["answer"],
        collectives=tuple(
            CollectiveBandwidth(
                collective=one["collective"],
                hosts=one["hosts"],
                ranks=one["ranks"],
                verdict=one["verdict"],
                large_gb_per_s=one["large_median_gb_per_s"],
                line_rate_gb_per_s=one["line_rate_gb_per_s"],
                tests=one["tests"],
            )
            for one in data["collectives"]
        ),
        low=tuple(
            LowTest(one["file"], tuple(one["hosts"]), one["large_median_gb_per_s"], one["peers_gb_per_s"])
            for one in data["low"]
        ),
        unread=_unread(data),
        data=data,
    )


def calibrate(logs: Files, *, fabric: str | None = None, gpus: int | None = None) -> Calibration:
    """Fit what collectives and transfers cost the hosts of a cluster to its own logs.

    `fabric` says what the hosts are, as in `check_bandwidth`; `gpus` are those of a host, for step logs that
    name no hosts.

    >>> import pathlib, tempfile
    >>> import railtwin as rt
    >>> log = '''# Collective test starting: all_reduce_perf
    ... # nThread 1 nGpus 1 minBytes 33554432 maxBytes 67108864 step: 2(factor) warmup iters: 5
    ... # Using devices
    ... #  Rank  0 Group  0 Pid      1 on       gpu1 device  0 [0000:19:00] NVIDIA H100 80GB HBM3
    ... #  Rank  1 Group  0 Pid      2 on       gpu2 device  0 [0000:19:00] NVIDIA H100 80GB HBM3
    ... #  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw
    ...   33554432  8388608  float  sum  -1  900.0  37.28  37.28  0  900.0  37.28  37.28
    ...   67108864  16777216  float  sum  -1  1700.0  39.48  39.48  0  1700.0  39.48  39.48
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "all_reduce_perf.log"
    ...     _ = path.write_text(log)
    ...     fitted = rt.calibrate(path)
    >>> fitted.collectives[0].hosts, "[[cap]]" in fitted.caps
    (2, True)

    Raises `FileError` for a file that is not there, and `ArgumentError` for logs without measurements.
    """
    data = _native.calibrate(_all(logs), fabric, gpus)
    return Calibration(
        host_model=data["host_model"],
        collectives=tuple(
            FittedCollective(
                collective=one["collective"],
                hosts=one["hosts"],
                gpus=one["gpus"],
                ranges=tuple(
                    FittedRange(
                        row["from_bytes"],
                        row["until_bytes"],
                        row["algorithm"],
                        row["step_us"],
                        row["bus_gb_per_s"],
                    )
                    for row in one["ranges"]
                ),
                errors=tuple(one["errors"]),
            )
            for one in data["kinds"]
        ),
        not_identified=tuple(data["not_identified"]),
        caps=data["caps"],
        data=data,
    )
