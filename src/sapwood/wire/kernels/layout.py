"""The layout of arrays that kernels of frames return: the numbers that both sides know.

A *run* is consecutive publications in a read. Its kernel returns one array: the head, then columns
of `STRIDE` elements each, of which the first `COUNT` count. Two requests of a client, numbered 7
and 8, whose frames begin at byte 0 and 60 and are 60 bytes long:

   head     COUNT 2  END 120  SEQUENCE 7  DIGESTS 0  STRIDE 3  DOCUMENTS 0  LIMITED 1
   BODY        4   64    -     the start of a frame's body, behind its length
   BEGIN      10   70    -     the start of the publication
   FINISH     60  120    -     and its end
   RECORD     14   74    -     the start of its record
   RECORD_END 59  111    -     and its end
   TTL         0 1500    -     its time to live in milliseconds, or 0

The third frame was no publication, or not plainly one, so its column is empty. Where a document or
a payload may follow the record, the record's end is that of the publication, here byte 60 or 120.
"""

from __future__ import annotations

CLIENT_SENDS, NEIGHBOR_SENDS = range(2)
"""The sender of the messages that a kernel looks for."""

COUNT, END, SEQUENCE, DIGESTS, STRIDE, DOCUMENTS, LIMITED, RUN_HEAD = range(8)
"""The number of publications; the byte behind the last one; the number of the first one, from a
client; the number of digests; the length of a column; the number of publications that may have a
document or a payload; the number of those with a time to live. The last constant is the size of the
head."""

BODY, BEGIN, FINISH, RECORD, RECORD_END, TTL, RUN_COLUMNS = range(7)
"""The columns of a run. The last constant is their number."""

CLIENT, CLIENT_END, CLIENT_DELIVERIES, CLIENT_IDS, CLIENT_COLUMNS = range(5)
"""The row of a client with deliveries: its number; the end of its bytes; the number of its
deliveries; the end of its ids among all. The last constant is the size of a row."""

PLACES, BYTES, CLIENTS, COMPOSED_HEAD = range(4)
"""The head of composed deliveries: the number of publications delivered before the bound of bytes;
the bytes; the number of clients. Where the bytes are too many to be written for all clients at
once, none are, and behind the clients' rows stand all ids, sorted, and then the place of the
publication that each belongs to."""
