# `python -m railtwin`: the command, without a script on the path.
"""The `railtwin` command."""

import sys

from railtwin import main

if __name__ == "__main__":
    sys.exit(main())
