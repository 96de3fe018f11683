"""The lemmas of the calculus that a proof cites, beside those of nodes and covers."""

from __future__ import annotations

from dudley.calculus.fast_rate import COUNTED, SCALES
from dudley.core.lemma import Lemma

UNION = Lemma(
    "Union bound",
    "A number that was read off after training is moved to a grid that was fixed before, norms up "
    "and margins down; entry j of the grid has the weight w_j, and its statement holds at "
    "confidence δ·w_j.",
    r"w_j=\frac{2/3}{(|j|+1)(|j|+2)},\qquad\sum_{j\in\mathbb Z}w_j=1,\qquad"
    r"\ln(1/\delta)\ \text{becomes}\ \ln(1/\delta)+\sum\ln(1/w_j)",
    "union bound",
)
ALLOCATION = Lemma(
    "Allocation",
    "Covers of the blocks at errors ε_i make a cover of the network; the split is the best one.",
    r"\log N(\varepsilon)\le\sum_i\log N_i(\varepsilon_i),"
    r"\qquad\sum_i\beta_i\varepsilon_i\le\varepsilon",
    "trauger2024, Lemma E.1 (for C/ε²); any feasible split is valid",
)
CHAINING = Lemma(
    "Chaining",
    "Parents are chosen between covers, so level j has N(d_j) increments.",
    r"\hat R\le d_J+\sum_j\ell_j\sqrt{2\log N(d_j)/n},"
    r"\qquad\ell_1=d_0,\ \ell_j=d_{j-1}+d_j,\ A=d_0>\dots>d_J",
    "tree form of Dudley's integral; d_j is dropped for covers by members, and at the top",
)
LOSS = Lemma(
    "Loss class",
    "A fixed function may be subtracted; a cover of the network is a cover of the loss.",
    r"|\ell-c|\le\min(b/2,L_\ell A),\qquad N(\varepsilon,\ell\circ F)\le N(\varepsilon/L_\ell,F)",
    "Rademacher averages of a fixed function vanish",
)
CONTRACTION = Lemma(
    "Contraction",
    "Losses that are Lipschitz in one number may be left out, in each part of the class.",
    r"\hat R(\ell\circ F)\le L_\ell\,\hat R(F)",
    "Ledoux and Talagrand (1991), equation 4.20; Meir and Zhang (2003), Theorem 7",
)
PEELING = Lemma(
    "Peeling and chaining",
    "The readout costs its norm: the vectors y before it are chained, and to the first covers the "
    "losses themselves, with A = L_ℓBR.",
    r"\hat R(F)=B\,\mathbb E\sup_y\bigl\|\tfrac1n\sum_i\tau_iy(x_i)\bigr\|_2,\qquad"
    r"\hat R(\ell\circ F)\le\min\Bigl\{A\sqrt{\tfrac{2\log2N(d_1)}n},"
    r"\min\bigl(\tfrac b2,A\bigr)\sqrt{\tfrac{2\log N(d_1)}n}+\tfrac A{\sqrt n}\Bigr\}"
    r"+L_\ell B\Bigl(d_J+\sum_{j>1}(d_{j-1}+d_j)\sqrt{\tfrac{2\log2N(d_j)}n}\Bigr)",
    "Pinelis (1994), Theorem 3.5: E cosh λ‖v‖ ≤ exp(λ²ℓ²/2n); a single y costs A/√n",
)
ONE_SCALE_MARGINS = Lemma(
    "One scale, margins",
    "Half the margin apart, a margin at most 0 is one below γ/2 of a centre, and that one below γ "
    "of the network; of the N centres, fixed functions, each has a binomial tail.",
    r"P(\text{margin}\le0)\le\max\{p:P[\mathrm{Bin}(n,p)\le k]\ge e^{-c}\},\quad "
    r"c=\log N(\gamma/2)+\ln(1/\delta),\quad k=\#\{i:\text{margin}_i<\gamma\}",
    "union bound; a margin between logits moves by twice their error, so that ε = γ/4 there; past "
    f"{COUNTED:,} examples the kl form, which is not smaller: max{{p : kl(k/n‖p) ≤ c/n}}",
)
ONE_SCALE_LOSSES = Lemma(
    "One scale, losses",
    "A loss of the network and of its centre differ by L_ℓε at most, on the sample and in the "
    "mean; of the N centres, fixed functions, each obeys Hoeffding's inequality.",
    r"\text{risk}\le b\max\{p:\mathrm{kl}((q+L_\ell\varepsilon)/b\,\|\,p)\le c/n\}"
    r"+L_\ell\varepsilon,\qquad c=\log N(\varepsilon)+\ln(1/\delta)+\ln " + f"{len(SCALES)}",
    "Hoeffding (1963), Theorem 1; so many resolutions are tried, and paid for",
)
DEVIATION = Lemma(
    "Deviation",
    "The complexity bound holds for every sample, so McDiarmid is applied once.",
    r"\text{risk}\le\text{train}+2R+b\sqrt{\ln(1/\delta)/2n}",
    "McDiarmid's inequality",
)
