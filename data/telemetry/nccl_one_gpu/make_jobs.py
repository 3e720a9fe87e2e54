"""Make these files: jobs of eight processes under PyTorch and NCCL that hang, die or are slow for real.

    pip install torch
    python make_jobs.py FOLDER [CASE ...]

They run on one GPU. NCCL refuses two ranks on one GPU of one host; here each process says to be another
host (`NCCL_HOSTID`), so they speak through sockets of the loopback. Ranks share the GPU by slices of time.

A case is a small program of which something goes wrong at a known place: a training step of two pipeline
stages, two replicas and two tensor-parallel halves, or plain data parallelism under the profiler (`slow_*`).
Of each there are what clusters keep: dumps of the Flight Recorder that PyTorch's watchdog writes when an
operation runs out of its time (`timeout/`), dumps of two moments before (`moment/`, `later/`), each rank's
output with NCCL_DEBUG=INFO (`log/`), and answers of NCCL's RAS (`ras*.txt`, `ras*.json`).
"""

import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.distributed import ProcessGroup

RANKS = 8
BACKEND = os.environ.get("MAKE_JOBS_BACKEND", "nccl")
MOMENT, LATER, TIMEOUT, END = 12, 16, 18, 38  # seconds, all but the third after the job began to train


class Job:
    """Tensor-parallel ranks are neighbours, replicas two apart, the second stage begins at rank 4."""

    def __init__(self, rank: int, faults: "Callable[[Job, int, str], None]") -> None:
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.rank, self.faults, self.step = torch, dist, rank, faults, 0
        self.device = torch.device("cuda:0" if BACKEND == "nccl" else "cpu")

        def mine(groups: list[list[int]], name: str) -> "ProcessGroup":
            made = [dist.new_group(ranks, group_desc=name) for ranks in groups]
            return next(group for group, ranks in zip(made, groups, strict=True) if rank in ranks)

        self.tp = mine([[0, 1], [2, 3], [4, 5], [6, 7]], "TENSOR_PARALLEL")
        self.dp = mine([[0, 2], [1, 3], [4, 6], [5, 7]], "DATA_PARALLEL")
        self.pp = mine([[0, 4], [1, 5], [2, 6], [3, 7]], "PIPELINE_PARALLEL")
        self.ep = mine([[0, 1, 2, 3], [4, 5, 6, 7]], "EXPERT_PARALLEL")
        self.x = torch.ones(4096, device=self.device)
        self.peer = (rank + 4) % 8

    def at(self, place: str) -> None:
        """Pass a place of the step, at which the case may do something to this rank."""
        self.faults(self, self.step, place)

    def reduce(self, group: "ProcessGroup | None" = None, size: int = 4096) -> None:
        """Add up a tensor over a group."""
        self.dist.all_reduce(
            self.x if size == 4096 else self.torch.ones(size, device=self.device), group=group
        )

    def exchange(self, batch: list[str]) -> None:
        """Send to or receive from the other stage, several at once as coalesced operations."""
        of = {"send": self.dist.isend, "recv": self.dist.irecv}
        other = self.torch.empty_like(self.x)
        ops = [
            self.dist.P2POp(of[what], self.x if what == "send" else other, self.peer, group=self.pp)
            for what in batch
        ]
        for work in self.dist.batch_isend_irecv(ops):
            work.wait()

    def experts(self) -> None:
        """Exchange within the experts' group what has sizes by lot, some of them 0."""
        draw, size = random.Random(self.step), 4
        sizes = [[draw.randrange(50) * draw.randrange(2) for _ in range(size)] for _ in range(size)]
        me = self.rank % 4
        gets, gives = [of[me] for of in sizes], sizes[me]
        given, got = (self.torch.ones(sum(of), device=self.device) for of in (gives, gets))
        self.dist.all_to_all_single(got, given, gets, gives, group=self.ep)

    def layers(self, place: str) -> None:
        """Go through the layers of one micro-batch."""
        for _ in range(2):
            self.at(place)
            self.reduce(self.tp)
            self.x = self.x / 2

    def train(self, steps: int) -> None:
        """Train with one forward, one backward pass in turn, as pipelines do."""
        for self.step in range(steps):
            if self.rank < 4:
                self.layers("forward")
                self.at("send")
                self.exchange(["send"])
                self.layers("forward")
                self.at("both")
                self.exchange(["send", "recv"])
                self.layers("backward")
                self.exchange(["recv"])
                self.layers("backward")
            else:
                self.exchange(["recv"])
                self.layers("forward")
                self.at("both")
                self.layers("backward")
                self.exchange(["send", "recv"])
                self.layers("forward")
                self.layers("backward")
                self.at("send")
                self.exchange(["send"])
            self.at("experts")
            self.experts()
            self.at("replicas")
            self.reduce(self.dp)
            self.at("world")
            self.reduce()
            if self.device.type == "cuda":
                self.torch.cuda.synchronize()


def stop(job: Job) -> None:
    """Do nothing until the end, as a process that waits for data that never comes."""
    while job:
        time.sleep(1)


def gil(job: Job) -> None:
    """Hold the interpreter until the end."""
    ctypes.PyDLL(None).sleep(10_000 + job.rank)


def frozen(job: Job) -> None:
    """Freeze the process, as a host that swaps or is gone does."""
    os.kill(os.getpid(), signal.SIGSTOP)
    job.at("nowhere")


def kernel(job: Job) -> None:
    """Give the GPU a kernel that takes an hour; the process goes on."""
    job.torch.cuda._sleep(int(6e12)) if job.device.type == "cuda" else stop(job)


def killed(job: Job) -> None:
    """Be killed, as for want of memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    job.at("nowhere")


def raises(job: Job) -> None:
    """Fail with an exception, as with a bad sample."""
    message = f"sample {job.step} cannot be decoded"
    raise ValueError(message)


def once(
    rank: int, step: int, place: str, fault: "Callable[[Job], None]"
) -> "Callable[[Job, int, str], None]":
    """Make the fault of a case: what one rank does at one place of one step, the first time."""
    done: list[int] = []

    def faults(job: Job, at_step: int, at: str) -> None:
        if (job.rank, at_step, at) == (rank, step, place) and not done:
            done.append(1)
            fault(job)

    return faults


def both(*of: "Callable[[Job, int, str], None]") -> "Callable[[Job, int, str], None]":
    """Make a case of several faults."""

    def faults(job: Job, step: int, at: str) -> None:
        for fault in of:
            fault(job, step, at)

    return faults


def more(job: Job) -> None:
    """Call an all-reduce of the pair that the other half does not call."""
    job.reduce(job.tp)


def other(job: Job) -> None:
    """Call a broadcast where the others call an all-reduce of all."""
    job.dist.broadcast(job.x, 0)


def bigger(job: Job) -> None:
    """Call an all-reduce of all of twice the size."""
    job.reduce(size=1 << 20)


def swapped(job: Job) -> None:
    """Call the all-reduce of all before that of the replicas, which the other replica does not."""
    job.reduce()
    job.torch.cuda.synchronize() if job.device.type == "cuda" else None


CASES: "dict[str, Callable[[Job, int, str], None]]" = {
    "forward": once(5, 2, "forward", stop),
    "healthy": once(-1, 0, "", stop),
    "send": once(6, 2, "send", stop),
    "both": once(1, 2, "both", stop),
    "experts": once(3, 2, "experts", stop),
    "replicas": once(2, 2, "replicas", stop),
    "kernel": once(4, 2, "backward", kernel),
    "kernel_send": once(0, 2, "send", kernel),
    "kernel_timed": once(4, 2, "backward", kernel),
    "kernel_send_timed": once(0, 2, "send", kernel),
    "gil": once(7, 2, "forward", gil),
    "frozen": once(2, 2, "backward", frozen),
    "killed": once(3, 2, "forward", killed),
    "raises": once(6, 2, "forward", raises),
    "two": both(once(1, 2, "forward", stop), once(6, 2, "forward", gil)),
    "more": once(4, 2, "forward", more),
    "other": once(7, 2, "world", other),
    "bigger": once(5, 2, "world", bigger),
    "swapped": once(2, 2, "replicas", swapped),
}
SLOW = ["slow_none", "slow_data", "slow_gpu", "slow_gpu_mild", "slow_data_long", "slow_none_long"]


def hang(rank: int, name: str, folder: Path) -> None:
    """Be one rank of a case that hangs."""
    import torch
    import torch.distributed as dist

    dist.init_process_group(
        BACKEND,
        rank=rank,
        world_size=RANKS,
        timeout=timedelta(seconds=TIMEOUT),
        device_id=torch.device("cuda:0") if BACKEND == "nccl" else None,
    )
    job = Job(rank, CASES[name])
    for group in (job.tp, job.dp, job.pp, job.ep, None):  # connections are made here, not in the steps
        job.reduce(group)
    dist.barrier()
    if rank == 0:
        (folder / "log" / "begun").touch()

    def dump() -> None:
        from torch._C import _distributed_c10d as c10d

        dumps = getattr(c10d, "_dump_nccl_trace", None) if BACKEND == "nccl" else c10d._dump_fr_trace
        begun = time.monotonic()
        for at, of in ((MOMENT, "moment"), (LATER, "later")):
            time.sleep(max(0.0, begun + at - time.monotonic()))
            (folder / of / f"rank_{rank}").write_bytes(dumps())
        if name == "healthy":
            time.sleep(2)
            os._exit(0)

    threading.Thread(target=dump, daemon=True).start()
    job.train(1_000_000 if name == "healthy" else 12)
    dist.barrier()
    if job.device.type == "cuda":
        torch.cuda.synchronize()
    print(f"rank {rank}: trained to the end", flush=True)


def slow(rank: int, name: str, folder: Path) -> None:
    """Be one rank of a data-parallel job of which rank 4 or nobody is slow, and trace 8 or 48 steps."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    device = torch.device("cuda:0" if BACKEND == "nccl" else "cpu")
    dist.init_process_group(
        BACKEND, rank=rank, world_size=RANKS, device_id=device if device.type == "cuda" else None
    )
    torch.manual_seed(1)
    is_long = name.endswith("_long")
    steps = 48 if is_long else 8
    width = 1024
    layers = [of for _ in range(6) for of in (torch.nn.Linear(width, width), torch.nn.GELU())]
    model = DistributedDataParallel(
        torch.nn.Sequential(*layers).to(device), bucket_cap_mb=64 if is_long else 8
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(256, width, device=device)
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device.type == "cuda" else [])

    def write(of: profile) -> None:
        of.export_chrome_trace(str(folder / f"rank_{rank}.json"))

    def drag() -> None:
        if rank != 4 or not name.startswith("slow_gpu"):
            return
        milliseconds = 120 if name == "slow_gpu" else 30
        torch.cuda._sleep(int(1.7e6 * milliseconds)) if device.type == "cuda" else time.sleep(
            milliseconds / 1e3
        )

    with profile(
        activities=activities, schedule=schedule(wait=2, warmup=2, active=steps), on_trace_ready=write
    ) as of:
        for _ in range(4 + steps):
            begun = time.monotonic()
            with record_function("data"):
                time.sleep(0.15 if rank == 4 and name.startswith("slow_data") else 0.005)
            loss = model(data).square().mean()
            drag()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if device.type == "cuda":
                torch.cuda.synchronize()
            print(f"rank {rank} step time: {time.monotonic() - begun:.4f} s", flush=True)
            of.step()
    dist.barrier()
    dist.destroy_process_group()


def ask(port: int, asked: str) -> str:
    """Ask NCCL's RAS, as its client does."""
    with socket.create_connection(("127.0.0.1", port), timeout=8) as of:
        of.sendall(asked.encode())
        text = b""
        with contextlib.suppress(TimeoutError):
            while got := of.recv(1 << 16):
                text += got
    return text.decode(errors="replace")


def watch(folder: Path, port: int, begun: float) -> None:
    """Ask RAS when the job has hung for a while, and again when the watchdog has come."""
    for name, at in (("ras", MOMENT + 1), ("ras_after", END - 8)):
        time.sleep(max(0.0, begun + at - time.monotonic()))
        for kind, asked in (("txt", ""), ("json", "SET FORMAT json\n")):
            try:
                text = ask(port, f"CLIENT PROTOCOL 2\nTIMEOUT 5\n{asked}VERBOSE STATUS\n")
            except OSError as error:
                text = f"# {error}\n"
            (folder / f"{name}.{kind}").write_text(text)


def play(folder: Path, name: str, port: int) -> dict[str, object]:
    """Run one case with all its ranks to its end."""
    for of in ("", "timeout", "moment", "later", "log"):
        (folder / of).mkdir(parents=True, exist_ok=True)
    ranks = []
    for rank in range(RANKS):
        of_all = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1",
            "NCCL_HOSTID": f"node-{rank}",
            "NCCL_SOCKET_IFNAME": "lo",
            "NCCL_DEBUG": "INFO",
            "NCCL_RAS_ADDR": f"127.0.0.1:{port + 1000}",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_NCCL_ENABLE_MONITORING": "1",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "60",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "4000",
            "TORCH_CPP_LOG_LEVEL": "INFO",
            # Whether a rank has begun an operation is recorded only so.
            "TORCH_NCCL_ENABLE_TIMING": str(int(name.endswith("_timed"))),
        }
        of_all |= dict.fromkeys(("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"), "200")
        of_all |= dict.fromkeys(
            ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"), str(folder / "timeout" / "rank_")
        )
        with (folder / "log" / f"rank_{rank}.log").open("wb") as log:
            ranks.append(
                subprocess.Popen(
                    [sys.executable, __file__, "--rank", str(rank), name, str(folder)],
                    env=os.environ | of_all,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
    watcher = None
    begun = time.monotonic()
    end = begun + (90 if name in CASES else 150)
    while any(of.poll() is None for of in ranks) and time.monotonic() < end:
        time.sleep(0.5)
        if watcher is None and name in CASES and (folder / "log" / "begun").exists():
            now = time.monotonic()
            end = now + END
            watcher = threading.Thread(target=watch, args=(folder, port + 1000, now), daemon=True)
            watcher.start()
    for of in ranks:
        of.kill()
    codes = [of.wait() for of in ranks]
    if watcher:
        watcher.join(30)
    (folder / "log" / "begun").unlink(missing_ok=True)
    return {"case": name, "seconds": round(time.monotonic() - begun, 1), "exit": codes}


def main() -> None:
    """Run cases, each as a process of its own, as many at once as MAKE_JOBS_AT_ONCE says."""
    folder, names = Path(sys.argv[1]).absolute(), sys.argv[2:] or [*CASES, *SLOW]
    at_once = int(os.environ.get("MAKE_JOBS_AT_ONCE", "1"))
    waiting, running = list(enumerate(names)), []
    while waiting or running:
        running = [of for of in running if of.poll() is None]
        while waiting and len(running) < at_once:
            at, name = waiting.pop(0)
            running.append(
                subprocess.Popen(
                    [sys.executable, __file__, "--case", name, str(folder / name), str(29700 + at)]
                )
            )
        time.sleep(0.5)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        of_rank, of_case, of_folder = int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
        (hang if of_case in CASES else slow)(of_rank, of_case, of_folder)
    elif sys.argv[1] == "--case":
        print(json.dumps(play(Path(sys.argv[3]), sys.argv[2], int(sys.argv[4]))), flush=True)
    else:
        main()
