"""Charts as SVG texts: pure functions from numbers to text, with nothing to fetch and no script.

1. `drawing.py`    shared parts: round ticks, numbers as people read them, texts.
2. `plots.py`      bars, columns and lines that stand in a page and have its colors.
3. `panels.py`     many small plots beside each other, with one scale.
4. `pictures.py`   line charts as files of their own, with logarithmic axes where these are chosen.
5. `overlays.py`   overlays of peers: communities, loads, the way of one publication.

A page that has charts of 2 or 3 takes `STYLE` into its style sheet and sets the custom properties
`--ink`, `--soft`, `--line` and `--first` to `--fifth` to its colors.
"""

from sapwood.charts.drawing import STYLE, number

__all__ = ["STYLE", "number"]
