"""Make these dumps: jobs of eight processes that hang for real, under PyTorch's Gloo.

    pip install torch
    python make_dumps.py FOLDER [CASE ...]

Every case is a small program of which one rank does something wrong at a known place. Eight seconds after
they began, when the others have long been waiting, all write what PyTorch's Flight Recorder holds as
JSON, five seconds later as a pickle without stacks, and are ended. PyTorch 2.15 records collectives under
Gloo, not sends and receives.
"""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup, Work

RANKS = 8


class Job:
    """What a rank calls: blocking collectives of all, of pairs, of all even or all odd ranks."""

    def __init__(self, rank: int) -> None:
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.rank = torch, dist, rank
        pairs = [dist.new_group(list(range(at, at + 2))) for at in range(0, RANKS, 2)]
        halves = [dist.new_group(list(range(at, RANKS, 2))) for at in range(2)]
        self.pair, self.half = pairs[rank // 2], halves[rank % 2]
        self.x = torch.ones(4096)

    def end(self, work: "Work") -> None:
        """Wait without holding the interpreter; a rank whose operation fails does nothing more."""
        while not work.is_completed():
            time.sleep(0.005)
        try:
            work.wait()
        except RuntimeError:
            stop()

    def reduce(self, group: "ProcessGroup | None" = None, size: int | None = None) -> None:
        """Add up a tensor over a group."""
        x = self.x if size is None else self.torch.ones(size)
        self.end(self.dist.all_reduce(x, group=group, async_op=True))

    def broadcast(self, root: int) -> None:
        """Send a tensor from a root to all."""
        self.end(self.dist.broadcast(self.x, root, async_op=True))

    def gather(self) -> None:
        """Give the parts of all to all."""
        parts = [self.torch.ones(512) for _ in range(RANKS)]
        self.end(self.dist.all_gather(parts, self.torch.ones(512), async_op=True))

    def exchange(self, step: int) -> None:
        """Exchange with all what has sizes by lot, some of them 0."""
        draw = random.Random(step)
        sizes = [[draw.randrange(50) * draw.randrange(2) for _ in range(RANKS)] for _ in range(RANKS)]
        gets, gives = [of[self.rank] for of in sizes], sizes[self.rank]
        given, got = self.torch.ones(sum(gives)), self.torch.empty(sum(gets))
        self.end(self.dist.all_to_all_single(got, given, gets, gives, async_op=True))


def stop() -> None:
    """Do nothing until the end."""
    while True:
        time.sleep(1)


def world(job: Job) -> None:
    """Rank 5 stops before the fourth all-reduce of all."""
    for step in range(6):
        if job.rank == 5 and step == 3:
            stop()
        job.reduce()


def pairs(job: Job) -> None:
    """Rank 3 stops between two all-reduces of its pair: rank 2 waits for it, and both halves for these."""
    for step in range(6):
        for layer in range(3):
            if job.rank == 3 and (step, layer) == (4, 1):
                stop()
            job.reduce(job.pair)
        job.reduce(job.half)


def two(job: Job) -> None:
    """Ranks 2 and 5 stop, at different places."""
    for step in range(6):
        for layer in range(3):
            if job.rank in (2, 5) and (step, layer) == (4, job.rank % 2):
                stop()
            job.reduce(job.pair)
        job.reduce(job.half)


def skip(job: Job) -> None:
    """Rank 4 leaves out an all-reduce of its pair: calls of both meet one late until rank 5 has one more."""
    for step in range(6):
        for layer in range(3):
            if job.rank != 4 or (step, layer) != (3, 2):
                job.reduce(job.pair)
        job.reduce(job.half)


def other(job: Job) -> None:
    """Rank 7 calls a broadcast where all others call an all-reduce."""
    for step in range(6):
        job.broadcast(0) if (job.rank, step) == (7, 3) else job.reduce()


def size(job: Job) -> None:
    """Rank 6 gives twice as much to an all-reduce as the others; Gloo may end the process of another."""
    for step in range(6):
        job.reduce(size=8192 if (job.rank, step) == (6, 3) else None)


def killed(job: Job) -> None:
    """Rank 1 is killed: no dump of it; its neighbours see their connections fail, the others wait."""
    for step in range(20):
        if (job.rank, step) == (1, 7):
            os._exit(1)
        job.reduce()


def experts(job: Job) -> None:
    """Rank 2 stops before an all-to-all whose sizes differ by rank."""
    for step in range(6):
        if (job.rank, step) == (2, 4):
            stop()
        job.exchange(step)
        job.reduce()


def root(job: Job) -> None:
    """Rank 3 stops before a broadcast of which it is the root."""
    for step in range(6):
        if (job.rank, step) == (3, 3):
            stop()
        job.broadcast(3)
        job.gather()


def healthy(job: Job) -> None:
    """Nothing is wrong: dumps are of some moment."""
    for step in range(100_000):
        for _ in range(3):
            job.reduce(job.pair)
            time.sleep(0.01)
        job.reduce(job.half)
        job.exchange(step)
        job.reduce()


CASES = [world, pairs, two, skip, other, size, killed, experts, root, healthy]


def run(rank: int, name: str, folder: Path) -> None:
    """Be one rank of a case."""
    import torch.distributed as dist
    from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json

    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    job = Job(rank)

    def dump() -> None:
        time.sleep(8)
        text = _dump_fr_trace_json()
        (folder / f"rank_{rank}.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        time.sleep(5)
        (folder / f"rank_{rank}").write_bytes(_dump_fr_trace(includeStackTraces=False))
        time.sleep(2)
        os._exit(0)

    threading.Thread(target=dump, daemon=True).start()
    next(case for case in CASES if case.__name__ == name)(job)
    stop()


def main() -> None:
    """Run cases one after the other."""
    folder, names = Path(sys.argv[1]), sys.argv[2:] or [case.__name__ for case in CASES]
    for at, name in enumerate(names):
        out = folder / name
        out.mkdir(parents=True, exist_ok=True)
        common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29700 + at), "TORCH_FR_BUFFER_SIZE": "64"}
        ranks = [
            subprocess.Popen(
                [sys.executable, __file__, str(out), name, str(rank)],
                env=os.environ | common | {"OMP_NUM_THREADS": "1"},
            )
            for rank in range(RANKS)
        ]
        for rank in ranks:
            rank.wait()


if __name__ == "__main__":
    if os.environ.get("TORCH_FR_BUFFER_SIZE") and len(sys.argv) == 4 and sys.argv[3].isdigit():
        run(int(sys.argv[3]), sys.argv[2], Path(sys.argv[1]))
    else:
        main()
