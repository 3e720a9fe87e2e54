# Explanations and triage, asked from Python.
"""Typed answers that need evidence and a simulation say what the command says."""

import json
from pathlib import Path

import pytest
import railtwin as rt

ROOT = Path(__file__).parents[2]
XID = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


def as_command(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """Return what the command prints as JSON."""
    assert rt.main([*words, "--json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def test_an_explanation_is_that_of_the_command(capsys):
    told = rt.explain(busbw="180 GB/s", hosts=32, draws=4)
    data = as_command(capsys, "explain", "--busbw", "180 GB/s", "--hosts", "32", "--draws", "4")
    assert told.data == data
    assert told.unit == "GB/s"
    assert [one.name for one in told.hypotheses] == [one["name"] for one in data["hypotheses"]]
    assert not told.expected.fits
    assert told.next.first != told.next.second


def test_an_explanation_refuses_what_nobody_measured():
    with pytest.raises(rt.ArgumentError, match="nothing says"):
        rt.explain(hosts=32)
    with pytest.raises(rt.ArgumentError, match="draws cannot be 0"):
        rt.explain(busbw="180 GB/s", hosts=32, draws=0)
    with pytest.raises(rt.FileError):
        rt.explain("nowhere.log")


def test_a_triage_is_that_of_the_command(tmp_path, capsys):
    scenario = ROOT / "scenarios" / "jobs" / "forty-hosts.toml"
    for host in ("host-3", "host-37"):
        (tmp_path / f"dmesg_{host}.log").write_text(f"Nov  3 10:00:00 {host} {XID}\n")
    told = rt.triage(tmp_path, scenario=scenario, draws=2)
    data = as_command(capsys, "triage", str(tmp_path), "--scenario", str(scenario), "--draws", "2")
    assert told.data == data
    assert [order.name for order in told.orders] == ["host-3", "host-37"]
    assert told.orders[0].jobs[0].gpu_hours_per_hour == 160
    assert told.orders[0].suspects[0].kind == "gpu"
