#!/usr/bin/env python3
# Prints the tables of README.md: who goes first, and where the second tenant sits.
# Needs target/release/railtwin (`make command`), or $RAILTWIN.
"""Two tenants under every order of who goes first, in two places."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
RAILTWIN = os.environ.get("RAILTWIN", str(HERE.parents[1] / "target" / "release" / "railtwin"))
BESIDE = "[4, 5, 10, 11]"
APART = "[12, 13, 14, 15]"
WAYS = {
    "hashed, nobody first": {},
    "hashed, `pretrain` first": {"first": "pretrain"},
    "hashed, `tune` first": {"first": "tune"},
    "hashed, Crux's order (`crux-pa`)": {"routing": 'balancer = "crux-pa"'},
    "Crux's paths, nobody first": {"routing": 'balancer = "crux"\n[control]\nlevels = 1'},
    "Crux's paths and order (`crux`)": {"routing": 'balancer = "crux"'},
}


def changed(text: str, hosts: str, *, first: str = "", routing: str = "") -> str:
    """Return the scenario with `tune` on these hosts, one job first, and a section `[routing]`."""
    text = text.replace(BESIDE, hosts)
    if first:
        text = text.replace(f'name = "{first}"', f'name = "{first}"\npriority = 1')
    return f"{text}\n[routing]\n{routing}\n"


def asked(text: str) -> dict:
    """Return what `railtwin interference` says."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "asked.toml"
        path.write_text(text)
        args = [RAILTWIN, "interference", str(path), "--json"]
        done = subprocess.run(args, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    """Print a row for each place and way."""
    scenario = (HERE / "two-tenants.toml").read_text()
    print("| `tune` on | who goes how | `pretrain` | | `tune` | |")
    print("| --- | --- | --- | --- | --- | --- |")
    for hosts, place in ((BESIDE, "4, 5, 10, 11"), (APART, "12 to 15")):
        for way, keys in WAYS.items():
            answer = asked(changed(scenario, hosts, **keys))
            cells = []
            for job in answer["jobs"]:
                step = [job["together_s"][which] * 1e3 for which in ("median", "p5", "p95")]
                cells += [f"{step[0]:.0f}", f"{step[1]:.0f} to {step[2]:.0f}"]
            print(f"| {place} | {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
