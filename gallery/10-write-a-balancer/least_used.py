# A balancer of one's own, and what it does beside hashing and C4P: python least_used.py
"""Every queue pair by the source port whose links carry least so far."""

from collections import Counter
from collections.abc import Iterator

from railtwin.control import SOURCE_PORTS, Action, Event, Fabric, LinkDown, LinkUp, Opened, Path, QueuePair


class LeastUsed:
    """Tries source ports of each queue pair in turn and takes the one whose fullest link is the emptiest."""

    name = "least-used"

    def __init__(self, fabric: Fabric, tries: int = 64) -> None:
        self.fabric, self.tries = fabric, tries
        self.open: list[QueuePair] = []
        self.told: dict[int, int] = {}
        self.stale = False

    def on_event(self, now: float, event: Event) -> None:
        """Remember what was opened, and that links changed."""
        if isinstance(event, Opened):
            self.open += event.queue_pairs
        self.stale |= isinstance(event, Opened | LinkDown | LinkUp)

    def actions(self, now: float) -> Iterator[Action]:
        """Place all queue pairs anew, and tell those whose port is another."""
        load: Counter[int] = Counter()
        for one in self.open if self.stale else ():
            ports = [SOURCE_PORTS[(one.row + step) * 67 % len(SOURCE_PORTS)] for step in range(self.tries)]
            ways = {port: self.fabric.route(one, port)[1:] for port in ports}
            best = min(ports, key=lambda port: sorted((load[link] for link in ways[port]), reverse=True))
            load.update(ways[best])
            if self.told.get(one.row) != best:
                self.told[one.row] = best
                yield Path(one.row, best, "least-used")
        self.stale = False
