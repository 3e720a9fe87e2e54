#!/usr/bin/env python3
"""Let traffic inside hosts grow while each NIC gets the same from its GPUs.

Call: compare.py [FILE], which gets the curves for chart.py. $RAILTWIN is the command, else
target/release/railtwin.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
RAILTWIN = os.environ.get("RAILTWIN", "target/release/railtwin")
# Gbps of a GPU's link, and of its traffic that stays; Gbps that eight GPUs have for their NIC.
LINK = 512.0
INSIDE = [0.0, 96.0, 192.0, 288.0, 384.0, 448.0, 486.0]
BETWEEN = [64.0, 128.0, 192.0]
# Packets of 148 B, which NICs convert, and packets of 4,096 B, which they do not.
PACKETS = {
    "148 B": "",
    "4,096 B": 'header = "64 B"\npayload = "4032 B"\n',
}


def figures(packets: str, inside: float, between: float) -> dict[str, float]:
    """Give the figures of one point, by name."""
    offered = inside + between / 8
    text = (HERE / "inside-and-out.toml").read_text()
    text = text.replace("load = 0.5\n", f"load = {offered / LINK:.6f}\n{PACKETS[packets]}")
    text = text.replace("inter = 0.05\n", f"inter = {between / 8 / offered:.6f}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "point.toml"
        path.write_text(text)
        call = [RAILTWIN, "intranode", str(path), "--json"]
        answer = subprocess.run(call, check=True, capture_output=True, text=True)
    (point,) = json.loads(answer.stdout)["points"]
    return {figure["name"]: figure["value"] for figure in point["figures"]}


def charts(curves: list[tuple[str, float, list[list[float]]]]) -> dict:
    """Give the panels for chart.py."""
    colours = ["#2b8a9e", "#3f6fd1", "#c2333d", "#c97b12"]

    def panel(title: str, unit: str, column: int, lines: list) -> dict:
        drawn = [
            {
                "name": f"{between:.0f} Gbps to each NIC, packets of {packets}",
                "colour": colours[row],
                "dash": "" if packets == "148 B" else "7 4",
                "points": [[point[0], point[column]] for point in points],
            }
            for row, (packets, between, points) in enumerate(curves)
        ]
        across = "Gbps that each GPU has for others of its host"
        return {"title": title, "x": across, "y": unit, "curves": drawn, "lines": lines}

    return {
        "title": "What leaves a host, and what stays in it",
        "note": "Eight hosts of eight GPUs at 512 Gbps, one NIC of 400 Gbps each. All offer the same to "
        "their NIC while what they have for each other grows.",
        "panels": [
            panel("Between hosts", "Gbps of each NIC", 1, [[138.0, "what a NIC converts of 148 B"]]),
            panel("Inside hosts", "Gbps that each GPU gets", 2, []),
        ],
    }


def main() -> None:
    """Print the table; write the curves where a file is named."""
    curves = []
    print("packets   to the NIC  inside  |  between hosts  inside  latency between hosts")
    for packets in PACKETS:
        for between in BETWEEN if packets == "148 B" else BETWEEN[-1:]:
            points = []
            for inside in INSIDE:
                found = figures(packets, inside, between)
                out = found["inter_rate"] / 8e9
                within = found["intra_rate"] / 64e9
                late = found["inter_latency"] * 1e6
                print(
                    f"{packets:8}  {between:6.0f} Gbps  {inside:6.0f}  |"
                    f"  {out:8.1f} Gbps  {within:6.1f}  {late:8.2f} us"
                )
                points.append([inside, out, within, late])
            curves.append((packets, between, points))
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(json.dumps(charts(curves)))


if __name__ == "__main__":
    main()
