"""Text to syntax tree to normal form."""

from __future__ import annotations

from sapwood.errors import InputError
from sapwood.language.dialects import DIALECTS, HOUSE
from sapwood.language.normal import normal_form
from sapwood.language.parser import parse
from sapwood.language.plain import plain_filter
from sapwood.limits import FILTER_STEPS_AT_ONCE, NORMAL_FORM_STEPS_MAX
from sapwood.model.filter import Filter

__all__ = ["parse_filter", "translate_filter"]


def parse_filter(
    text: str, *, dialect: str | None = None, steps_max: int = NORMAL_FORM_STEPS_MAX
) -> Filter:
    """Read a record filter, such as `symbol = 'IBM' and price < 100`.

    With a `dialect`, one of `sapwood.language.dialects.DIALECTS` by name, the text is a JMS
    selector, an SNS filter policy and so on (docs/dialects.md).

    Raises `FilterSyntaxError` with the position of the first token that does not fit, and
    `LimitError` for a filter that is too long, too deep, has too many conjunctions, or takes more
    than `steps_max` of work, and `InputError` for a value that is no text, or a text of a dialect
    that no filter can represent.
    """
    if not isinstance(text, str):
        raise InputError(f'a filter is a text such as "price > 10", not {type(text).__name__}')
    if dialect is not None and dialect != HOUSE:
        from sapwood.language.dialects.outcomes import check_size  # late: few filters need it

        tree = DIALECTS.named(dialect).load()(text)
        check_size(tree, steps_max)
        return normal_form(tree, steps_max=steps_max)
    plain = plain_filter(text)
    if plain is not None:
        return plain
    return normal_form(parse(text), source=text, steps_max=steps_max)


def translate_filter(text: str, dialect: str | None) -> str:
    """The text of a filter in the language of this package, from one in a `dialect`.

    A text without a dialect is returned as it is, unread. For callers in an event loop: a filter
    that takes more than `FILTER_STEPS_AT_ONCE` of work is refused. Raises as `parse_filter` does.
    """
    if dialect is None:
        return text
    return str(parse_filter(text, dialect=dialect, steps_max=FILTER_STEPS_AT_ONCE))
