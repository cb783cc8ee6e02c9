"""Exact covering detection: the filters to propagate so that a neighbor has a cover of every one.

Shen 2007, section 4.2 splits the work in two layers, each of which can be exchanged:

1. `protocol.py`    the two layers: a *covering index* finds the filters that cover a given one, a
                    *relation graph* stores such relations.
2. `hull.py`        the hull of a filter: the test by which most filters are ruled out.
3. `columnar/`      the default index of record filters, `xsearch/` that of tree patterns;
                    `reference.py` compares every filter.
4. `flat.py`        the default graph, `G_k`, over the nodes and edges of `edges.py`.
5. `interests.py`   an index, or a graph, of record filters and one of tree patterns as a pair.
6. `manager.py`     a graph and an index over the subscriptions of a link: the filters to propagate
                    and to withdraw, in the order that leaves no gap.
7. `catalogue.py`   indexes, graphs and their combinations by name, those of documents beside them.
8. `merging/`       filters in the place of several others.
9. `batch/`         the covers of a whole set at once.
10. `published/`    the indexes and graphs of the works, for comparison.
"""
