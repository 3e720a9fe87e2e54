# Sweeps of the wheel's command: points in processes of the same Python, and as tasks of a Slurm job array.
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import railtwin as rt
from railtwin import point

CALL = [sys.executable, "-P", "-m", "railtwin"]
AXES = "queue_pairs = [1, 2, 4]\n"


def sweep(*args: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([*CALL, "sweep", *map(str, args)], capture_output=True, text=True, check=False)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_points_run_in_processes_of_this_python(text, tmp_path, capsys):
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(text.replace("queue_pairs = 2\n", AXES))
    # Called as a function and as a program: the same.
    assert rt.main(["sweep", str(scenario), "--out", str(tmp_path / "runs"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [run["wall_s"] is None for run in answer["runs"]] == [False] * 3
    here = rt.sweep(scenario)
    assert [run["run_id"] for run in answer["runs"]] == [run.info["run_id"] for run in here]
    assert "(0 run now, 3 taken as they were)" in sweep(scenario, "--out", tmp_path / "runs").stdout


def test_the_tasks_of_a_job_array_make_the_same_sweep(text, tmp_path):
    place = tmp_path / "it's here"
    place.mkdir()
    scenario = place / "tiny.toml"
    scenario.write_text(text.replace("queue_pairs = 2\n", AXES))
    printed = sweep(scenario, "--out", place / "array", "--sbatch")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert not (place / "array").exists()
    batch = tmp_path / "tiny.sbatch"
    batch.write_text(printed.stdout)
    subprocess.run(["bash", "-n", batch], check=True)
    assert "#SBATCH --array=1-3\n" in printed.stdout
    # Side by side, as an array is, and from a folder of its own.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def submit() -> list[str]:
        pipe = subprocess.PIPE
        tasks = [
            subprocess.Popen(
                ["bash", batch],
                env=os.environ | {"SLURM_ARRAY_TASK_ID": str(task)},
                cwd=elsewhere,
                stdout=pipe,
                stderr=pipe,
                text=True,
            )
            for task in (1, 2, 3)
        ]
        said = [task.communicate(timeout=60) for task in tasks]
        assert [(task.returncode, notes) for task, (_, notes) in zip(tasks, said, strict=True)] == [
            (0, "")
        ] * 3
        return [out.splitlines()[-1] for out, _ in said]

    assert all("(1 run now, 0 taken as they were)" in line for line in submit())
    assert all("(0 run now, 1 taken as they were)" in line for line in submit())
    # The next plain sweep finds all of it, and writes what only it writes.
    gathered = sweep(scenario, "--out", place / "array")
    assert "(0 run now, 3 taken as they were)" in gathered.stdout
    assert sweep(scenario, "--out", place / "local").returncode == 0
    assert content(place / "array") == content(place / "local")


def a_point(text: str, **other: str) -> point.Point:
    asked = {"run_id": "0123456789abcdef", "text": text, "version": rt.version} | other
    return point.Point(files=(), threads=1, limit=None, **asked)


def test_a_point_that_fails_says_why(text):
    told: list[int] = []
    # Another id: a file, or the program, is not that of the sweep.
    other = point.run_point(a_point(text), (), told.append)
    assert "has changed meanwhile" in other.failed
    assert other.failed.endswith("(exit status 2)")
    assert other.files == ()
    wrong = point.run_point(a_point("schema = 1\nname = 7\n"), (), told.append)
    assert "`name`" in wrong.failed
    older = point.run_point(a_point(text, version="0.0.9"), (), told.append)
    assert f"has railtwin {rt.version}, and the sweep is of 0.0.9" in older.failed
    assert sum(told) == 0


def test_a_point_comes_back_as_the_run_that_it_is(text, tmp_path):
    here = rt.run(text, folder=tmp_path / "here")
    told: list[int] = []
    outcome = point.run_point(a_point(text, run_id=here.info["run_id"]), (), told.append)
    assert (outcome.failed, sum(told)) == (None, 3)
    point.write_folder(tmp_path / "back", outcome.files)
    assert content(tmp_path / "back") == content(tmp_path / "here")


@pytest.mark.parametrize("name", ["../x", "a/b", "/x", "..", ".", ""])
def test_only_files_of_a_run_folder_are_written(name, tmp_path):
    with pytest.raises((ValueError, OSError)):
        point.write_folder(tmp_path / "runs" / "one", (("run.json", b"{}"), (name, b"")))
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]


def test_what_is_there_is_not_written_over(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "theirs").write_text("precious")
    with pytest.raises(OSError, match="not empty"):
        point.write_folder(tmp_path / "one", (("run.json", b"{}"),))
    assert content(tmp_path) == {"one/theirs": b"precious"}
