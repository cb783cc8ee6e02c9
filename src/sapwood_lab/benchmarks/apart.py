"""Measuring in a process of its own, so that nothing is warm, or held, from what came before.

A module that is measured so can be run as a program: it takes its arguments as texts and prints
what it found as JSON.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from sapwood.errors import EnvironmentMissingError


def run_apart(module: str, arguments: Sequence[object], subject: str) -> bytes:
    """The output of a module that is run as a program.

    Raises `EnvironmentMissingError` with its last words where it fails; `subject` is what could
    not be measured then.
    """
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", module, *map(str, arguments)], capture_output=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise EnvironmentMissingError(f"{subject} could not be measured: {said[-1]}")
    return done.stdout
