"""`sapwood simulate --explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main

SUBSCRIPTIONS = """\
{"id": "s1", "filter": "price > 10", "home": "r3"}
{"id": "s2", "filter": "price > 5", "home": "r3"}
{"id": "s3", "filter": "price > 5 and symbol = 'IBM'", "home": "r5"}
{"id": "s4", "filter": "volume > 7", "home": "r4"}
"""
PUBLICATIONS = """\
{"id": "p1", "attributes": {"price": 7}, "home": "r1"}
{"id": "p2", "attributes": {"price": 12, "symbol": "IBM"}, "home": "r1"}
{"id": "p3", "attributes": {"volume": 9}, "home": "r1"}
"""
FAULTS = """
[[link]]
between = ["r3", "r4"]
down = 0.0
"""
ADVERTISED = '{"id": "a1", "filter": "price < 10 and not exists volume", "home": "r1"}\n'


def explained(folder: Path, publication: str, subscription: str, *more: str) -> Result:
    """The command on a line of five routers."""
    protocol = () if "--protocol" in more else ("--protocol", "covering")
    files = {"subs": SUBSCRIPTIONS, "pubs": PUBLICATIONS, "ads": ADVERTISED, "faults": FAULTS}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = ("simulate", *protocol, "--topology", "line:5", "--explain")
    places = ("--subscriptions", str(folder / "subs"), "--publications", str(folder / "pubs"))
    return CliRunner().invoke(main, [*command, publication, subscription, *places, *more])


def test_what_came_is_explained_hop_by_hop(tmp_path: Path) -> None:
    result = explained(tmp_path, "p2", "s3")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "publication p2 from r1 came to subscription s3 of subscriber at r5\n"
        "the publication matches the subscription\n"
        "  holds: price > 5 and symbol = 'IBM'\n"
        "way: r1 > r2 > r3 > r4 > r5\n"
        "  r1 to r2: sent because of s2 (price > 5), which stands for it, and 1 other\n"
        "  r2 to r3: sent because of s2 (price > 5), which covers it, and 1 other\n"
        "  r3 to r4: sent because of the subscription itself (price > 5 and symbol = 'IBM')\n"
        "  r4 to r5: sent because of the subscription itself (price > 5 and symbol = 'IBM')\n"
    )
    assert "all is right" in result.stderr


def test_what_did_not_come_ends_where_nobody_wants_it(tmp_path: Path) -> None:
    result = explained(tmp_path, "p1", "s3")
    assert result.stdout.splitlines() == [
        "publication p1 from r1 did not come to subscription s3 of subscriber at r5",
        "the publication does not match the subscription",
        "  fails: price > 5 and symbol = 'IBM'",
        "    symbol = 'IBM': absent",
        "way: r1 > r2 > r3 > r4 > r5",
        "  r1 to r2: sent because of s2 (price > 5), which stands for it",
        "  r2 to r3: sent because of s2 (price > 5), which covers it",
        "  r3 to r4: not sent: nothing that r4 has told r3 of accepts it",
    ]


def test_a_link_that_is_down_is_named(tmp_path: Path) -> None:
    faults = ("--faults", str(tmp_path / "faults"))
    before = explained(tmp_path, "p2", "s3", *faults)
    assert "  r3 to r4: not sent: there is no link between the two\n" in before.stdout
    assert before.stdout.endswith("not sent: there is no link between the two\n")
    (tmp_path / "crash").write_text('[[router]]\nname = "r3"\ndown = 0.0\n')
    crashed = explained(tmp_path, "p2", "s3", "--faults", str(tmp_path / "crash"))
    assert crashed.stdout.endswith(
        "  r1 to r2: not sent: nothing that r2 has told r1 of accepts it\n  r3 did not answer\n"
    )


def test_what_no_advertisement_asks_for_is_held_back_there(tmp_path: Path) -> None:
    more = ("--protocol", "advertisement+covering", "--advertisements", str(tmp_path / "ads"))
    refused = explained(tmp_path, "p3", "s4", *more)
    assert "it was refused: none of the client's advertisements accepts it" in (
        refused.stdout.replace("the publication: advertise", "it: advertise")
    )
    apart = explained(tmp_path, "p1", "s4", *more)
    assert "  r1 to r2: sent because of s2 (price > 5), another subscription\n" in apart.stdout
    told = json.loads(explained(tmp_path, "p1", "s4", "--json", *more).stdout)
    (found,) = told["explained"]
    assert (found["delivered"], found["sent"]) == (0, True)
    (way,) = found["ways"]
    assert way["ended"] == "r3"
    assert [[one["how"] for one in hop["told"]] for hop in way["hops"]] == [[], [], ["unwanted"]]


def test_deliveries_are_written_where_a_file_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = explained(tmp_path, "p2", "s1", "--out", str(out))
    assert result.exit_code == 0
    assert len(out.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("pair", "more", "said"),
    [
        (("p9", "s1"), (), "no publication has the id 'p9'"),
        (("p1", "s9"), (), "no subscription has the id 's9'"),
        (("p1", "s1"), ("--protocol", "irbr"), "without pastry"),
        (("p1", "s1"), ("--compare",), "leave out"),
    ],
)
def test_what_cannot_be_explained_says_why(
    tmp_path: Path, pair: tuple[str, str], more: tuple[str, ...], said: str
) -> None:
    result = explained(tmp_path, *pair, *more)
    assert result.exit_code == 2
    assert said in result.stderr
