"""The protocol that a command was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.protocol_choice import chosen_protocol
from sapwood.errors import InputError, UnknownNameError


def test_a_dtd_goes_with_any_protocol(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text("<!ELEMENT a (b*)><!ELEMENT b EMPTY>")
    for name in ("covering", "simple", "covering+merging:0.1"):
        assert chosen_protocol(name, str(dtd)).name == name
        assert chosen_protocol(name, None).name == name


def test_what_is_no_dtd_and_no_protocol_is_refused(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text("no DTD")
    with pytest.raises(InputError):
        chosen_protocol("covering+merging", str(dtd))
    with pytest.raises(UnknownNameError):
        chosen_protocol("gossip", None)
