"""The program for spark-submit: `spark-submit [its options] job.py match --subscriptions ...`.

What follows the program's name is what would follow `sapwood pipeline`. The session is the one that
spark-submit has configured. As an entry point this file stands outside the rooms, like a
`__main__`, and starts the command line.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Run `sapwood pipeline` with these arguments."""
    # A program's own folder comes first in the search for modules, and this one is a package's.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != here]
    try:
        command = import_module("sapwood.cli.main").main
    except ModuleNotFoundError as error:
        sys.exit(
            f"{error}. spark-submit runs {sys.executable}; set PYSPARK_PYTHON to the Python that "
            "has the package sapwood[spark]"
        )
    command(args=["pipeline", *arguments], prog_name="sapwood")


if __name__ == "__main__":
    main(sys.argv[1:])
