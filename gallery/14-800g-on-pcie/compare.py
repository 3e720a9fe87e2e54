#!/usr/bin/env python3
"""Run the sweep over PCIe generations, GPUs for each NIC and loads: tables, and curves for a picture.

Call: compare.py [FILE], which gets the curves for ../13-what-leaves-a-host/chart.py. $RAILTWIN is the
command, else target/release/railtwin.
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
RAILTWIN = os.environ.get("RAILTWIN", "target/release/railtwin")
NAMES = {"gen5": "PCIe 5", "gen6": "PCIe 6"}
COLOURS = {"gen5": "#c2333d", "gen6": "#2b8a9e"}
DASHES = {("1", "1.0"): "", ("2", "1.0"): "8 4", ("2", "0.5"): "2 3"}
KINDS = {
    ("1", "1.0"): "one GPU",
    ("2", "1.0"): "two GPUs",
    ("2", "0.5"): "two GPUs that send half to each other",
}
HOSTS = 32


def curves() -> list[tuple[str, tuple[str, str], list[list[float]]]]:
    """Give by generation and kind: Gbps for each NIC offered to others, carried, latency in us."""
    call = [RAILTWIN, "intranode", str(HERE / "nics-on-pcie.toml"), "--json"]
    answer = subprocess.run(call, check=True, capture_output=True, text=True)
    found: dict[tuple[str, tuple[str, str]], list[list[float]]] = {}
    for point in json.loads(answer.stdout)["points"]:
        label = dict(point["label"])
        value = {figure["name"]: figure["value"] for figure in point["figures"]}
        kind = (label["fabric.host.gpus"], label["intranode.inter"])
        carried = value["inter_rate"] / HOSTS * 1e-9
        offered = carried / value["inter_carried_share"]
        late = value["inter_latency"] * 1e6
        if kind in KINDS:
            found.setdefault((label["intranode.pcie.generation"], kind), []).append([offered, carried, late])
    return [(generation, kind, points) for (generation, kind), points in found.items()]


def charts(all_curves: list[tuple[str, tuple[str, str], list[list[float]]]]) -> dict:
    """Give the panels for chart.py."""

    def panel(title: str, unit: str, column: int, **more: object) -> dict:
        drawn = [
            {
                "name": f"{NAMES[generation]}, {KINDS[kind]}",
                "colour": COLOURS[generation],
                "dash": DASHES[kind],
                "points": [[point[0], point[column]] for point in points if point[0] < 1000],
            }
            for generation, kind, points in all_curves
        ]
        across = "Gbps that the GPUs of a NIC have for other hosts"
        return {"title": title, "x": across, "y": unit, "curves": drawn, **more}

    limits = [[504.1, "PCIe 5 x16"], [800.0, "the NIC"]]
    return {
        "title": "NICs of 800 Gbps on PCIe 5 and on PCIe 6",
        "note": "Messages of 64 KiB to random GPUs of 32 PCIe switches with a NIC each, "
        "in bytes as they are on PCIe.",
        "panels": [
            panel("What arrives", "Gbps of each NIC", 1, lines=limits, top=850),
            panel("How long a message takes", "us", 2, log=True),
        ],
    }


def main() -> None:
    """Print the table; write the curves where a file is named."""
    found = curves()
    print("                                                offered  arrives  latency")
    for generation, kind, points in found:
        for offered, carried, late in points:
            name = f"{NAMES[generation]}, {KINDS[kind]}"
            print(f"{name:46}  {offered:7.0f}  {carried:7.0f}  {late:6.1f} us")
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(json.dumps(charts(found)))


if __name__ == "__main__":
    main()
