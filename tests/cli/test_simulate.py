"""`sapwood simulate`: an overlay in virtual time, from files to files."""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.comparing import COMPARED
from sapwood.cli.main import main
from sapwood.routing.effects import CloseLink, Deliver, Effect
from sapwood.routing.inputs import Input, LinkUp
from sapwood.routing.protocols import PROTOCOLS, can_be_meshed
from sapwood.routing.router import Router
from sapwood.simulation.oracle import judge

SUBSCRIPTIONS = """\
{"id": "cheap", "filter": "price < 50", "home": "r1"}
{"id": "ibm", "filter": "symbol = 'IBM' and price < 100", "home": "r5"}
{"id": "any", "filter": "exists price"}
"""
PUBLICATIONS = """\
{"id": "p2", "attributes": {"symbol": "SUN", "price": 60}}
{"id": "p1", "attributes": {"symbol": "IBM", "price": 40}, "home": "r1"}
{"id": "p3", "attributes": {"symbol": "IBM"}}
"""
DELIVERIES = [("p2", "any"), ("p1", "any"), ("p1", "cheap"), ("p1", "ibm")]

TOPOLOGY = """
[[link]]
between = ["hub", "east"]
[[link]]
between = ["hub", "west"]
latency = 0.5
"""


CONDITIONS = ("--delay", "uniform:0.5", "--jitter", "1", "--drift", "drawn", "--processing", "0.1")


class Folder:
    """A folder with the two input files, and the command run on them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("subs.jsonl", SUBSCRIPTIONS)
        self.write("pubs.jsonl", PUBLICATIONS)

    def write(self, name: str, text: str) -> str:
        (self.path / name).write_text(text, encoding="utf-8")
        return self.file(name)

    def file(self, name: str) -> str:
        return str(self.path / name)

    def simulate(
        self,
        *arguments: str,
        protocol: str = "covering",
        topology: str = "line:5",
        stdin: str | None = None,
    ) -> Result:
        chosen = ["simulate", "--protocol", protocol, "--topology", topology]
        if "--subscriptions" not in arguments:
            chosen += ["--subscriptions", self.file("subs.jsonl")]
        if "--publications" not in arguments:
            chosen += ["--publications", self.file("pubs.jsonl")]
        return CliRunner().invoke(main, [*chosen, *arguments], input=stdin)

    def rejected(self, name: str) -> list[dict[str, Any]]:
        lines = (self.path / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_protocols_are_compared_on_the_same_files(folder: Folder) -> None:
    result = folder.simulate("--compare", "--protocol", "simple", protocol="covering")
    assert result.exit_code == 0, result.output
    head, *rows = result.stdout.splitlines()[:3]
    assert head.split()[:2] == ["PROTOCOL", "RIGHT"]
    assert {row.split()[0] for row in rows} == {"covering", "simple"}
    assert all(row.split()[1] == "yes" for row in rows)
    assert f"{rows[0].split()[0]} is recommended" in result.stdout


def test_a_comparison_can_be_read_by_a_program(folder: Folder) -> None:
    result = folder.simulate(
        "--compare", "--json", "--protocol", "failover+simple", topology="ring:5"
    )
    told = json.loads(result.stdout)
    first, second = told["protocols"]
    assert (first["protocol"], first["right"], first["deliveries"]) == ("covering", True, 4)
    assert first["cost"]["publication_bytes"] > 0
    assert "circles" in second["refused"]
    assert "only one" in told["recommended"]


def test_without_a_protocol_those_that_differ_most_are_compared(folder: Folder) -> None:
    arguments = ["--subscriptions", folder.file("subs.jsonl"), "--topology", "line:5"]
    arguments += ["--publications", folder.file("pubs.jsonl"), "--compare", "--json"]
    result = CliRunner().invoke(main, ["simulate", *arguments])
    told = json.loads(result.stdout)
    assert {one["protocol"] for one in told["protocols"]} == set(COMPARED)
    assert all(one["right"] for one in told["protocols"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--protocol", "simple"), "--compare"),
        (("--compare", "--out", "x"), "leave out"),
        (("--compare", "--swarm", "2"), "leave out"),
    ],
)
def test_several_protocols_run_beside_each_other_in_a_comparison_alone(
    folder: Folder, arguments: tuple[str, ...], said: str
) -> None:
    result = folder.simulate(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def pairs(text: str) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [(row["publication"], row["subscription"]) for row in rows]


@pytest.mark.parametrize(
    ("topology", "protocol"),
    [
        *product(("line:5", "star:6", "tree:7:3", "random:9"), PROTOCOLS),
        *product(("ring:5", "mesh:5:8"), (p for p in PROTOCOLS if can_be_meshed(PROTOCOLS[p]))),
    ],
)
@pytest.mark.one_in(3)
def test_simulate_delivers_what_matches_whatever_the_protocol_and_topology(
    folder: Folder, protocol: str, topology: str
) -> None:
    result = folder.simulate(protocol=protocol, topology=topology)
    assert result.exit_code == 0
    assert pairs(result.stdout) == DELIVERIES
    assert "3 publications matched against 3 subscriptions: 4 deliveries" in result.stderr
    assert f"{protocol} on " in result.stderr
    assert "must be: 4, that may be: 0; all is right" in result.stderr


@pytest.mark.parametrize("topology", ["ring:5", "mesh:5:8"])
def test_simulate_says_why_a_protocol_cannot_have_circles(folder: Folder, topology: str) -> None:
    (protocol,) = (name for name, one in PROTOCOLS.items() if not can_be_meshed(one))
    result = folder.simulate(protocol=protocol, topology=topology)
    assert result.exit_code == 2
    assert "stabilize" in result.stderr
    assert "leave out" in result.stderr


def test_simulate_lets_publishers_advertise_everything_where_they_have_to(folder: Folder) -> None:
    result = folder.simulate(protocol="advertisement+covering")
    assert "every publisher advertised everything" in result.stderr
    result = folder.simulate(protocol="covering")
    assert "advertised" not in result.stderr


@pytest.mark.parametrize("protocol", ["advertisement", "covering"])
def test_simulate_enforces_the_advertisements_of_a_file(folder: Folder, protocol: str) -> None:
    good = [{"id": f"a{n}", "filter": "price < 50", "home": f"r{n}"} for n in range(1, 6)]
    bad = [{"id": "b", "filter": "price <"}, {"id": "c", "filter": "price < 5", "home": "r9"}]
    advertised = folder.write("ads.jsonl", "\n".join(map(json.dumps, (*good, *bad))))
    metrics = folder.file("metrics.json")
    result = folder.simulate(
        "--advertisements", advertised, "--metrics", metrics, protocol=protocol
    )
    assert result.exit_code == 1
    assert pairs(result.stdout) == [pair for pair in DELIVERIES if pair[0] == "p1"]
    assert "5 advertisements in force" in result.stderr
    assert "2 lines of the advertisements rejected: see " in result.stderr
    assert "2 publications refused, because the publisher had not advertised it" in result.stderr
    figures = json.loads(Path(metrics).read_text())
    assert figures["advertisements"] == 5
    assert figures["verdicts"]["admitted"] == figures["verdicts"]["rebuffed"] == 0
    assert ("advertise" in figures["messages"]) == (protocol == "advertisement")


def test_simulate_exits_with_1_where_publications_were_refused(folder: Folder) -> None:
    advertised = folder.write("ads.jsonl", '{"id": "a", "filter": "false", "home": "r1"}\n')
    subscriptions = folder.write("subs.jsonl", '{"id": "any", "filter": "exists price"}\n')
    publications = folder.write("pubs.jsonl", '{"id": "p", "attributes": {"price": 1}}\n')
    result = folder.simulate(
        "--advertisements", advertised, "--subscriptions", subscriptions,
        "--publications", publications, protocol="advertisement", topology="line:1",
    )  # fmt: skip
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "1 publication refused" in result.stderr


def test_simulate_writes_deliveries_and_metrics_to_files(folder: Folder) -> None:
    out, metrics = folder.file("out.jsonl"), folder.file("metrics.json")
    result = folder.simulate("--out", out, "--metrics", metrics, "--seed", "7")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert pairs(Path(out).read_text()) == DELIVERIES
    figures = json.loads(Path(metrics).read_text())
    assert figures["protocol"] == "covering"
    assert figures["seed"] == 7
    assert figures["deliveries"] == 4
    assert set(figures["messages"]) == {"subscribe", "confirm", "publish"}
    assert list(figures["tables"]) == ["r1", "r2", "r3", "r4", "r5"]
    assert figures["verdicts"]["must"] == 4
    assert figures["verdicts"]["diverged"] is None


def test_simulate_prints_its_figures_as_json_where_a_machine_reads(folder: Folder) -> None:
    result = folder.simulate("--json", "--out", folder.file("out.jsonl"))
    report = json.loads(result.stdout)
    assert report["subscriptions"] == {"read": 3, "good": 3, "rejected": 0}
    assert report["deliveries"] == report["metrics"]["deliveries"] == 4
    assert report["metrics"]["verdicts"]["lost"] == 0
    beside = folder.simulate("--json", "--out", "-")
    assert pairs(beside.stdout) == DELIVERIES
    assert json.loads(beside.stderr) == report


def test_simulate_draws_everything_with_the_seed(folder: Folder) -> None:
    def trace(seed: str) -> tuple[str, str]:
        result = folder.simulate(
            "--json", "--out", folder.file("o"), "--seed", seed, topology="random:20"
        )
        report = json.loads(result.stdout)
        return report["metrics"]["trace"], (folder.path / "o").read_text()

    assert trace("1") == trace("1")
    assert trace("1")[0] != trace("2")[0]
    assert trace("1")[1] == trace("2")[1]


def test_simulate_reads_a_topology_from_a_file(folder: Folder) -> None:
    topology = folder.write("net.toml", TOPOLOGY)
    folder.write("subs.jsonl", '{"id": "s", "filter": "true", "home": "west"}\n')
    folder.write("pubs.jsonl", '{"id": "p", "attributes": {}, "home": "east"}\n')
    metrics = folder.file("m.json")
    assert folder.simulate("--metrics", metrics, topology=topology).exit_code == 0
    figures = json.loads(Path(metrics).read_text())
    assert list(figures["tables"]) == ["hub", "east", "west"]
    assert figures["delay_s"]["max"] == pytest.approx(0.51)


def test_simulate_lets_links_and_routers_fail_as_a_file_says(folder: Folder) -> None:
    faults = folder.write(
        "faults.toml",
        '[[link]]\nbetween = ["r1", "r2"]\ndown = 0.5\nup = 1.5\n'
        '[[router]]\nname = "r5"\ndown = 2.5\nup = 3.5\n',
    )
    lines = [
        json.dumps({"id": f"p{n}", "attributes": {"price": 40, "symbol": "IBM"}, "home": "r1"})
        for n in range(400)
    ]
    folder.write("pubs.jsonl", "\n".join(lines))
    metrics = folder.file("m.json")
    result = folder.simulate("--faults", faults, "--metrics", metrics, "--out", folder.file("o"))
    assert result.exit_code == 0, result.stderr
    verdicts = json.loads(Path(metrics).read_text())["verdicts"]
    assert verdicts["lost"] == verdicts["stuck"] == verdicts["diverged"] == 0
    assert verdicts["may"] > 100
    assert verdicts["must"] > 500
    got = pairs((folder.path / "o").read_text())
    # Publication n is sent at n * 10 ms; from r1 to r5 it takes 40 ms.
    assert ("p40", "ibm") in got
    assert ("p100", "ibm") not in got
    assert ("p200", "ibm") in got
    assert ("p300", "ibm") not in got
    assert ("p399", "ibm") in got
    assert ("p100", "cheap") in got


def test_simulate_takes_faults_as_words_of_the_command_line(folder: Folder) -> None:
    record = {"attributes": {"price": 40, "symbol": "IBM"}, "home": "r1"}
    lines = [json.dumps({"id": f"p{n}", **record}) for n in range(400)]
    folder.write("pubs.jsonl", "\n".join(lines))
    words = (
        "corruption router=r2 at=0.5 kinds=drop,insert share=1",
        "tampering between=r1,r2 start=0.5 seconds=0.5 how=alter",
        "tampering start=0.7 seconds=0.2",
        "timer router=r3 start=0.5 seconds=0.5",
    )
    options = [part for one in words for part in ("--fault", one)]
    metrics = folder.file("m.json")
    given = ("--metrics", metrics, *options)
    result = folder.simulate(*given, "--out", folder.file("o"), protocol="covering+stabilize:0.2")
    assert result.exit_code == 0, result.stderr
    verdicts = json.loads(Path(metrics).read_text())["verdicts"]
    assert verdicts["lost"] == verdicts["stuck"] == verdicts["diverged"] == 0
    got = pairs((folder.path / "o").read_text())
    assert ("p80", "ibm") not in got, "all that is on the links is dropped"
    assert ("p399", "ibm") in got
    result = folder.simulate("--fault", "timer router=r9 seconds=1")
    assert result.exit_code == 2
    assert "timer 1" in result.stderr


def test_simulate_counts_publications_that_nobody_could_take(folder: Folder) -> None:
    faults = folder.write("faults.toml", '[[router]]\nname = "r1"\ndown = 0.0\n')
    folder.write("pubs.jsonl", PUBLICATIONS.replace("}}\n", '}, "home": "r2"}\n'))
    result = folder.simulate("--faults", faults, "--out", folder.file("o"))
    assert result.exit_code == 0
    assert "1 publication not sent, because the home router was down" in result.stderr


def test_simulate_sets_lines_aside_whose_home_is_not_there(folder: Folder) -> None:
    folder.write("subs.jsonl", SUBSCRIPTIONS.replace('"home": "r5"', '"home": "r6"'))
    folder.write("pubs.jsonl", PUBLICATIONS.replace('"home": "r1"', '"home": ""'))
    result = folder.simulate("--out", folder.file("out.jsonl"))
    assert result.exit_code == 1
    rows = folder.rejected("out.jsonl.rejected")
    assert [(Path(row["file"]).name, row["line"]) for row in rows] == [
        ("subs.jsonl", 2),
        ("pubs.jsonl", 2),
    ]
    assert "no router is called 'r6'" in rows[0]["reason"]
    assert "known: r1, r2, r3, r4, r5" in rows[0]["reason"]
    assert "2 lines rejected" in result.stderr


def test_simulate_fails_at_the_first_bad_line_when_strict(folder: Folder) -> None:
    folder.write("subs.jsonl", SUBSCRIPTIONS.replace('"home": "r5"', '"home": "r6"'))
    result = folder.simulate("--strict", "--out", folder.file("out.jsonl"))
    assert result.exit_code == 2
    assert "subs.jsonl, line 2: no router is called 'r6'" in result.stderr
    assert not (folder.path / "out.jsonl").exists()


def test_simulate_takes_one_file_from_standard_input(folder: Folder) -> None:
    result = folder.simulate("--publications", "-", stdin=PUBLICATIONS)
    assert pairs(result.stdout) == DELIVERIES
    both = folder.simulate("--publications", "-", "--subscriptions", "-")
    assert both.exit_code == 2
    assert "only one of the files" in both.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "magic"}, "no protocol is called 'magic'"),
        ({"topology": "circle:5"}, "no topology is called 'circle'; .*line, star, tree, random"),
        ({"topology": "transit"}, "no topology is called 'transit'"),
        ({"topology": "line:0"}, "topology 'line:0': sizes begin at 1; write line:5"),
        ({"topology": "nowhere.toml"}, "nowhere.toml: there is no such file"),
    ],
)
def test_simulate_says_what_it_does_not_know(
    folder: Folder, options: dict[str, str], message: str
) -> None:
    result = folder.simulate(**options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(message, result.stderr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[link", "faults.toml: "),
        ("link = 1", "`link` must be a list of tables"),
        ('[[link]]\nbetween = ["r1", "r9"]\ndown = 1', "link fault 1: no router is called 'r9'"),
        ("\udcff", "faults.toml: "),
    ],
)
def test_simulate_names_the_place_in_a_file_of_faults_that_is_wrong(
    folder: Folder, text: str, message: str
) -> None:
    path = folder.path / "faults.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    result = folder.simulate("--faults", str(path))
    assert result.exit_code == 2
    assert message in result.stderr


def test_simulate_lets_routers_and_links_come_and_go(folder: Folder) -> None:
    changes = """
    [[router]]
    name = "new"
    joins = 0.0
    links = ["r5"]

    [[router]]
    name = "r1"
    leaves = 0.005
    """
    result = folder.simulate(
        *("--faults", folder.write("faults.toml", changes), "--out", folder.file("out.jsonl")),
        *("--metrics", folder.file("metrics.json")),
    )
    assert result.exit_code == 0, result.stderr
    assert "1 publication not sent" in result.stderr
    metrics = json.loads((folder.path / "metrics.json").read_text())
    assert list(metrics["tables"]) == ["r2", "r3", "r4", "r5", "new"]
    assert metrics["routers"] == 5
    assert metrics["verdicts"]["diverged"] == 0


def test_simulate_fails_when_the_oracle_finds_something_wrong(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            effects = super().handle(event, now)
            if self.name == "r5":
                return [effect for effect in effects if not isinstance(effect, Deliver)]
            return [*effects, *(e for e in effects if isinstance(e, Deliver))]

    monkeypatch.setattr("sapwood.simulation.simulator.Router", Careless)
    result = folder.simulate("--out", folder.file("out.jsonl"))
    assert result.exit_code == 2
    assert "SOMETHING IS WRONG" in result.stderr
    assert "lost: 1 (p1 for ibm at r5)" in result.stderr
    assert "duplicated: " in result.stderr
    assert ("p1", "cheap") in pairs((folder.path / "out.jsonl").read_text())


def test_simulate_fails_when_a_router_closes_a_link(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Quarrelsome(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            if self.name == "r3" and event == LinkUp("r4"):
                return [CloseLink("r4", "enough")]
            return super().handle(event, now)

    monkeypatch.setattr("sapwood.simulation.simulator.Router", Quarrelsome)
    result = folder.simulate("--out", folder.file("out.jsonl"))
    assert result.exit_code == 2
    assert "1 link closed by a router" in result.stderr


def test_simulate_names_a_few_pairs_and_counts_the_rest(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            return [e for e in super().handle(event, now) if not isinstance(e, Deliver)]

    monkeypatch.setattr("sapwood.simulation.simulator.Router", Silent)
    result = folder.simulate("--out", folder.file("out.jsonl"))
    assert result.exit_code == 2
    assert re.search(r"lost: 4 \((p\d for \w+ at r\d, ){3}…\)", result.stderr)


def test_simulate_reports_what_diverged(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sapwood.simulation.evaluation.divergences", lambda *_, **__: ("probe 0 at r1: elsewhere",)
    )
    result = folder.simulate("--faults", folder.write("faults.toml", ""), "--out", "-")
    assert result.exit_code == 2
    assert "diverged: 1 (probe 0 at r1: elsewhere)" in result.stderr


def test_simulate_says_how_many_publications_were_checked(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.simulation.evaluation.judge", partial(judge, pairs_max=3))
    result = folder.simulate("--out", folder.file("o"))
    assert "checked for losses: 1 publication, drawn with the seed" in result.stderr


def test_simulate_works_on_empty_files(folder: Folder) -> None:
    folder.write("subs.jsonl", "")
    folder.write("pubs.jsonl", "")
    result = folder.simulate()
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "all is right" in result.stderr


def test_simulate_lets_a_router_go_to_the_backup_that_it_is_given(folder: Folder) -> None:
    faults = folder.write(
        "faults.toml", '[[suspicion]]\nrouter = "r5"\nof = "r2"\nat = 0\nseconds = 9'
    )
    backups = ("--topology", "tree:5", "--faults", faults, "--backup", "r5=r3")
    result = folder.simulate(*backups, protocol="failover:1+covering")
    assert result.exit_code == 0, result.output
    assert "covering+failover:1 on 5 routers" in result.stderr
    assert "all is right" in result.stderr


@pytest.mark.parametrize(
    ("backup", "protocol", "said"),
    [
        ("r2=r5", "failover+covering", "form a circle: r2 -> r5 -> r2"),
        ("r5=r9", "failover+covering", "backup of 'r5'"),
        ("r5=r3", "covering", "knows no backups: put failover into its name"),
        ("r5", "failover+covering", "is not like r5=r2,r3"),
        ("r5=", "failover+covering", "is not like r5=r2,r3"),
    ],
)
def test_simulate_refuses_backups_that_cannot_be(
    folder: Folder, backup: str, protocol: str, said: str
) -> None:
    result = folder.simulate("--topology", "tree:5", "--backup", backup, protocol=protocol)
    assert result.exit_code == 2
    assert said in result.stderr


def test_options_say_what_links_clocks_and_routers_are_like(folder: Folder) -> None:
    assert folder.simulate("--metrics", folder.file("plain.json")).exit_code == 0
    result = folder.simulate("--metrics", folder.file("slow.json"), *CONDITIONS)
    assert result.exit_code == 0, result.stderr
    plain, slow = (
        json.loads(folder.path.joinpath(name).read_text()) for name in ("plain.json", "slow.json")
    )
    assert slow["delay_s"]["max"] > plain["delay_s"]["max"] + 0.1
    assert slow["deliveries"] == plain["deliveries"]


def test_lossy_links_are_for_protocols_that_allow_loss(folder: Folder) -> None:
    folder.write("subs.jsonl", '{"id": "any", "filter": "exists price", "home": "r1"}\n')
    lossy = folder.simulate("--loss", "0.1", protocol="leases+simple", topology="line:2")
    assert lossy.exit_code == 0, lossy.stderr
    assert " lost on links" in lossy.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--loss", "0.1"), "rests on links that do not"),
        (("--loss", "2"), "0<=x<=1"),
        (("--delay", "sometimes:1"), "no distribution of delays is called 'sometimes'"),
        (("--drift", "fast"), "neither `drawn` nor a whole number"),
        (("--swarm", "1", "--jitter", "1"), "a swarm draws what links"),
    ],
)
def test_conditions_that_cannot_be_are_refused(
    folder: Folder, arguments: tuple[str, ...], words: str
) -> None:
    result = folder.simulate(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
