"""A certificate: the number, what it cost and what it rests on, as ``dudley certify`` prints it."""

from __future__ import annotations

from typing import Any, final

from dudley.certificates.certificate import Certificate
from dudley.show.document import Document
from dudley.show.pages import certificate as page
from dudley.show.views.base import VIEWS, ResultView


@final
@VIEWS.register("certificate")
class CertificateView(ResultView[Certificate[Any, Any, Any]]):
    """One row: a frame of many certificates has a line for each."""

    def document(self) -> Document:
        return Document("", (page.summary(self.result.to_json()),), kind="certificate")

    def rows(self) -> list[dict[str, Any]]:
        item = self.result.to_json()
        names = ("method", "quantity", "value", "vacuous", "delta", "nats")
        return [{name: item[name] for name in names} | {"n": item["data"]["n"]}]
