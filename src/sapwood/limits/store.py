"""Bounds of a broker's store: its log, its state file, and the clients that wait for its disk."""

from __future__ import annotations

from typing import Final

DURABILITY_INTERVAL_MS_MAX: Final = 60_000
"""The most milliseconds between two syncs of a broker's log: a machine that loses power may lose
the records of that time. Precedent: PostgreSQL's `wal_writer_delay` ends at 10 s, JetStream's
`sync_interval` begins at two minutes."""

STORE_CHANGES_MAX: Final = 4_096
"""Records, notes and rows that a broker's log holds and its state file does not yet, about: they
are applied again when a killed broker starts, in a few milliseconds."""

STORE_APPLY_S: Final = 1.0
"""Seconds after which the records of the log are applied to the state file, if there are fewer."""

CHECKPOINT_BYTES_MIN: Final = 1_048_576
"""Bytes of state records, 1 MiB, from which on a broker makes a checkpoint of them: ten thousand
subscriptions or so, which are routed again in a fifth of a second when it starts. Where the last
checkpoint is larger, half its bytes."""

CHECKPOINT_ENGINES_MIN: Final = 8_192
"""Filters from which on the engines that match publications with them are saved beside a
checkpoint: fewer are built in less than a tenth of a second when a broker starts, and reading files
takes some of that."""

CHECKPOINT_POLL_S: Final = 0.5
"""Seconds between two checks whether a checkpoint in progress is complete."""

STORE_RETRY_S: Final = 0.5
"""Seconds until a broker whose disk is full checks again for room."""

STORE_PENDING_BYTES_MAX: Final = 67_108_864
"""Bytes that wait for the disk, 64 MiB, publications to be written and output that waits behind
them, at which a broker no longer reads publishers: a second's work of a slow disk."""

STORE_RESERVE_BYTES: Final = 16_777_216
"""Bytes of room on the disk, 16 MiB, below which a broker refuses publications: those it has
accepted and its own records still find a place."""

SESSION_RETURN_S: Final = 300.0
"""Seconds that a broker after a restart waits for its former clients, before their subscriptions
are withdrawn. Precedent: MQTT 5's session expiry is minutes in most deployments."""

RESTATE_S: Final = 10.0
"""Seconds that a program which continues the session of an earlier run has, from its connection, to
request the entries of that run again, before the others are withdrawn. Programs subscribe within
their first second; a later subscription is a new one."""

STORE_ROOM_BYTES: Final = 1_048_576
STORE_ROOM_S: Final = 0.1
"""Bytes committed, and seconds, until a broker checks again for room on the disk: a sixteenth of
the reserve, and the time in which others fill as much. A check takes a system call."""

STORE_WRITE_S: Final = 0.005
STORE_REST: Final = 10
"""Seconds, a turn, for which a broker's loop may wait until the system has taken a write to the
log; and the factor of that time for which a thread writes instead when it was more, as the system
blocks writers that are faster than its disk: so it costs the loop a tenth of its time."""

STORE_SYNCS_MAX: Final = 2
"""The most commits that a broker's disk makes durable at a time: while one waits for the disk the
next is on its way there, and those between them gather."""
