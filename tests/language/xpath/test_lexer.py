"""Tokens and their positions."""

from __future__ import annotations

from sapwood.language.xpath.lexer import Kind, Token, tokenize


def test_tokens_carry_kind_text_and_position() -> None:
    assert list(tokenize("//a.b-c[@x >= .5 and 'it''s']")) == [
        Token(Kind.SYMBOL, "//", 0),
        Token(Kind.NAME, "a.b-c", 2),
        Token(Kind.SYMBOL, "[", 7),
        Token(Kind.SYMBOL, "@", 8),
        Token(Kind.NAME, "x", 9),
        Token(Kind.SYMBOL, ">=", 11),
        Token(Kind.NUMBER, ".5", 14),
        Token(Kind.NAME, "and", 17),
        Token(Kind.TEXT, "it", 21),
        Token(Kind.TEXT, "s", 25),
        Token(Kind.SYMBOL, "]", 28),
        Token(Kind.END, "", 29),
    ]
