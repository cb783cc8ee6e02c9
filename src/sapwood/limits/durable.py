"""Bounds of durable subscriptions and of the state files of clients."""

from __future__ import annotations

from typing import Final

DURABLES_MAX: Final = 65_536
"""Durable subscriptions at one broker. Each costs a kilobyte and the entries of its mailbox.
Precedent: RabbitMQ is run with tens of thousands of queues a node."""

DURABLES_LISTED_MAX: Final = 512
"""Durable subscriptions in one answer to a list request; the next one begins after the last."""

DURABLE_COUNT_MAX: Final = 1_000_000
"""Publications that wait in one mailbox, unless configured. A reference takes 25 bytes of memory,
so a full mailbox takes 25 MB. Precedent: JetStream and RabbitMQ have no bound unless configured,
which fills disks."""

DURABLE_BYTES_MAX: Final = 1_073_741_824
"""Bytes of the publications that wait in one mailbox, 1 GiB, unless configured: the part of a
journal that is kept for an absent consumer."""

DURABLE_AGE_MAX_S: Final = 2_592_000.0
"""Seconds that a publication waits in a mailbox, 30 days, unless configured. Precedent: Google
Pub/Sub keeps 31 days at most, and deletes unused subscriptions after as many."""

DURABLE_ACKNOWLEDGE_S: Final = 30.0
"""Seconds after which a delivery without an acknowledgement is repeated, unless configured.
Precedent: JetStream's `ack_wait`, 30 s; SQS's visibility timeout, 30 s."""

DURABLE_SECONDS_MIN: Final = 0.05
"""Seconds that the bounds on time of a mailbox are at least: shorter ones pass before an answer can
come."""

DURABLE_WINDOW: Final = 1_024
"""Deliveries that are with one consumer unacknowledged, unless configured: enough for a round trip
at a hundred thousand a second, and few to deliver again when it goes. Precedent: JetStream's
`max_ack_pending`, 1,000."""

DURABLE_WINDOW_MAX: Final = 65_536
"""The largest window that a consumer may request. Precedent: DELIVERIES_WAITING_MAX."""

DURABLE_OUT_BYTES_MAX: Final = 8_388_608
"""Bytes of publications with one consumer unacknowledged, 8 MiB, but one publication always: less
than the queue at which a slow client is disconnected."""

DURABLE_HAND_BYTES: Final = 262_144
"""Bytes of publications in one frame to a consumer, beyond the first one."""

DURABLE_HAND_MAX: Final = 512
"""Publications in one frame to a consumer: the share of one at a time where several consume."""

MAILBOX_CHUNK: Final = 4_096
"""Numbers of a mailbox that are kept together, and dropped together when all are acknowledged."""

ACKNOWLEDGE_RUNS_MAX: Final = 8_192
"""Numbers in one acknowledgement: twice its runs, 40 KB at most. More take another request."""

DURABLE_SCAN_PLACES: Final = 1_024
"""Places of the journal that are scanned for a subscription that catches up, before others have a
turn. Precedent: REPLAY_LINES_MAX."""

DURABLE_AHEAD_MAX: Final = 65_536
"""Publications that arrive for a subscription while it catches up, and are remembered until it has;
with more of them the journal is read further instead."""

DURABLE_LOOKED_MAX: Final = 8
"""Runs of places that a broker scanned in the journal before its restarts and that a durable
subscription remembers, so that a publication that a router held back over as many restarts is not
put twice."""

CLIENT_STATE_BYTES_MAX: Final = 67_108_864
"""Bytes of a client's state file, 64 MiB, at which it is written anew with what still counts: four
times UNACKNOWLEDGED_BYTES_MAX, so that it is mostly written forward."""

DURABLE_RECENT_BYTES: Final = 33_554_432
"""Bytes of publications for mailboxes that a broker remembers, 32 MiB, so that those delivered soon
are not read from the disk. Uncommitted ones are remembered beyond."""

SAME_ID_MAX: Final = 1_000
"""Publications of one id, the last ones, among which the one that a client may see is searched:
some tens of microseconds each. Ids are meant to be different; a client that gives many publications
the same one is not served beyond."""

LAST_VALUES_MAX: Final = 262_144
"""Different keys whose last publications are collected from the journal for one subscription: some
40 MB meanwhile. Precedent: JOURNAL_IDS_REMEMBERED_MAX."""

LAST_BY_MAX: Final = 16
"""Attributes that make up such a key."""
