"""Numbers that compiled and plain kernels share."""

from __future__ import annotations

STEP = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
"""The steps of splitmix64 (Steele, Lea and Flood 2014): every bit of the element and the salt
changes each bit of the result in half of all cases."""

HALF = 32
"""The upper half of a mixed word is scaled to the size of a sketch."""

SATURATED = 255
"""A counter that reached this value is not counted down again: its bit stays set, which costs
accuracy and never hides an element. At 4 bits an element a counter is 0.5 on average."""
