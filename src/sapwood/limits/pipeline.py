"""Bounds of the pipeline on Spark, each with its unit and its reason: see `sapwood.limits`."""

from __future__ import annotations

from typing import Final

JAVA_ANSWER_S: Final = 20.0
"""Seconds in which `java` has to print its version: a cold disk needs some, a launcher script that
waits for input would hang for ever."""

PIPELINE_SUBSCRIPTIONS_MAX: Final = 10_000_000
"""Subscriptions that one Spark job collects to its driver, where the index is built: at some 500
bytes each in Python, 5 GB. Beyond, split the set and run one job a part."""

PIPELINE_FILTER_CHARS_MAX: Final = 2_147_483_648
"""Characters of all filters that one Spark job collects to its driver, together: 2 GiB, the most
that one Arrow column of texts holds."""

STREAM_FILE_AGE_MAX_DAYS: Final = 3650
"""Days by which a file of a stream may be older than the newest one. Spark's own bound is 7, and
what is older is passed over without a word; the price is some 200 bytes in the driver for each file
that stays in the folder."""

PAIRS_PER_BATCH_MAX: Final = 65_536
"""Deliveries in one Arrow batch that a Python worker hands to Spark: about 4 MB of ids, whatever
the number of matches. Precedent: DataFusion's and DuckDB's batches have 8 Ki and 120 Ki rows."""

RECORDS_PER_MATCH_MAX: Final = 10_000
"""Records that are matched by the index at once: enough to make the call's own cost vanish, and to
let many of them share comparisons. Precedent: Spark's Arrow batches have 10,000 rows."""

MATCHES_HELD_MAX: Final = 8_388_608
"""Matches that a Python worker may hold at a time, beside those of one publication, at some 30
bytes each 250 MB: however many subscriptions a publication has, and however skewed they are."""

ROW_GROUP_ROWS_MAX: Final = 1_048_576
"""Rows of a row group in a Parquet file that a Python worker writes, as pyarrow has it, or matches
in its lists: 20 MB while they are held, and enough for a text to stand in a dictionary for many."""

ROW_GROUP_BYTES: Final = 33_554_432
"""Memory that rows of any table take before a Python worker writes them as one row group: wide rows
of documents are a few thousand, and the worker holds them once more while it packs them."""

LAKE_FILES_MAX: Final = 10_000
"""Parquet files of a lake whose footers the driver reads, at about a millisecond each, to assign
them to workers. Of a larger lake the JVM reads the rows, and brings them to the workers."""

BROADCAST_FILTER_CHARS_MAX: Final = 268_435_456
"""Characters of filters whose index goes to every executor as a whole: measured at some four bytes
of index a character, 1 GiB that all workers of a machine share. Larger sets are cut into shards."""

BROADCAST_SUBSCRIPTIONS_MAX: Final = 2_000_000
"""Subscriptions whose index is built in one place, the driver, and goes to every executor. At up to
0.2 ms each that is minutes; a larger set is cut into shards that tasks build side by side."""

SHARD_SUBSCRIPTIONS_MAX: Final = 500_000
"""Subscriptions in one shard of a sharded match: the task that builds it holds some 2 KB each."""

FORMS_REMEMBERED_MAX: Final = 65_536
"""Texts of filters whose normal form a Python worker remembers: some 20 MB, and a set with many
equal texts is read at the rate of its distinct ones."""

COVER_GROUP_FILTERS_MAX: Final = 100_000
"""Distinct filters of one home router that one task compares at once: some 300 MB of Python's
memory. A larger home is cut into groups, at the price of a copy of a filter in several of them."""

COVER_GROUP_PATTERNS_MAX: Final = 25_000
"""As COVER_GROUP_FILTERS_MAX, for tree patterns: they and their factorization tree take some 200
MB."""

COVER_SAMPLE_FILTERS: Final = 20_000
"""Filters by which the division into groups is decided: some 300 ends of intervals in a cell of the
grid over an attribute's numbers."""

COVER_ROUNDS_MAX: Final = 16
"""Joins that follow covers across groups: each doubles the length of way that is followed, so that
only a circle, which is kept as it is, takes more."""

SEGMENT_FILTERS_MAX: Final = 250_000
"""Filters in one segment of a compiled index: one task builds it, in about a gigabyte, and a broker
that loads several has as many lookups a publication."""

SEGMENT_CHUNK_BYTES: Final = 4_194_304
"""Bytes of a segment in one row of a Parquet table: a row is held in memory as a whole, several
times over."""

MERGED_MEMBERS_MAX: Final = 16
"""Boxes, each a filter or a perfect merger, that one imperfect merger of a compiled set stands for:
their degree is found by comparing each two of them."""

MERGE_GROUP_FILTERS_MAX: Final = 20_000
"""Filters of a compiled set that are merged at once: some 60 MB, and seconds."""

JOURNAL_ROWS_PER_TASK: Final = 50_000
"""Publications of a journal that one Spark task reads: a second or two of work."""

JOURNAL_RECONNECT_S: Final = 30.0
"""Seconds for which a Spark task, or the driver of a stream, tries to reach a broker that went
away; then it fails, and Spark decides. A broker that is restarted needs a second or two."""

SET_ASIDE_CHARS_MAX: Final = 1_000
"""Characters of an XML document or element that is set aside: enough to know it again, and its file
has the rest."""

STREAM_JOURNAL_ROWS_PER_BATCH: Final = 1_000_000
"""Publications of a journal in one batch of a stream, unless configured: some seconds of work, so
that a query that begins with a long history shows progress."""

NEAR_GROUP_FILTERS_MAX: Final = 50_000
"""Distinct filters of one kind that one task compares for near pairs: of tree patterns some 70
bytes for each node of their expansions, 350 MB with 100 nodes each. More are cut into blocks."""

NEAR_LABELS_MAX: Final = 100_000
"""Sets of attributes by which record filters are cut into blocks; with more they are one block."""

CLUSTER_PAIRS_MAX: Final = 2_000_000
"""Near pairs of which `compile --cluster` makes clusters, in the driver: some 400 MB as Python has
them. Of more the nearest are taken."""
