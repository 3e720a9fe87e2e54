# Weeks of jobs (`[cluster]`) by `run`, `sweep` and the command; on Ray they are in test_ray.py.
from pathlib import Path

import pytest
import railtwin as rt

WEEKS = """\
schema = 1
name = "weeks"
seed = [3, 4]
[fabric]
preset = "leaf-spine"
leaves = 4
hosts_per_leaf = 2
uplinks = 1
host = { model = "hgx-a100", nics = 4 }
[cluster]
days = 0.2
placement = "spread"
sharing = ["ecmp", "crux"]
jobs = "given.csv"
"""
ROWS = [f"job-{number},{number * 300},{gpus},2000" for number, gpus in enumerate([16, 24, 8, 32, 16])]
LIST = "\n".join(["name,submitted,gpus,duration", *ROWS]) + "\n"


def content(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def scenario(tmp_path) -> Path:
    (tmp_path / "given.csv").write_text(LIST)
    path = tmp_path / "weeks.toml"
    path.write_text(WEEKS)
    return path


def test_points_are_those_of_cluster_and_are_not_run_again(scenario, tmp_path):
    runs = rt.sweep(scenario, folder=tmp_path / "runs")
    assert len(runs) == 4
    for run in runs:
        one = WEEKS.replace("[3, 4]", run.label["seed"])
        one = one.replace('["ecmp", "crux"]', f'"{run.label["cluster.sharing"]}"')
        (tmp_path / "one.toml").write_text(one)
        (told,) = rt.cluster(tmp_path / "one.toml")
        for figure in told["figures"]:
            assert run.figures[figure["name"]] == figure["value"], (run.label, figure["name"])
        assert run.tables == ["contended", "hours", "jobs"]
        assert run.table("jobs").columns[:3] == ["name", "class", "gpus"]
    before = content(tmp_path / "runs")
    assert [run.figures for run in rt.sweep(scenario, folder=tmp_path / "runs")] == [
        run.figures for run in runs
    ]
    assert content(tmp_path / "runs") == before


def test_controllers_of_weeks_are_refused(scenario):
    one = WEEKS.replace("[3, 4]", "3").replace('["ecmp", "crux"]', '"ecmp"')
    scenario.write_text(one)
    with pytest.raises(rt.ArgumentError, match=r"railtwin\.cluster"):
        rt.run(scenario, controllers=[rt.control.Controller])
