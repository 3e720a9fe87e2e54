#!/usr/bin/env python3
# Prints the table of README.md: hashing, the balancer of least_used.py, and C4P on the same scenarios.
# With a folder it writes the healthy runs into it. Needs the Python module (`make setup`).
"""One scenario under three balancers, healthy and with a dead uplink."""

import functools
import pathlib
import sys
import tomllib

import railtwin as rt
from least_used import LeastUsed

HERE = pathlib.Path(__file__).parent
KINDS = {
    "ecmp": ("ecmp", []),
    "least-used": ("ecmp", [LeastUsed]),
    "least-used-256": ("ecmp", [functools.partial(LeastUsed, tries=256)]),
    "c4p": ("c4p", []),
}


def main() -> None:
    """Print a row for each scenario and balancer."""
    scenario = tomllib.loads((HERE / "write-a-balancer.toml").read_text())
    faults = scenario.pop("fault")
    print("| uplinks | balancer | mean | least | most | moved |")
    print("| --- | --- | --- | --- | --- | --- |")
    for state, fault in (("all", []), ("one dies", faults)):
        for kind, (balancer, controllers) in KINDS.items():
            routing = {**scenario["routing"], "balancer": balancer}
            run = rt.run(
                {**scenario, "name": kind, "routing": routing, "fault": fault}, controllers=controllers
            )
            values = [run.figures[f"jobs.busbw_per_nic_{which}"] for which in ("mean", "min", "max")]
            words = " | ".join("-" if value is None else f"{value / 1e9:.1f}" for value in values)
            actions = run.table("actions").to_dict()
            moved = sum(n for n, at in zip(actions["moved"], actions["decided_ps"], strict=True) if at > 0)
            print(f"| {state} | {kind} | {words} | {moved} |")
            if len(sys.argv) > 1 and not fault:
                run.write(pathlib.Path(sys.argv[1]) / kind)


if __name__ == "__main__":
    main()
