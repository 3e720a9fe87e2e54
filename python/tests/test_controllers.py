# Controllers of one's own: they steer under both engines, alike each time; what goes wrong in them is theirs.
import doctest
import functools
import itertools
import subprocess
import sys
import tomllib
import traceback
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
import railtwin as rt
import railtwin.control
from railtwin.control import (
    SOURCE_PORTS,
    Arrived,
    Completed,
    Counters,
    Entry,
    Isolate,
    LinkDown,
    LinkUp,
    Opened,
    Place,
    Placed,
    Priority,
    Probe,
    Probed,
    QueuePair,
    Restart,
    Submitted,
    Weight,
    Written,
)
from railtwin.control import Path as Steer

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "gallery" / "10-write-a-balancer"

TEXT = """\
schema = 1
name = "mine"
seed = 3
[run]
replicates = 3
[fabric]
preset = "leaf-spine"
leaves = 4
uplinks = 4
parallel = 1
hosts_per_leaf = 2
rails_per_leaf = 1
host.model = "plain"
[routing]
queue_pairs = 4
[control]
report = "4 us"
programming = "6 us"
[reaction]
detection = "1 us"
lag_failover = "5 us"
ecmp_regroup = "3 us"
withdrawal = "5 us"
convergence = "20 us"
[transport]
timeout = 4
[[job]]
placement = { hosts = [0, 2, 4, 6, 1, 3, 5, 7] }
collective = { kind = "all-to-all", bytes = "16 MB" }
[[fault]]
at = "40 us"
until = "150 us"
spine = "spine-2"
kind = "down"
"""
# The replicate that tables show is the one whose step is the median: with one there is no other.
ONE = TEXT.replace("replicates = 3", "replicates = 1")


@pytest.fixture(scope="module")
def least_used():
    """Return the class of the gallery."""
    space = {"__name__": "least_used"}
    exec(compile((GALLERY / "least_used.py").read_text(), GALLERY / "least_used.py", "exec"), space)
    return space["LeastUsed"]


class Idle:
    def __init__(self, fabric):
        self.fabric = fabric

    def on_event(self, now, event):
        pass

    def actions(self, now):
        return ()


def raising(body):
    """Return a class whose actions are what a function yields."""

    class Wrong(Idle):
        def actions(self, now):
            yield from body(self, now)

    return Wrong


def actions(run):
    """Return the rows of the table `actions`."""
    table = run.table("actions").to_dict()
    return list(zip(*table.values(), strict=True))


def test_an_idle_controller_changes_nothing():
    with_it, without = rt.run(TEXT, controllers=[Idle]), rt.run(TEXT)
    assert with_it.figures == without.figures
    assert with_it.table("flows").to_dict() == without.table("flows").to_dict()
    assert with_it.info["run_id"] != without.info["run_id"]
    assert with_it.info["facts"]["controllers"] == "Idle"
    told = "control.report and control.programming change nothing under balancer ecmp"
    assert (told in without.warnings, told in with_it.warnings) == (True, False)


def test_it_spreads_what_hashing_piles_up(least_used):
    ecmp, mine = rt.run(TEXT), rt.run(TEXT, controllers=[least_used])
    assert mine.figures["leaf_uplink_max_mean_ratio"] < ecmp.figures["leaf_uplink_max_mean_ratio"]
    assert mine.figures["step_time"] < ecmp.figures["step_time"]
    assert {row[2] for row in actions(mine)} == {"least-used"}
    assert actions(ecmp) == []


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_runs_of_one_controller_are_alike(least_used, engine):
    first, second = (rt.run(TEXT, controllers=[least_used], engine=engine) for _ in range(2))
    assert first.info["run_id"] == second.info["run_id"]
    for name in first.tables:
        assert first.table(name).to_dict() == second.table(name).to_dict(), name


def test_both_engines_see_the_same_decisions(least_used):
    flows, packets = (rt.run(ONE, controllers=[least_used], engine=name) for name in ("flow", "packet"))
    end = 140_000_000
    assert any(row[0] > 0 for row in actions(flows))
    assert [row for row in actions(flows) if row[0] <= end] == [
        row for row in actions(packets) if row[0] <= end
    ]
    for row in actions(flows):
        assert row[1] == row[0] + (6_000_000 if row[0] > 0 else 0)


def test_events_come_in_time_with_what_they_speak_of():
    logs = []

    class Listens(Idle):
        def __init__(self, fabric):
            super().__init__(fabric)
            self.log = []
            logs.append((fabric.replicate, self.log))

        def on_event(self, now, event):
            self.log.append((now, event, tuple(self.fabric.dead)))

    rt.run(TEXT, controllers=[Listens])
    assert {replicate for replicate, _ in logs} == {0, 1, 2}
    log = max((log for _, log in logs), key=len)
    now, arrived, dead = log[0]
    assert (now, type(arrived), dead) == (0.0, Arrived, ())
    assert arrived.job == 0
    assert arrived.gpus > 0
    assert arrived.compute >= arrived.in_line >= 0
    now, opened, dead = log[1]
    assert (now, type(opened), dead) == (0.0, Opened, ())
    pairs = opened.queue_pairs
    assert [one.row for one in pairs] == list(range(len(pairs)))
    assert len(pairs) == 8 * 7 * 4
    assert all(isinstance(one, QueuePair) and one.port == 0 and one.ports == 1 for one in pairs)
    assert sum(one.bytes for one in pairs) == pytest.approx(8 * 7 * 2e6)
    down = [one for one in log if isinstance(one[1], LinkDown)]
    up = [one for one in log if isinstance(one[1], LinkUp)]
    assert {one[1].link for one in down} == {one[1].link for one in up}
    assert len(down) == len(up) == 8
    # Leaves leave the dead spine out 4 us after it died, and 4 us later controllers hear of it.
    assert down[0][0] == pytest.approx(48e-6)
    assert down[-1][2] == tuple(sorted(one[1].link for one in down))
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(log))


def test_ways_are_those_of_the_run():
    asked = Counter()

    class Asks(Idle):
        def on_event(self, now, event):
            if isinstance(event, Opened):
                self.open = event.queue_pairs

        def actions(self, now):
            asked.clear()
            for one in self.open if now == 0 else ():
                port = SOURCE_PORTS[one.row * 31]
                asked.update(self.fabric.route(one, port))
                yield Steer(one.row, port)

    table = {key: value for key, value in tomllib.loads(ONE).items() if key != "fault"}
    links = rt.run(table, controllers=[Asks]).table("links").to_dict()
    flows = dict(zip(links["link"], links["flows"], strict=True))
    assert {link: count for link, count in flows.items() if count} == asked


def test_entries_go_before_the_hash():
    heard = []

    class Places(Idle):
        def on_event(self, now, event):
            if isinstance(event, Opened):
                self.open = list(event.queue_pairs)
            if isinstance(event, Written):
                heard.append(event)

        def actions(self, now):
            if now > 0:
                return
            done = set()
            for one in self.open:
                way = self.fabric.route(one, 50_000)
                key = (way[0], self.fabric.prefix(one.target))
                if len(way) == 4 and key not in done:
                    done.add(key)
                    yield Entry(*key, way[1], "placed by hand")

    run = rt.run(ONE, controllers=[Places])
    rows = actions(run)
    assert {row[3] for row in rows} == {"entry-add"}
    assert {row[4] for row in rows} == {"placed by hand"}
    assert heard
    assert all(event.error is None for event in heard)
    ecmp = rt.run(ONE)
    flows, hashed = (one.table("flows").to_dict() for one in (run, ecmp))
    assert flows == hashed
    assert run.table("links").to_dict()["flows"] != ecmp.table("links").to_dict()["flows"]


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_priorities_hold_from_when_they_are_said(engine):
    class Second(Idle):
        def actions(self, now):
            return [Priority(1, 7, "second first")] if now == 0 else []

    send = {"collective": {"kind": "send-receive", "bytes": "20 MB"}, "hosts": 2}
    scenario = {
        "schema": 1,
        "name": "two",
        "fabric": {
            "preset": "leaf-spine",
            "leaves": 2,
            "hosts_per_leaf": 2,
            "uplinks": 1,
            "parallel": 1,
            "host": {"model": "plain"},
        },
        "packet": {"congestion_control": "none"},
        "job": [send | {"placement": {"hosts": hosts}} for hosts in ([0, 2], [1, 3])],
    }
    alike = rt.run(scenario, engine=engine)
    first = rt.run(scenario, controllers=[Second], engine=engine)
    before, after = ([run.figures[f"job-{job}.step_time"] for job in (0, 1)] for run in (alike, first))
    assert after[1] < 0.6 * before[1]
    assert after[0] == pytest.approx(before[0], rel=0.05)
    rows = first.table("actions").to_dict()
    assert (rows["action"], rows["job"]) == (["priority"], ["job-1"])


def test_what_it_raises_is_its_own_with_its_line(tmp_path):
    def stumbles(self, now):
        yield Steer(0, 50_000)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        rt.run(TEXT, controllers=[raising(stumbles)], folder=tmp_path / "run")
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("stumbles", 'raise ZeroDivisionError("mine")')
    assert Path(last.filename) == Path(__file__)
    assert caught.value.__notes__ == ["in controller Wrong at 0 s, replicate 0"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_what_it_raises_later_ends_the_run(engine):
    class Late(Idle):
        def on_event(self, now, event):
            if isinstance(event, LinkDown) and self.fabric.replicate > 0:
                raise KeyError(f"replicate {self.fabric.replicate}")

    with pytest.raises(KeyError, match="replicate 1") as caught:
        rt.run(TEXT, controllers=[Late], engine=engine)
    assert caught.value.__notes__ == ["in controller Late at 0.000048 s, replicate 1"]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Steer(10_000, 50_000), "no queue pair 10000: 224 are open"),
        (Steer(0, 80), "source port 80"),
        (Steer(-1, 50_000), "Path.queue_pair=-1, .* has a number out of range"),
        (Steer(1 << 40, 50_000), "has a number out of range"),
        (Steer(0, 70_000), "has a number out of range"),
        (Steer(0, 50_000, ""), "reason"),
        (Steer(0, 50_000, "two\nlines"), "the reason of an action is"),
        (Priority(9, 1), "no job 9: the run has 1"),
        (Priority(0, 8), "no priority 8: write one of 0 to 7"),
        (Priority(0, 300), "no priority 300: write one of 0 to 7"),
        (Entry(0, 0, 10**6), "no link 1000000"),
        (Entry(0, 10**6, None), "did not write"),
        ("left", "'left' is no action"),
    ],
)
def test_what_cannot_be_done_is_told_at_the_line_that_asks(action, words):
    def asks(self, now):
        yield action

    with pytest.raises(rt.ControllerError, match=words) as caught:
        rt.run(TEXT, controllers=[raising(asks)])
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "yield action"


def test_a_row_that_is_no_number():
    def asks(self, now):
        yield Steer("x", 50_000)

    with pytest.raises(TypeError):
        rt.run(TEXT, controllers=[raising(asks)])


def test_what_is_no_controller():
    with pytest.raises(rt.ArgumentError, match="every replicate"):
        rt.run(TEXT, controllers=[Idle(None)])
    with pytest.raises(rt.ArgumentError, match="no class of controllers"):
        rt.run(TEXT, controllers=["Idle"])
    with pytest.raises(rt.ArgumentError, match="no list"):
        rt.run(TEXT, controllers=Idle)
    with pytest.raises(rt.ArgumentError, match="name of another"):
        rt.run(TEXT, controllers=[Idle, Idle])
    with pytest.raises(rt.ArgumentError, match="has no name"):
        rt.run(TEXT, controllers=[lambda fabric: Idle(fabric)])
    with pytest.raises(rt.ControllerError, match="no method `on_event`"):
        rt.run(TEXT, controllers=[nobody])
    with pytest.raises(rt.ArgumentError, match="as one of railtwin's own is"):
        rt.run(TEXT, controllers=[type("c4p", (Idle,), {})])
    with pytest.raises(rt.ArgumentError, match=r"cannot steer under balancer spray.*crux"):
        rt.run(TEXT.replace("[routing]", '[routing]\nbalancer = "spray"'), controllers=[Idle])


def nobody(fabric):
    return object()


def test_a_function_makes_one_too(least_used):
    few = functools.partial(least_used, tries=2)
    run = rt.run(TEXT, controllers=[few])
    assert {row[2] for row in actions(run)} == {"least-used"}


def test_it_stands_beside_a_controller_of_the_scenario(least_used):
    text = TEXT.replace("[routing]", '[routing]\nbalancer = "c4p"')
    assert {row[2] for row in actions(rt.run(text, controllers=[least_used]))} == {"c4p", "least-used"}


def test_who_asks_to_be_asked_is(least_used):
    class Waits(Idle):
        next = None

        def on_event(self, now, event):
            if isinstance(event, LinkDown):
                self.next = now + 5e-6

        def actions(self, now):
            if self.next is not None and now >= self.next:
                self.next = None
                yield Steer(0, 50_000, "waited")

        def next_time(self):
            return self.next

    rows = actions(rt.run(TEXT, controllers=[Waits]))
    assert [(row[0], row[4]) for row in rows] == [(53_000_000, "waited"), (75_000_000, "waited")]

    class Literal(Waits):
        next = 1e-4

        def on_event(self, now, event):
            pass

        def actions(self, now):
            # `now` is the float that was written, and not one below it.
            if self.next is not None and now >= 1e-4:
                self.next = None
                yield Steer(0, 50_000, "literal")

    rows = actions(rt.run(TEXT, controllers=[Literal]))
    assert [(row[0], row[4]) for row in rows] == [(100_000_000, "literal")]

    class Back(Waits):
        def next_time(self):
            return -1.0

    with pytest.raises(rt.ControllerError, match="a later time"):
        rt.run(TEXT, controllers=[Back])

    class Ticks(Waits):
        def actions(self, now):
            self.next = now + 1e-9
            return ()

    with pytest.raises(rt.ControllerError, match="wait for events"):
        rt.run(TEXT, controllers=[Ticks], engine="packet")


def test_a_run_of_ones_own_is_never_taken_for_another(tmp_path):
    folder = tmp_path / "run"
    first = rt.run(TEXT, controllers=[Idle], folder=folder)
    assert rt.open(folder).figures == first.figures
    for controllers in ([Idle], []):
        with pytest.raises(rt.FolderError, match="exists already"):
            rt.run(TEXT, controllers=controllers, folder=folder)


def test_a_sweep_has_them_at_every_point(least_used):
    runs = rt.sweep({**tomllib.loads(TEXT), "seed": [1, 2]}, controllers=[least_used])
    assert [len({row[2] for row in actions(run)}) for run in runs] == [1, 1]


def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(railtwin.control).failed == 0
    page = doctest.testfile(str(ROOT / "docs/guides/controllers.md"), module_relative=False)
    assert page.attempted > 3
    assert page.failed == 0


def test_the_balancer_of_the_gallery_is_typed_and_short():
    text = (GALLERY / "least_used.py").read_text()
    body = text[text.index("class LeastUsed") :].rstrip().splitlines()
    assert len(body) < 30
    assert "\n".join(body) in (GALLERY / "README.md").read_text()
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        "pyproject.toml",
        GALLERY / "least_used.py",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_probes_are_answered_with_delay_and_load(engine):
    heard = []

    class Measures:
        def __init__(self, fabric):
            self.pairs, self.asked = [], False

        def on_event(self, now, event):
            if isinstance(event, Opened):
                self.pairs = [(one.source, one.target) for one in event.queue_pairs]
            if isinstance(event, Probed):
                heard.append((now, event.answers))

        def actions(self, now):
            if not self.asked and now > 0:
                self.asked = True
                yield Probe(*self.pairs[0], 50_000, packets=7, reason="curious")

        def next_time(self):
            return None if self.asked else 1e-5

    run = rt.run(ONE, engine=engine, controllers=[Measures])
    now, (answer,) = heard[0]
    assert (answer.sent, answer.lost) == (7, 0)
    assert 0 < answer.delay <= answer.delay_max < now
    assert isinstance(answer.loaded, bool)
    rows = run.table("probes").to_dict()
    assert rows["sent"] == [7]
    assert rows["loaded"] == [int(answer.loaded)]


class Halves:
    """Three quarters of a connection's bytes on its first queue pair, once anything completed."""

    heard: ClassVar[list["Halves"]] = []

    def __init__(self, fabric):
        self.pairs, self.told, self.bytes, self.periods, self.marked = [], False, 0, [], 0.0
        self.heard.append(self)

    def on_event(self, now, event):
        if isinstance(event, Opened):
            self.pairs += event.queue_pairs
        if isinstance(event, Completed):
            self.bytes += sum(one.bytes for one in event.completions)
            assert all(one.time > 0 for one in event.completions)
        if isinstance(event, Counters):
            self.periods.append(event.period)
            assert all(0 <= one.utilization <= 1 and one.bytes > 0 for one in event.links)
            self.marked = max([self.marked, *(one.marked for one in event.queue_pairs)])

    def actions(self, now):
        if self.bytes and not self.told:
            self.told = True
            for one in self.pairs:
                yield Weight(one.row, 0.75 if one.row % 2 == 0 else 0.25, "by hand")


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_what_completes_is_told_and_weights_are_taken(engine):
    text = ONE.replace("[run]", f'engine = "{engine}"\n[run]').replace("queue_pairs = 4", "queue_pairs = 2")
    text = text[: text.index("[[fault]]")].replace("[control]", '[control]\nfeedback = "20 us"')
    Halves.heard.clear()
    run = rt.run(text, controllers=[Halves])
    one = max(Halves.heard, key=lambda one: one.bytes)
    assert one.bytes > 0
    assert all(abs(period - 20e-6) < 1e-12 for period in one.periods)
    rows = run.table("actions").to_dict()
    assert set(rows["action"]) == {"weight"}
    assert set(rows["reason"]) == {"by hand"}
    assert set(rows["after"]) == {"75.00 % of a whole", "25.00 % of a whole"}
    assert len(rows["action"]) == len(one.pairs)
    # More than all cannot be said.
    with pytest.raises(rt.ControllerError, match="no share of 0 to 1"):
        rt.run(text, controllers=[functools.partial(Says, Weight(0, 1.5))])


class Says:
    """One action, at the start."""

    name = "says"

    def __init__(self, action, fabric):
        self.left = [action]

    def on_event(self, now, event):
        pass

    def actions(self, now):
        while self.left:
            yield self.left.pop()


LIFE = {
    "schema": 1,
    "name": "life",
    "fabric": {"preset": "hpn", "segments": 2, "hosts": 2, "spare_hosts": 1, "spines": 2},
    "job": [{"hosts": 4, "collective": {"kind": "all-reduce", "bytes": "1 GB", "compute": "1 s"}}],
    "failures": {"process": "c4", "factor": 100, "window": "240 h", "days": 10},
    "steering": {"controller": "own", "lives": 2},
}


class SaysOnTold:
    """Says one action as soon as it is told of a kind of event."""

    def __init__(self, fabric, kind, action):
        self.kind, self.action, self.told = kind, action, False

    def on_event(self, now, event):
        self.told |= isinstance(event, self.kind)

    def actions(self, now):
        if self.told:
            self.told = False
            yield self.action


def says(kind, action):
    return functools.partial(SaysOnTold, kind=kind, action=action)


@pytest.mark.parametrize(
    ("kind", "action", "why"),
    [
        (Placed, Restart(1), "there is no job 1"),
        (Placed, Isolate(99), "there is no host 99"),
        (Placed, Steer(0, None), "no action in the life of a job"),
        (Placed, Isolate(2), "hosts of the job are isolated"),
        (Opened, Isolate(0), "no action while steps are followed"),
    ],
)
def test_what_cannot_be_done_with_hosts_is_raised_where_it_is_said(kind, action, why):
    with pytest.raises(rt.ControllerError, match=why) as raised:
        rt.run(LIFE, controllers=[says(kind, action)])
    assert "yield self.action" in "".join(traceback.format_exception(raised.value))


def test_nobody_steers_or_places_where_nobody_is_given():
    with pytest.raises(rt.ArgumentError, match="there is no controller"):
        rt.run(LIFE)
    with pytest.raises(rt.ArgumentError, match="there is no controller"):
        rt.cluster(weeks())
    with pytest.raises(rt.ArgumentError, match="nobody asks controllers"):
        rt.cluster(weeks(placement="packed"), controllers=[says(Submitted, Place(0, 0, 1))])


def weeks(placement="own"):
    fabric = {"preset": "leaf-spine", "leaves": 4, "host": {"model": "hgx-a100"}}
    return {
        "schema": 1,
        "name": "weeks",
        "fabric": fabric,
        "cluster": {"days": 0.5, "placement": placement},
    }


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Place(0, 99, 1), "there is no host 99"),
        (Place(7, 0, 1), "job 7 does not wait"),
        (Place(0, 0, 0), "0 GPUs for job 0"),
        (Restart(0), "no action in weeks of jobs"),
    ],
)
def test_what_cannot_be_placed_is_raised_where_it_is_said(action, why):
    with pytest.raises(rt.ControllerError, match=why) as raised:
        rt.cluster(weeks(), controllers=[says(Submitted, action)])
    assert "yield self.action" in "".join(traceback.format_exception(raised.value))
