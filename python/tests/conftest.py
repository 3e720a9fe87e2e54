# One scenario, small enough to run in milliseconds, as text and as a dictionary.
"""What the tests share."""

from pathlib import Path
from typing import Any

import pytest
import railtwin as rt

TEXT = """\
schema = 1
name = "tiny"
seed = 3
[run]
replicates = 3
[fabric]
preset = "leaf-spine"
leaves = 4
uplinks = 2
hosts_per_leaf = 2
host.model = "plain"
[routing]
queue_pairs = 2
[[job]]
hosts = 6
collective = { kind = "all-reduce", bytes = "64 MiB" }
"""

TABLE: dict[str, Any] = {
    "schema": 1,
    "name": "tiny",
    "seed": 3,
    "run": {"replicates": 3},
    "fabric": {
        "preset": "leaf-spine",
        "leaves": 4,
        "uplinks": 2,
        "hosts_per_leaf": 2,
        "host": {"model": "plain"},
    },
    "routing": {"queue_pairs": 2},
    "job": [{"hosts": 6, "collective": {"kind": "all-reduce", "bytes": "64 MiB"}}],
}

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


@pytest.fixture
def weeks(tmp_path: Path) -> Path:
    """Return a file with weeks of jobs, two seeds by two policies, beside the list that it names."""
    (tmp_path / "given.csv").write_text("\n".join(["name,submitted,gpus,duration", *ROWS]) + "\n")
    path = tmp_path / "weeks.toml"
    path.write_text(WEEKS)
    return path


@pytest.fixture
def text() -> str:
    """Return the scenario as TOML."""
    return TEXT


@pytest.fixture
def table() -> dict[str, Any]:
    """Return the scenario as a dictionary."""
    return TABLE


@pytest.fixture(scope="session")
def tiny() -> rt.Run:
    """Return a run of the scenario."""
    return rt.run(TEXT)
