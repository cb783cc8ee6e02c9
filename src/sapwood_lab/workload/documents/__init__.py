"""Document workloads: XPath subscriptions and valid documents, made from a DTD.

==========  ===========================================================  =====================
DTD         its documents                                                paths of 10 levels
==========  ===========================================================  =====================
proteins    shallow, 48 element types, no recursion                      37
news        blocks in blocks, phrases in phrases, 43 element types       4,446
==========  ===========================================================  =====================

`documents` makes a workload of one of these or of a DTD of your own; `with_covering_rate` picks
subscriptions of which a given share is covered by others; `subscription_lines` and
`publication_lines` write files for the commands.
"""

from __future__ import annotations

from sapwood_lab.workload.documents.bodies import DocumentShape
from sapwood_lab.workload.documents.covering_rates import with_covering_rate
from sapwood_lab.workload.documents.lines import publication_lines, subscription_lines
from sapwood_lab.workload.documents.patterns import XNET, XPE, PatternShape
from sapwood_lab.workload.documents.shipped import SHIPPED, shipped_dtd
from sapwood_lab.workload.documents.source import DocumentWorkload, documents

__all__ = [
    "SHIPPED",
    "XNET",
    "XPE",
    "DocumentShape",
    "DocumentWorkload",
    "PatternShape",
    "documents",
    "publication_lines",
    "shipped_dtd",
    "subscription_lines",
    "with_covering_rate",
]
