"""Names for kernels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.naming import NAME_HEAD, names_image
from sapwood.matching.keys import text_bytes
from tests.matching.columnar.plain_kernels import names_of

NAMES = st.lists(st.text(max_size=12), unique=True, max_size=12)


@given(names=NAMES)
def test_names_image_holds_every_name_with_its_number(names: list[str]) -> None:
    image = names_image(names)
    assert names_of(image) == {text_bytes(name): number for number, name in enumerate(names)}


@given(names=NAMES)
def test_names_image_is_sorted_and_knows_the_place_of_each_name(names: list[str]) -> None:
    image = names_image(names)
    assert image[0] == len(names)
    prefixes = image[NAME_HEAD : NAME_HEAD + len(names)].tolist()
    assert prefixes == sorted(prefixes)
    ordered = sorted(names)
    first = NAME_HEAD + 2 * len(names) + 1
    places = image[first : first + len(names)].tolist()
    assert [ordered[place] for place in places] == names
    assert not image.flags.writeable
