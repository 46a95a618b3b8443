"""``python -m neuler``: the command line."""

import sys

from neuler.cli import main

if __name__ == "__main__":
    sys.exit(main())
