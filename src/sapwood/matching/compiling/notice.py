"""The notice for people who wait while kernels are compiled."""

from __future__ import annotations

import logging
import sys


def tell(sentence: str) -> None:
    """Log a sentence, and write it to standard error if that is a terminal."""
    logging.getLogger("sapwood").info(sentence)
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"sapwood: {sentence}\n")


def compiling(name: str) -> str:
    """The sentence before a set is compiled."""
    return (
        f"compiling the kernels for {name}, once on this machine; "
        "this takes some seconds (sapwood warm-up does it ahead of time)"
    )
