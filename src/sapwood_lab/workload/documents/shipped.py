"""The DTDs that come with Sapwood."""

from __future__ import annotations

from importlib import resources
from typing import Final

from sapwood.errors import UnknownNameError
from sapwood.xml.dtd import Dtd, read_dtd

SHIPPED: Final = ("news", "proteins")
"""Their names; each is the name of its root element too."""


def shipped_dtd(name: str) -> Dtd:
    """The DTD of that name; raises `UnknownNameError` with the names there are."""
    if name not in SHIPPED:
        raise UnknownNameError("DTD", name, SHIPPED)
    return read_dtd(resources.files(__package__).joinpath(f"{name}.dtd").read_bytes(), root=name)
