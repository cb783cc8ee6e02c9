"""Promises: what a publisher may say that it will send."""

from __future__ import annotations

from typing import TypeAlias

from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements import Advertisement

Promise: TypeAlias = Interest | Advertisement
"""What an advertisement says: an interest that accepts what is sent, or the paths of documents.

All have `matches` (a publication), `intersects` (an interest) and equality.
"""
