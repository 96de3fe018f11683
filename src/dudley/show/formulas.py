r"""Formulas that came with a result: mathematics passes, any other TeX is shown as text.

A formula of a file may be a stranger's. Only commands of `COMMANDS` may stand in it, so that it
neither leaves its display (``\]``, ``$``) nor reads or defines anything (``\input``, ``^^``).

>>> is_mathematics(r"\frac{a}{b}\,\log n"), is_mathematics(r"x\]\input{/etc/passwd}")
(True, False)
"""

from __future__ import annotations

import re

COMMANDS = frozenset(
    re.findall(
        r"\w+",
        """
        Bigl Bigr bigl bigr left right langle rangle lceil rceil lfloor rfloor vert Vert
        Delta Gamma Lambda Omega Phi Pi Psi Sigma Theta alpha beta chi delta ell epsilon eta gamma
        kappa lambda mu nu omega phi pi psi rho sigma tau theta varepsilon varphi xi zeta
        approx cdot circ dots forall ge in infty ldots le lesssim mapsto ne odot pm propto sim
        subset surd times to top cos cosh det exp inf int lim ln log max min prod sin sinh sqrt sum
        sup tanh bar binom frac hat mathbb mathcal mathrm mathbf overline quad qquad tbinom text
        textstyle tfrac tilde widehat widetilde
        """,
    )
)
_ESCAPE = re.compile(r"\\([A-Za-z]+|.|$)", re.DOTALL)


def is_mathematics(latex: str) -> bool:
    """Whether a formula holds nothing but mathematics."""
    signs = (escape[1] for escape in _ESCAPE.finditer(latex))
    known = all(sign in COMMANDS or sign in tuple(",;:!|{}&# ") for sign in signs)
    bare = _ESCAPE.sub("", latex)
    return known and "^^" not in bare and not re.search(r"[$%#~`\x00-\x1f\x7f-\x9f]", bare)
