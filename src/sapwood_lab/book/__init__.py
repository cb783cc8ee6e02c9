"""The book of evidence: the published figures of all works beside ours, as one page.

1. `chapters.py`   the experiments of each work, and the reports that they come to.
2. `figures.py`    pictures and tables of a report, ours and the published ones drawn alike.
3. `pages.py`      the page.
"""
