"""A node refuses a plain number where a norm ball is expected, when it is made."""

import pytest

import dudley as du
from dudley.core.errors import InputError
from each import each

B = du.L11(1.0)
MAKE = {
    "Head": (lambda x: du.Head(d=4, W_QK=x, W_v=B), "W_QK"),
    "Head's values": (lambda x: du.Head(d=4, W_QK=B, W_v=x), "W_v"),
    "MultiHeadAttention": (lambda x: du.MultiHeadAttention(4, 2, B, B, B, x), "W_c"),
    "bias": (lambda x: du.MultiHeadAttention(4, 2, B, B, B, B, b_Q=x), "b_Q"),
    "Dense": (lambda x: du.Dense(4, x), "W"),
    "MLP": (lambda x: du.MLP(4, 8, B, x), "W"),
    "SwiGLU": (lambda x: du.SwiGLU(4, 8, B, x, B), "W_3"),
    "LayerNorm": (lambda x: du.LayerNorm(4, gain=x), "gain"),
    "Readout": (lambda x: du.Readout(x), "w"),
    "Logits": (lambda x: du.Logits(3, x), "W"),
    "Positions": (lambda x: du.Positions(4, 3, x), "P"),
    "Embedding": (lambda x: du.Embedding(5, 4, x), "W"),
    "block": (lambda x: du.trauger_block(4, x, B, B), "W_QK"),
}


@each("what", MAKE)
@each("value", [20.0, 3, "l11", [1.0]])
def test_a_value_without_a_norm_is_refused_with_the_remedy(what: str, value):
    make, field = MAKE[what]
    with pytest.raises(InputError, match=rf"^{field} of .*write {field}=du\.L11\("):
        make(value)


def test_the_remedy_holds_the_number_and_works():
    with pytest.raises(InputError, match=r"du\.L11\(20\.0\)"):
        du.Head(d=4, W_QK=20.0, W_v=B)  # pyright: ignore[reportArgumentType]
    du.Head(d=4, W_QK=du.L11(20.0), W_v=B)
    with pytest.raises(InputError, match="W of Dense"):
        du.Dense(4, None)  # pyright: ignore[reportArgumentType]
