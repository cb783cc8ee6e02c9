"""The options of a broker: one table, from which all three spellings of each are made.

Option `keep_bytes` is `--keep-bytes` on the command line, `SAPWOOD_BROKER_KEEP_BYTES` in the
environment, `keep_bytes` in the file; help, manual page and the commented file have its one text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from sapwood.broker.configuration.kinds import (
    Choice,
    Kind,
    Number,
    Place,
    Several,
    Switch,
    Text,
    Value,
    Whole,
)
from sapwood.limits import (
    CONNECTIONS_MAX,
    FRAME_BYTES_MAX,
    GREETING_S,
    JOURNAL_BYTES_MAX,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_MISSED_MAX,
    LINK_HIGH_WATER_BYTES,
    LINK_OUTGOING_BYTES_MAX,
    OUTGOING_BYTES_MAX,
    OUTGOING_TOTAL_BYTES_MAX,
    SESSIONS_REMEMBERED_MAX,
)
from sapwood.limits.gateway import GATEWAY_STREAMS_MAX
from sapwood.limits.mqtt import MQTT_CONNECTIONS_MAX
from sapwood.limits.timing import DRIFT_PPM

LOG_LEVELS: Final = ("debug", "info", "warning", "error")

LOG_FORMATS: Final = ("auto", "json", "text")

PREFIX: Final = "SAPWOOD_BROKER_"
"""The prefix of variables of the environment that set a broker's options."""

TOKEN_VARIABLE: Final = "SAPWOOD_TOKEN"  # noqa: S105 - the name of a variable
"""The variable that has the token itself, for every command."""


class Changes(Enum):
    """The moment at which a changed option takes effect, on SIGHUP; the value is its text."""

    NOW = "at once"
    NEW = "for new connections"
    RESTART = "needs a restart"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name, its kind of value, and its default.

    Where it has no default (`default` is `None`), `without` describes what that means, and
    `example` is shown in a file. `also` is a variable that clients have as well.
    """

    name: str
    kind: Kind
    changes: Changes
    text: str
    default: Value | None = None
    without: str = "none"
    example: Value | None = None
    also: str | None = None

    @property
    def flag(self) -> str:
        """The name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return PREFIX + self.name.upper()

    @property
    def variables(self) -> tuple[str, ...]:
        """All names in the environment; the first one that is set counts."""
        return (self.variable,) if self.also is None else (self.variable, self.also)


_NOW: Final = Changes.NOW
_NEW: Final = Changes.NEW
_RESTART: Final = Changes.RESTART

_OVERLAY: Final = (
    Option(
        "listen",
        Several("[udp://]HOST:PORT"),
        _RESTART,
        "Where to listen; port 0 picks a free one. Once more with udp:// for links that lose, "
        "repeat and reorder messages.",
        ("127.0.0.1:7411",),
    ),
    Option(
        "peer",
        Several("[udp://]HOST:PORT"),
        _NOW,
        "A broker to link with; may be several. One end of a link is enough.",
        example=("tls://north.example.org:7411",),
    ),
    Option(
        "join",
        Several("HOST:PORT"),
        _NOW,
        "Where brokers find their links themselves (irbr, scribe, rpf), one of them, by which this "
        "one gets to know the others; may be several.",
        example=("north.example.org:7411",),
    ),
    Option(
        "backup",
        Several("HOST:PORT"),
        _RESTART,
        "Under failover, a broker to link with when the peer is gone for long; may be several, "
        "and they are tried in this order.",
        example=("south.example.org:7411",),
    ),
    Option(
        "name",
        Text("NAME"),
        _RESTART,
        "Unique in the overlay.",
        without="the host's name and the port",
        example="paris",
    ),
    Option("protocol", Text("NAME"), _RESTART, "See `sapwood protocols`.", "covering"),
    Option(
        "dtd",
        Place(),
        _RESTART,
        "DTD of the documents: lets a protocol that merges judge what mergers of XPaths add.",
        example="documents.dtd",
    ),
    Option(
        "engine",
        Several("NAME"),
        _RESTART,
        "See `sapwood engines`; one for records and one for documents may be given.",
        without="chosen by size",
        example=("auto",),
    ),
    Option(
        "strict",
        Switch(),
        _NOW,
        "Refuse subscriptions that no publication can match; without it, clients are warned.",
        default=False,
    ),
    Option(
        "filter_cost_max",
        Number("NS"),
        _NOW,
        "Refuse filters that cost more processor time for each publication, by the cost model "
        "(`sapwood explain --filter`).",
        without="any filter is taken",
        example=1000.0,
    ),
    Option(
        "schema",
        Place(),
        _NOW,
        "File that declares what is published here, kinds of records and DTDs: who subscribes to "
        "what none of it can match is warned, and refused if strict.",
        without="nothing is declared",
        example="schema.toml",
    ),
    Option(
        "http",
        Text("HOST:PORT"),
        _RESTART,
        "Serve metrics (/metrics, Prometheus), /healthz and /readyz there.",
        without="nowhere",
        example="127.0.0.1:7412",
    ),
    Option(
        "gateway",
        Switch(),
        _RESTART,
        "Let clients publish and subscribe by HTTP there, too (/publish, /subscribe, /socket).",
        default=False,
    ),
    Option(
        "console",
        Switch(),
        _RESTART,
        "Serve a page there that shows the broker and its overlay (/console); where there are "
        "identities, to those who may read the broker's state.",
        default=False,
    ),
    Option(
        "http_origin",
        Several("ORIGIN"),
        _RESTART,
        "Origin of pages whose browsers may use the gateway; may be several.",
        without="none but the broker's own",
        example=("https://desk.example.org",),
    ),
    Option(
        "http_streams_max",
        Whole(),
        _RESTART,
        "Subscriptions by HTTP at a time.",
        GATEWAY_STREAMS_MAX,
    ),
    Option(
        "mqtt",
        Text("HOST:PORT"),
        _RESTART,
        "Let clients of MQTT 5 publish and subscribe there.",
        without="nowhere",
        example="127.0.0.1:1883",
    ),
    Option(
        "mqtt_connections_max",
        Whole(),
        _RESTART,
        "Connections of MQTT clients at a time.",
        MQTT_CONNECTIONS_MAX,
    ),
    Option(
        "traces",
        Text("URL"),
        _RESTART,
        "Send spans of traced publications to this collector (OpenTelemetry, OTLP over HTTP).",
        without="nowhere",
        example="http://127.0.0.1:4318",
    ),
)

_KEPT: Final = (
    Option(
        "data",
        Place("DIRECTORY"),
        _RESTART,
        "Folder for what the broker keeps: what has to survive it, the publications it accepts, "
        "and how large its routing tables were.",
        without="nothing is kept",
        example="/var/lib/sapwood",
    ),
    Option(
        "durability",
        Text("fsync|interval:MS|none"),
        _RESTART,
        "When what is kept counts as kept: after fsync; when written, with fsync every MS "
        "milliseconds; when written. A killed process loses nothing.",
        "fsync",
    ),
    Option(
        "keep_bytes",
        Whole("BYTES"),
        _NOW,
        "Publications to keep that nobody needs any more; beyond, the oldest files go.",
        JOURNAL_BYTES_MAX,
    ),
    Option(
        "keep_age",
        Number("SECONDS"),
        _NOW,
        "Age at which these go.",
        example=604_800.0,
    ),
)

_ACCESS: Final = (
    Option(
        "identities",
        Place(),
        _NOW,
        "Who may connect, and as what; nobody else may (`sapwood identity`). Read again when it "
        "changes, as certificates are.",
        without="everybody may",
        example="identities.toml",
    ),
    Option(
        "allow_anyone",
        Switch(),
        _NOW,
        "Listen where other machines connect although neither identities nor TLS guard it.",
        default=False,
    ),
    Option(
        "token_file",
        Place(),
        _NEW,
        "File with the token that says who connects to a peer.",
        without=TOKEN_VARIABLE,
        example="broker.token",
    ),
    Option(
        "tls_ca",
        Place(),
        _NEW,
        "Certificates (PEM) of who may sign those of brokers and clients.",
        without="for peers, what the system trusts",
        example="ca.pem",
        also="SAPWOOD_TLS_CA",
    ),
    Option(
        "tls_cert",
        Place(),
        _NEW,
        "The own certificate (PEM); with it and its key the broker speaks TLS.",
        example="broker.pem",
        also="SAPWOOD_TLS_CERT",
    ),
    Option(
        "tls_key",
        Place(),
        _NEW,
        "The key of the own certificate (PEM).",
        example="broker.key",
        also="SAPWOOD_TLS_KEY",
    ),
)

_BOUNDS: Final = (
    Option(
        "frame_bytes_max",
        Whole("BYTES"),
        _RESTART,
        "Largest frame; the same in the whole overlay.",
        FRAME_BYTES_MAX,
    ),
    Option(
        "outgoing_bytes_max",
        Whole("BYTES"),
        _NOW,
        "Queue at which a slow client is disconnected.",
        OUTGOING_BYTES_MAX,
    ),
    Option(
        "outgoing_total_bytes_max",
        Whole("BYTES"),
        _NOW,
        "Queues of all clients at which the slowest is disconnected.",
        OUTGOING_TOTAL_BYTES_MAX,
    ),
    Option(
        "link_high_water_bytes",
        Whole("BYTES"),
        _NOW,
        "Queue at which publishers are held.",
        LINK_HIGH_WATER_BYTES,
    ),
    Option(
        "link_outgoing_bytes_max",
        Whole("BYTES"),
        _NOW,
        "Queue at which a link is given up.",
        LINK_OUTGOING_BYTES_MAX,
    ),
    Option("connections_max", Whole(), _NOW, "Connections at a time.", CONNECTIONS_MAX),
    Option(
        "sessions_remembered_max",
        Whole(),
        _NOW,
        "Clients remembered after leaving.",
        SESSIONS_REMEMBERED_MAX,
    ),
)

_TIMES: Final = (
    Option(
        "greeting_s",
        Number("SECONDS"),
        _NEW,
        "Seconds until a new connection must have greeted.",
        GREETING_S,
    ),
    Option(
        "keepalive_s",
        Number("SECONDS"),
        _NEW,
        "Seconds of silence until a peer is pinged.",
        KEEPALIVE_IDLE_S,
    ),
    Option(
        "keepalive_missed",
        Whole(),
        _NEW,
        "Unanswered pings until a peer is dead.",
        KEEPALIVE_MISSED_MAX,
    ),
    Option(
        "detector",
        Text("timeout[:SECONDS]|phi[:THRESHOLD]"),
        _NEW,
        "When a silent neighbor is dead: after so many seconds, or when its silence is too "
        "unlikely after what was seen of it.",
        without="when so many pings are unanswered",
        example="phi:8",
    ),
    Option(
        "drift_ppm",
        Whole("PPM"),
        _RESTART,
        "How far this machine's clock is off at most, parts per million.",
        DRIFT_PPM,
    ),
)

_LOG: Final = (
    Option("log_level", Choice(LOG_LEVELS), _NOW, "What the log has, and what is worse.", "info"),
    Option(
        "log_format",
        Choice(LOG_FORMATS),
        _RESTART,
        "How a line of the log looks: a JSON object, or text for reading; auto is text on a "
        "terminal and JSON elsewhere.",
        "auto",
    ),
)

GROUPS: Final[Mapping[str, tuple[Option, ...]]] = MappingProxyType(
    {
        "The overlay": _OVERLAY,
        "What is kept": _KEPT,
        "Who may connect": _ACCESS,
        "Bounds": _BOUNDS,
        "Times": _TIMES,
        "The log": _LOG,
    }
)
"""All options, as a file and the help show them."""

OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {option.name: option for group in GROUPS.values() for option in group}
)
"""All options by name."""
