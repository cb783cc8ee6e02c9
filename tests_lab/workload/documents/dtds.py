"""The DTDs that workloads are tested with: our own, and NITF if it is there."""

from __future__ import annotations

from functools import cache
from importlib import resources
from io import BytesIO
from typing import Any, Final

from lxml import etree
from tests.data import data_file

from sapwood.xml.dtd import Dtd, read_dtd

NAMES: Final = ("proteins", "news", "nitf")


def dtd_bytes(name: str) -> bytes:
    if name == "nitf":
        return data_file("nitf", "nitf-2-5.dtd").read_bytes().replace(b"\r", b"\n")
    return resources.files("sapwood_lab.workload.documents").joinpath(f"{name}.dtd").read_bytes()


@cache
def dtd_of(name: str) -> Dtd:
    return read_dtd(dtd_bytes(name))


def validator(data: bytes) -> Any:
    """libxml2's validator of a DTD."""
    return etree.DTD(BytesIO(data))
