# What a controller of one's own is told, and what it says.
"""Write a controller: events in, actions out.

A controller is any object with `on_event` and `actions`. `railtwin.run` is given its class, or a function
that makes one, and every replicate gets its own; it steers under both engines.

>>> import railtwin as rt
>>> from railtwin.control import Opened, Path
>>> class OnePort:
...     def __init__(self, fabric):
...         self.open = []
...     def on_event(self, now, event):
...         if isinstance(event, Opened):
...             self.open += event.queue_pairs
...     def actions(self, now):
...         while self.open:
...             yield Path(self.open.pop().row, 50_000, "same")
>>> run = rt.run({
...     "schema": 1,
...     "name": "one-port",
...     "fabric": {"preset": "fat-tree", "k": 4},
...     "job": [{"gpus": 4, "collective": {"kind": "all-to-all", "bytes": "1 MB"}}],
... }, controllers=[OnePort])
>>> set(run.table("flows").to_dict()["source_port"])
{50000}

Times are seconds since the start of the run, links and devices numbers from 0, and a link is one direction
of a cable.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from railtwin._native import Fabric

__all__ = [
    "SOURCE_PORTS",
    "Action",
    "Answer",
    "Arrived",
    "Cleared",
    "Closed",
    "Completed",
    "Completion",
    "Confirmed",
    "Controller",
    "Counters",
    "Entry",
    "Event",
    "Fabric",
    "Found",
    "Isolate",
    "LinkCounters",
    "LinkDown",
    "LinkUp",
    "Opened",
    "Path",
    "Place",
    "Placed",
    "Priority",
    "Probe",
    "Probed",
    "QueuePair",
    "QueuePairCounters",
    "Repaired",
    "Restart",
    "Submitted",
    "Swap",
    "Weight",
    "Written",
]

SOURCE_PORTS = range(0xC000, 0x10000)
"""UDP source ports of RoCE v2: a path's `source_port` is one of them."""


@dataclass(frozen=True, slots=True)
class QueuePair:
    """A queue pair as it was opened."""

    row: int
    """Its row among all that were ever opened: what `Path` and `Weight` name."""
    number: int
    """Its number at the target, which switches may hash."""
    port: int
    """The port of the source NIC that it leaves by while that leads anywhere."""
    ports: int
    """Ports of the source NIC towards the fabric."""
    job: int
    """Row of its job, from 0."""
    source: int
    """The NIC that sends, a device."""
    target: int
    """The NIC that receives, a device."""
    bytes: float
    """Bytes that a step of the job sends over it, where all queue pairs of its connection send alike."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A job came, with what its plan says of a step; its queue pairs, if it has any, are told of next."""

    job: int
    """Row of the job."""
    gpus: int
    """Its GPUs."""
    compute: float
    """Seconds that a step takes where communication takes no time."""
    in_line: float
    """Seconds of that in line with communication between hosts or over PCIe; the rest may go on beside it."""
    work: float
    """Computation of all GPUs in a step, GPU-seconds."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Jobs opened queue pairs. Those of the whole run are opened at its start."""

    queue_pairs: tuple[QueuePair, ...]
    """They, by row."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A job is gone, with all its queue pairs."""

    job: int
    """Row of the job."""


@dataclass(frozen=True, slots=True)
class LinkDown:
    """A link is dead: switches route around it, and `[control] report` has passed since."""

    link: int
    """The link."""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A link carries again."""

    link: int
    """The link."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a queue pair completed since the last feedback."""

    queue_pair: int
    """Its row."""
    bytes: int
    """Bytes of messages that completed."""
    time: float
    """Seconds that they took: of each from its posting, or the end of the one before, to its completion."""


@dataclass(frozen=True, slots=True)
class Completed:
    """Messages completed, as hosts tell with `[control] feedback`; who completed none is left out."""

    completions: tuple[Completion, ...]
    """One for each queue pair, by row."""


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """What a link carried since the last feedback."""

    link: int
    """The link."""
    bytes: int
    """Bytes on the wire."""
    utilization: float
    """Share of what it could have carried, 0 to 1."""
    marked: float
    """Share of its packets that its queue marked, 0 to 1."""


@dataclass(frozen=True, slots=True)
class QueuePairCounters:
    """What the receiving NIC counted of a queue pair since the last feedback."""

    queue_pair: int
    """Its row."""
    marked: float
    """Share of its packets that arrived marked, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What switches and hosts counted, told with `[control] feedback`."""

    period: float
    """Seconds since the last feedback."""
    links: tuple[LinkCounters, ...]
    """Links between NICs and switches that carried something, ascending."""
    queue_pairs: tuple[QueuePairCounters, ...]
    """Queue pairs of which packets arrived, by row."""


@dataclass(frozen=True, slots=True)
class Path:
    """A queue pair sends by another source port.

    It holds `[control] programming` later; what is said at the start holds from the start.
    """

    queue_pair: int
    """Row of the queue pair."""
    source_port: int | None
    """One of `SOURCE_PORTS`; None gives the choice back to the host."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


@dataclass(frozen=True, slots=True)
class Priority:
    """What a job sends goes before what jobs of lower priority send, whatever its scenario says."""

    job: int
    """Row of the job."""
    priority: int
    """0 to 7; the highest goes first."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A queue pair carries another share of its connection's bytes, of what is posted from then on.

    What counts is the ratio to the shares of the connection's other queue pairs, which are even until others
    are said. Under a dynamic split each message finds its own queue pair, and shares change nothing.
    """

    queue_pair: int
    """Row of the queue pair."""
    share: float
    """Its share, 0 to 1."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A leaf sends what enters by a link, and is for a prefix, out by another link, whatever it hashes to."""

    ingress: int
    """The link by which packets enter, from a NIC into the leaf."""
    prefix: int
    """The prefix of the target: `Fabric.prefix`."""
    next: int | None
    """The link by which they leave; None takes the entry out."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of an `Entry`."""

    entry: Entry
    """The entry."""
    error: str | None
    """Why the leaf does not hold it; None where it does."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Packets are sent from a port of a NIC to another NIC, to see how many are answered, and when.

    They are traffic of the network: they load what they cross. `[control] probe_size` has their bytes.
    """

    source: int
    """The NIC that sends, a device."""
    target: int
    """The NIC that answers, a device."""
    source_port: int
    """One of `SOURCE_PORTS`: it chooses the path."""
    packets: int = 100
    """How many, 1 to 1,000,000."""
    port: int = 0
    """The port of the source NIC, from 0."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`: that of the first stands for all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a `Probe`."""

    sent: int
    """Packets sent."""
    lost: int
    """Packets to which no answer came within `[control] probe_timeout`."""
    delay: float | None
    """Median time there and back in seconds; None where nothing was answered."""
    delay_max: float | None
    """The longest."""
    loaded: bool
    """Whether a link there or back carried more than half of what it can meanwhile, without probes."""


@dataclass(frozen=True, slots=True)
class Probed:
    """The probes that one call of `actions` asked for are over, `[control] report` ago."""

    answers: tuple[Answer, ...]
    """What became of each, in the order in which they were asked for."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job waits for GPUs, in weeks of jobs (`[cluster] placement = "own"`)."""

    job: int
    """Row of the job."""
    gpus: int
    """GPUs that it wants."""
    duration: float
    """Seconds for which it would run alone, as its owner says."""
    compute: float
    """Seconds that a step computes."""
    bytes: float
    """Bytes that each of its GPUs sends in a step."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A job runs on hosts: told to who steers its hosts, or places jobs."""

    job: int
    """Row of the job."""
    hosts: tuple[int, ...]
    """Its hosts by number, in the order of its ranks."""


@dataclass(frozen=True, slots=True)
class Found:
    """A detector names a host."""

    host: int
    """The host."""
    job: int
    """Row of the job that suffers."""
    confidence: float
    """How sure the detector is, 0 to 1."""
    cause: str
    """What is wrong, in the detector's word, as `[steering] automatic` has it."""
    halts: bool
    """Whether the job stands still by it, rather than being slow."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A person names a host, or asks once more for one that was found and is not out."""

    host: int
    """The host."""
    job: int
    """Row of the job that suffers."""
    confidence: float
    """How sure, 0 to 1."""
    cause: str
    """What is wrong."""
    halts: bool
    """Whether the job stands still by it."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """What stopped a job, and was no host of its own, is gone: it can start again."""

    job: int
    """Row of the job."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A host works again: it has its place still where no spare took it, or else is a spare."""

    host: int
    """The host."""


@dataclass(frozen=True, slots=True)
class Place:
    """A job that waits gets the first free GPUs of a host; it is given all that it wants at one time."""

    job: int
    """Row of the job."""
    host: int
    """The host."""
    gpus: int
    """How many of its GPUs."""
    reason: str = "chosen"
    """Why, in a word."""


@dataclass(frozen=True, slots=True)
class Isolate:
    """The job does not run on a host from now on; `[steering] isolation` later it is out."""

    host: int
    """A host of the job."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


@dataclass(frozen=True, slots=True)
class Swap:
    """A spare takes the place of a host that was isolated, and its ranks in their order."""

    job: int
    """Row of the job."""
    out: int
    """The host that leaves it."""
    spare: int
    """A spare that is free."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A job whose places are all taken starts again from its latest checkpoint."""

    job: int
    """Row of the job."""
    reason: str = "chosen"
    """Why, in a word, for the table `actions`."""


Event: TypeAlias = (
    Arrived
    | Opened
    | Closed
    | LinkDown
    | LinkUp
    | Completed
    | Counters
    | Written
    | Probed
    | Submitted
    | Placed
    | Found
    | Confirmed
    | Cleared
    | Repaired
)
"""What a controller is told. More kinds may come: pass over what you do not know."""

Action: TypeAlias = Path | Weight | Priority | Entry | Probe | Isolate | Swap | Restart | Place
"""What a controller wants done."""


class Controller(Protocol):
    """Whoever decides.

    What it decides may follow from what it was told and from nothing else: a replicate is played more than
    once, and must come out alike. `next_time(self) -> float | None`, if it is there, is asked after `actions`
    for when to be asked again though nothing happens.
    """

    def on_event(self, now: float, event: Event) -> None:
        """Take in what happened, `now` seconds after the start."""

    def actions(self, now: float) -> Iterable[Action]:
        """Return or yield what shall be done, once all events of `now` are told."""


Factory: TypeAlias = Callable[[Fabric], Controller]
"""A class of controllers, or what else makes one from the fabric as it sees it."""
