# The public names of railtwin.
"""Twin of a GPU training cluster's network: design a fabric, simulate training on it, read the results.

A scenario says the question: a path, a TOML text, or a dictionary of the same structure.

>>> import railtwin as rt
>>> run = rt.run({
...     "schema": 1,
...     "name": "ring-of-two",
...     "fabric": {"preset": "fat-tree", "k": 4},
...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}],
... })
>>> round(run.figures["busbw_mean"] / 400e9, 2)
0.98
"""

from railtwin._native import Figure, Run, Table, __version__
from railtwin.answers import Explanation, Hypothesis, Order, Triage, explain, triage
from railtwin.console import main
from railtwin.errors import (
    ArgumentError,
    ControllerError,
    Error,
    FileError,
    FolderError,
    InternalError,
    MissingPackageError,
    Problem,
    ScenarioError,
)
from railtwin.evidence import (
    Bandwidth,
    Calibration,
    Diagnosis,
    Finding,
    Incident,
    calibrate,
    check_bandwidth,
    diagnose,
)
from railtwin.front import (
    cluster,
    design,
    impact,
    interference,
    intranode,
    open,
    run,
    schedule,
    schema,
    sweep,
    what_if,
)
from railtwin.planning import (
    compare_designs,
    design_report,
    plan,
    read_topology,
    search_designs,
    write_topology,
)

version = __version__

__all__ = [
    "ArgumentError",
    "Bandwidth",
    "Calibration",
    "ControllerError",
    "Diagnosis",
    "Error",
    "Explanation",
    "Figure",
    "FileError",
    "Finding",
    "FolderError",
    "Hypothesis",
    "Incident",
    "InternalError",
    "MissingPackageError",
    "Order",
    "Problem",
    "Run",
    "ScenarioError",
    "Table",
    "Triage",
    "__version__",
    "calibrate",
    "check_bandwidth",
    "cluster",
    "compare_designs",
    "design",
    "design_report",
    "diagnose",
    "explain",
    "impact",
    "interference",
    "intranode",
    "main",
    "open",
    "plan",
    "read_topology",
    "run",
    "schedule",
    "schema",
    "search_designs",
    "sweep",
    "triage",
    "version",
    "what_if",
    "write_topology",
]
