"""Grammars: texts of filter languages, right ones and nearly right ones, out of weighted pieces.

A rule is a list of alternatives; in each, `<name>` stands for what another rule gives. Beyond a
depth the first alternative is taken, which is short.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final, TypeAlias

from sapwood_lab.fuzz.mutation import pick

Rules: TypeAlias = Mapping[str, Sequence[str]]

_SYMBOL: Final = re.compile(r"<(\w+)>")
_DEPTH: Final = 5


class Grammar:
    """Draws texts from rules, beginning with the rule `start`."""

    def __init__(self, rules: Rules) -> None:
        self._rules = {
            name: [tuple(_SYMBOL.split(one)) for one in alternatives]
            for name, alternatives in rules.items()
        }

    def draw(self, random: Random, name: str = "start", depth: int = 0) -> str:
        """A text of a rule."""
        rule = self._rules[name]
        parts = rule[0] if depth > _DEPTH else pick(random, rule)
        if len(parts) == 1:
            return parts[0]
        return "".join(
            self.draw(random, part, depth + 1) if at % 2 else part for at, part in enumerate(parts)
        )


_SHARED: Final[Rules] = MappingProxyType(
    {
        "integer": [
            "0",
            "1",
            "-1",
            "10",
            "007",
            "9223372036854775807",
            "-9223372036854775808",
            "42",
        ],
        "number": [
            "1",
            "<integer>",
            "1.5",
            "-0.0",
            "1e10",
            "2.5E-3",
            "0.1",
            "1e400",
            "18446744073709551616",
        ],
        "text": [
            "'a'",
            "'IBM'",
            "''",
            "'it''s'",
            "'%x_'",
            "'größe'",
            "'5'",
            "'true'",
            "'a\\\\b'",
            "' '",
        ],
    }
)

HOUSE: Final = Grammar(
    {
        **_SHARED,
        "start": ["<or>"],
        "or": ["<leaf>", "<and> or <or>", "<and>", "(<or>) or <leaf>"],
        "and": ["<leaf>", "<not> and <and>", "<not>", "(<or>) and <not>"],
        "not": ["<leaf>", "not <not>", "(<or>)", "not (<or>)"],
        "leaf": [
            "a = 1",
            "<name> <compare> <value>",
            "<name> <compare> <value>",
            "<name> in (<list>)",
            "<name> not in (<list>)",
            "<name> between <number> and <number>",
            "<name> not between <value> and <value>",
            "<name> like <text>",
            "<name> not like <text>",
            "<name> is null",
            "<name> is not null",
            "lower(<name>) = <text>",
            "timestamp(<name>) < <time>",
            "<name>",
            "true",
            "false",
        ],
        "compare": ["=", "<>", "!=", "<", "<=", ">", ">="],
        "name": ["a", "b", "price", "a.b", '"odd name"', "größe", '"a""b"', "tags", "x.y.z"],
        "list": ["1", "<value>, <list>", "<value>, <value>"],
        "value": ["1", "<number>", "<text>", "true", "false", "<time>"],
        "time": ["'2024-01-01T00:00:00Z'", "timestamp '2024-02-29T23:59:60+01:00'", "'2024'"],
    }
)

JMS: Final = Grammar(
    {
        **_SHARED,
        "start": ["<or>"],
        "or": ["<leaf>", "<and> OR <or>", "<and>"],
        "and": ["<leaf>", "<not> AND <and>", "<not>"],
        "not": ["<leaf>", "NOT <not>", "(<or>)"],
        "leaf": [
            "a = 1",
            "<name> <compare> <sum>",
            "<sum> <compare> <sum>",
            "<name> IN (<texts>)",
            "<name> NOT IN (<texts>)",
            "<name> BETWEEN <sum> AND <sum>",
            "<name> LIKE <text>",
            "<name> LIKE <text> ESCAPE '\\'",
            "<name> IS NULL",
            "<name> IS NOT NULL",
            "<name>",
            "TRUE",
        ],
        "compare": ["=", "<>", "<", "<=", ">", ">="],
        "sum": [
            *("1", "<number>", "<number> + <number>", "<number> * <number>", "-<number>"),
            *("0x1F", "<text>", "TRUE", "5 / 0", "10L", "3.0f", "<name> + 1", "(<sum>)"),
        ],
        "name": ["a", "price", "JMSType", "JMSPriority", "JMSXGroupID", "$x", "_y", "größe"],
        "texts": ["'a'", "<text>, <texts>", "<text>"],
    }
)

CESQL: Final = Grammar(
    {
        **_SHARED,
        "start": ["<e>"],
        "e": [
            "a = 1",
            "<e> AND <e>",
            "<e> OR <e>",
            "<e> XOR <e>",
            "NOT <e>",
            "(<e>)",
            "<t> <compare> <t>",
            "<name> LIKE <text>",
            "<name> NOT LIKE <text>",
            "EXISTS <name>",
            "<name> IN (<set>)",
            "<name> NOT IN (<set>)",
            "IS_BOOL(<t>)",
            "<name>",
            "TRUE",
        ],
        "t": [
            *("a", "<integer>", "<text>", "<name>", "-<t>", "<t> + <t>", "<t> % <t>", "<t> / 0"),
            *("LENGTH(<t>)", "CONCAT(<t>, <t>)", "UPPER(<t>)", "LEFT(<text>, <integer>)"),
            *("INT(<t>)", "SUBSTRING(<text>, <integer>, <integer>)", "ABS(<integer>)"),
            *("STRING(<t>)", '"a"', "TRUE"),
        ],
        "compare": ["=", "!=", "<>", "<", "<=", ">", ">="],
        "name": ["a", "id", "source", "type", "subject", "ext1", "B"],
        "set": ["1", "<t>, <set>", "<t>"],
    }
)

XPATH: Final = Grammar(
    {
        **_SHARED,
        "start": ["/a", "<path>", "<path>", "<path> | <path>"],
        "path": ["/a", "/<step>", "//<step>", "/<step><path>", "//<step><path>", "<step>"],
        "step": [
            *("a", "<name>", "*", "<name>[<or>]", "*[<or>]", "<name>[<or>][<or>]", "@<name>"),
            *("text()", ".", "..", "node()", "<name>[<integer>]", "p:<name>", "child::<name>"),
        ],
        "or": ["a", "<and> or <or>", "<and>", "(<or>) and <leaf>"],
        "and": ["a", "<leaf> and <leaf>", "<leaf>", "not(<leaf>)"],
        "leaf": [
            *("a", "@<name>", "@<name><compare><value>", ".<compare><value>"),
            *("<name><compare><value>", ".//<name>", "text()<compare><value>", "<name>/<name>"),
            *("contains(<operand>,<value>)", "starts-with(<operand>,<value>)", "position()=1"),
            *(".//<name>[<leaf>]", "<path>"),
        ],
        "operand": [".", "@<name>", "<name>", "text()", ".//<name>"],
        "compare": ["=", "!=", "<", "<=", ">", ">="],
        "name": ["a", "b", "body", "p", "größe", "a-b", "a.b", "and", "or", "div"],
        "value": ["1", "<number>", "<text>", '"x"', "'y'"],
    }
)
