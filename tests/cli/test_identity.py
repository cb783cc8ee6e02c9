"""`sapwood identity`: what it makes is taken by a broker, and shown to it by other commands."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from tests.broker.helpers import broker_in_a_thread

pytestmark = pytest.mark.network


def run(*arguments: object, env: dict[str, str] | None = None, text: str = "") -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], env=env, input=text)


def test_what_it_makes_lets_somebody_in(tmp_path: Path) -> None:
    token, file = tmp_path / "feed.token", tmp_path / "identities.toml"
    made = run("identity", "token", "feed", token).stdout
    made += run("identity", "password", "ann", text="secret\n").stdout
    file.write_text(made)
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert token.read_text().strip() not in made
    assert "secret" not in made
    checked = run("identity", "check", file, "--json")
    assert json.loads(checked.stdout) == {
        "identities": [
            {"name": "feed", "role": "client", "by": "token", "quota": {}},
            {"name": "ann", "role": "client", "by": "password", "quota": {}},
        ],
        "issuers": [],
    }
    with broker_in_a_thread(name="hub", identities=file) as address:
        assert run("status", address, "--token-file", token).exit_code == 0
        shown = {"SAPWOOD_USER": "ann", "SAPWOOD_PASSWORD": "secret"}
        assert run("status", address, env=shown).exit_code == 0
        publications = tmp_path / "p.jsonl"
        publications.write_text('{"id": "p1", "attributes": {"a": 1}}\n')
        assert run("publish", "--broker", address, publications, env=shown).exit_code == 0
        denied = run("publish", "--broker", address, publications)
        assert denied.exit_code == 2
        assert "does not know" in denied.stderr


def test_an_entry_of_a_broker_says_so(tmp_path: Path) -> None:
    made = run("identity", "token", "north", tmp_path / "t", "--broker")
    assert 'role = "broker"' in made.stdout


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (("password", "a b"), "x\n", "without spaces"),
        (("password", "ann"), "\n", "protects nothing"),
        (("token", "ann", "."), "", "is a directory"),
    ],
)
def test_what_it_cannot_make_is_refused(arguments: tuple[str, ...], text: str, said: str) -> None:
    ended = run("identity", *arguments, text=text)
    assert ended.exit_code == 2
    assert said in ended.stderr


def test_a_token_never_replaces_a_file(tmp_path: Path) -> None:
    there = tmp_path / "t"
    there.write_text("mine")
    ended = run("identity", "token", "ann", there)
    assert ended.exit_code == 2
    assert "is there already" in ended.stderr
    assert there.read_text() == "mine"


def test_a_file_of_a_secret_has_one(tmp_path: Path) -> None:
    empty = tmp_path / "t"
    empty.write_text("\n")
    ended = run("status", "127.0.0.1:1", "--token-file", empty)
    assert ended.exit_code == 2
    assert "--token-file" in ended.stderr


def test_a_broker_says_how_it_may_be_reached() -> None:
    ended = run("broker", "--listen", "0.0.0.0:0")
    assert ended.exit_code == 2
    assert "--allow-anyone" in ended.stderr


GRANTS = """
[[identity]]
name = "ann"
certificates = ["ann.example.org"]

[[grant]]
to = ["ann"]
subscribe = "region = 'eu'"
durable = ["ann-*"]

[[quota]]
to = ["a*"]
subscriptions = 1_000
bytes_per_s = 2.5
"""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--as", "ann", "price > 1"), 0, "narrowed to: price > 1 and region = 'eu'"),
        (("--as", "ann", "price > 1 and region = 'eu'"), 0, "granted: "),
        (("--as", "ann", "region = 'us'"), 1, "refused: "),
        (("--as", "bob", "region = 'eu'"), 1, "no records"),
        (("--as", "ann", "--xpath", "//a"), 1, "no documents"),
        (("--as", "ann"), 0, "ann-*"),
        (("--as", "ann"), 0, "subscriptions 1,000, bytes_per_s 2.5"),
        (("--as", "bob"), 0, "quota                none"),
        (("--as", "ann", "a >"), 2, ""),
        (("--as", "ann", "a > 1", "--xpath", "//a"), 2, ""),
    ],
)
def test_grants_are_checked_before_a_broker_is_asked(
    tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    file = tmp_path / "identities.toml"
    file.write_text(GRANTS)
    ended = run("grants", "check", file, *arguments)
    assert ended.exit_code == status
    assert said in ended.stdout
    if status < 2:
        assert json.loads(run("grants", "check", file, *arguments, "--json").stdout)


def test_quotas_stand_beside_identities(tmp_path: Path) -> None:
    file = tmp_path / "identities.toml"
    file.write_text(GRANTS + '[[identity]]\nname = "bob"\ncertificates = ["bob"]\n')
    said = run("identity", "check", file).stdout
    assert re.search(r"^ann .* subscriptions 1,000, bytes_per_s 2.5$", said, re.MULTILINE)
    assert re.search(r"^bob .* none$", said, re.MULTILINE)
    told = json.loads(run("identity", "check", file, "--json").stdout)["identities"]
    assert [one["quota"] for one in told] == [{"subscriptions": 1000, "bytes_per_s": 2.5}, {}]
    assert json.loads(run("grants", "check", file, "--as", "bob", "--json").stdout)["quota"] == {}
