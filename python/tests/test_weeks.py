# Weeks of jobs (`[cluster]`) by `run`, `sweep` and the command; on Ray they are in test_ray.py.
from pathlib import Path

import pytest
import railtwin as rt


def content(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_points_are_those_of_cluster_and_are_not_run_again(weeks, tmp_path):
    text, runs = weeks.read_text(), rt.sweep(weeks, folder=tmp_path / "runs")
    assert len(runs) == 4
    for run in runs:
        one = text.replace("[3, 4]", run.label["seed"])
        one = one.replace('["ecmp", "crux"]', f'"{run.label["cluster.sharing"]}"')
        (tmp_path / "one.toml").write_text(one)
        (told,) = rt.cluster(tmp_path / "one.toml")
        for figure in told["figures"]:
            assert run.figures[figure["name"]] == figure["value"], (run.label, figure["name"])
        assert run.tables == ["actions", "contended", "hours", "jobs"]
        assert run.table("jobs").columns[:3] == ["name", "class", "gpus"]
    before = content(tmp_path / "runs")
    assert [run.figures for run in rt.sweep(weeks, folder=tmp_path / "runs")] == [run.figures for run in runs]
    assert content(tmp_path / "runs") == before


def test_controllers_of_weeks_are_refused(weeks):
    one = weeks.read_text().replace("[3, 4]", "3").replace('["ecmp", "crux"]', '"ecmp"')
    weeks.write_text(one)
    with pytest.raises(rt.ArgumentError, match=r"railtwin\.cluster"):
        rt.run(weeks, controllers=[rt.control.Controller])
