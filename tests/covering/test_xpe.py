"""Tree patterns without branches, as steps."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.covering.xpe import XPE, pattern_of, steps_of
from sapwood.language.xpath import parse_xpath
from tests.covering.merging.worlds import xpes


@given(xpes())
def test_steps_make_a_pattern_of_the_same_steps(steps: XPE) -> None:
    assert steps_of(pattern_of(steps)) == steps
    assert steps_of(parse_xpath(str(pattern_of(steps)))) == steps


@pytest.mark.parametrize("text", ["/a[b][c]", "/a[b or c]", "/a/@k", "/a/text()", "/a[. = 1]"])
def test_what_branches_or_reads_content_is_no_xpe(text: str) -> None:
    assert steps_of(parse_xpath(text)) is None
