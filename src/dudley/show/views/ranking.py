"""Certificates of one model: the best, what stands beside it, and which methods refused."""

from __future__ import annotations

from typing import Any, final

from dudley.certificates.auto import Ranking
from dudley.show.document import Document
from dudley.show.pages import certificate as page
from dudley.show.views.base import VIEWS, ResultView
from dudley.show.views.certificate import CertificateView


@final
@VIEWS.register("ranking")
class RankingView(ResultView[Ranking]):
    """A row for each certificate, the best first."""

    def document(self) -> Document:
        items = [certificate.to_json() for certificate in self.result.all]
        return page.ranking(items, self.result.refused, "the certificate: .best; others: .all")

    def rows(self) -> list[dict[str, Any]]:
        return [row for one in self.result.all for row in CertificateView(one).rows()]
