"""`sapwood engines`: the table of matching engines."""

from __future__ import annotations

import click

from sapwood.cli.output import json_option, print_json, print_table, say


@click.command
@json_option
def command(*, as_json: bool) -> None:
    """List the matching engines, for records and for documents.

    All exact engines of a kind find the same subscriptions; they differ in speed and memory.
    """
    from sapwood.matching.documents.engines import DOCUMENT_ENGINES
    from sapwood.matching.engines import ENGINES

    of_records, unusable = ENGINES.usable()
    of_documents, unusable_too = DOCUMENT_ENGINES.usable()
    for error in (*unusable, *unusable_too):
        say(str(error))
    engines = [(e.kind, e.name, e.exact, e.summary) for e in of_records]
    engines += [("documents", e.name, e.exact, e.summary) for e in of_documents]
    if as_json:
        print_json([{"name": n, "kind": kind, "exact": exact} for kind, n, exact, _ in engines])
        return
    print_table(
        ("NAME", "KIND", "EXACT", "SUMMARY"),
        [(name, kind, "yes" if exact else "no", text) for kind, name, exact, text in engines],
    )
