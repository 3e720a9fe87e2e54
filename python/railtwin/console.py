# The `railtwin` command of the wheel.
"""The `railtwin` command: the same code as the command built from Rust."""

import os
import sys
from collections.abc import Sequence

from railtwin import _native

OWN = [sys.executable, "-P", "-m", "railtwin"] if sys.executable else []
"""What starts the command anew, as sweeps do for each point; `-P`: never a file of the current folder."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the number of the signal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with arguments after the program's name; return its exit status.

    >>> main(["--version"])
    railtwin 0.1.0
    0
    """
    try:
        args = list(sys.argv[1:] if argv is None else argv)
        status = _native.run_command(OWN, args, sys.stdout, sys.stderr)
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; Python would complain of what is left when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status
