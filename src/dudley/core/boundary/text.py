r"""Strangers' text, shown so that it can neither steer a terminal nor pass for ours.

Control characters (escape sequences among them), those that turn the direction of writing,
invisible ones and lone surrogates are spelled out as ``\x1b``, ``\u202e``, ``\ud800``.

>>> line("W\x1b]52;c;aGk=\x07\nholds")
'W\\x1b]52;c;aGk=\\x07\\nholds'
"""

from __future__ import annotations

import json
import unicodedata


def screen(text: str) -> str:
    r"""Text of several lines: only line breaks and tabs keep their effect.

    >>> screen("two\nlines\x1b[2J")
    'two\nlines\\x1b[2J'
    """
    return _spelled(text, "\n\t")


def line(text: object, longest: int | None = None) -> str:
    """Text on one line, cut to so many characters.

    >>> line("a" * 500, 160) == "a" * 159 + "…"
    True
    """
    whole = str(text)
    if longest is not None and len(whole) > longest:
        whole = whole[: longest - 1] + "…"
    return _spelled(whole, "")


def json_text(value: object, indent: int | None = 2) -> str:
    r"""JSON that may stand on a screen; a number that is not finite is an error, never NaN.

    >>> json_text("a\x9b\u202e", None)
    '"a\\u009b\\u202e"'
    """
    whole = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    if whole.isprintable():
        return whole
    return "".join(c if _plain(c) or c == "\n" else json.dumps(c)[1:-1] for c in whole)


def _spelled(text: str, also: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        c if _plain(c) or c in also else c.encode("unicode_escape").decode() for c in text
    )


def _plain(sign: str) -> bool:
    """Neither control, format, surrogate, private nor unassigned, and no separator of lines."""
    return sign.isprintable() or unicodedata.category(sign) == "Zs"
