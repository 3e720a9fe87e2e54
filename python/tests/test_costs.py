# What jobs cost each other, asked from Python.
"""Interference, what-if, impact and schedules say what the command says."""

import json
from pathlib import Path

import pytest
import railtwin as rt

TWO = {
    "schema": 1,
    "name": "two",
    "fabric": {
        "preset": "leaf-spine",
        "leaves": 2,
        "hosts_per_leaf": 4,
        "uplinks": 1,
        "parallel": 1,
        "rails_per_leaf": 1,
        "chip": "51200 Gbps",
        "host": {"model": "plain"},
    },
    "job": [
        {
            "name": name,
            "placement": {"hosts": hosts},
            "collective": {"kind": "all-reduce", "bytes": "40 MB", "compute": "1 ms"},
        }
        for name, hosts in [("first", [0, 4]), ("second", [1, 5])]
    ],
}


def as_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> object:
    """Return what the command prints as JSON for the two jobs."""
    lines = ["schema = 1", 'name = "two"', "[fabric]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in TWO["fabric"].items() if key != "host"]
    lines += ['host = { model = "plain" }']
    for job in TWO["job"]:
        hosts, collective = job["placement"]["hosts"], job["collective"]
        inner = ", ".join(f"{key} = {json.dumps(value)}" for key, value in collective.items())
        lines += ["[[job]]", f"name = {json.dumps(job['name'])}"]
        lines += [f"placement = {{ hosts = {hosts} }}", f"collective = {{ {inner} }}"]
    path = tmp_path / "two.toml"
    path.write_text("\n".join(lines))
    verb, *rest = words
    assert rt.main([verb, str(path), *rest, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_jobs_cost_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two jobs on one uplink slow each other, and Python is told what the command tells."""
    seen = []
    told = rt.interference(TWO, draws=3, steps=4, progress=lambda done, of: seen.append((done, of)))
    assert told == as_command(tmp_path, capsys, "interference", "--draws", "3", "--steps", "4")
    assert all(job["slowdown"]["median"] > 1.05 for job in told["jobs"])
    assert told["links"]
    assert {one["job"] for one in told["links"][0]["by"]} == {"first", "second"}
    assert seen
    assert seen[-1][0] <= seen[-1][1]


def test_placements_and_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The placements of a job, and what a leaf touches, are those of the command."""
    ways = rt.what_if(TWO, job="second", draws=2)
    assert ways == as_command(tmp_path, capsys, "schedule", "--what-if", "--job", "second", "--draws", "2")
    assert ways["job"] == "second"
    assert len(ways["ways"]) > 1
    touched = rt.impact(TWO, "leaf-0", draws=2)
    assert touched == as_command(tmp_path, capsys, "impact", "leaf-0", "--draws", "2")
    assert [job["name"] for job in touched["jobs"]] == ["first", "second"]
    both = rt.impact(TWO, ["leaf-0", "host-1"], draws=2)
    assert both == as_command(tmp_path, capsys, "impact", "leaf-0", "host-1", "--draws", "2")
    assert both["devices"][0] == touched
    assert [one["by"] for one in both["together"]["stand_ins"]] == ["host-2"]


def test_schedules_measured_and_proved() -> None:
    """A profile measures intensities; the optimum is no worse than Crux."""
    transfer = {"bytes": "1 GB", "path": [{"links": ["spine"], "source_port": 49152}]}
    jobs = {
        "schema": 1,
        "link": [{"name": "spine", "capacity": "8 Gbps"}],
        "job": [
            {"name": name, "gpus": gpus, "compute": "2 s", "transfer": [transfer]}
            for name, gpus in [("large", 64), ("small", 8)]
        ],
    }
    plain, best = rt.schedule(jobs), rt.schedule(jobs, optimum=True)
    measured = rt.schedule(jobs, profile="60 s")
    assert best["tried"]
    assert best["utilization"] >= plain["utilization"] - 1e-9
    for one, other in zip(plain["jobs"], measured["jobs"], strict=True):
        assert other["intensity"] == pytest.approx(one["intensity"], rel=0.05)


def test_a_scenario_gives_ports_and_classes_of_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Crux's controller hands out, as the command tells it: a source port for each queue pair."""
    plan = rt.schedule(TWO, replicate=1)
    assert plan.pop("warnings") == []
    assert plan == as_command(tmp_path, capsys, "schedule", "--replicate", "1")
    pairs = [pair for job in plan["jobs"] for pair in job["queue_pairs"]]
    assert pairs
    assert all(pair["source_port"] >= 49152 for pair in pairs if len(pair["links"]) > 2)
    assert rt.schedule(TWO, policy="crux-pa")["policy"] == "crux-pa"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: rt.interference(TWO, draws=0), "draws cannot be 0"),
        (lambda: rt.what_if(TWO, job="third"), "third"),
        (lambda: rt.impact(TWO, "leaf-9"), "leaf-9"),
        (lambda: rt.schedule(TWO, profile="soon"), "profile"),
        (lambda: rt.schedule(TWO, profile="1 s"), "not of scenarios"),
        (lambda: rt.schedule(TWO, policy="cassini"), "no controller of a run"),
        (lambda: rt.schedule({"schema": 1, "link": [], "job": []}, replicate=1), "replicate"),
    ],
)
def test_what_cannot_be_is_refused(call: object, told: str) -> None:
    """One clear error that names the value."""
    with pytest.raises(rt.Error) as refused:
        call()  # type: ignore[operator]
    assert told in str(refused.value)
