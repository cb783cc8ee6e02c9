"""The commented file: complete, within its width, and read again as what it says."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.configuration.kinds import Place, Value
from sapwood.broker.configuration.options import OPTIONS
from sapwood.broker.configuration.sources import Configuration, read_configuration
from sapwood.broker.configuration.template import WIDTH, template
from sapwood.cli.broker_settings import settings_of
from tests.broker.configuration.strategies import comparable, values

ROOT = Path(__file__).parents[3]


def read(text: str, folder: Path) -> Configuration:
    path = folder / "template.toml"
    path.write_text(text, "utf-8")
    return read_configuration({}, {}, path)


def test_it_is_read_as_the_defaults(tmp_path: Path) -> None:
    told = read(template(), tmp_path)
    assert not told.given
    assert comparable(settings_of(told)) == comparable(settings_of(Configuration()))


def test_its_defaults_are_the_defaults_when_they_are_set(tmp_path: Path) -> None:
    text = template()
    for option in OPTIONS.values():
        if option.default is not None:
            text, count = re.subn(f"^#({option.name} = )", r"\1", text, flags=re.MULTILINE)
            assert count == 1
    told = read(text, tmp_path)
    assert told.given.keys() == {one.name for one in OPTIONS.values() if one.default is not None}
    assert not told.differences(Configuration())


def test_every_option_stands_there_once_with_two_lines_or_less_about_it() -> None:
    text = template()
    assert max(map(len, text.splitlines())) <= WIDTH
    entries = dict(re.findall(r"((?:^# .+\n)+)#(\w+) = .+$", text, re.MULTILINE))
    names = {name: comment for comment, name in entries.items()}
    assert list(names) == list(OPTIONS)
    for name, comment in names.items():
        assert comment.count("\n") <= 2, name
        assert f"[{OPTIONS[name].changes.value}]" in comment.replace("\n# ", " ")


@given(
    st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.none(), max_size=5).flatmap(
        lambda names: st.fixed_dictionaries({name: values(OPTIONS[name].kind) for name in names})
    )
)
def test_what_is_given_is_set_in_it(tmp_path_factory: object, given: dict[str, Value]) -> None:
    folder = tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    told = read(template(read_configuration(given, {})), folder)
    assert told.given.keys() == given.keys()
    for name, value in given.items():
        is_place = isinstance(OPTIONS[name].kind, Place)
        assert told[name] == (str(Path(str(value)).absolute()) if is_place else value)


def test_the_file_that_is_shipped_is_this_one() -> None:
    shipped = (ROOT / "packaging" / "sapwood.toml").read_text("utf-8")
    assert shipped == template(), "sapwood broker --write-config > packaging/sapwood.toml"
