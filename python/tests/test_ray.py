# `railtwin sweep --on ray`: the same run folders, by other nodes, whatever becomes of them.
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import railtwin as rt
from railtwin import _native

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "data" / "simai" / "simai_micro_all_reduce.txt"
CALL = [sys.executable, "-P", "-m", "railtwin"]

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None,
    reason="RAY IS NOT INSTALLED, SO NO CLUSTER IS TESTED: pip install 'railtwin[ray]'",
)

WITH_A_FILE = """\
schema = 1
name = "filed"
[fabric]
preset = "hpn"
segments = 1
hosts = 1
spare_hosts = 0
host.caps = ["none", "measured"]
[[job]]
workload = { simai = "../given/micro.txt" }
"""

LARGE = """\
schema = 1
name = "large"
[fabric]
preset = "leaf-spine"
leaves = 64
hosts_per_leaf = 16
[[job]]
hosts = [2, 512]
collective = { kind = "all-to-all", bytes = "64 MiB" }
"""

LONG = 12_000
"""Replicates of a point that takes seconds."""


def slow(replicates: list[int]) -> str:
    return f"""\
schema = 1
name = "slow"
[run]
replicates = {replicates}
[fabric]
preset = "leaf-spine"
leaves = 4
uplinks = 2
hosts_per_leaf = 2
host.model = "plain"
[[job]]
hosts = 6
collective = {{ kind = "all-reduce", bytes = "64 MiB" }}
"""


@pytest.fixture(scope="module")
def ray_env() -> Iterator[dict[str, str]]:
    # Short: a path of a socket has 107 characters at most. Nothing of Ray's is written anywhere else.
    place = tempfile.mkdtemp(prefix="rt-", dir="/tmp")
    env = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    env |= {"RAY_TMPDIR": place, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2}
    yield env | {"RAY_USAGE_STATS_ENABLED": "0", "NO_COLOR": "1"}
    shutil.rmtree(place, ignore_errors=True)


class Nodes:
    """Three nodes: the first takes no points, the others one at a time each."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        args = [sys.executable, str(HERE / "ray_nodes.py")]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            args, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=env
        )
        self.address = self.process.stdout.readline().strip()
        assert re.fullmatch(r"[0-9.]+:[0-9]+", self.address), self.address

    def kill_who_runs(self, run_id: str) -> None:
        self.tell(f"kill {run_id}", "killed")

    def settle(self) -> None:
        self.tell("settle", "settled")

    def tell(self, what: str, answer: str) -> None:
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"{answer}\n"

    def sweep(self, scenario: Path, out: Path) -> subprocess.Popen:
        args = [*CALL, "sweep", str(scenario), "--out", str(out), "--on", f"ray:{self.address}", "--json"]
        return subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def nodes(ray_env) -> Iterator[Nodes]:
    made = Nodes(ray_env)
    yield made
    made.close()


def here(scenario: Path, out: Path) -> dict:
    done = subprocess.run(
        [*CALL, "sweep", str(scenario), "--out", str(out), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_times(answer: dict) -> dict:
    runs = [{key: run[key] for key in run if key not in ("wall_s", "folder")} for run in answer["runs"]]
    return {**answer, "runs": runs, "sweep": None}


def statuses(sweep: Path) -> list[str]:
    try:
        return [case["status"] for case in json.loads((sweep / "sweep.json").read_text())["cases"]]
    except FileNotFoundError:
        return []


def until(what: str, wanted, now) -> None:
    end = time.monotonic() + 240.0
    while (state := now()) != wanted:
        assert time.monotonic() < end, f"{what}: {state}"
        time.sleep(0.05)


def point_processes(run_ids: list[str]) -> int:
    found = 0
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        found += "run-point" in words and any(run_id in words for run_id in run_ids)
    return found


@needs_ray
def test_run_folders_are_those_of_local_processes(nodes, tmp_path):
    # The files of the scenario travel too, whatever their paths.
    (tmp_path / "given").mkdir()
    (tmp_path / "asked").mkdir()
    shutil.copy(DATA, tmp_path / "given" / "micro.txt")
    scenario = tmp_path / "asked" / "filed.toml"
    scenario.write_text(WITH_A_FILE)
    process = nodes.sweep(scenario, tmp_path / "ray")
    out, notes = process.communicate(timeout=90)
    assert process.returncode == 0, notes
    assert "on Ray: 3 nodes, 2 CPUs" in notes
    local = here(scenario, tmp_path / "local")
    assert without_times(json.loads(out)) == without_times(local)
    by_ray, by_processes = content(tmp_path / "ray"), content(tmp_path / "local")
    assert len(by_ray) > 20
    assert by_ray == by_processes


@needs_ray
def test_python_sweeps_there_too(nodes, tmp_path):
    code = """if True:
        import sys, railtwin as rt
        scenario, folder, on = sys.argv[1:]
        told = []
        tell = lambda done, total: told.append((done, total))
        runs = rt.sweep(scenario, folder=folder, on=on, progress=tell)
        assert told[-1] == (3, 3), told
        assert [run.label for run in runs] == [{"run.replicates": "1"}, {"run.replicates": "2"}]
        assert rt.sweep(scenario, folder=folder, on="ray:127.0.0.1:1")[1].figures == runs[1].figures
    """
    scenario = tmp_path / "slow.toml"
    scenario.write_text(slow([1, 2]))
    args = [sys.executable, "-c", code, str(scenario), str(tmp_path / "ray"), f"ray:{nodes.address}"]
    done = subprocess.run(args, capture_output=True, text=True, env=nodes.env, check=False)
    assert done.returncode == 0, done.stderr
    rt.sweep(scenario, folder=tmp_path / "local")
    assert content(tmp_path / "ray") == content(tmp_path / "local")


def test_what_cannot_go_to_a_cluster_is_told(tmp_path):
    scenario = tmp_path / "slow.toml"
    scenario.write_text(slow([1, 2]))
    with pytest.raises(rt.ArgumentError, match="needs a folder"):
        rt.sweep(scenario, on="ray")
    with pytest.raises(rt.ArgumentError, match="takes no controllers"):
        rt.sweep(scenario, on="ray", folder=tmp_path / "runs", controllers=[object])
    with pytest.raises(rt.ArgumentError, match="no place to run points"):
        rt.sweep(scenario, on="dask", folder=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@needs_ray
def test_a_node_may_die_on_the_way(nodes, tmp_path):
    scenario = tmp_path / "slow.toml"
    scenario.write_text(slow([LONG, LONG + 1, 1, 2]))
    doomed = _native.missing_points(scenario, tmp_path, None, 1)[0]["run_id"]
    process = nodes.sweep(scenario, tmp_path / "ray")
    sweep = tmp_path / "ray" / "slow"
    nodes.kill_who_runs(doomed)
    out, notes = process.communicate(timeout=120)
    assert process.returncode == 0, notes
    assert statuses(sweep) == ["complete"] * 4
    local = here(scenario, tmp_path / "local")
    assert without_times(json.loads(out)) == without_times(local)
    assert content(tmp_path / "ray") == content(tmp_path / "local")


@needs_ray
def test_a_sweep_that_was_killed_is_taken_up(nodes, tmp_path):
    scenario = tmp_path / "slow.toml"
    scenario.write_text(slow([1, 100_000]))
    nodes.settle()
    process = nodes.sweep(scenario, tmp_path / "ray")
    sweep = tmp_path / "ray" / "slow"
    try:
        until("one is done and one runs", ["complete", "running"], lambda: statuses(sweep))
        run_ids = [case["run_id"] for case in json.loads((sweep / "sweep.json").read_text())["cases"]]
        until("its process runs", 1, lambda: point_processes(run_ids[1:]))
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    until("no process of a point is left on the nodes", 0, lambda: point_processes(run_ids))
    assert {path.name for path in sweep.iterdir()} <= {"sweep.json", ".railtwin.lock", run_ids[0]}
    done_at = (sweep / run_ids[0] / "run.json").stat().st_mtime_ns
    scenario.write_text(slow([1, 3]))
    process = nodes.sweep(scenario, tmp_path / "ray")
    out, notes = process.communicate(timeout=90)
    assert process.returncode == 0, notes
    assert [run["wall_s"] is None for run in json.loads(out)["runs"]] == [True, False]
    assert (sweep / run_ids[0] / "run.json").stat().st_mtime_ns == done_at
    # What is complete needs no cluster.
    done = subprocess.run(
        [*CALL, "sweep", str(scenario), "--out", str(tmp_path / "ray"), "--on", "ray:127.0.0.1:1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "(0 run now, 2 taken as they were)" in done.stdout


@needs_ray
def test_a_point_that_no_node_holds_is_named_and_the_others_run(nodes, tmp_path):
    scenario = tmp_path / "large.toml"
    scenario.write_text(LARGE)
    process = nodes.sweep(scenario, tmp_path / "ray")
    out, notes = process.communicate(timeout=90)
    words = " ".join(notes.replace("│", " ").split())
    assert process.returncode == 1, notes
    assert "1 of 2 points failed: job.hosts=512: it needs 1 CPU and 5.8 GiB, and no node has that" in words
    assert [run["label"] for run in json.loads(out)["runs"]] == [{"job.hosts": "2"}]


@needs_ray
def test_nobody_at_the_address_is_told_at_once(ray_env, tmp_path):
    scenario = tmp_path / "slow.toml"
    scenario.write_text(slow([1, 2]))
    args = [*CALL, "sweep", str(scenario), "--out", str(tmp_path / "runs"), "--on", "ray:127.0.0.1:1"]
    done = subprocess.run(args, capture_output=True, text=True, env=ray_env, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert "cannot reach a Ray cluster at 127.0.0.1:1" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_without_ray_nothing_is_written(tmp_path):
    scenario = tmp_path / "slow.toml"
    scenario.write_text(slow([1, 2]))
    (tmp_path / "no").mkdir()
    (tmp_path / "no" / "ray.py").write_text('raise ImportError("No module named ray")\n')
    done = subprocess.run(
        [*CALL, "sweep", str(scenario), "--out", str(tmp_path / "runs"), "--on", "ray"],
        capture_output=True,
        text=True,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "no"), os.environ.get("PYTHONPATH", "")])},
        check=False,
    )
    words = " ".join(done.stderr.replace("│", " ").split())
    assert done.returncode == 2, done.stderr
    assert "--on ray needs Ray" in words
    assert "pip install 'railtwin[ray]'" in words
    assert not (tmp_path / "runs").exists()


@needs_ray
def test_weeks_on_ray_are_those_of_local_processes(nodes, weeks, tmp_path):
    process = nodes.sweep(weeks, tmp_path / "ray")
    out, notes = process.communicate(timeout=90)
    assert process.returncode == 0, notes
    assert len(json.loads(out)["runs"]) == 4
    call = [*CALL, "sweep", str(weeks), "--out", str(tmp_path / "local")]
    subprocess.run(call, check=True, capture_output=True)
    assert content(tmp_path / "ray") == content(tmp_path / "local")
