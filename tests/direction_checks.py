"""Lines close to every vector, by interval arithmetic: caps, and the union bound over them."""

import math

from flint import arb, ctx
from scipy.optimize import minimize_scalar


def exact_log_cap(b: int, φ: float) -> float:
    """log of the share of the sphere of R^b in a cap of angle φ < π/2, by interval arithmetic."""
    with ctx.workprec(400):
        x = arb(φ).sin() ** 2
        share = x.beta_lower(arb(b - 1) / 2, arb("1/2"), regularized=1) / 2
        return float(share.log())


def check_caps(log_cap):
    """Never above the truth, and hardly below it."""
    for b in (2, 3, 4, 17, 300, 2000):
        for φ in (1e-6, 0.01, 0.3, 1.0, 1.35):
            exact = exact_log_cap(b, φ)
            assert exact - 1e-6 <= float(log_cap(b, φ)) <= exact, (b, φ)


def check_lines(lines):
    """So many lines of that stretch there are: written out, or by the union bound."""
    for b in (2, 3, 4, 17, 300):
        for t, log_m in lines(b):
            θ, m = math.acos(1 / math.sqrt(t)), math.exp(log_m)
            if b == 2:  # each line serves the angle θ on either side of it
                assert 2 * θ * m >= math.pi * (1 - 1e-12), (b, t)
            elif round(m) != b:

                def fewest(log_share, b=b, θ=θ):
                    η = θ * math.exp(log_share)
                    log_L = -math.log(2) - exact_log_cap(b, η / 2)
                    return math.log(log_L) - math.log(2) - exact_log_cap(b, θ - η)

                least = minimize_scalar(fewest, bounds=(-16, -0.5), method="bounded").fun
                assert least <= log_m <= least + 0.06 + 1 / m, (b, t)
            else:
                assert t >= b
