"""From losses on documents and a price to a bound on the mean loss of a new one.

Let X = loss of one fixed model on a document, X ≤ B, mean μ; X₁, …, X_n its losses on n documents.

**Bet** (used). For 0 < g < 1 and m < B put

    S_g(m) = (1/n) Σ_i ln( 1 + g (m − X_i)/(B − m) ).

At m = μ each factor is ≥ 1 − g > 0 with mean 1, so E e^{n S_g(μ)} = 1 and S_g(μ) < c except with
probability e^{−nc} (Markov). Each term rises with m (its derivative has the sign of B − X), so
whatever m has S_g(m) ≥ c is above μ. The least such m over a list of g, at c = (ln(1/δ) + nats)/n
with the list's price among the nats, is an upper bound for every coded model at once. No lower
end of X is used, and no order of the documents (the product is symmetric). ln is concave, so
among all losses in [0, B] with one mean those on {0, B} give the least S: the bound is never
above that of kl inversion, but for the price of the list, and for losses that vary little it is
far below. The best g gives the empirical likelihood bound of Honda and Takemura 2010; a bet that
does not change: Waudby-Smith and Ramdas 2024. It also holds for n documents drawn *without
replacement* from a finite pool with mean μ: then E ∏ is the normalised elementary symmetric mean
of the pool's factors, which is at most the n-th power of their mean (Maclaurin).

**SubLoRA form** (printed beside; Lotfi et al. 2024): Hoeffding's inequality for a range Δ,

    μ ≤ R̂ + Δ[ √((K ln 2 + ln(1/(rδ)))/(2n)) + √(ln(1/((1−r)δ))/(2n_s)) ],   K = ℓ + 2 log₂ ℓ + 1,

R̂ on n_s of the n documents drawn after training, r = n_s/(n_s + n); r = 1 and no second root
where all n are evaluated. Weights 2^{−K} of all strings of ℓ bits sum to Σ_ℓ 1/(2ℓ²) < 1.

**Part of the documents.** If only n_s of the n, drawn with replacement (or without: Maclaurin
again) after training, are evaluated, S_g(m) itself is bounded from below. For fixed (g, m) the
numbers Z_i = −ln(1 + g(m − X_i)/(B − m)) are at most −ln(1 − g), so the bet applies to them: with
probability 1 − (1−r)δ their mean over the n is at most the bound of a second bet g′, for all (g,
m, g′) of a list at once. Any m of the list with that bound ≤ −c is certified.

Rounding: a term of S is computed within 8·2⁻⁵³/(1 − g) ≤ 10⁻¹² for g ≤ 1 − 2⁻¹⁰, so S ≥ c + 10⁻¹¹
is asked for.

>>> x = np.full(1000, 2.0)
>>> value, g = bet(x, 5.0, 0.003)
>>> round(value, 4), round(2 + 5 * math.sqrt(0.003 / 2), 4)          # Hoeffding
(2.009, 2.1936)
"""

from __future__ import annotations

import math

import numpy as np

from dudley.core.errors import InputError
from dudley.core.rounding import up

BETS = (*(j / 64 for j in range(1, 64)), *(1 - 2.0**-j for j in range(7, 11)))
PLACES = 4096  # where m may stand, as a share of B, when part of the documents are evaluated
SLACK = 1e-11
TWO = math.log(2)


def bet_at(x: np.ndarray, limit: float, c: float, g: float) -> float:
    """The least m with S_g(m) ≥ c, from above; the limit itself if there is none below."""
    return float(_least(x, limit, c, np.array([g]))[0])


def bet(x: np.ndarray, limit: float, c: float) -> tuple[float, float]:
    """The bound of the best bet of the list (found on rounded losses), and the bet.

    Its price must stand in c.
    """
    coarse = np.minimum(np.ceil(np.asarray(x) * 256) / 256, limit)
    g = BETS[int(_least(coarse, limit, c, np.array(BETS)).argmin())]
    return bet_at(x, limit, c, g), g


def _least(
    x: np.ndarray, limit: float, c: float, g: np.ndarray, against: float = math.nan
) -> np.ndarray:
    """For each bet, by bisection: S rises with m, and every upper end has passed the test.

    With ``against`` the bisection ends where each end is known to lie below or above that number.
    """
    if not (len(x) and np.isfinite(x).all() and x.max() <= limit):
        raise InputError("losses", f"numbers up to {limit}", x.max() if len(x) else "none")
    if not 0 < c < math.inf or not (g.min() > 0 and g.max() <= BETS[-1]):
        raise InputError("bet", "nats > 0 and g in (0, 1 − 2⁻¹⁰]", (c, g))
    values, counts = np.unique(x, return_counts=True)
    share = counts / len(x)
    low = np.full(len(g), float((values * share).sum()))
    high = np.full(len(g), limit)
    for _ in range(60):
        if ((high <= against) | (low > against)).all():
            break
        middle = np.minimum((low + high) / 2, math.nextafter(limit, -math.inf))
        scale = (g / (limit - middle))[:, None]
        terms = np.log1p(scale * (middle[:, None] - values))  # (bets, values)
        enough = (terms * share).sum(axis=1) >= c + SLACK
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def places(limit: float) -> np.ndarray:
    """The list that m comes from when part of the documents are evaluated."""
    return limit * (np.arange(1, PLACES) / PLACES)


def part_price() -> float:
    """ln of the number of (g, m, g′): what a bound from part of the documents pays beside."""
    return float(up(math.log(len(BETS) ** 2 * PLACES)))


def certified_from_part(
    x: np.ndarray, limit: float, c: float, c_part: float, g: float, g2: float, m: float
) -> bool:
    """Do the losses of part of the documents show S_g(m) ≥ c for all of them?"""
    z = -np.log1p((g / (limit - m)) * (m - x))
    largest, m_part = -math.log1p(-g) + SLACK, -c - SLACK
    return bool(_least(z, largest, c_part, np.array([g2]), against=m_part)[0] <= m_part)


def bet_from_part(
    x: np.ndarray, limit: float, c: float, c_part: float
) -> tuple[float, float, float] | None:
    """The least place m that is certified, with its two bets; none if none is.

    Bets near the best are tried: any (g, m, g′) of the list that passes is valid.
    """
    _, best = bet(x, limit, c)
    best_found = None
    near = [g for g in BETS if abs(g - best) <= 3 / 64]
    for g in near:
        for g2 in (1 / 64, 2 / 64, 4 / 64, 8 / 64, 16 / 64):
            low, high = 0, PLACES - 1
            while low < high:
                middle = (low + high) // 2
                m = float(places(limit)[middle])
                fine = certified_from_part(x, limit, c, c_part, g, g2, m)
                low, high = (low, middle) if fine else (middle + 1, high)
            m = float(places(limit)[min(high, PLACES - 2)])
            if certified_from_part(x, limit, c, c_part, g, g2, m) and (
                best_found is None or m < best_found[0]
            ):
                best_found = (m, g, g2)
    return best_found


def sublora(mean: float, Δ: float, bits: int, n: int, δ: float, n_s: int | None = None) -> float:
    """The SubLoRA form, from above; ``n_s`` documents evaluated, or all."""
    if not (bits >= 1 and n >= 1 and 0 < δ < 1 and Δ > 0 and (n_s is None or n_s >= 1)):
        raise InputError("SubLoRA form", "bits, n, n_s ≥ 1, 0 < δ < 1, Δ > 0", (bits, n, n_s, δ, Δ))
    r = 1.0 if n_s is None else n_s / (n_s + n)
    K = bits + 2 * math.log2(bits) + 1
    width = math.sqrt((K * TWO - math.log(r * δ)) / (2 * n))
    if n_s is not None:
        width += math.sqrt(-math.log((1 - r) * δ) / (2 * n_s))
    return float(up(mean + Δ * width, 64))
