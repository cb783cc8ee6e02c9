"""The compiled loops of the columnar engine, imported late: they bring numba.

A batch goes through the modules in this order: `reading` (MessagePack), `rank_records` or
`rank_columns` (values to ranks), `lookups` (ranks to candidate ranges), then `batch_join`, or
`gathering` with `bitmaps` (candidate ranges to candidates) and `evaluation` with `blocks`
(candidates to matches), and `result_buffer`. `forms` reads filters. `compiled` has the entries that
Python calls; `views`, `lanes` and `measuring` serve the other modules. docs/matching.md carries
eight filters through all of them by hand.
"""
