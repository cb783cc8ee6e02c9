"""The oracle: judges deliveries by those that had to, might and must not happen.

For each pair of a publication and a subscription it decides, from the history alone:

* *must*: the filter matches; the subscription was confirmed before the publication was accepted
  and its end was not requested before the publication could arrive; and the way between the two
  homes was sound all that time: each link on it was up, and the overlay had settled since it last
  came up (on many trees: there was a way, and the overlay had settled since a link went down that
  its source's tree may have on the way; see `ways`; where publications take several trees at once,
  on one of them). (A subscription that is confirmed in between may rely on one that was confirmed
  earlier and has yet to travel over the link again.) A subscription that was changed owes the union
  of all its filters of that time.
* *may*: the filter matches, and the publication was under way during part of the subscription's
  life.
* *must not*: everything else, and whatever was refused to its publisher. Besides, nothing may
  be delivered for a subscription that is not in its life at that moment. Where its router went back
  to an older state, a change of it may not be confirmed there yet: then it may have its former
  filters until its client, which states it again, is answered.

Which publications had to be refused is judged in `sapwood.simulation.admission`.

Whether a filter matches is decided by the reference evaluation over syntax trees, which shares no
code with the engines or with the filters' normal forms. Words as in Jepsen's checkers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from random import Random
from typing import Final, NamedTuple, TypeAlias

from sapwood.language.parser import parse
from sapwood.language.syntax import Node
from sapwood.language.written import Written, as_given
from sapwood.language.xpath.parser import parse as parse_path
from sapwood.language.xpath.syntax import Path
from sapwood.limits import ORACLE_PAIRS_MAX, VERDICT_EXAMPLES_MAX
from sapwood.matching.documents.reference import holds as path_holds
from sapwood.matching.reference import holds, holds_of_all
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements import Advertisement
from sapwood.model.publication import Publication
from sapwood.simulation.admission import judge_admission
from sapwood.simulation.history import (
    ClientName,
    Epoch,
    History,
    Moment,
    Outage,
    Published,
    SubscriptionName,
)
from sapwood.simulation.ways import LongestDelay, Ways, ways_of
from sapwood.xml import Document

_STEP: Final = re.compile(r"/([^/()|+]+)")
_ANY: Final = "[^/]+"

_PARSED_MAX: Final = 4096
"""Syntax trees that are kept for other histories with the same filters."""

_SLACK_S: Final = 1e-9
"""Times are sums of floats in different orders; within this they count as equal."""


class Obligation(IntEnum):
    """The obligation of a pair; the larger, the stronger."""

    MUST_NOT = 0
    MAY = 1
    MUST = 2


class Pair(NamedTuple):
    """A publication, by its id, and a subscription."""

    publication: str
    subscription: SubscriptionName


@dataclass(frozen=True, slots=True)
class Finding:
    """The number of pairs with a verdict, and the first of them."""

    count: int
    examples: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdicts on one history.

    `must`, `may` and `must_not` count pairs of the `checked` publications with all subscriptions;
    `lost` is among those as well. All other verdicts cover every delivery. `stuck` names in words
    what was still owed when the overlay had come to rest; `admitted` and `rebuffed` are the
    publications that were accepted, or refused, against what their clients had advertised.
    `interested` holds, for each checked publication, the home routers of all subscriptions that
    must or may receive it.
    """

    checked: int
    must: int
    may: int
    must_not: int
    lost: Finding
    unexpected: Finding
    duplicated: Finding
    reordered: Finding
    recovered: Finding
    stuck: tuple[str, ...]
    admitted: tuple[str, ...]
    rebuffed: tuple[str, ...]
    interested: Mapping[str, frozenset[str]]

    @property
    def is_clean(self) -> bool:
        """True if nothing went wrong; `recovered` pairs are no fault."""
        wrong = (self.lost, self.unexpected, self.duplicated, self.reordered)
        words = (self.stuck, self.admitted, self.rebuffed)
        return not any(words) and all(finding.count == 0 for finding in wrong)


class _Finder:
    """Collects the pairs of one verdict: each once, counted, the first few kept."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, None] = {}

    def add(self, pair: Pair) -> None:
        self._pairs[pair] = None

    def finding(self) -> Finding:
        return Finding(len(self._pairs), tuple(self._pairs)[:VERDICT_EXAMPLES_MAX])


class Meaning:
    """The reference meaning of filters, by their syntax trees, each looked up once."""

    __slots__ = ("_trees",)

    def __init__(self) -> None:
        #: identity of a filter -> its syntax tree: the caller keeps the filters alive
        self._trees: dict[int, Node | Path] = {}

    def accepts(self, wanted: AdvertisedContent, publication: Publication) -> bool:
        """True if a filter or an advertisement accepts a publication."""
        if isinstance(wanted, Advertisement):
            return _has_only(wanted, publication)
        tree = self.tree(wanted)
        if isinstance(tree, Path):
            document = publication.read_document()
            return document is not None and path_holds(tree, document)
        return publication.attributes is not None and holds(tree, publication.record)

    def accepts_all_of(self, advertised: AdvertisedContent, publication: Publication) -> bool:
        """True if an advertisement accepts all values of a publication."""
        tree = None if isinstance(advertised, Advertisement) else self.tree(advertised)
        if tree is None or isinstance(tree, Path) or publication.attributes is None:
            return self.accepts(advertised, publication)
        return holds_of_all(tree, publication.record)

    def tree(self, wanted: AdvertisedContent) -> Node | Path:
        """The syntax tree of a filter; equal ones of equal texts, most often."""
        tree = self._trees.get(id(wanted))
        if tree is None:
            tree = self._trees[id(wanted)] = _parse(as_given(wanted))
        return tree


class _Evidence:
    """The reference meaning of filters, and the real lengths of ways."""

    def __init__(self, ways: tuple[Ways, ...]) -> None:
        self.ways = ways
        self.meaning = Meaning()
        #: identities of a syntax tree and a publication of the history -> whether it matches
        self._known: dict[tuple[int, int], bool] = {}

    def accepts(self, wanted: Interest, publication: Publication) -> bool:
        """As `Meaning.accepts`; evaluated once, whatever the number of its subscriptions."""
        pair = id(self.meaning.tree(wanted)), id(publication)
        known = self._known.get(pair)
        if known is None:
            known = self._known[pair] = self.meaning.accepts(wanted, publication)
        return known


def judge(
    history: History,
    longest: LongestDelay,
    *,
    advertised: bool = False,
    stuck: tuple[str, ...] = (),
    pairs_max: int = ORACLE_PAIRS_MAX,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> Judgment:
    """The verdicts on a history of an overlay that has come to rest.

    With `advertised` its protocol routes by advertisements. Where publications times distinct
    filters exceed `pairs_max`, as many publications as fit are drawn with `seed` and only those are
    checked for losses. `progress` is called with the number of publications checked after each one.
    """
    evidence = _Evidence(ways_of(history, longest))
    received: dict[str, set[SubscriptionName]] = {}
    for delivery in history.deliveries:
        received.setdefault(delivery.publication, set()).add(delivery.subscription)
    groups = _by_writing(history)
    checked = publications_checked(list(history.publications), len(groups), pairs_max, seed)
    lost = _Finder()
    must = may = 0
    interested: dict[str, frozenset[str]] = {}
    for number, id_ in enumerate(checked, 1):
        duties = _obligations(history.publications[id_], groups, evidence, is_kept=history.is_kept)
        homes: set[str] = set()
        for name, obligation in duties.items():
            homes.add(name.home)
            if obligation is Obligation.MAY:
                may += 1
            else:
                must += 1
                if name not in received.get(id_, ()):
                    lost.add(Pair(id_, name))
        interested[id_] = frozenset(homes)
        progress(number)
    unexpected, duplicated, reordered, recovered = _judge_deliveries(history, evidence)
    admission = judge_admission(history, evidence.meaning.accepts_all_of, advertised=advertised)
    return Judgment(
        checked=len(checked),
        must=must,
        may=may,
        must_not=len(checked) * len(history.subscriptions) - must - may,
        lost=lost.finding(),
        unexpected=unexpected,
        duplicated=duplicated,
        reordered=reordered,
        recovered=recovered,
        stuck=stuck,
        admitted=admission.admitted,
        rebuffed=admission.rebuffed,
        interested=interested,
    )


_Lives: TypeAlias = list[tuple[SubscriptionName, Epoch[Interest]]]


@dataclass(frozen=True, slots=True)
class _Groups:
    """Every life of a subscription, by its filter as it is written; `changed` were some of them."""

    lives: Mapping[Written, _Lives]
    changed: Mapping[SubscriptionName, Sequence[Epoch[Interest]]]

    def __len__(self) -> int:
        return len(self.lives)

    def accepting(self, publication: Publication, evidence: _Evidence) -> Iterator[_Lives]:
        """The lives whose filters accept a publication, and those times in which all do."""
        found: set[int] = set()
        for lives in self.lives.values():
            if evidence.accepts(lives[0][1].filter, publication):
                yield lives
                if self.changed:
                    found.update(id(epoch) for _, epoch in lives)
        for name, epochs in self.changed.items():
            for run in _runs(epochs, found):
                yield [(name, run)]


def _runs(epochs: Sequence[Epoch[Interest]], found: Container[int]) -> Iterator[Epoch[Interest]]:
    """Lives of which each took the place of the one before, as one: of those that are found."""
    run: list[Epoch[Interest]] = []
    for epoch in (*epochs, None):
        if epoch is not None and epoch.is_change and id(epoch) in found:
            run.append(epoch)
            continue
        if len(run) > 1:
            confirmed = min((one.confirmed for one in run if one.confirmed), default=None)
            last = run[-1]
            yield Epoch(last.filter, run[0].asked, confirmed, last.leaving, last.left)
        run = [epoch] if epoch is not None and id(epoch) in found else []


def _by_writing(history: History) -> _Groups:
    groups: dict[Written, _Lives] = {}
    changed: dict[SubscriptionName, Sequence[Epoch[Interest]]] = {}
    for name, epochs in history.subscriptions.items():
        for epoch in epochs:
            groups.setdefault(as_given(epoch.filter), []).append((name, epoch))
            if epoch.is_change:
                changed[name] = epochs
    return _Groups(groups, changed)


def publications_checked(ids: list[str], filters: int, pairs_max: int, seed: int) -> list[str]:
    """The publications to check for losses: all, or as many as the bound allows."""
    count = max(1, pairs_max // max(1, filters))
    if len(ids) <= count:
        return ids
    generator = Random(f"{seed}/oracle")  # noqa: S311 - reproducible on purpose
    return [ids[number] for number in sorted(generator.sample(range(len(ids)), count))]


def _obligations(
    published: Published, groups: _Groups, evidence: _Evidence, *, is_kept: bool
) -> dict[SubscriptionName, Obligation]:
    """The obligations of one publication, for every subscription that must or may receive it."""
    duties: dict[SubscriptionName, Obligation] = {}
    if published.refused is not None:
        return duties
    sent = published.accepted or published.asked
    taken = published.handed if is_kept else published.accepted
    for lives in groups.accepting(published.publication, evidence):
        for name, epoch in lives:
            far = name.home != published.publisher.home
            for ways in evidence.ways:  # whatever arrives on any of them arrives
                delay, outages = ways.way(published.publisher.home, name.home, sent)
                obligation = _obligation(published, taken, epoch, delay if far else None, outages)
                if obligation > duties.get(name, Obligation.MUST_NOT):
                    duties[name] = obligation
    return duties


def _obligation(
    published: Published,
    taken: Moment | None,
    epoch: Epoch[Interest],
    delay_s: float | None,
    outages: Iterable[Outage],
) -> Obligation:
    """The obligation of a matching publication towards one life of a subscription.

    Where it was accepted, it was `taken` by a router no earlier than that. It counts as under way
    for `delay_s` seconds; `None` where both clients are at one router, so that nothing can come in
    between.
    """
    sent = published.accepted or published.asked
    deadline = sent if delay_s is None else Moment(sent.time + delay_s + _SLACK_S, 0)
    if epoch.asked > deadline or (epoch.left is not None and epoch.left < published.asked):
        return Obligation.MUST_NOT
    if (
        published.accepted is None
        or epoch.confirmed is None
        or (taken is not None and epoch.confirmed > taken)
        or (epoch.leaving is not None and epoch.leaving <= deadline)
    ):
        return Obligation.MAY
    if any(_disturbs(outage, sent, deadline) for outage in outages):
        return Obligation.MAY
    return Obligation.MUST


def _disturbs(outage: Outage, sent: Moment, deadline: Moment) -> bool:
    """True if an outage overlaps with the travel of a publication from `sent` to `deadline`."""
    return outage.down <= deadline and (outage.settled is None or outage.settled >= sent)


def _judge_deliveries(
    history: History, evidence: _Evidence
) -> tuple[Finding, Finding, Finding, Finding]:
    """Unexpected, duplicated, reordered and recovered deliveries, in this order."""
    unexpected, duplicated, reordered, recovered = (_Finder() for _ in range(4))
    seen: set[Pair] = set()
    latest: dict[tuple[ClientName, SubscriptionName], Moment] = {}
    for moment, id_, name in history.deliveries:
        pair = Pair(id_, name)
        published = history.publications.get(id_)
        lives = history.subscriptions.get(name, [])
        was_refused = published is None or published.refused is not None
        wanted = _lives_at(lives, moment)
        if (
            published is None
            or was_refused
            or not any(evidence.accepts(one.filter, published.publication) for one in wanted)
        ):
            unexpected.add(pair)
            continue
        is_again = _is_relapsed(history, moment)
        if pair in seen:
            if not is_again:
                duplicated.add(pair)
            continue
        seen.add(pair)
        if published.accepted is None:
            recovered.add(pair)
        flow = (published.publisher, name)
        if published.asked < latest.get(flow, published.asked) and not is_again:
            reordered.add(pair)
        latest[flow] = max(published.asked, latest.get(flow, published.asked))
    return unexpected.finding(), duplicated.finding(), reordered.finding(), recovered.finding()


def _is_relapsed(history: History, moment: Moment) -> bool:
    """True if a router had an older state, and the overlay had not settled since."""
    return any(
        one.down <= moment and (one.settled is None or moment <= one.settled)
        for one in history.relapses
    )


def _lives_at(lives: Sequence[Epoch[Interest]], moment: Moment) -> Iterator[Epoch[Interest]]:
    """The lives of a subscription whose filters may be in force at its home at a moment.

    A change leaves the former filter in force until it is confirmed. A router that went back may
    have the change without its confirmation, or not have it: there what its client states again may
    have the filters that it had before it was changed, until that is answered.
    """
    for number, epoch in enumerate(lives):
        if epoch.asked > moment or (epoch.left is not None and epoch.left < moment):
            continue
        yield epoch
        if epoch.is_repeat and (epoch.confirmed is None or moment <= epoch.confirmed):
            yield from _former(lives, number)


def _former(lives: Sequence[Epoch[Interest]], number: int) -> Iterator[Epoch[Interest]]:
    """The lives before one, as far as each took the place of the one before it, or repeats it."""
    while number > 0 and (lives[number].is_change or lives[number].is_repeat):
        number -= 1
        yield lives[number]


def _has_only(advertised: Advertisement, publication: Publication) -> bool:
    """True if every root-to-leaf path is advertised, by a regular expression over the paths."""
    contents = publication.read_document()
    if contents is None:
        return False
    steps = _STEP.sub(lambda step: f"(?:/{_ANY if step[1] == '*' else re.escape(step[1])})",
                      str(advertised))  # fmt: skip
    allowed = re.compile(f"(?:{steps})")
    return all(allowed.fullmatch(path) for path in _paths(contents))


def _paths(document: Document) -> Iterator[str]:
    """The root-to-leaf paths of a document, as `/a/b`."""
    inner = set(document.parents)
    for leaf in range(len(document)):
        if leaf not in inner:
            names: list[str] = []
            at = leaf
            while at >= 0:
                names.append(document.names[at].rpartition("}")[2])
                at = document.parents[at]
            yield "".join(f"/{name}" for name in reversed(names))


@lru_cache(_PARSED_MAX)
def _parse(written: Written) -> Node | Path:
    if written.language == "filter":
        return parse(written.text)
    return parse_path(written.text, written.namespaces)
