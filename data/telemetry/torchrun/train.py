"""A job of four processes of which rank 2 ends by itself at its sixth step.

    torchrun --standalone --nproc-per-node 4 train.py HOW > HOW.log 2>&1

HOW is `raises`, `chained` (one exception because of another), `killed`, `segv` or `exit`.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist


def end(how: str, step: int) -> None:
    """End this process."""
    if how == "raises":
        message = f"sample {step} cannot be decoded"
        raise ValueError(message)
    if how == "chained":
        try:
            {}["token"]
        except KeyError as error:
            message = "bad batch"
            raise RuntimeError(message) from error
    if how == "exit":
        sys.exit(3)
    os.kill(os.getpid(), {"killed": signal.SIGKILL, "segv": signal.SIGSEGV}[how])


def main() -> None:
    """Add up a tensor over all ranks, again and again."""
    dist.init_process_group("gloo")
    x = torch.ones(16)
    for step in range(20):
        if dist.get_rank() == 2 and step == 5:
            end(sys.argv[1], step)
        dist.all_reduce(x)


if __name__ == "__main__":
    main()
