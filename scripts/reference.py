"""Builds the API reference from the docstrings: `make docs` runs it.

Public names that packages load when they are asked for (`sapwood.Index`) are asked for first, since
the generator reads what modules hold.
"""

# ruff: noqa: T201 - it talks to the person who called it

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
OUT: Final = ROOT / "build" / "docs"

PAGES: Final = (
    "sapwood",
    "sapwood.errors",
    "sapwood.limits",
    "sapwood.catalogue",
    "sapwood.xml",
    "sapwood.matching",
    "sapwood.covering",
    "sapwood.routing.router",
    "sapwood.routing.inputs",
    "sapwood.routing.effects",
    "sapwood.routing.messages",
    "sapwood.simulation",
    "sapwood.files",
    "sapwood.client",
    "sapwood.client.blocking",
    "sapwood.pipeline",
    "sapwood.testing",
)
"""The modules that others may build on, a page each."""


def main(out: Path = OUT) -> int:
    """Write the pages and return the exit status."""
    from pdoc import pdoc, render

    modules = [loaded(name) for name in PAGES]
    render.configure(docformat="markdown", show_source=False)
    pdoc(*(module.__name__ for module in modules), output_directory=out)
    print(f"docs: {out / 'index.html'}")
    return 0


def loaded(name: str) -> ModuleType:
    """A module that holds all its public names."""
    module = import_module(name)
    public: Sequence[str] = getattr(module, "__all__", ())
    for one in public:
        setattr(module, one, getattr(module, one))
    return module


if __name__ == "__main__":
    sys.exit(main())
