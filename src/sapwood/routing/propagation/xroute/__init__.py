"""XRoute: subscriptions travel as counts of equal and of covered ones (Chand, XNet, chapter 4).

Each router keeps, for each side that sends it subscriptions, the filters that came from there and
are covered by no other from there, each with the number of subscriptions that have it (`x`), and
the number of others, covered ones, that it stands for (`z`). Every change is one message to each
neighbor, made of triples `(filter, instances, hidden)`. A message that withdraws the last
subscription of a filter also has the filters that it was hiding, so withdrawing is as exact as
never having subscribed.

`interface` is the table of one side (the thesis' T), `view` that of what one neighbor is to have (R
and P), `wanted` the same under advertisements, `node` all of them, and `search` finds covers.
`counting` runs it in a router, with `receipts`.

The thesis has one producer, or a few that are known. Here any router may publish, so each link is
an upstream interface in its terms, with a view of its own, and the clients of a router are an
interface where nothing is hidden: a router has its own clients one by one, as a consumer node
does. The thesis' algorithms do not work as printed (3 to 8 and 27 to 31); the forms here keep the
invariants that it states (properties P1 to P6, definitions 1 and 2).
"""
