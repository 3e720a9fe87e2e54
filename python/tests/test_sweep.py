# Sweeps of the wheel's command: points in processes of the same Python, and as tasks of a Slurm job array.
import json
import os
import subprocess
import sys
from pathlib import Path

import railtwin as rt

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
