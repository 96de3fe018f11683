"""What was certified together with its certificate: the certificate is shown."""

from __future__ import annotations

from typing import Any, Protocol, final

from dudley.certificates.certificate import Certificate
from dudley.show.document import Document
from dudley.show.views.base import VIEWS, ResultView
from dudley.show.views.certificate import CertificateView


class WithCertificate(Protocol):
    """A model, a choice or a training, and the number about it."""

    @property
    def certificate(self) -> Certificate[Any, Any, Any]: ...


@final
@VIEWS.register("certified")
class CertifiedView(ResultView[WithCertificate]):
    """The certificate's own view."""

    def document(self) -> Document:
        return CertificateView(self.result.certificate).document()

    def rows(self) -> list[dict[str, Any]]:
        return CertificateView(self.result.certificate).rows()
