"""`scripts/reference.py`: every page has a module, and all public names are there."""

from __future__ import annotations

import inspect

import pytest

from tests.scripts.loading import load

REFERENCE = load("reference")


@pytest.mark.parametrize("page", REFERENCE.PAGES)
def test_every_public_name_of_a_page_is_there_and_says_what_it_is(page: str) -> None:
    module = REFERENCE.loaded(page)
    assert module.__doc__
    for name in getattr(module, "__all__", ()):
        value = vars(module)[name]
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{page}.{name} says nothing"
