"""One table is the source of all spellings: what it says is what each way of giving it does."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.configuration.kinds import Place, Switch, Value, written
from sapwood.broker.configuration.options import GROUPS, OPTIONS, Changes
from sapwood.broker.configuration.sources import Configuration, read_configuration
from sapwood.broker.settings import BrokerSettings
from sapwood.cli import broker as command
from sapwood.cli.broker_settings import settings_of
from sapwood.cli.main import main
from sapwood.errors import InputError
from sapwood.session.settings import ConnectionSettings
from tests.broker.configuration.strategies import comparable, spoken, values


def by_command_line(given: dict[str, Value]) -> Configuration:
    """The configuration that `sapwood broker` makes of options, up to where it would run."""
    words = []
    for name, value in given.items():
        option = OPTIONS[name]
        if isinstance(option.kind, Switch):
            words.append(option.flag if value else option.flag.replace("--", "--no-", 1))
        else:
            several = value if isinstance(value, tuple) else (value,)
            words += [f"{option.flag}={one}" for one in several]
    told: list[Configuration] = []
    with mock.patch.object(command, "_run", lambda read, _: told.append(read)):
        done = CliRunner().invoke(main, ["broker", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return told[0]


@given(st.fixed_dictionaries({name: values(option.kind) for name, option in OPTIONS.items()}))
def test_options_are_the_same_by_all_three_ways(
    tmp_path_factory: pytest.TempPathFactory, given: dict[str, Value]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "sapwood.toml"
    lines = [f"{name} = {written(value)}" for name, value in given.items()]
    path.write_text("\n".join(lines), "utf-8")
    told = by_command_line(given)
    in_environment = {OPTIONS[name].variable: spoken(value) for name, value in given.items()}
    by_environment, by_file = (
        read_configuration({}, in_environment),
        read_configuration({}, {}, path),
    )
    for number, (name, value) in enumerate(given.items(), 1):
        assert told[name] == value
        assert by_environment[name] == value
        assert by_environment.given[name].called == OPTIONS[name].variable
        is_place = isinstance(OPTIONS[name].kind, Place)
        assert by_file[name] == (str(folder / str(value)) if is_place else value)
        assert by_file.place(name) == f"{path}, line {number}"
    assert not by_environment.warnings


def test_options_have_help_and_a_default_or_an_example_that_they_take() -> None:
    said = CliRunner().invoke(main, ["broker", "--help"]).stdout
    for option in OPTIONS.values():
        shown = option.example if option.default is None else option.default
        assert shown is not None
        read = tomllib.loads(f"x = {written(shown)}")["x"]
        assert option.kind.of_toml(read) == shown
        assert option.text.endswith(".")
        assert option.flag in said


def test_options_stand_in_one_group_each_and_there_are_no_others() -> None:
    listed = [option.name for group in GROUPS.values() for option in group]
    assert listed == list(OPTIONS)
    ways = {"config", "write_to", "is_check", "as_json"}
    assert {one.name for one in command.command.params} == {*OPTIONS, *ways}


def test_defaults_are_those_of_the_settings() -> None:
    assert comparable(settings_of(Configuration())) == comparable(BrokerSettings())


OTHER: dict[str, Value] = {
    "listen": ("127.0.0.1:7500", "udp://127.0.0.1:7501"),
    "peer": ("north:1",),
    "join": ("north:1",),
    "backup": ("south:2",),
    "name": "paris",
    "protocol": "failover+covering",
    "engine": ("counting",),
    "strict": True,
    "filter_cost_max": 1500.0,
    "http": "127.0.0.1:9",
    "gateway": True,
    "console": True,
    "http_origin": ("https://desk.example.org",),
    "http_streams_max": 5,
    "mqtt": "127.0.0.1:10",
    "mqtt_connections_max": 6,
    "schema": "schema.toml",
    "traces": "http://collector:4318",
    "data": "folder",
    "durability": "none",
    "keep_bytes": 2**40,
    "keep_age": 60.0,
    "identities": "who.toml",
    "allow_anyone": True,
    "tls_ca": "ca",
    "tls_cert": "cert",
    "tls_key": "key",
    "token_file": "token",
    "frame_bytes_max": 2**20,
    "outgoing_bytes_max": 2**30,
    "outgoing_total_bytes_max": 2**31,
    "link_high_water_bytes": 2**24,
    "link_outgoing_bytes_max": 2**35,
    "connections_max": 7,
    "sessions_remembered_max": 8,
    "greeting_s": 9.0,
    "keepalive_s": 10.0,
    "keepalive_missed": 11,
    "detector": "phi:3",
    "drift_ppm": 12,
    "log_level": "error",
    "log_format": "text",
    "dtd": "a.dtd",
}
"""For each option a value that is not its default."""

TOGETHER: dict[str, dict[str, Value]] = {
    "join": {"protocol": "irbr"},
    "gateway": {"http": "127.0.0.1:9"},
    "console": {"http": "127.0.0.1:9"},
    "http_origin": {"http": "127.0.0.1:9"},
    "backup": {"peer": ("north:1",), "protocol": "failover+covering"},
    "listen": {"protocol": "flooding"},
    "tls_ca": {"tls_cert": "cert", "tls_key": "key"},
    "tls_cert": {"tls_key": "key"},
    "tls_key": {"tls_cert": "cert"},
}
"""The other options that an option does not go without."""

ELSEWHERE = {"log_level", "log_format", "dtd"}
"""Options that are no settings: of a DTD the protocol has the paths (below)."""


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - ELSEWHERE))
def test_every_option_reaches_the_settings(name: str, tmp_path: Path) -> None:
    value = OTHER[name]
    if name == "token_file":
        (tmp_path / "token").write_text("secret\n")
        value = str(tmp_path / "token")
    if name == "schema":
        value = str(tmp_path / "schema.toml")
        Path(value).write_text("[[records]]\nname = 'a'\nattributes = {}\n")
    beside = read_configuration(TOGETHER.get(name, {}), {})
    there = read_configuration({**TOGETHER.get(name, {}), name: value}, {})
    without = beside if name not in ("tls_cert", "tls_key") else Configuration()
    assert comparable(settings_of(there)) != comparable(settings_of(without))


def test_a_dtd_gives_the_protocol_its_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.dtd"
    path.write_text("<!ELEMENT a (b*)><!ELEMENT b EMPTY>")
    merging: dict[str, Value] = {"protocol": "covering+merging"}
    made = settings_of(read_configuration({**merging, "dtd": str(path)}, {})).protocol
    plain = settings_of(read_configuration(merging, {})).protocol
    assert not isinstance(made, str)
    assert not isinstance(plain, str)
    assert made.name == plain.name
    path.write_text("<!ELEMENT")
    with pytest.raises(InputError, match=r"^--dtd: "):
        settings_of(read_configuration({**merging, "dtd": str(path)}, {}))


def test_every_setting_has_an_option() -> None:
    assert OTHER.keys() == OPTIONS.keys()
    named = {
        "engines": "engine",
        "peers": "peer",
        "joins": "join",
        "http_origins": "http_origin",
        "declared": "schema",
        "backups": "backup",
        "keep_bytes_max": "keep_bytes",
        "keep_age_s": "keep_age",
        "keepalive_idle_s": "keepalive_s",
        "keepalive_missed_max": "keepalive_missed",
        "credentials": "token_file",
        "tls": "tls_ca",
        "listen_datagrams": "listen",
    }
    of_settings = {one.name for one in fields(BrokerSettings)} - {"connection"}
    of_connections = {one.name for one in fields(ConnectionSettings)} - {"clock"}
    for setting in of_settings | of_connections:
        assert named.get(setting, setting) in OPTIONS


def test_each_option_says_whether_it_changes() -> None:
    assert {option.changes for option in OPTIONS.values()} == set(Changes)


def test_the_page_says_of_each_option_whether_it_changes() -> None:
    page = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text("utf-8")
    for changes in Changes:
        (row,) = re.findall(rf"^\| {changes.value} \| (.*) \|$", page, re.MULTILINE)
        listed = [name for name, option in OPTIONS.items() if option.changes is changes]
        assert re.findall(r"`(\w+)`", row) == listed
