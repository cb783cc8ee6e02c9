"""What kernels of frames tell, and are told: the numbers that both sides know.

A *run* is publications that stand behind each other in a read. Its kernel returns one array: the
head, then columns of `STRIDE` elements each, of which the first `COUNT` count. Two requests of a
client, numbered 7 and 8, whose frames begin at byte 0 and 60 and are 60 bytes long:

    head     COUNT 2  END 120  SEQUENCE 7  DIGESTS 0  STRIDE 3  DOCUMENTS 0  LIMITED 1
    BODY        4   64    -     where the body of a frame begins, behind its length
    BEGIN      10   70    -     where the bytes of the publication begin
    FINISH     60  120    -     and where they end
    RECORD     14   74    -     where its record begins
    RECORD_END 59  111    -     and where that ends
    TTL         0 1500    -     its time to live in milliseconds, or 0

The third frame was no publication, or not plainly one, so nothing is said of it. Where a document
or a payload may stand behind the record, that is said to end with the publication, here at byte 60
or 120.
"""

from __future__ import annotations

CLIENT_SENDS, NEIGHBOR_SENDS = range(2)
"""Whose messages a kernel looks for."""

COUNT, END, SEQUENCE, DIGESTS, STRIDE, DOCUMENTS, LIMITED, RUN_HEAD = range(8)
"""How many publications; the byte behind the last one; the number of the first one, from a client;
how many have a digest; the length of a column; how many may have a document or a payload; how many
have a time to live. The last number is the size of the head."""

BODY, BEGIN, FINISH, RECORD, RECORD_END, TTL, RUN_COLUMNS = range(7)
"""The columns of a run. The last number is how many there are."""

CLIENT, CLIENT_END, CLIENT_DELIVERIES, CLIENT_IDS, CLIENT_COLUMNS = range(5)
"""What is told of each client that gets something: its number; where its bytes end; how many
deliveries they are; where its ids end among all. The last number is how many words that takes."""

PLACES, BYTES, CLIENTS, COMPOSED_HEAD = range(4)
"""What is told first of composed deliveries: how many publications were delivered, before there
were bytes enough; bytes; to how many clients. Where the bytes are too many to be written for all
clients at once, none are, and behind what is told of clients stand all ids, sorted, and then the
place of the publication that each belongs to."""
