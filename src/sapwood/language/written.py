"""Interests as text: the form of filters of either language in files, on the wire and in indexes.

The text alone does not identify its language (`a` is a filter of either), so it never goes without
the name of its language.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias, cast

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.limits import NORMAL_FORM_STEPS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements import Advertisement
from sapwood.model.patterns.pattern import TreePattern

Language: TypeAlias = Literal["filter", "xpath", "paths"]
"""The languages, by the name of the member in files. Only advertisements can be `paths`."""


_NO_SUBSCRIPTION: Final = "paths are what publishers advertise; subscribe with a filter or an xpath"


class Written(NamedTuple):
    """An interest as text.

    Only an XPath can have `bindings`: its prefixes and their namespaces. Only a filter can be in a
    `dialect`, which is a name in `sapwood.language.dialects.DIALECTS`.
    """

    language: Language
    text: str
    bindings: tuple[tuple[str, str], ...] | None = None
    dialect: str | None = None

    @property
    def namespaces(self) -> dict[str, str] | None:
        """The namespaces by prefix."""
        return None if self.bindings is None else dict(self.bindings)


def read_interest(written: Written, *, steps_max: int = NORMAL_FORM_STEPS_MAX) -> Interest:
    """The interest of a text.

    Raises `FilterSyntaxError` with the position, `LimitError` for a text that is too large, and
    `InputError` for content that can only be advertised.
    """
    advertised = read_advertised(written, steps_max=steps_max)
    if not isinstance(advertised, Interest):
        raise InputError(_NO_SUBSCRIPTION)
    return advertised


def read_advertised(
    written: Written, *, steps_max: int = NORMAL_FORM_STEPS_MAX
) -> AdvertisedContent:
    """The advertised content of a text; errors as `read_interest`."""
    if written.language == "filter":
        return parse_filter(written.text, dialect=written.dialect, steps_max=steps_max)
    if written.language == "paths":
        return parse_advertisement(written.text)
    return parse_xpath(written.text, written.namespaces)


def given_interest(given: Interest | str, dialect: str | None = None) -> Interest:
    """The interest of a subscription, given as such or as the text of a record filter.

    With a `dialect` it is a text of that. Raises `InputError` with the accepted types for any other
    value, and errors as `read_interest`.
    """
    if dialect is not None:
        return parse_filter(cast("str", given), dialect=dialect)
    advertised = given_advertised(given)
    if not isinstance(advertised, Interest):
        raise InputError(_NO_SUBSCRIPTION)
    return advertised


def given_advertised(given: AdvertisedContent | str) -> AdvertisedContent:
    """The advertised content, given as such or as text; errors as `given_interest`."""
    if isinstance(given, Filter | TreePattern | Advertisement):
        return given
    if isinstance(given, str):
        return parse_filter(given)
    raise InputError(
        'a filter is a text such as "price > 10", or what parse_filter or parse_xpath returns, '
        f"not {type(given).__name__}"
    )


def as_given(interest: AdvertisedContent) -> Written:
    """The text that the interest was read from; its canonical text if it was not."""
    if interest.source is None:
        return canonical(interest)
    if isinstance(interest, Filter):
        return Written("filter", interest.source)
    if isinstance(interest, Advertisement):
        return Written("paths", interest.source)
    assert isinstance(interest, TreePattern)
    return Written("xpath", interest.source, interest.bindings)


def canonical(interest: AdvertisedContent) -> Written:
    """The canonical text: equal interests have equal texts."""
    if isinstance(interest, Filter):
        return Written("filter", str(interest))
    if isinstance(interest, Advertisement):
        return Written("paths", str(interest))
    assert isinstance(interest, TreePattern)
    bound = interest.namespaces
    return Written("xpath", str(interest), None if bound is None else tuple(sorted(bound.items())))
