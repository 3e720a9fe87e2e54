# Fabrics from an intent, designs side by side, topology files of other projects.
"""The calls before there is a cluster: plans, searches, comparisons, reports, topology files.

Each is the command of the same words, so that both say the same.
"""

import io
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from railtwin import _native
from railtwin.console import OWN
from railtwin.errors import ArgumentError

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def _said(words: Iterable[str]) -> str:
    """Return what the command prints for some words.

    Raises `ArgumentError` with what the command says of words that it refuses.
    """
    out, notes = io.StringIO(), io.StringIO()
    status = _native.run_command(OWN, list(words), out, notes)
    if status != 0:
        raise ArgumentError(notes.getvalue().strip() or f"the command ended with status {status}")
    return out.getvalue()


def _read(words: Iterable[str]) -> dict[str, Any]:
    """Return the JSON that the command prints for some words."""
    answer: dict[str, Any] = json.loads(_said([*words, "--json"]))
    return answer


def _options(pairs: Mapping[str, Any]) -> list[str]:
    """Options of the command; what is None or empty is left out, lists are joined by commas."""
    words: list[str] = []
    for name, value in pairs.items():
        if value is None or value == ():
            continue
        if isinstance(value, Iterable) and not isinstance(value, str):
            text = ",".join(map(str, value))
        else:
            text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        words += [f"--{name}", text]
    return words


def plan(
    style: str = "rail-optimised",
    *,
    gpus: int,
    host: str | None = None,
    switches: str | Iterable[str] = (),
    tiers: int | Iterable[int] = (),
    oversubscription: float | Iterable[float] = (),
    core_oversubscription: float | Iterable[float] = (),
    planes: int | Iterable[int] = (),
    tors: int | Iterable[int] = (),
    parts: str | os.PathLike[str] | None = None,
    page: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Plan the fabrics of a style that carry so many GPUs, a candidate for each combination of the lists.

    `parts` is a table of prices over ours, `page` a file for the answer as HTML.

    >>> import railtwin as rt
    >>> found = rt.plan(gpus=2048, host="dgx-h100", switches="64x400G", tiers=2)
    >>> [one["counts"]["leaves"] for one in found["candidates"]]
    [64]

    Raises `ArgumentError`.
    """
    options = _options(
        {
            "gpus": gpus,
            "host": host,
            "switch": switches,
            "tiers": tiers,
            "oversubscription": oversubscription,
            "core-oversubscription": core_oversubscription,
            "planes": planes,
            "tors": tors,
            "parts": parts,
            "page": page,
        }
    )
    return _read(["design", style, *options])


def search_designs(
    *,
    gpus: int,
    host: str | None = None,
    oversubscription: float | Iterable[float] = (),
    core_oversubscription: float | Iterable[float] = (),
    parts: str | os.PathLike[str] | None = None,
    page: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Find the cheapest fabric that keeps all GPUs connected, at half their bandwidth, without any one leaf.

    >>> import railtwin as rt
    >>> rt.search_designs(gpus=512)["best"]["loss"]["losses"][0]["pairs_cut"]
    0

    Raises `ArgumentError`.
    """
    options = _options(
        {
            "gpus": gpus,
            "host": host,
            "oversubscription": oversubscription,
            "core-oversubscription": core_oversubscription,
            "parts": parts,
            "page": page,
        }
    )
    return _read(["design", "search", *options])


def compare_designs(
    a: str | os.PathLike[str], b: str | os.PathLike[str], *, parts: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Compare two presets or scenarios figure by figure.

    >>> import railtwin as rt
    >>> rows = rt.compare_designs("hpn", "dcn-plus")["comparison"]["rows"]
    >>> [row["ratio"] > 1 for row in rows if row["figure"] == "leaf-spine cables"]
    [True]

    Raises `ArgumentError`.
    """
    words = ["design", "compare", os.fspath(a), os.fspath(b)]
    return _read([*words, *_options({"parts": parts})])


def design_report(
    what: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    building_mw: float | None = None,
    reads: str | None = None,
    step: str | None = None,
    parts: str | os.PathLike[str] | None = None,
    page: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Compute what the papers ask of a design: goals, ports, paths, price, losses, power, buildings, optics.

    `settings` are keys of `[fabric]` of a preset; `reads` bytes that a GPU reads for a step, `step` its time.

    >>> import railtwin as rt
    >>> rt.design_report("hpn", settings={"segments": 2, "hosts": 4})["search_space"]["product"]
    60

    Raises `ArgumentError`.
    """
    options = _options({"building": building_mw, "reads": reads, "step": step, "parts": parts, "page": page})
    for key, value in (settings or {}).items():
        options += ["--set", f"{key}={json.dumps(value)}"]
    report: dict[str, Any] = _read(["design", os.fspath(what), "--report", *options])["report"]
    return report


def read_topology(files: Paths, *, form: str | None = None) -> dict[str, Any]:
    """Read topology files of other projects: what is counted, and where they contradict themselves.

    >>> import pathlib, tempfile
    >>> import railtwin as rt
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "topology.conf"
    >>> _ = file.write_text("SwitchName=s1 Nodes=n[1-4]")
    >>> rt.read_topology(file)["counts"]["hosts"]
    4

    Raises `ArgumentError`.
    """
    several = [files] if isinstance(files, str | os.PathLike) else files
    return _read(["import", *(os.fspath(file) for file in several), *_options({"as": form})])


def write_topology(
    what: str | os.PathLike[str], form: str, *, folder: str | os.PathLike[str] | None = None
) -> str:
    """Write a preset, a scenario or a topology file in another form; a form of several files needs `folder`.

    Returns the text, or with `folder` what the command says.

    >>> import railtwin as rt
    >>> rt.write_topology("leaf-spine", "slurm").splitlines()[0].startswith("#")
    True

    Raises `ArgumentError`.
    """
    words = ["export", os.fspath(what), "--to", form]
    return _said([*words, os.fspath(folder)] if folder is not None else words)
