r"""Mails: what a classifier may read of one, and which mails belong together.

*Kept* are the subject and the text of the body: the parts of type ``text/plain``, or those of
``text/html`` without tags where a mail has none. *Left out* are all other headers. They say when
and by which machine a mail was collected, and a mailing list signs its mails there: a classifier
that read them would learn how this corpus was put together. For the same reason a mark in square
brackets before the subject, such as ``[ILUG]``, and what follows a line of underscores (the footer
of a list) are left out, and an address is written ``@``. What people quote is kept.

*Thread*: mails joined by ``Message-ID``, ``In-Reply-To`` and ``References``, or by an equal subject
once ``Re:``, ``Fwd:`` and marks are off. *Sender*: the address in ``From``.

>>> mail = Mail("Subject: Re: [ILUG] hello\nFrom: Ann <ann@x.org>\n\nwrite to bob@y.org\n____\nx")
>>> mail.text, mail.topic, mail.sender
('hello\nwrite to @\n____\nx', 'hello', 'ann@x.org')
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_string
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parseaddr
from functools import cached_property

import numpy as np

from dudley.certificates.sources.near import Roots

LONGEST = 1 << 20  # characters of a mail
_TAG = re.compile(r"<[^<>]*>")
_UNREAD = ("script", "style", "title")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,255}")
_FOOTER = re.compile(r"^_{20,}\s*$", re.MULTILINE)
_MARKS = re.compile(r"^(?:\s*(?:re|fwd?|aw)(?:\[\d+\])?:|\s*\[[^\[\]]{1,40}\])+", re.IGNORECASE)
_ID = re.compile(r"<[^<>\s]{3,998}>")


@dataclass(frozen=True)
class Mail:
    """One mail as it was stored, headers and all."""

    raw: str

    @cached_property
    def message(self) -> Message:
        return message_from_string(self.raw)

    @cached_property
    def subject(self) -> str:
        """Decoded, on one line, without marks such as ``Re:`` and ``[list]`` in front."""
        return _MARKS.sub("", " ".join(self.header("Subject").split())).strip()

    @property
    def topic(self) -> str:
        """The subject as threads compare it."""
        return self.subject.casefold()

    @property
    def sender(self) -> str:
        return parseaddr(self.header("From"))[1].casefold()

    @property
    def ids(self) -> list[str]:
        """The mail's id and those of the mails it answers."""
        names = ("Message-ID", "In-Reply-To", "References")
        return [match for name in names for match in _ID.findall(self.header(name))]

    @property
    def text(self) -> str:
        """What a classifier may read."""
        plain, marked = [], []
        for part in self.message.walk():
            kind = part.get_content_type()
            if part.is_multipart() or kind not in ("text/plain", "text/html"):
                continue
            (plain if kind == "text/plain" else marked).append(_content(part))
        body = "\n".join(plain) if any(map(str.strip, plain)) else untagged("\n".join(marked))
        body = _FOOTER.split(body, maxsplit=1)[0]
        return _ADDRESS.sub("@", f"{self.subject}\n{body.strip()}")

    def header(self, name: str) -> str:
        """A header's text, decoded as far as it can be."""
        value = str(self.message.get(name, ""))
        try:
            parts = decode_header(value)
        except (HeaderParseError, ValueError):
            return value
        return "".join(p if isinstance(p, str) else _decoded(p, charset) for p, charset in parts)


def untagged(text: str) -> str:
    """HTML without tags, scripts and styles.

    >>> untagged("<p>a &amp; b</p><style>p {}</style><br>c")
    ' a & b  c'
    """
    parts, read, end = [], True, 0
    for tag in _TAG.finditer(text):
        if read:
            parts.append(text[end : tag.start()])
        end = tag.end()
        name = tag[0][1:-1].strip().casefold()
        if name.startswith(_UNREAD):
            read = False
        elif name.startswith(tuple(f"/{each}" for each in _UNREAD)):
            read = True
            continue
        if read:
            parts.append(" ")
    return html.unescape("".join(parts) + (text[end:] if read else ""))


def threads(mails: Sequence[Mail]) -> np.ndarray:
    """For each mail the first one of its thread."""
    roots, first = Roots(len(mails)), {}
    for i, mail in enumerate(mails):
        for mark in [*mail.ids, *([f"subject {mail.topic}"] if mail.topic else [])]:
            roots.join(i, first.setdefault(mark, i))
    return roots.all()


def senders(mails: Sequence[Mail]) -> np.ndarray:
    """For each mail the first one of its sender; a mail without a sender stands alone."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(m.sender or f"mail {i}", i) for i, m in enumerate(mails)])


def _content(part: Message) -> str:
    """The text of a part, base64 and quoted-printable undone."""
    if not part.get("Content-Transfer-Encoding"):
        content = part.get_payload()
        return content if isinstance(content, str) else ""
    content = part.get_payload(decode=True)
    charset = part.get_content_charset()
    return _decoded(content, charset) if isinstance(content, bytes) else ""


def _decoded(raw: bytes, charset: str | None) -> str:
    try:
        return raw.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):
        return raw.decode("latin-1")
