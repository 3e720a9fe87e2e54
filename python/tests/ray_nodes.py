# A Ray cluster of three nodes on this machine, as a process: tests speak to it by its standard streams.
"""Makes the cluster and prints its address.

Each line `kill RUN_ID` kills the node that runs that point; `settle` waits until all that live are known.
"""

import sys
import time
from pathlib import Path

from ray.cluster_utils import Cluster

WAIT_S = 60.0
ROOM = {"num_cpus": 1, "memory": 1 << 30}


def processes() -> dict[int, tuple[int, list[str]]]:
    """Return the parent and the command line of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            found[int(entry.name)] = (int(stat.rsplit(")", 1)[1].split()[1]), line)
    return found


def above(run_id: str) -> set[int]:
    """Return the processes above the one that runs a point, once there is one."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        table = processes()
        for pid, (_, line) in table.items():
            if "run-point" in line and run_id in line:
                chain = {pid}
                while pid in table:
                    pid = table[pid][0]
                    chain.add(pid)
                return chain
        time.sleep(0.05)
    raise TimeoutError(f"nobody runs {run_id}")


def main() -> None:
    """Serve until standard input closes."""
    # The driver's node, which has no room for points: only the others are killed.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(wait=False, **ROOM) for _ in range(2)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line == "settle\n":
            cluster.wait_for_nodes(timeout=WAIT_S)
            print("settled", flush=True)
            continue
        chain = above(line.split()[1])
        [node] = [node for node in nodes if chain & {info.process.pid for info in raylets(node)}]
        nodes.remove(node)
        cluster.remove_node(node, allow_graceful=False)
        nodes.append(cluster.add_node(wait=False, **ROOM))
        print("killed", flush=True)
    cluster.shutdown()


def raylets(node: object) -> list:
    """Return the node's processes."""
    return [info for infos in node.all_processes.values() for info in infos]


if __name__ == "__main__":
    main()
