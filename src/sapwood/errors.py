"""Every error that Sapwood raises on purpose, as one small tree.

::

    SapwoodError
    ├── InputError                what the caller handed in is wrong: say where, say the remedy
    │   ├── FilterSyntaxError     the text of a filter, with the position
    │   ├── LimitError            a bound of `limits/` was passed; names the bound
    │   ├── DocumentError         bytes that are no XML document for us, with line and column
    │   ├── InvalidValueError     an attribute value that no record may hold (NaN, a date, ...)
    │   ├── DuplicateIdError      an identity that is already taken
    │   ├── UnknownIdError        an identity that nobody has
    │   ├── UnknownNameError      an engine, protocol or topology that does not exist
    │   ├── FileFormatError       a file that cannot be read as what it should be
    │   └── ConfigurationError    options of a broker, in a file or elsewhere; all that is wrong
    ├── PeerError                 the other end of a connection is at fault
    │   ├── FrameError            bytes that are no frame of ours, or one that is too large
    │   └── HandshakeError        another protocol, another version, a name already in use
    ├── UnfitDeliveryError        a delivery is not of the type that its subscription asked for
    ├── ConnectionLostError       the connection ended before the work was done
    ├── EnvironmentMissingError   something the work needs is not on this machine (a Java, a port)
    ├── ContributionError         what another distribution adds to a catalogue cannot be used
    └── InvariantError            our own fault: a state that must never be

    NeverMatchesWarning           (a `UserWarning`) a filter that no publication can match
    FilterTypeWarning             (a `UserWarning`) a filter that does not fit the type of records

A caller can therefore tell apart its own mistake (`InputError`), the peer's (`PeerError`), the
machine's (`ConnectionLostError`, `EnvironmentMissingError`), that of somebody else's code
(`ContributionError`) and ours (`InvariantError`).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SapwoodError(Exception):
    """The root of the tree: `except SapwoodError` catches all that is raised on purpose."""


class InputError(SapwoodError, ValueError):
    """An argument of the caller cannot be used; the message names the place and the remedy."""


class FilterSyntaxError(InputError):
    """The text of a filter does not follow the language.

    `text` is the whole filter, `position` the offset (in characters, from 0) of the first
    character that does not fit, `reason` says what was expected there.
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text = text
        self.position = position
        self.reason = reason
        super().__init__(f"{reason}, at position {position + 1}\n{_pointer(text, position)}")

    def __reduce__(self) -> tuple[type[FilterSyntaxError], tuple[str, int, str]]:
        return type(self), (self.text, self.position, self.reason)


class LimitError(InputError):
    """A named bound of `sapwood.limits` was passed.

    `name` is the bound's name there, `bound` its value, `actual` what was asked for (`None` where
    counting stopped at the bound).
    """

    def __init__(self, name: str, bound: int, actual: int | None, subject: str) -> None:
        self.name = name
        self.bound = bound
        self.actual = actual
        self.subject = subject
        size = f"is {actual}" if actual is not None else "is more"
        super().__init__(f"{subject} {size}; the limit {name} is {bound}")

    def __reduce__(self) -> tuple[type[LimitError], tuple[str, int, int | None, str]]:
        return type(self), (self.name, self.bound, self.actual, self.subject)


class DocumentError(InputError):
    """Bytes are no XML document that can be published; `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        self.line = line
        self.column = column
        self.reason = reason
        super().__init__(f"document, line {line}, column {column}: {reason}")

    def __reduce__(self) -> tuple[type[DocumentError], tuple[int, int, str]]:
        return type(self), (self.line, self.column, self.reason)


class InvalidValueError(InputError):
    """An attribute holds what no record may hold; `attribute` names it."""

    def __init__(self, attribute: str, reason: str) -> None:
        self.attribute = attribute
        self.reason = reason
        super().__init__(f"attribute {attribute!r}: {reason}")

    def __reduce__(self) -> tuple[type[InvalidValueError], tuple[str, str]]:
        return type(self), (self.attribute, self.reason)


class DuplicateIdError(InputError):
    """An identity is already taken; `id` is the identity."""

    def __init__(self, kind: str, id: str) -> None:
        self.kind = kind
        self.id = id
        super().__init__(f"{kind} id {id!r} is already taken; give each {kind} its own id")

    def __reduce__(self) -> tuple[type[DuplicateIdError], tuple[str, str]]:
        return type(self), (self.kind, self.id)


class UnknownIdError(InputError):
    """No item has this identity; `id` is the identity."""

    def __init__(self, kind: str, id: str) -> None:
        self.kind = kind
        self.id = id
        super().__init__(f"no {kind} with id {id!r} here")

    def __reduce__(self) -> tuple[type[UnknownIdError], tuple[str, str]]:
        return type(self), (self.kind, self.id)


class UnknownNameError(InputError):
    """A catalogue does not hold this name; the message lists what it holds."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        near = get_close_matches(name, self.known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"no {kind} is called {name!r}; {hint}known: {', '.join(self.known)}")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.kind, self.name, self.known)


class FileFormatError(InputError):
    """A file, or one line of it, cannot be read as what it should be."""

    def __init__(self, path: str, reason: str, line: int | None = None) -> None:
        self.path = path
        self.reason = reason
        self.line = line
        place = path if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {reason}")

    def __reduce__(self) -> tuple[type[FileFormatError], tuple[str, str, int | None]]:
        return type(self), (self.path, self.reason, self.line)


class ConfigurationError(InputError):
    """Options of a broker cannot be what they are.

    `problems` are sentences, each with its place.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ConfigurationError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class NeverMatchesWarning(UserWarning):
    """A filter that no publication can match was added; it is kept, and costs nothing.

    `warnings.simplefilter("error", NeverMatchesWarning)` makes it an error.
    """


class FilterTypeWarning(UserWarning):
    """A filter asks for what no record of the declared type has: an attribute, a type, a value.

    `warnings.simplefilter("error", FilterTypeWarning)` makes it an error.
    """


class UnfitDeliveryError(SapwoodError, ValueError):
    """The record of one delivery is not of the type that its subscription asked for.

    `publication` is its id, `type_name` the type, `reason` says where it does not fit. Deliveries
    before and after it are as they are.
    """

    def __init__(self, publication: str, type_name: str, reason: str) -> None:
        self.publication = publication
        self.type_name = type_name
        self.reason = reason
        super().__init__(f"publication {publication!r} is no {type_name}: {reason}")

    def __reduce__(self) -> tuple[type[UnfitDeliveryError], tuple[str, str, str]]:
        return type(self), (self.publication, self.type_name, self.reason)


class PeerError(SapwoodError):
    """The other end of a connection did what the wire protocol forbids."""


class FrameError(PeerError):
    """Bytes that are no frame of ours, or a frame larger than the limit."""


class HandshakeError(PeerError):
    """The peer speaks another protocol or version, or the two may not be linked."""


class ConnectionLostError(SapwoodError):
    """The connection ended before the work was done."""


class EnvironmentMissingError(SapwoodError):
    """The machine lacks what the work needs; the message says what was looked for and found."""


class ContributionError(SapwoodError):
    """An entry of a catalogue comes from another distribution and cannot be used."""

    def __init__(self, kind: str, name: str, distribution: str, reason: str) -> None:
        self.kind = kind
        self.name = name
        self.distribution = distribution
        self.reason = reason
        super().__init__(
            f"the {kind} {name!r} of the distribution {distribution} cannot be used: {reason}; "
            "correct or uninstall that distribution"
        )

    def __reduce__(self) -> tuple[type[ContributionError], tuple[str, str, str, str]]:
        return type(self), (self.kind, self.name, self.distribution, self.reason)


class InvariantError(SapwoodError, AssertionError):
    """A state that must never be: a defect of Sapwood, not of its user."""


def _pointer(text: str, position: int, width: int = 72) -> str:
    """The part of `text` around `position`, with a caret under it."""
    start = max(0, min(position - width // 2, len(text) - width))
    shown = text[start : start + width].replace("\n", " ").replace("\t", " ")
    left, right = ("…" if start else ""), ("…" if start + width < len(text) else "")
    return f"  {left}{shown}{right}\n  {' ' * (len(left) + position - start)}^"
