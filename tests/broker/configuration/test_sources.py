"""Sources of options: which of several values counts, and the errors for unusable ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.broker.configuration.kinds import Value
from sapwood.broker.configuration.options import OPTIONS
from sapwood.broker.configuration.sources import Configuration, Given, read_configuration
from sapwood.broker.configuration.template import template
from sapwood.cli.broker_settings import settings_of
from sapwood.errors import ConfigurationError, InputError
from sapwood.limits import CONFIGURATION_BYTES_MAX
from tests.broker.configuration.strategies import refusal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sapwood.toml"


def refused(path: Path, text: str | bytes) -> tuple[str, ...]:
    """The problems of a file, without its name."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError) as error:
        read_configuration({}, {}, path)
    return tuple(one.removeprefix(str(path)) for one in error.value.problems)


@given(st.sets(st.sampled_from(("line", "variable", "file")), min_size=1))
def test_the_command_line_counts_before_the_environment_and_that_before_the_file(
    tmp_path_factory: pytest.TempPathFactory, given: set[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "one.toml"
    path.write_text("keep_bytes = 3\n" if "file" in given else "")
    line: dict[str, Value] = {"keep_bytes": 1} if "line" in given else {}
    environment = {"SAPWOOD_BROKER_KEEP_BYTES": "2"} if "variable" in given else {}
    told = read_configuration(line, environment, path)
    first = next(one for one in ("line", "variable", "file") if one in given)
    places = {"line": "the command line", "variable": "the environment", "file": f"{path}, line 1"}
    assert told["keep_bytes"] == {"line": 1, "variable": 2, "file": 3}[first]
    assert told.place("keep_bytes") == places[first]
    assert told["keep_age"] is None
    assert told.place("keep_age") == "default"


def test_the_environment_may_name_the_file(path: Path) -> None:
    path.write_text('name = "paris"\ndata = "store"\n')
    told = read_configuration({}, {"SAPWOOD_BROKER_CONFIG": str(path)})
    assert told["name"] == "paris"
    assert told["data"] == str(path.parent / "store")
    assert told.file == path


def test_variables_that_clients_have_as_well_count_after_the_own() -> None:
    shared = {"SAPWOOD_TLS_CA": "clients.pem"}
    assert read_configuration({}, shared)["tls_ca"] == "clients.pem"
    own = {**shared, "SAPWOOD_BROKER_TLS_CA": "broker.pem"}
    assert read_configuration({}, own)["tls_ca"] == "broker.pem"


@pytest.mark.parametrize(
    ("line", "environment", "token", "file"),
    [
        ({}, {}, None, "of-file"),
        ({}, {"SAPWOOD_TOKEN": "t"}, "t", None),
        ({}, {"SAPWOOD_TOKEN": "t", "SAPWOOD_BROKER_TOKEN_FILE": "mine"}, None, "mine"),
        ({"token_file": "given"}, {"SAPWOOD_TOKEN": "t"}, None, "given"),
    ],
)
def test_a_token_is_that_of_the_nearest_place(
    path: Path,
    line: dict[str, Value],
    environment: dict[str, str],
    token: str | None,
    file: str | None,
) -> None:
    path.write_text('token_file = "of-file"\n')
    told = read_configuration(line, environment, path)
    assert told.token == token
    found = told["token_file"]
    assert (None if found is None else Path(found).name) == file


def test_all_that_is_wrong_with_a_file_is_said_with_line_key_and_remedy(path: Path) -> None:
    text = """\
# what is wrong here
keep_bites = 1
"keep_age" = "long"
peer = [
    "a b",
]
[limits]
connections_max = 1
"""
    assert refused(path, text) == (
        ", line 2: keep_bites is no option of a broker; did you mean keep_bytes?",
        ", line 3: keep_age: 'long' is not what it takes: a number",
        ", line 4: peer: 'a b' is empty or has spaces; it takes a text, or an array of texts",
        ", line 7: [limits]: there are no tables here; options stand by themselves, `name = value`",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "--keep-bytes = 1",
            ", line 1: --keep-bytes is no option of a broker; did you mean keep_b",
        ),
        ("KEEP_BYTES = 1", "did you mean keep_bytes?"),
        ("[[peer]]\na = 1", ", line 1: peer: an array is not what it takes"),
        ("[[peers]]\na = 1", "there are no tables here"),
        ("zzz = 1", "`sapwood broker --write-config` has all"),
        ("x" * 90 + " = 1", "xx… is no option"),
        ("name = paris", ", line 1, column 8: is no TOML: Invalid value; a line is `name = value`"),
        ("a = 1\na = 2", ", line 2: is no TOML: Cannot overwrite a value, at its end"),
        ("a = [\n1", ", line 2: is no TOML: Unclosed array, at its end"),
        (b"name = '\xff'", ", line 1: is not UTF-8"),
        ("a = " + "[" * 3000, ": values are nested too deeply"),
        ("a = " + "1" * 5000, ": is no TOML: "),
        ("#" * (CONFIGURATION_BYTES_MAX + 1), f": has more than {CONFIGURATION_BYTES_MAX} bytes"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(path: Path, text: str | bytes, said: str) -> None:
    (problem,) = refused(path, text)
    assert said in problem


def test_a_file_that_is_not_there_says_how_to_have_one(path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"No such file.*--write-config"):
        read_configuration({}, {}, path)


def test_problems_of_file_and_environment_are_said_together(path: Path) -> None:
    path.write_text("strict = 1\n")
    with pytest.raises(ConfigurationError) as error:
        read_configuration({}, {"SAPWOOD_BROKER_KEEP_AGE": "long"}, path)
    assert error.value.problems == (
        f"{path}, line 1: strict: 1 is not what it takes: true or false",
        "SAPWOOD_BROKER_KEEP_AGE: 'long' is not what it takes: a number",
    )


def test_a_variable_that_means_nothing_is_a_warning_unless_a_cluster_sets_it() -> None:
    told = read_configuration(
        {},
        {
            "SAPWOOD_BROKER_KEEP_BITES": "1",
            "SAPWOOD_BROKER_SERVICE_HOST": "10.0.0.1",
            "SAPWOOD_BROKER_PORT_7411_TCP_ADDR": "10.0.0.1",
            "SAPWOOD_BROKER_STRICT": "",
            "SAPWOOD_CACHE_DIR": "x",
        },
    )
    (warning,) = told.warnings
    assert warning == (
        "SAPWOOD_BROKER_KEEP_BITES: is no option of a broker; did you mean "
        "SAPWOOD_BROKER_KEEP_BYTES?"
    )
    assert not told.given


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nkeep_bytes = 1", ", line 2: keep_bytes is 1; it takes 16,777,216 to"),
        (
            "frame_bytes_max = 50_000_000",
            ", line 1: --outgoing-bytes-max is 33554432; it takes 50,000,000 (frame_bytes_max) to",
        ),
        ('listen = "nonsense:port"', ", line 1: listen: 'nonsense:port': the port is a number"),
        ('peer = ["a:1", "host:0"]', ", line 1: peer: 'host:0': port 0 means any free port"),
        ('protocol = "coverin"', ", line 1: protocol: no protocol is called 'coverin'"),
        ('protocol = "recover+covering"', ", line 1: protocol covering+recover: under recover"),
        ('engine = "none"', ", line 1: engine: no engine is called 'none'"),
        ('durability = "often"', ", line 1: durability often: it takes fsync"),
        ('name = "two words"', ", line 1: name: 'two words' is no name for a broker"),
        ('tls_key = "a"', ", line 1: tls_key: there is no --tls-cert: give both, or none"),
        ('tls_ca = "a"', ", line 1: tls_ca: nothing speaks TLS here; add --tls-cert"),
        ('token_file = "none"', "/none: cannot be read"),
        ('dtd = "none"', "/none: cannot be read: No such file"),
        ('listen = "0.0.0.0:1"', ", line 1: listen 0.0.0.0:1: other machines reach this address"),
        ('http = "0.0.0.0:1"', ", line 1: http 0.0.0.0:1: other machines reach this address"),
        ('peer = "udp://a:1"', ", line 1: peer udp://a:1: links over UDP lose"),
        ('listen = ["udp://127.0.0.1:1"]', ", line 1: listen: a broker listens once"),
        ('backup = "a:1"\nprotocol = "covering"', ", line 1: backup: protocol 'covering' knows no"),
        ("greeting_s = nan", ", line 1: greeting_s is nan; it takes"),
        ("keep_age = 0", ", line 1: keep_age is 0.0; it takes"),
        ('detector = "hunch"', ", line 1: detector: 'hunch' is no failure detector"),
    ],
)
def test_options_that_do_not_go_together_are_said_at_their_line(
    path: Path, text: str, said: str
) -> None:
    path.write_text(text)
    with pytest.raises(InputError) as error:
        settings_of(read_configuration({}, {}, path))
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_an_error_is_said_in_the_words_of_where_the_option_was_given() -> None:
    told = Configuration({"keep_bytes": Given(1, "the environment", "SAPWOOD_BROKER_KEEP_BYTES")})
    with pytest.raises(InputError, match=r"^the environment: SAPWOOD_BROKER_KEEP_BYTES is 1; it"):
        settings_of(told)
    by_hand = read_configuration({"keep_bytes": 1}, {})
    with pytest.raises(InputError, match=r"^--keep-bytes is 1; it takes"):
        settings_of(by_hand)
    error = ConfigurationError(["x"])
    assert told.located(error) is error
    unlocated = InputError("nothing is said of options")
    assert told.located(unlocated) is unlocated


def test_a_configuration_takes_some_options_of_another() -> None:
    one = read_configuration({"keep_bytes": 1, "strict": True}, {"SAPWOOD_TOKEN": "a"})
    other = read_configuration({"keep_bytes": 2, "name": "b"}, {"SAPWOOD_TOKEN": "b"})
    assert one.differences(other) == ["name", "strict", "keep_bytes", "token_file"]
    taken = one.taking(other, ["keep_bytes", "token_file"])
    assert (taken["keep_bytes"], taken["strict"], taken["name"], taken.token) == (
        2,
        True,
        None,
        "b",
    )
    assert taken.differences(other) == ["name", "strict"]
    assert one.taking(other, list(OPTIONS)).differences(other) == []


LINES = [line.lstrip("#") for line in template().splitlines() if " = " in line]
PIECES = st.sampled_from(
    [*LINES, *(name for name in OPTIONS), "=", '"', "[", "]", "[[", "{", "}", "\n", "'''", ",", "#"]
) | st.text(max_size=8)


@given(st.lists(PIECES, max_size=12).map("\n".join) | st.lists(PIECES, max_size=12).map("".join))
@example("listen = []")
@example('name = "\\u0000"')
@example('data = "\\u0000"')
@example("keep_bytes = 9223372036854775808")
@example("drift_ppm = -1")
@example("frame_bytes_max = 42097152")
@example("name = \r\n")
def test_any_text_is_a_configuration_or_a_documented_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    folder.mkdir(exist_ok=True)
    path = folder / "sapwood.toml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    refused = refusal(lambda: settings_of(read_configuration({}, {}, path)))
    assert refused is None or str(path.parent) in refused


VARIABLES = st.dictionaries(
    st.sampled_from([option.variable for option in OPTIONS.values()]),
    st.text(max_size=8) | st.sampled_from(["1", "true", "a:1", "0.5", "127.0.0.1:0"]),
    max_size=3,
)


@given(VARIABLES)
def test_any_environment_is_a_configuration_or_a_documented_error(
    environment: dict[str, str],
) -> None:
    refused = refusal(lambda: settings_of(read_configuration({}, environment)))
    assert refused is None or any(name in refused for name in environment)
