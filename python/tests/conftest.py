# One scenario, small enough to run in milliseconds, as text and as a dictionary.
"""What the tests share."""

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
