"""The public door to what tests of other projects need: conformance suites, broker processes.

::

    from sapwood.testing import BrokerProcesses, check_index

    def test_my_engine_conforms(tmp_path):
        check_index(lambda: Index(records=my_engine_info), tmp_path)

    def test_my_application():
        with BrokerProcesses(["a", "b"], [("a", "b")]) as overlay:
            run_against(overlay.addresses["a"])

Nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.matching.checks import check_index
    from sapwood.matching.documents.checks import check_document_engine
    from sapwood.testing.overlay import BrokerProcess, BrokerProcesses

__all__ = ("BrokerProcess", "BrokerProcesses", "check_document_engine", "check_index")

_HOMES: Final = (
    ("BrokerProcess", "sapwood.testing.overlay"),
    ("BrokerProcesses", "sapwood.testing.overlay"),
    ("check_document_engine", "sapwood.matching.documents.checks"),
    ("check_index", "sapwood.matching.checks"),
)


def __getattr__(name: str) -> object:
    for public, home in _HOMES:
        if public == name:
            return getattr(import_module(home), name)
    message = f"module 'sapwood.testing' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)
