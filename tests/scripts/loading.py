"""Scripts are no package; this loads one as a module."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[2] / "scripts"


def load(name: str) -> Any:
    """The module in `scripts/<name>.py`."""
    spec = spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
