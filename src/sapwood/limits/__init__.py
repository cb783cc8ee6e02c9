"""Every bound in Sapwood: its unit, its reason, and its precedents in other systems.

A bound protects the others from the one: a filter, record or peer that would take memory or time
without end is refused early, with an error that names the bound (`LimitError.name`).
"""

from __future__ import annotations

from typing import Final

# Records ---------------------------------------------------------------------------------------

INTEGER_MIN: Final = -(2**63)
INTEGER_MAX: Final = 2**63 - 1
"""Integers are 64-bit signed: what MessagePack, Parquet and Spark's BIGINT carry without loss."""

ATTRIBUTES_MAX: Final = 4096
"""Attributes of one record after flattening. Wide telemetry has some hundred; a record beyond
this is a table in disguise. Precedent: Azure Service Bus bounds properties by 64 KB of header."""

ATTRIBUTE_NAME_CHARS_MAX: Final = 4096
"""Characters of an attribute's flat name. Objects repeat their name in that of each attribute
below: without a bound, one name of a megabyte over 4,096 attributes would be gigabytes."""

RECORD_VALUES_MAX: Final = 65_536
"""Values in one encoded record, those in arrays and the names in objects included. What is in
arrays has to be checked at each hop; long arrays belong into a text or a document. A record of
64 KiB cannot hold more."""

RECORD_DEPTH_MAX: Final = 64
"""Nested objects in one record, levels. Precedent: the same depth as for XML documents."""

# Filters ---------------------------------------------------------------------------------------

FILTER_TEXT_CHARS_MAX: Final = 65_536
"""Characters of one filter's text. Precedent: SNS allows 150 KiB of policy, Google Pub/Sub 256
bytes; long `in` lists need some tens of kilobytes."""

FILTER_NESTING_MAX: Final = 64
"""Parentheses and `not` inside each other, levels: bounds the parser's own stack."""

CONJUNCTIONS_MAX: Final = 1024
"""Conjunctions in one filter's normal form. Precedent: hypermatch and quamina-rs stop expanding
alternatives at 1,024 as well."""

CANONICAL_CONJUNCTIONS_MAX: Final = 24
"""Up to this number of conjunctions the normal form is canonical (equal filters, equal forms);
beyond, only covered conjunctions are dropped and adjacent ones joined, because the canonical form
can be exponentially larger than the filter (`sapwood.model.canonical`)."""

CANONICAL_STEPS_MAX: Final = 32_768
"""Comparisons of boxes that one canonical form may take before it settles for less: a tenth of a
second. Most filters need less than a hundred."""

COVERING_STEPS_MAX: Final = 65_536
"""Comparisons of boxes that one covering proof between two disjunctions may take before it gives
up: some tenths of a second."""

COVERING_QUESTION_STEPS: Final = 16_384
"""Comparisons of boxes in one search of a router for the filters that cover another one.
Some 20 ms, in which a broker does nothing else. Past them covers are missed: more messages."""

NORMAL_FORM_STEPS_MAX: Final = 786_432
"""Comparisons and copies of constraints that one normal form may take: about a second. Comparing
1,024 conjunctions of one shape pairwise takes two thirds of it."""

FILTER_STEPS_AT_ONCE: Final = 2048
"""Steps of one normal form that a broker takes in its event loop: some milliseconds, enough for
nearly all filters. A longer one is computed beside the loop, while its client waits."""

FILTER_CHARS_AT_ONCE: Final = 2048
"""Characters of a filter, an XPath or an advertisement that a broker reads in its event loop; a
longer one is read beside it."""

LIKE_PATTERNS_MAX: Final = 32
"""General `like` patterns on one attribute of one conjunction. They are compared pairwise, and
each is tried on every text; prefixes and literal texts do not count."""

LIKE_GAPPED_CHARS_MAX: Final = 256
"""Literal characters of a `like` pattern between two `%` with `_` among them. Each is sought in the
whole of a text, so that the work is a text's length times this at most; without `_`, and for `_`
themselves, there is no bound."""

SUCCESSORS_MAX: Final = 16
"""Texts in one range that still count as finitely many (`s`, then `s` and a NUL, ...): keeps one
range with long ends from being written out as thousands of long texts."""

DIGEST_BYTES_MAX: Final = 65_536
"""Bytes that a forwarding strategy may add to one publication for the next routers. A key of
16 bytes for each of some thousand subscriptions on the way fits, and so does a Bloom filter of half
a million bits; what is longer costs a link more than the content matches that it saves."""

UPKEEP_NOTE_BYTES_MAX: Final = 4096
"""Bytes that an upkeep strategy may send in one note beside a message, or alone: sequence numbers,
times, the sketch of a table at 4 bits for each of 8,000 entries. What is longer goes in several."""

# Network: frames -------------------------------------------------------------------------------

FRAME_BYTES_MAX: Final = 2_097_152
"""Bytes of one frame's body on a connection, checked before anything is allocated. All brokers of
an overlay use the same value. The largest document (1 MiB) fits beside a record; precedent: NATS
`max_payload` and websockets are 1 MiB."""

FRAME_BYTES_FLOOR: Final = 524_288
"""The smallest FRAME_BYTES_MAX that may be configured, bytes: the longest filter text (65,536
characters of up to 4 bytes) with its ids must always fit into one frame."""

FRAME_BYTES_CEILING: Final = 67_108_864
"""The largest FRAME_BYTES_MAX that may be configured, bytes, and that a client believes a broker.
Precedent: NATS refuses a `max_payload` above 64 MiB."""

MESSAGE_BYTES_MAX: Final = 134_217_728
"""Bytes of one message between brokers that travels in the parts of several frames. Withdrawing a
filter brings back all that only it covered (XRoute), and a router holds a million distinct filters
of some hundred bytes."""

FRAME_OVERHEAD_BYTES: Final = 4096
"""Bytes of a frame kept free for what a hop adds to a publication (origin, hop count, ids): an
encoded publication may have FRAME_BYTES_MAX less this, so that no hop has to refuse it. A digest
has no room in it: between brokers, a message that is longer than a frame travels in parts."""

GREETING_BYTES_MAX: Final = 8192
"""Bytes of the first frame of a connection, before its peer is known: twice a token.
Precedent: the control line of NATS, 4 KiB; a header of nginx, 8 KiB."""

CREDENTIAL_CHARS_MAX: Final = 4096
"""Characters of a password or token: a signed token with a few claims has 500 to 2,000."""

NAME_CHARS_MAX: Final = 128
"""Characters of a client's or broker's name: names are repeated in keys, frames and logs."""

ID_CHARS_MAX: Final = 512
"""Characters of a publication's or subscription's id on a connection. Precedent: SQS and Azure
Service Bus allow 128 characters, NATS message ids share its 4 KiB header line."""

REASON_CHARS_MAX: Final = 300
"""Characters of the sentence in a refusal or goodbye, and of one text in the log: enough for a
person, too little to smuggle a payload."""

SCHEMA_BYTES_MAX: Final = 1_048_576
"""Bytes of the file that declares publications: a thousand attributes take 30 KB."""

SCHEMA_KINDS_MAX: Final = 64
"""Kinds of records and documents in it: a filter is compared with each, in the broker's loop."""

IDENTITIES_BYTES_MAX: Final = 64 * 2**20
"""Bytes of a file of identities: some 300,000 entries with a password each."""

USAGES_MAX: Final = 65_536
"""Identities with a quota whose usage a broker records, 400 bytes each. Beyond, some that are not
connected are forgotten. Precedent: SESSIONS_REMEMBERED_MAX."""

CONFIGURATION_BYTES_MAX: Final = 65_536
"""Bytes of a broker's configuration file, 64 KiB: ten times the commented one with all options."""

HTTP_CONNECTIONS_MAX: Final = 64
"""Connections and requests at a time on a broker's HTTP port; more are answered with 503."""

ACCESS_CHECK_S: Final = 10.0
"""Seconds until files of identities and certificates that have changed are read again, and until a
connection whose token has expired ends."""

PASSWORDS_REMEMBERED_MAX: Final = 65_536
"""Valid passwords that a broker remembers (32 bytes each), so that it need not hash them again when
clients come back, all at once."""

AUTHENTICATIONS_WAITING_MAX: Final = 256
"""Greetings that wait until their password is hashed: at 50 ms each they are done within twice
`GREETING_S`. One more is refused, to try again later."""

# Network: sessions -----------------------------------------------------------------------------

GREETING_S: Final = 5.0
"""Seconds until a new connection must have greeted. Precedent: NATS allows 2 s for authentication;
more here, because a Python client may still be importing on a busy machine."""

KEEPALIVE_IDLE_S: Final = 15.0
"""Seconds of silence from a peer until it is pinged. Precedent: NATS 120 s, MQTT brokers 60 s;
shorter here, because a dead link holds back publishers of the whole overlay."""

KEEPALIVE_MISSED_MAX: Final = 2
"""Pings in a row that may stay unanswered until the peer counts as dead. Precedent: NATS 2."""

PINGS_AT_ONCE_MAX: Final = 1000
"""Pings in the bytes of one read; a peer that sends more is disconnected. Keep-alive sends one in
seconds, and each is answered."""

GOODBYE_S: Final = 5.0
"""Seconds that a closing connection may take to send what is still queued, goodbye included."""

SUBSCRIBE_MANY_MAX: Final = 16_384
"""Subscriptions in one frame of a client. A broker registers them bit by bit, between the turns of
others, and reads no more of that client meanwhile: half a second at most."""

SUBSCRIPTIONS_UNANSWERED_MAX: Final = 8192
"""Subscriptions of those requested or withdrawn together that may wait for the broker's answer; the
client sends more as answers come, so that neither end holds a million in its queues. They keep a
broker busy for a fifth of a second, longer than an answer is under way."""

SUBSCRIPTIONS_WANTED_AT_ONCE_MAX: Final = 2048
"""Subscriptions that a client requests or withdraws at once, in a few milliseconds, for which its
event loop does nothing else."""

UNACKNOWLEDGED_MAX: Final = 4096
"""Publications of one client that may wait for the broker's acknowledgement; the client waits at
this bound, the broker closes a connection that passes it. Precedent: JetStream's asynchronous
publishers hold 4,000."""

UNACKNOWLEDGED_BYTES_MAX: Final = 16_777_216
"""Bytes of publications that a client keeps for a possible retry; it waits at this bound, but one
publication is always allowed."""

SESSIONS_REMEMBERED_MAX: Final = 65_536
"""Publisher sessions (one a client name) whose last accepted sequence number a broker keeps after
they have left, oldest forgotten first. A client away for longer than it takes others to push it
out may publish its unacknowledged publications twice. Precedent: NATS 64 Ki connections."""

CONNECTIONS_MAX: Final = 65_536
"""Connections of one broker, greeted or not. Precedent: NATS 64 Ki."""

RECONNECT_FIRST_S: Final = 0.1
"""Seconds before the first attempt to connect again; doubled for each further one."""

RECONNECT_MAX_S: Final = 5.0
"""Seconds between attempts to connect again, at most. Precedent: NATS clients wait 2 s."""

DESCRIPTORS_RESERVED: Final = 64
"""Open files of a broker beside its connections: standard streams, the event loop's, listening
sockets, the journal's segments, what imports open for a moment."""

ACCEPTS_WAITING_MAX: Final = 1024
"""Connections that wait in the system to be accepted. One is accepted each time the event loop
comes by, so that many at once delay no client."""

# Network: shares of the event loop ---------------------------------------------------------------

TURN_S: Final = 0.005
"""Seconds of processor time that a connection gets at once while others wait, give or take one
message. Ten such turns still answer a well-behaved client within a tenth of a second; much shorter
ones would spend more on changing between connections than on their messages."""

TURN_MIN_S: Final = 0.0005
"""The least of it that each gets where others wait, and the bound between a connection with some
messages at a time and one that sends more than can be handled: two hundred of the latter have each
had a turn after a tenth of a second, or half a second where half of `TURN_S` went to each at once
in publications. A turn costs 20 us; what it wrote is flushed with others'."""

BRIEF_READS: Final = 16
"""Reads in a row that were each done within a turn, after which a connection comes before those for
which a turn was not enough: some tens of milliseconds of one message at a time."""

LINK_WEIGHT: Final = 16
"""The shares of the loop that a link has where a client has one. A link carries the messages of all
clients beyond it, and their publishers are held back where it does not keep up; the number of these
clients is not known here."""

SWITCH_S: Final = 0.001
"""Seconds after which the interpreter takes turns between a broker's event loop and work beside it.
Python's default of 5 ms would be added to each of the four or five times that a publication's way
through the loop lets go of the interpreter."""

FILTER_PROCESS_IDLE_S: Final = 60.0
"""Seconds without a hostile filter after which the process that works them out ends: it takes some
30 MB, and a third of a second to begin."""

SIDE_REST_S: Final = 1.0
"""Seconds that work beside the loop rests at most after a piece; mostly as long as the piece took.
The longest piece, a normal form of NORMAL_FORM_STEPS_MAX, takes about a second."""

SIDE_MOMENT_S: Final = 0.5
"""Seconds after which the thread beside the loop checks whether no more subscriptions come; a
client that subscribes in bulk brings thousands within each."""

BODY_BYTES_AT_ONCE: Final = 65_536
"""Bytes of a publication that a broker reads in its event loop; a longer one is read beside it."""

REFUSALS_REMEMBERED_MAX: Final = 1024
"""Refused filters whose reason a broker keeps, by digest, oldest forgotten first: a filter refused
for the work that it takes is not worked out again. 0.4 KB each."""

# Network: queues -------------------------------------------------------------------------------

OUTGOING_BYTES_MAX: Final = 33_554_432
"""Bytes queued for one client until it is disconnected as a slow consumer. Precedent: NATS
`max_pending`, 64 MiB; less here, as much as all clients together may have by default."""

OUTGOING_TOTAL_BYTES_MAX: Final = 33_554_432
"""Bytes that wait for all clients together, beside what system and transports hold
(TRANSPORT_BYTES_MAX each); beyond, the client with the longest queue is disconnected as a slow
consumer, and the next. Only clients that do not keep up have such queues: 32 MiB is a hundred of
them a third of a megabyte behind, and keeps a broker's memory where an operator expects it."""

LINK_HIGH_WATER_BYTES: Final = 8_388_608
"""Bytes queued for a neighbor until publishers are held back, here and (by a congestion message)
at every other broker; released at a quarter of it."""

LINK_OUTGOING_BYTES_MAX: Final = 1_073_741_824
"""Bytes queued for a neighbor until the link is given up: holding back publishers keeps it far
below, but the state of a very large router may pass the high-water mark at once."""

KEYS_AT_ONCE: Final = 16_384
"""Subscriptions of clients that some publications match together, beside those of one publication,
until the rest of the batch has to wait for its turn: with ids of 30 bytes half a megabyte to
compose, some milliseconds."""

PUBLICATIONS_AT_FIRST: Final = 32
COMPOSED_BYTES: Final = 4_194_304
"""Publications of a connection that are handled at once before their cost is known, and bytes of
deliveries that are composed at once, beside those of one publication."""

TRANSPORT_BYTES_MAX: Final = 262_144
"""Bytes handed to the operating system's queue at a time; the rest stays in our own queue, where
it can still be discarded. Precedent: asyncio's default is 64 KiB."""

DELIVERIES_WAITING_MAX: Final = 65_536
"""Deliveries that may wait in a client until the application takes them; beyond, the subscription
ends with an error rather than with a silent gap. Precedent: nats.py `pending_msgs_limit`."""

# Files -----------------------------------------------------------------------------------------

LINE_BYTES_MAX: Final = 4_194_304
"""Bytes of one line of a JSON Lines file, its end not counted. A file without line ends would
otherwise be read into memory whole. The largest document (1 MiB) fits, though quotes and line ends
take two bytes in JSON; precedent: Kafka and NATS bound a message by 1 MiB."""

# Covering: space filling curves ----------------------------------------------------------------

CURVE_DIMENSIONS_MAX: Final = 12
"""Dimensions of the grid on which filters are sorted, two for each attribute. Beyond, nearly every
filter lies beside a border of every cube and the order helps no more; precedent: the covering
literature measures 3 to 6 attributes."""

CURVE_BITS_MAX: Final = 32
"""Bits of one coordinate on that grid: finer than 64-bit keys of two dimensions ever are."""

CURVE_CUBES_MAX: Final = 4_000_000
"""Cubes that are listed to count the runs of a rectangle, some gigabytes of keys; searches list
none."""

# Routing ---------------------------------------------------------------------------------------

HOPS_MAX: Final = 1023
"""Links that a publication may cross. A tree of routers has no longer path in practice; more means
a cycle. Precedent: IP stops at 255 hops."""

SUBSCRIPTIONS_AT_ONCE_MAX: Final = 256
"""Subscriptions that a router registers, withdraws or forwards at once: five to fifteen
milliseconds, for which all others wait. More of them go in several messages."""

# Overlays --------------------------------------------------------------------------------------

OVERLAY_ROUTERS_MAX: Final = 10_000
"""Routers of one overlay. Each simulated router holds tables of its own, so this is some hundred
megabytes; precedent: the largest overlay in the routing literature we follow has 127 routers."""

MESH_ROUTERS_MAX: Final = 512
"""Routers of one overlay with circles. Each router routes on a tree for each of them and is sent
all the links of each tree, so messages and tables grow with the square of this. Precedent: areas of
OSPF, whose routers too know all links, are planned for some hundred routers."""

MESH_HELD_MAX: Final = 65_536
"""Publications of one source that a router holds because they came on a newer tree than others that
are still on their way on the old one: the difference of the two ways, some tenths of a second.
Beyond, those still on the old one are given up. Precedent: DELIVERIES_WAITING_MAX."""

MESH_HOLD_S: Final = 5.0
"""Seconds that a link which has returned has to stay up before it is routed on where there is
another way, and that links have to stay as they are before trees change for the better. Precedent:
link dampening on routers, whose suppressed interfaces come back after some seconds up."""

MESH_HOLD_MAX_S: Final = 3600.0
"""The largest MESH_HOLD_S that may be configured, an hour. Precedent: the longest time for which
routers suppress a route that flaps (RFC 2439)."""

MESH_PAUSE_MIN_S: Final = 0.25
"""Seconds that a source waits before it replaces a tree again that was cut soon after the last one:
several times what a version needs to take over. Doubles from one time to the next. Precedent: the
short delay of the back-off of RFC 8405, a fifth of a second."""

MESH_PAUSE_MAX_S: Final = 1.0
"""The most seconds that this wait becomes, for which routers beyond a cut may be out of reach where
links fail one after the other."""

LINK_LATENCY_MAX_S: Final = 3600.0
"""Seconds a message may be under way on one link. A link slower than an hour is no link."""

# Simulation ------------------------------------------------------------------------------------

SIMULATION_INPUTS_MAX: Final = 50_000_000
"""Inputs that all routers together may take in one simulation, so that a message that goes in
circles ends as an error. Some ten minutes of work; precedent: dask bounds a test's transitions."""

SIMULATION_CALM_ROUNDS: Final = 8
"""Times that each router with a timer ticks without a change before an overlay counts as quiet. A
lease that outlives three refreshes runs out within four ticks of its holder; twice that."""

SIMULATION_RESTLESS_TICKS_MAX: Final = 10_000
"""Ticks that a router may take, on the average, until an overlay is quiet, so that timers that
change something for ever end as an error: hours at a second each, and far more than the calm rounds
of the last limit take."""

SIMULATION_STORY_LINES: Final = 200
"""Last steps of a simulation that are kept in words, to be shown when something goes wrong."""

ORACLE_PAIRS_MAX: Final = 10_000_000
"""Pairs (publication, filter text) that the oracle evaluates one by one, about 40 s. Beyond that it
checks publications drawn with the seed for losses, and reports how many; each delivery is checked
in any case."""

VIEWED_CHANGES_MAX: Final = 5
"""Links that changed since an overlay with circles was last at rest, of which a source may know or
not, each by itself. The oracle considers a tree for each of these views; beyond, any failed link
excuses all."""

VERDICT_EXAMPLES_MAX: Final = 20
"""Pairs that a verdict names one by one; the rest are counted."""

# Covering --------------------------------------------------------------------------------------

CANDIDATES_HELD_MAX: Final = 1_048_576
"""Pairs of filters of which one may cover the other that a task of `compile` holds to compare them:
16 MB, and some 100 MB in Python."""

COVERING_ATTRIBUTES_MAX: Final = 64
"""Attributes of filters that a columnar covering index keeps in a table where many have the same:
each takes up to 32 bytes of every filter. Filters on more attributes are compared one by one.
Precedent: the covering literature we follow measures up to 6 attributes."""

# Documents -------------------------------------------------------------------------------------

DOCUMENT_BYTES_MAX: Final = 1_048_576
"""Bytes of one XML document, as received; can be raised. Precedent: NATS `max_payload` and the
frames of this wire are 1 MiB."""

DOCUMENT_DEPTH_MAX: Final = 64
"""Elements inside each other, levels, the root included; can be raised. NITF reaches 10; precedent:
libxml2 stops at 256 by itself."""

DOCUMENT_DEPTH_CEILING: Final = 2048
"""The largest depth that can be allowed, levels: libxml2 reads no deeper."""

DOCUMENT_ELEMENTS_MAX: Final = 10_000
"""Elements of one document; can be raised. A tree takes some hundred bytes an element; the NITF
documents of the filtering literature have 69 on average."""

ELEMENT_ATTRIBUTES_MAX: Final = 64
"""Attributes of one element; can be raised. Precedent: the widest element of NITF 2.5 has 25."""

XPATH_TEXT_CHARS_MAX: Final = 1024
"""Characters of one XPath expression; can be raised. The 153,928 expressions of the YFilter
benchmark have 33 on average."""

XPATH_STEPS_MAX: Final = 32
"""Steps of one expression (elements, attributes and text nodes, nested paths included); can be
raised. A document of the filtering literature is 10 levels deep."""

XPATH_PREDICATES_MAX: Final = 16
"""Conditions in the predicates of one expression; can be raised. `[a and b]` has two."""

XPATH_NESTING_MAX: Final = 8
"""Brackets and parentheses inside each other, levels; can be raised. Bounds the parser's stack."""

XPATH_DESCENDANTS_MAX: Final = 4
"""`//` on one path from the document's root to a leaf of the pattern, the one that `a/b` begins
with by convention included; can be raised."""

NAMES_REMEMBERED_MAX: Final = 65_536
"""Names of elements and attributes that an engine has looked up and remembers; beyond, it begins
to remember anew. Some megabytes; NITF has 500."""

NUMBERS_REMEMBERED_MAX: Final = 65_536
"""Texts of documents that an engine has read as numbers and remembers, likewise."""

EQUALITIES_REMEMBERED_MAX: Final = 262_144
"""Values of attributes and texts in documents of which an engine remembers what they are equal to,
once for each pair of names they stood at; beyond, it begins to remember anew. Some 30 megabytes."""

VALUE_REMEMBERED_CHARS_MAX: Final = 64
"""Characters of a value that is remembered; longer ones seldom come twice, and would take memory
that no count bounds."""

PATH_STATES_MAX: Final = 65_536
"""Label paths that the path automaton keeps a state for; beyond, it begins to learn anew. Two
hundred NITF documents of different authors have 2,000."""

PATH_STATE_NODES_MAX: Final = 67_108_864
"""Trie nodes that all those states hold together, 256 MiB; beyond, they are learned anew."""

PATTERN_REMAINS_MIN: Final = 4096
"""Removed patterns of which a document engine keeps paths and conditions for a return, at least;
when there are more of them than patterns, all are dropped together."""

EXPANSIONS_MAX: Final = 4096
"""Alternatives without `or` into which one expression is multiplied out (XTrie). Sixteen
conditions reach 324."""

DTD_BYTES_MAX: Final = 1_048_576
"""Bytes of one DTD, as for a document. NITF 2.5 has 83,290."""

DTD_ELEMENTS_MAX: Final = 1024
"""Element types of one DTD: where each may hold each, a million edges. NITF 2.5 has 123, DocBook
some 400."""

SYNOPSIS_NODES_MAX: Final = 1_000_000
"""Paths of one synopsis, at some 300 bytes each while it is built. Documents of a kind have
thousands (NITF's DTD up to ten levels allows more, but few are written); a stream of documents with
names made up by their senders must not fill the memory."""

EXPANSION_DEPTH_MAX: Final = 10
"""Levels below the document to which `//` is expanded: the heights of the work's patterns end there
(table 9.1, h)."""

EXPANSION_NODES_MAX: Final = 10_000
"""Elements of one expanded pattern, some 5 MB: beyond, `//` is not followed further down. Wide,
recursive DTDs such as NITF's have more paths than are worth comparing."""

SIMILARITY_COMBINATIONS_MAX: Final = 4096
"""Ways to place the branches of a pattern that are weighed together; of more the heaviest are kept.
With the work's patterns (branching 0.1) there are less than ten."""

SIMILARITIES_KNOWN_MAX: Final = 1_048_576
"""Similarities that are remembered, at some 150 bytes each; then all are forgotten. Those of 1000
different patterns with each other are as many."""

ADVERTISEMENT_TEXT_CHARS_MAX: Final = 262_144
"""Characters of one advertisement of documents: a quarter of a frame. That of NITF's DTD has some
28,000."""

ADVERTISEMENT_STEPS_MAX: Final = 8192
"""Steps of one advertisement: its automaton has a state for each, and a bit for each in each."""

ADVERTISEMENT_READS_MAX: Final = 1_048_576
"""States that are visited, repeatedly counted, in one such comparison: about a second. Beyond, the
answer is the safe one. NITF's DTD takes some 30,000."""

ADVERTISEMENTS_MAX: Final = 65_536
"""Advertisements into which one DTD is split, to be counted and looked at."""

ADVERTISEMENT_NESTING_MAX: Final = 64
"""Parentheses inside each other in an advertisement, levels, as for documents."""

ADVERTISEMENT_STATES_MAX: Final = 4096
"""Sets of states that are visited to compare an advertisement with a pattern that branches or with
another advertisement; beyond, the answer is the safe one. NITF's DTD takes some 2,200."""

COVERING_ALTERNATIVES_MAX: Final = 64
"""Alternatives without `or` of an expression that are compared for covering, each with each: some
20 ms for two expressions at most. One with more covers itself only. Precedent: three conditions
of two alternatives each make 8."""

# Journals --------------------------------------------------------------------------------------

JOURNAL_BYTES_MAX: Final = 17_179_869_184
"""Bytes of a broker's journal, 16 GiB, unless configured; beyond, its oldest files go. Precedent:
Kafka bounds a partition by time or bytes, NATS JetStream a stream by `max_bytes`."""

JOURNAL_SEGMENT_BYTES_MAX: Final = 16_777_216
"""Bytes of one file of a journal, 16 MiB, give or take one write: the unit that goes when the
journal is full, and the most that a search for an offset reads."""

JOURNAL_LINE_BYTES_MAX: Final = 2_093_056
"""Bytes of one publication as a line of a journal: FRAME_BYTES_MAX less the overhead of a frame, so
that it can be sent to a reader as it is. JSON takes more room than the wire form, so a publication
can be too long for a journal and not for a broker without one."""

JOURNAL_IDS_REMEMBERED_MAX: Final = 262_144
"""Ids that a broker with a journal takes once from a publisher: those it accepted last. At some
120 bytes each 30 MB. Precedent: JetStream remembers message ids for two minutes."""

JOURNAL_PLACES_REMEMBERED_MAX: Final = 256
"""Places in a journal where readers have stopped, so that going on needs no search."""

REPLAY_LINES_MAX: Final = 1_024
"""Publications of the journal that a broker reads for one request: some ten milliseconds, in which
it does nothing else. A reader continues from the end of the answer."""

REPLAY_BYTES_MAX: Final = 262_144
"""Bytes of publications in one answer from the journal, beyond the first."""

TABLE_SIZES_S: Final = 1.0
"""Seconds between two records of a broker's table sizes, at least: short enough to see a few
thousand subscriptions come and go, long enough that recording them costs nothing."""

TABLE_SIZES_BYTES_MAX: Final = 33_554_432
"""Bytes of a broker's records of its table sizes, 32 MiB; beyond, the older half goes. Where
all five tables change all the time, that is most of a day; where they do once a minute, fifty."""

# Covering: merging -----------------------------------------------------------------------------

MERGED_TEXT_CHARS_MAX: Final = 4096
"""Characters of the text of a merger: beyond, matching it costs more than it saves. A list of some
hundred values fits; filters themselves may have FILTER_TEXT_CHARS_MAX."""

MERGING_PASS_MIN: Final = 4
"""The fewest subscriptions that come to a link between two passes of merging over it; beyond 32 of
them, an eighth of those on the link, so that passes cost each subscription the same."""

REPLACED_KEYS_MAX: Final = 256
"""Subscriptions that one message replaces; the others are withdrawn one by one.
With the longest filter and keys of the longest names it fits into FRAME_BYTES_FLOOR."""
