# Traffic inside hosts, asked from Python.
"""All points say what the command says, progress is heard, wrong calls are errors of ours."""

import json
from pathlib import Path

import pytest
import railtwin as rt

TEXT = """
schema = 1
name = "inside"
[fabric]
preset = "rlft"
ports = 4
host = { gpus = 4, nics = 1, nvlink = "512 Gbps" }
[intranode]
inter = [0.3, 0.5]
load = [0.1, 1.0]
unpack = "8.58 ns"
duration = "60 us"
warm_up = "30 us"
units = { to = 0.1, from = 0.2 }
"""


def test_points_are_those_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text, a path and the command tell the same, on one thread and on two."""
    path = tmp_path / "inside.toml"
    path.write_text(TEXT)
    seen: list[tuple[int, int]] = []
    told = rt.intranode(TEXT, progress=lambda done, of: seen.append((done, of)))
    assert rt.main(["intranode", str(path), "--json"]) == 0
    assert told == json.loads(capsys.readouterr().out)
    assert rt.intranode(path, threads=2) == told
    assert seen[-1] == (4, 4)
    figures = {figure["name"]: figure["value"] for figure in told["points"][3]["figures"]}
    assert figures["to_units_rate"] > 0
    assert figures["carried_share"] < 0.97
    assert [row["load"] for row in told["saturations"]] == [1.0, 1.0]
    assert told["orders"][0]["messages"] == "inter"


def test_equation_3_is_fitted_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The regressions of the command, and none without asking."""
    path = tmp_path / "inside.toml"
    path.write_text(TEXT.replace("[0.3, 0.5]", "[0.3, 0.5, 0.7, 1.0]").replace("to = 0.1, ", ""))
    told = rt.intranode(path, regress=True)
    assert rt.main(["intranode", str(path), "--regress", "--json"]) == 0
    assert told == json.loads(capsys.readouterr().out)
    assert told["regressions"]
    assert "regressions" not in rt.intranode(path)


def test_wrong_calls_are_errors_of_ours() -> None:
    """A key, a number of threads, a scenario of jobs."""
    with pytest.raises(rt.ScenarioError) as wrong:
        rt.intranode(TEXT.replace("to = 0.1", "to = 0.9"))
    assert "units.to" in str(wrong.value) or "for both" in str(wrong.value)
    with pytest.raises(rt.ArgumentError, match="threads cannot be 0"):
        rt.intranode(TEXT, threads=0)
    with pytest.raises(rt.ArgumentError, match="no \\[intranode\\]"):
        rt.intranode(
            {
                "schema": 1,
                "name": "jobs",
                "fabric": {"preset": "fat-tree", "k": 4},
                "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}],
            }
        )
