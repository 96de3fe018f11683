"""The blocks of a measured network as nodes: attention, MLP, norms, and how they stand together."""

from __future__ import annotations

from dudley.calculus.compose import Chain, Node, Parallel, Residual
from dudley.core.constraint import Ball, Constraint, Observed
from dudley.core.errors import InputError
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.pointwise import MLP, LayerNorm, SwiGLU
from dudley.networks.scaling import LayerScale, Scale
from dudley.weights.balls import MATRIX, constraint
from dudley.weights.layout import ATTENTION, LAYOUTS
from dudley.weights.measurement import Measurement


class DescribedBlocks:
    """The blocks of a measurement; ``split``: heads, groups, width of a head."""

    def __init__(self, m: Measurement, d: int, split: tuple[int, int, int]):
        self.m, self.arch, self.d, self.split = m, m.architecture, d, split
        self.source = m.source

    def all(self) -> list[Node]:
        """Every block in its order; one that is used again shares its weights with itself."""
        return [self._block(i) for i in range(self.arch.depth(self.m.layers))]

    def scaled_by(self, name: str) -> list[Node]:
        """The node of a fixed factor; none for a factor of 1."""
        c = getattr(self.arch, name)
        return [] if c == 1 else [Scale(c)]

    def _block(self, i: int) -> Node:
        j, order = self._stored(i), self.arch.order
        attention = self._attention(i)
        if self.m.find("W_1", j) is None:
            if order is None and self.m.find("ln_1.gain", j) is None:
                return attention
            raise InputError(f"{self.source}: layer {j}", "an MLP after the attention", "none")
        bare = order == "pre" and i == 0 and not self.arch.first_norm
        norms: list[Node] = [self.norm(f"ln_{n}", j) for n in self._norms(j)[bare:]]
        mixing, mlp = (
            [attention, *self._factors("s_1", j)],
            [self._mlp(j), *self._factors("s_2", j)],
        )
        if order == "post":
            return Chain((_added(mixing), norms[0], _added(mlp), norms[1]))
        if order == "pre":
            return Chain((_added([*norms[:-1], *mixing]), _added([norms[-1], *mlp])))
        if order == "sandwich":
            first = _added([norms[0], *mixing, norms[1]])
            return Chain((first, _added([norms[2], *mlp, norms[3]])))
        if order == "parallel" and len(norms) == 2:
            return Residual(Parallel((Chain((norms[0], *mixing)), Chain((norms[1], *mlp)))))
        if order == "parallel":
            both = Parallel((Chain(tuple(mixing)), Chain(tuple(mlp))))
            return Residual(Chain((norms[0], both)))
        raise InputError(
            f"{self.source}: order of the norms",
            "pre or post",
            "unknown",
            'give a mapping file with [network] order = "…"',
        )

    def _norms(self, j: int) -> tuple[int, ...]:
        """The numbers of the norms of a block; others must not be stored."""
        parallel = self.arch.order == "parallel" and self.m.find("ln_2.gain", j) is None
        used = {"sandwich": (1, 2, 3, 4)}.get(self.arch.order or "", (1,) if parallel else (1, 2))
        more = [n for n in (1, 2, 3, 4) if n not in used and self.m.find(f"ln_{n}.gain", j)]
        if more:
            expected = f"norms {', '.join(map(str, used))} in order {self.arch.order}"
            raise InputError(f"{self.source}: layer {j}", expected, f"ln_{more[0]} too")
        return used

    def _factors(self, name: str, j: int) -> list[Node]:
        """What multiplies a part of the block before it is added."""
        row = self.m.find(name, j)
        trained = [] if row is None else [LayerScale(self.d, self._ball(name, j, GAIN), name)]
        return [*trained, *self.scaled_by("residual_scale")]

    def _stored(self, i: int) -> int:
        """The layer of the file that layer i of the network is."""
        return 0 if self.arch.shared else i

    def _ball(self, name: str, j: int | None, norms: tuple[str, ...] = MATRIX) -> Constraint:
        tie = f"shared {name}" if self.arch.shared and j is not None else None
        return constraint(self.m.row(name, j), norms, tie=tie)

    def _attention(self, i: int) -> MultiHeadAttention:
        H, groups, k = self.split
        j = self._stored(i)
        norms: dict = {name: self._ball(name, j) for name in ATTENTION}
        norms |= {name: self.bias(name, j) for name in ("b_Q", "b_K", "b_v", "b_c")}
        gains = [row for row in (self.m.find("g_q", j), self.m.find("g_k", j)) if row is not None]
        gain = None
        if gains:  # one ball for both
            radii = {n: max(row.norms[n] for row in gains) for n in ("linf", "fro")}
            gain = Constraint(tuple(Ball(n, Observed(r)) for n, r in radii.items()))
        if gains and (not self.arch.qk_norm or self.arch.shared):
            raise InputError(f"{self.source}: g_q of layer {j}", "no norms of queries", "some")
        if self.arch.qk_norm and len(gains) < (2 if gains or self.m.layout in LAYOUTS else 0):
            raise InputError(f"{self.source}: layer {j}", "gains of queries and keys", "not both")
        stored = norms["b_Q"] is not None
        if self.arch.bias not in (None, stored):
            expected = "queries with a bias" if self.arch.bias else "queries without a bias"
            got = "a stored one" if stored else "none"
            raise InputError(f"{self.source}: layer {j}", f"{expected}, as the config says", got)
        turns = None if self.arch.turns is None else self.arch.turns[i]
        return MultiHeadAttention(
            self.d,
            H,
            **norms,
            k=k,
            groups=groups,
            scale=None if self.arch.scales is None else self.arch.scales[i],
            causal=self.arch.causal,
            rope=self.arch.rope and turns != (),
            turns=turns or None,
            cap=self.arch.score_cap,
            qk_norm=self.arch.qk_norm,
            qk_eps=self._eps() if self.arch.qk_norm else 1e-6,
            qk_gain=gain,
        )

    def _mlp(self, j: int) -> Node:
        sigma = self.arch.sigma
        if sigma is None:
            raise InputError(f"{self.source}: activation of the MLP", "its name", "unknown")
        k = self.m.row("W_1", j).shape[1]
        W_1, W_2 = self._ball("W_1", j), self._ball("W_2", j)
        if not self.arch.gated:
            return MLP(self.d, k, W_1, W_2, sigma, self.bias("b_1", j), self.bias("b_2", j))
        biases = [name for name in ("b_1", "b_3", "b_2") if self.m.find(name, j) is not None]
        if biases:
            raise InputError(f"{self.source}: gated MLP", "no biases", f"{biases[0]} of layer {j}")
        return SwiGLU(self.d, k, W_1, self._ball("W_3", j), W_2, sigma)

    def norm(self, name: str, layer: int | None, width: int | None = None) -> LayerNorm:
        """A norm layer, as wide as the network unless said otherwise."""
        gain, bias = self.m.find(f"{name}.gain", layer), self.m.find(f"{name}.bias", layer)
        if gain is None and self.m.layout in LAYOUTS:
            where = name if layer is None else f"{name} of layer {layer}"
            raise InputError(f"{self.source}: {where}", "a tensor for its gain", "none")
        return LayerNorm(
            width or self.d,
            self._eps(),
            None if gain is None else self._ball(f"{name}.gain", layer, GAIN),
            None if bias is None else self._ball(f"{name}.bias", layer, BIAS),
            centered=not self.arch.rms,
        )

    def _eps(self) -> float:
        if self.arch.eps is None:
            fix = "name it in a config.json beside the weights, or in a mapping file (--layout)"
            raise InputError(f"{self.source}: ε of the norm layers", "a number > 0", "unknown", fix)
        return self.arch.eps

    def bias(self, name: str, layer: int | None) -> Constraint | None:
        """The ball of a bias, None where none is stored."""
        return None if self.m.find(name, layer) is None else self._ball(name, layer, BIAS)


GAIN, BIAS = ("linf", "fro"), ("fro",)


def _added(parts: list[Node]) -> Residual:
    """x ↦ x + f(x), f the parts one after the other."""
    return Residual(parts[0] if len(parts) == 1 else Chain(tuple(parts)))
