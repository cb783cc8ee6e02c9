"""Bounds of durable subscriptions and of what clients keep."""

from __future__ import annotations

from typing import Final

DURABLES_MAX: Final = 65_536
"""Durable subscriptions at one broker. Each costs a kilobyte and what waits in its mailbox.
Precedent: RabbitMQ is run with tens of thousands of queues a node."""

DURABLES_LISTED_MAX: Final = 512
"""Durable subscriptions in one answer to who lists them; the next one begins after the last."""

DURABLE_COUNT_MAX: Final = 1_000_000
"""Publications that wait in one mailbox, unless configured. A reference takes 25 bytes of memory,
so a full mailbox takes 25 MB. Precedent: JetStream and RabbitMQ have no bound unless configured,
which fills disks."""

DURABLE_BYTES_MAX: Final = 1_073_741_824
"""Bytes of the publications that wait in one mailbox, 1 GiB, unless configured: what a journal has
to keep for one who does not come."""

DURABLE_AGE_MAX_S: Final = 2_592_000.0
"""Seconds that a publication waits in a mailbox, 30 days, unless configured. Precedent: Google
Pub/Sub keeps 31 days at most, and deletes subscriptions that nobody uses after as many."""

DURABLE_ACKNOWLEDGE_S: Final = 30.0
"""Seconds after which what was handed out and not acknowledged is handed out again, unless
configured. Precedent: JetStream's `ack_wait`, 30 s; SQS's visibility timeout, 30 s."""

DURABLE_SECONDS_MIN: Final = 0.05
"""Seconds that the bounds on time of a mailbox are at least: shorter ones pass before an answer can
come."""

DURABLE_WINDOW: Final = 1_024
"""Deliveries that are with one consumer unacknowledged, unless configured: enough for a round trip
at a hundred thousand a second, and little to hand out again when it goes. Precedent: JetStream's
`max_ack_pending`, 1,000."""

DURABLE_WINDOW_MAX: Final = 65_536
"""Deliveries that a consumer may ask to have unacknowledged. Precedent: DELIVERIES_WAITING_MAX."""

DURABLE_OUT_BYTES_MAX: Final = 8_388_608
"""Bytes of publications with one consumer unacknowledged, 8 MiB, but one publication always: less
than the queue at which a slow client is disconnected."""

DURABLE_HAND_BYTES: Final = 262_144
"""Bytes of publications in one frame to a consumer, beyond the first one."""

DURABLE_HAND_MAX: Final = 512
"""Publications in one frame to a consumer: what one takes at a time where several share."""

MAILBOX_CHUNK: Final = 4_096
"""Numbers of a mailbox that are kept together, and forgotten together when all are acknowledged."""

ACKNOWLEDGE_RUNS_MAX: Final = 8_192
"""Numbers in one acknowledgement: twice its runs, 40 KB at most. More take another request."""

DURABLE_SCAN_PLACES: Final = 1_024
"""Places of the journal that are looked at for a subscription that catches up, before others have
a turn. Precedent: REPLAY_LINES_MAX."""

DURABLE_AHEAD_MAX: Final = 65_536
"""What arrives for a subscription that catches up is remembered for when it has, up to so many
publications; of more the journal is read further instead."""

DURABLE_LOOKED_MAX: Final = 8
"""Runs of places that earlier lives of a broker have looked at in the journal and that a durable
subscription remembers, so that what a router held back over so many restarts is not put twice."""

CLIENT_STATE_BYTES_MAX: Final = 67_108_864
"""Bytes of a client's state file, 64 MiB, at which it is written anew with what still counts: four
times UNACKNOWLEDGED_BYTES_MAX, so that it is mostly written forward."""

DURABLE_RECENT_BYTES: Final = 33_554_432
"""Bytes of publications for mailboxes that a broker remembers, 32 MiB, so that what is handed out
soon is not read from the disk. What is not committed yet is remembered beyond."""

SAME_ID_MAX: Final = 1_000
"""Publications of one id, the last ones, among which one is looked for that a client may see: some
tens of microseconds each. Ids are meant to be different; who gives many the same one is not served
beyond."""

LAST_VALUES_MAX: Final = 262_144
"""Different keys whose last publications are looked for in the journal for one subscription: some
40 MB while it looks. Precedent: JOURNAL_IDS_REMEMBERED_MAX."""

LAST_BY_MAX: Final = 16
"""Attributes that make up such a key."""
