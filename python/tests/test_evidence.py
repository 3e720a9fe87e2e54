# Diagnoses, checks of bandwidth and calibrations, asked from Python.
"""Typed answers to evidence say what the command says."""

import json
from pathlib import Path

import pytest
import railtwin as rt

DATA = Path(__file__).parents[2] / "data" / "telemetry"
HUNG = DATA / "nccl_one_gpu" / "raises"
WIDE = DATA / "nccl_tests_h100_wide"


def as_command(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """Return what the command prints as JSON."""
    assert rt.main([*words, "--json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def test_a_diagnosis_is_that_of_the_command(capsys):
    told = rt.diagnose(HUNG)
    data = as_command(capsys, "diagnose", str(HUNG))
    assert told.data == data
    assert told.answer == data["answer"]
    assert [finding.id for finding in told.findings] == [one["id"] for one in data["findings"]]
    assert told.accusations
    assert not told.is_well
    first = told.accusations[0]
    assert first.suspects[0].component.kind == data["findings"][0]["suspects"][0]["component"]["kind"]
    assert first.evidence[0].words == data["findings"][0]["evidence"][0]["what"]
    assert first.evidence[0].seen == data["findings"][0]["evidence"][0]["seen"]


def test_several_files_are_one_question():
    files = sorted(HUNG.rglob("*"))
    told = rt.diagnose([path for path in files if path.is_file()])
    assert told.accusations


def test_bandwidths_are_those_of_the_command(capsys):
    told = rt.check_bandwidth(WIDE)
    data = as_command(capsys, "check", "bandwidth", str(WIDE))
    assert told.data == data
    assert told.answer == data["answer"]
    assert {one.verdict for one in told.collectives} == {one["verdict"] for one in data["collectives"]}
    assert all(one.large_gb_per_s > 0 for one in told.collectives if one.large_gb_per_s is not None)
    with_fabric = rt.check_bandwidth(WIDE, fabric="hpn")
    assert with_fabric.data != data


def test_a_calibration_is_that_of_the_command_and_a_scenario_takes_its_caps(tmp_path, capsys):
    told = rt.calibrate(WIDE)
    assert {key: value for key, value in told.data.items() if key != "caps"} == as_command(
        capsys, "calibrate", str(WIDE)
    )
    written = tmp_path / "by-command.toml"
    assert rt.main(["calibrate", str(WIDE), "--out", str(written)]) == 0
    caps = told.write(tmp_path / "caps.toml")
    assert caps.read_text() == written.read_text()
    run = rt.run(
        {
            "schema": 1,
            "name": "caps",
            "fabric": {
                "preset": "leaf-spine",
                "leaves": 2,
                "hosts_per_leaf": 2,
                "uplinks": 1,
                "host": {"model": "hgx-h100", "caps": str(caps)},
            },
            "job": [{"hosts": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}],
        }
    )
    assert run.figures["busbw_mean"] > 0


@pytest.mark.parametrize("call", [rt.diagnose, rt.check_bandwidth, rt.calibrate])
def test_what_cannot_be_read_is_said(call, tmp_path):
    with pytest.raises(rt.FileError, match="nowhere"):
        call(tmp_path / "nowhere.log")
    with pytest.raises(rt.ArgumentError):
        call([])
    note = tmp_path / "note.txt"
    note.write_text("nothing of interest\n")
    with pytest.raises(rt.ArgumentError):
        call(note)


def test_a_wrong_fabric_is_refused():
    with pytest.raises(rt.ArgumentError, match="no-such"):
        rt.check_bandwidth(WIDE, fabric="no-such")
    with pytest.raises(rt.ArgumentError, match="gpus"):
        rt.calibrate(WIDE, gpus=0)


def test_incidents_of_live_records_are_those_of_the_command(capsys):
    records = Path(__file__).parents[2] / "data" / "live" / "kill-0"
    told = rt.diagnose(records, hang_limit="5 s")
    data = as_command(capsys, "diagnose", str(records), "--hang-limit", "5 s")
    assert told.data == data
    assert [one.kind for one in told.incidents] == ["killed-process"]
    assert told.incidents[0].suspects[0].component.kind == "rank"
    with pytest.raises(rt.ArgumentError, match="hang_limit"):
        rt.diagnose(records, hang_limit="long")
