"""Network files: what they describe is what Python describes."""

from __future__ import annotations

import math
import tomllib

import pytest

import dudley as du
from dudley.core.constraint import FREE
from dudley.core.errors import InputError, UnknownName
from dudley.networks import files
from each import each

EXAMPLES = sorted(path.stem for path in files.EXAMPLES.glob("*.toml"))
HEAD = """\
schema = "dudley.net/1"
[input]
T = 16
d = 8
X.row2inf = 1.0
[[layer]]
node = "head"
W_QK.l11 = 2.0
W_v.l11 = 1.5
W_c.l11 = 1.0
[output]
node = "readout"
w.l1 = 1.0
"""


def described(text: str, **overrides: float) -> files.Description:
    return files.build(tomllib.loads(text), {k.replace("__", "."): v for k, v in overrides.items()})


def capacity(text: str, n: float = 1e6, **overrides: float) -> du.Capacity:
    description = described(text, **overrides)
    return du.capacity(description.network, description.inputs, n, description.loss)


def gap(text: str, **overrides: float) -> float:
    return float(capacity(text, **overrides).gap(0.05))


def with_layers(*layers: str, output: str = 'node = "readout"\nw.l2 = 1.0') -> str:
    head = 'schema = "dudley.net/1"\n[input]\nT = 16\nd = 8\nX.row2inf = 1.0\n'
    return head + "".join(f"[[layer]]\n{layer}\n" for layer in layers) + f"[output]\n{output}\n"


def in_head(line: str) -> str:
    return HEAD.replace("W_QK.l11 = 2.0", line + "\nW_QK.l11 = 2.0")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_loads_and_evaluates(name: str):
    description = files.load(name)
    assert description.title
    cap = du.capacity(description.network, description.inputs, 1e13, description.loss)
    bound = cap.gap(0.05)
    assert 0 < float(bound) < description.loss.range and not bound.vacuous
    assert files.count_parameters(description.network, cap.signal.width) > 1000


def test_the_examples_are_those_that_are_promised():
    assert {"trauger2024-head", "bert-base", "vit-b", "gpt2-small", "single-head"} <= set(EXAMPLES)


def test_counts_are_those_of_the_architectures():
    def count(name: str) -> int:
        description = files.load(name)
        width = du.capacity(description.network, description.inputs).signal.width
        return files.count_parameters(description.network, width)

    assert count("single-head") == 3 * 64 * 64 + 64
    # Two heads of width 64, a dense layer, two logits; fixed positions are no weights.
    assert count("trauger2024-head") == 4 * 64 * 128 + 64 * 64 + 64 * 2
    # The table of tokens is shared with the logits and counts once.
    block = 4 * 768**2 + 2 * 768 * 3072 + 2 * 2 * 768
    assert count("gpt2-small") == 50257 * 768 + 1024 * 768 + 12 * block + 2 * 768


def test_a_file_is_the_network_that_python_builds():
    head = du.Head(8, W_QK=du.L11(2.0), W_v=du.L11(1.5), W_c=du.L11(1.0))
    net = head >> du.Readout(du.L1(1.0))
    description = described(HEAD)
    assert description.network == net
    assert description.inputs == du.Tokens(1.0, 16, 8)
    assert gap(HEAD) == float(du.capacity(net, du.Tokens(1.0, 16, 8), 1e6).gap(0.05))


# -- overrides --------------------------------------------------------------------------------


@each(
    ("name", "value", "old", "new"),
    [
        ("W_QK.l11", 3.0, "W_QK.l11 = 2.0", "W_QK.l11 = 3.0"),
        ("W_v.l11", 0.5, "W_v.l11 = 1.5", "W_v.l11 = 0.5"),
        ("w.l1", 2.0, "w.l1 = 1.0", "w.l1 = 2.0"),
        ("X.row2inf", 2.0, "X.row2inf = 1.0", "X.row2inf = 2.0"),
        ("X.row1inf", 2.0, "X.row2inf = 1.0", "X.row2inf = 1.0\nX.row1inf = 2.0"),
        ("P.row2inf", 2.0, "X.row2inf = 1.0", "X.row2inf = 1.0\nP.row2inf = 2.0"),
        ("T", 32, "T = 16", "T = 32"),
        ("d", 16, "d = 8", "d = 16"),
        ("margin", 0.5, "[output]", "[loss]\nmargin = 0.5\n[output]"),
        ("loss.range", 3.0, "[output]", "[loss]\nrange = 3.0\n[output]"),
        ("psi.power", 1.5, "[output]", "[loss]\npsi.power = 1.5\n[output]"),
        ("psi.scale", 0.1, "[output]", "[loss]\npsi = { scale = 0.1 }\n[output]"),
        ("W_v.op", 0.5, "W_v.l11 = 1.5", "W_v.l11 = 1.5\nW_v.op = 0.5"),
        ("W_v.rank", 2, "W_v.l11 = 1.5", "W_v.l11 = 1.5\nW_v.rank = 2"),
    ],
)
def test_an_override_is_an_edit(name, value, old, new):
    overridden = files.build(tomllib.loads(HEAD), {name: value})
    edited = described(HEAD.replace(old, new, 1))
    assert overridden == edited != described(HEAD)


def test_an_alias_overrides_the_norm_it_names():
    assert described(HEAD, W_QK__l1=3.0) == described(HEAD, W_QK__l11=3.0)
    assert described(HEAD, w__l11=3.0) == described(HEAD, w__l1=3.0)


def test_an_override_reaches_every_layer_and_what_is_nested():
    block = 'node = "pre-ln-block"\nH = 2\nW_Q.op = 1.0\nW_K.op = 1.0\nW_v.op = 1.0\nW_c.op = 1.0\n'
    block += "ln = { eps = 1e-5, gain.linf = 1.0 }\nmlp = { k = 16, W_1.op = 1.0, W_2.op = 1.0 }"
    text = with_layers(block, block)
    assert described(text, W_1__op=2.0) == described(text.replace("W_1.op = 1.0", "W_1.op = 2.0"))
    assert described(text, W_Q__op=2.0) == described(text.replace("W_Q.op = 1.0", "W_Q.op = 2.0"))
    assert described(text, H=4) == described(text.replace("H = 2", "H = 4"))


def test_layers_are_overridden_where_there_is_a_repeat():
    text = with_layers('node = "dense"\nrepeat = 2\nW.op = 1.0')
    assert described(text, L=5) == described(text.replace("repeat = 2", "repeat = 5"))
    with pytest.raises((InputError, UnknownName), match="L"):
        described(HEAD, L=5)


def test_positions_are_overridden_where_they_stand():
    layer = 'node = "positions"\nT = 16\nP.row2inf = 1.0\ntrained = true'
    text = with_layers(layer, 'node = "dense"\nW.op = 1.0')
    edited = text.replace("P.row2inf = 1.0", "P.row2inf = 3.0")
    assert described(text, P__row2inf=3.0) == described(edited)


def test_the_range_of_a_ramp_cannot_be_overridden_in_silence():
    with pytest.raises((InputError, UnknownName), match="range"):
        described(HEAD, margin=1.0, loss__range=5.0)


def test_an_override_does_not_change_the_tables():
    tables = tomllib.loads(HEAD)
    files.build(tables, {"W_QK.l11": 9.0})
    assert tables == tomllib.loads(HEAD)


def test_an_unknown_override_names_the_nearest():
    with pytest.raises(UnknownName, match=r"W_QK\.l11"):
        files.build(tomllib.loads(HEAD), {"W_K.l11": 3.0})


# -- repeats and lists ------------------------------------------------------------------------

RADII = (0.9, 1.0, 1.1)


def attention_block(radius, kind: str = "post-ln-block") -> str:
    return (
        f'node = "{kind}"\nH = 2\nW_Q.op = {radius}\nW_K.op = 1.0\nW_v.op = 1.0\nW_c.op = 1.0\n'
        f"ln = {{ eps = 1e-2 }}\nmlp = {{ k = 16, W_1.op = {radius}, W_2.op = 1.0 }}"
    )


LISTED = {
    "dense": lambda r: f'node = "dense"\nsigma = "relu"\nW.op = {r}',
    "trauger": lambda r: f'node = "trauger-block"\nW_QK.op = {r}\nW_v.op = 1.0\nW_c.op = 1.0',
    "nested": attention_block,
}


@pytest.mark.parametrize("kind", LISTED)
def test_a_list_equals_layers_written_out(kind: str):
    layer = LISTED[kind]
    listed = with_layers(layer(list(RADII)) + "\nrepeat = 3")
    written = with_layers(*(layer(radius) for radius in RADII))
    assert gap(listed) == pytest.approx(gap(written), rel=1e-9)
    assert gap(listed) != pytest.approx(gap(with_layers(*(layer(1.0) for _ in RADII))), rel=1e-9)


@pytest.mark.parametrize("kind", LISTED)
def test_a_repeat_equals_layers_written_out(kind: str):
    layer = LISTED[kind](1.2)
    repeated, written = (
        capacity(with_layers(layer + "\nrepeat = 3")),
        capacity(with_layers(layer, layer, layer)),
    )
    assert repeated.facts.lipschitz.log == pytest.approx(written.facts.lipschitz.log, rel=1e-9)
    assert repeated.facts.out.radius.log == pytest.approx(written.facts.out.radius.log, abs=1e-9)
    assert float(repeated.gap(0.05)) == pytest.approx(float(written.gap(0.05)), rel=1e-6)
    assert repeated.entropy(0.1) == pytest.approx(written.entropy(0.1), rel=1e-3)


def test_a_list_of_equal_values_equals_the_value():
    layer = 'node = "dense"\nrepeat = 3\nW.op = '
    assert gap(with_layers(layer + "[1.1, 1.1, 1.1]")) == pytest.approx(
        gap(with_layers(layer + "1.1")), rel=1e-6
    )


# -- ties, centres, ranks, queries, declared constants ----------------------------------------


def dense(more: str = "") -> str:
    return f'node = "dense"\nW = {{ op = 1.0{more} }}'


def test_tied_layers_are_one_block():
    apart = with_layers(dense(), dense())
    tied = with_layers(dense(', tie = "A"'), dense(', tie = "A"'))
    twice = with_layers(dense(', tie = "A"'), dense(', tie = "B"'))
    assert files.count_parameters(described(tied).network, 8) == 8 * 8 + 8
    assert files.count_parameters(described(apart).network, 8) == 2 * 8 * 8 + 8
    allocated = capacity(tied).allocated
    assert [block.name for block in allocated.blocks].count("A") == 1 and len(allocated.blocks) == 2
    assert capacity(tied).entropy(0.01) < capacity(apart).entropy(0.01)
    assert capacity(twice).entropy(0.01) == pytest.approx(capacity(apart).entropy(0.01), rel=1e-9)


def test_tied_shapes_must_agree():
    wide = 'node = "dense"\nk = 4\nW = { op = 1.0, tie = "A" }'
    narrow = 'node = "dense"\nk = 2\nW = { op = 1.0, tie = "A" }'
    with pytest.raises(InputError, match="tied parameter A"):
        gap(with_layers(wide, narrow))


def test_a_centre_moves_the_norms_and_not_the_deviation():
    around = with_layers('node = "dense"\nW = { fro = 1.0, center.op = 3.0 }')
    plain = with_layers('node = "dense"\nW = { fro = 1.0 }')
    moved, still = capacity(around), capacity(plain)
    assert float(moved.facts.out.radius) == pytest.approx(4 * float(still.facts.out.radius))
    (block, *_), (other, *_) = moved.allocated.blocks, still.allocated.blocks
    assert block.entropy.log_radius == other.entropy.log_radius == 0.0


def test_a_rank_makes_the_class_smaller():
    full = HEAD.replace("d = 8", "d = 64").replace("l11", "op")
    low = full.replace("W_QK.op = 2.0", "W_QK = { op = 2.0, rank = 1 }")
    assert capacity(low).entropy(1e-3) < capacity(full).entropy(1e-3)
    rows = {row.block.rpartition(".")[2]: row for row in du_shares(capacity(low, n=1e8))}
    assert rows["W_QK"].cover == "rank" and rows["W_v"].cover != "rank"
    assert "rank ≤ 1" in rows["W_QK"].constraint


def du_shares(cap: du.Capacity):
    from dudley.networks import explain

    return explain.shares(cap)[0]


def test_a_fixed_query_leaves_a_vector():
    text = in_head("query.norm2 = 0.5")
    (head, _) = described(text).network.nodes
    assert (head.query, head.query_norm) == ("fixed", 0.5)
    names = [block.name for block in capacity(text).allocated.blocks]
    assert "0.v" in names and "0.W_QK" not in names
    assert gap(text) < gap(in_head('query = "cls"')) <= gap(HEAD)
    assert gap(text) < gap(in_head("query.norm2 = 50.0"))


def test_a_vector_of_its_own_in_place_of_the_query():
    text = HEAD.replace("W_QK.l11 = 2.0", 'query = "fixed"\nv.l11 = 2.0')
    assert gap(text) == pytest.approx(gap(in_head("query.norm2 = 1.0")))
    for wrong in ('query = "cls"\nv.l11 = 2.0', 'query = "fixed"\nv.l11 = 2.0\nW_QK.l11 = 2.0'):
        with pytest.raises(du.InputError, match="head"):
            described(HEAD.replace("W_QK.l11 = 2.0", wrong))
    with pytest.raises(du.InputError, match="v, or W_QK and query_norm"):
        described(in_head('query = "fixed"'))


def test_nothing_is_said_of_free_weights():
    text = HEAD.replace("W_v.l11 = 1.5", 'W_v = "free"')
    assert described(text).network.nodes[0].W_v == FREE
    with pytest.raises(du.InputError, match="W_v"):
        described(HEAD.replace("W_v.l11 = 1.5", 'W_v = "loose"'))


def test_declared_constants_equal_the_unit_that_has_them():
    assert gap(in_head("sigma.lipschitz = 1.0")) == gap(in_head('sigma = "relu"'))
    assert gap(in_head("sigma = { lipschitz = 0.25, at0 = 0.5 }")) == gap(
        in_head('sigma = "sigmoid"')
    )
    assert gap(in_head("sigma.lipschitz = 2.0")) > gap(HEAD)
    assert gap(in_head("attention.lipschitz = 1.0")) == gap(HEAD)
    assert gap(in_head("attention = { lipschitz = 2.0, mass = 1.0 }")) == gap(
        in_head('attention = "softmax-papers"')
    )
    assert gap(in_head("attention = { lipschitz = 1.0, mass = 2.0 }")) > gap(HEAD)
    assert gap(in_head("score.scale = 0.125")) < gap(HEAD)
    assert gap(in_head("score.scale = 1.0")) == gap(HEAD)


def test_biases_are_weights():
    plain = 'node = "mlp"\nk = 16\nW_1.op = 1.0\nW_2.op = 1.0'
    biased = plain + "\nb_1.l2 = 0.5\nb_2.l2 = 0.5"
    mlp = du.MLP(8, 16, du.Spectral(1.0), du.Spectral(1.0), b_1=du.L2(0.5), b_2=du.L2(0.5))
    assert described(with_layers(biased)).network == mlp >> du.Readout(du.L2(1.0))
    assert gap(with_layers(biased)) > gap(with_layers(plain))


def test_one_hot_inputs_enter_an_embedding():
    text = 'schema = "dudley.net/1"\n[input]\nT = 4\nV = 50\n[[layer]]\nnode = "embedding"\nd = 8\n'
    text += (
        'W_E.row2inf = 2.0\n[output]\nnode = "logits"\nV = 3\nW.col2inf = 1.0\n[loss]\nclip = 2.0\n'
    )
    description = described(text)
    assert description.inputs == du.OneHot(50, 4)
    assert description.loss == du.CrossEntropy(2.0)
    cap = capacity(text)
    assert float(cap.facts.out.radius) == pytest.approx(2.0)
    assert 0 < float(cap.gap(0.05)) <= 2.0


def test_the_default_output_is_a_readout():
    assert described(HEAD.replace('node = "readout"\n', "")) == described(HEAD)


def test_a_ramp_on_logits_must_be_multiclass():
    logits = with_layers(dense(), output='node = "logits"\nV = 3\nW.op = 1.0')
    with pytest.raises(InputError, match="multiclass"):
        gap(logits + "[loss]\nmargin = 1.0\n")
    assert math.isfinite(gap(logits + "[loss]\nmargin = 1.0\nmulticlass = true\n"))


@pytest.mark.parametrize(
    ("lines", "base"),
    [
        ("range = 100.0\n", du.Loss(1.0, 100.0, "a 1-Lipschitz loss in [0, 100]")),
        ("clip = 50.0\n", du.CrossEntropy(50.0)),
    ],
)
def test_a_robust_loss_is_that_of_python(lines, base):
    text = HEAD + "[loss]\n" + lines
    assert described(text + "psi = { power = 1.5, scale = 0.1 }\n").loss == du.Robust(
        base, 1.5, 0.1
    )
    assert described(text + "psi.scale = 2.0\n").loss == du.Robust(base, scale=2.0)
    assert described(text + "psi = {}\n").loss == du.Robust(base)  # Catoni's, at scale 1
    assert described(text).loss == base
    assert capacity(text + "psi = {}\n").gap(0.05).trivial == du.Robust(base).range < base.range


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("psi.power = 2.5", r"psi\.power"),
        ("psi.power = 1.0", r"psi\.power"),
        ("psi.scale = 0.0", r"psi\.scale"),
        ("psi.scale = -1.0", r"psi\.scale"),
        ("psi.powr = 1.5", "power"),
        ("psi = 1.5", "psi"),
        ("margin = 1.0\npsi.power = 1.5", "margin"),
    ],
)
def test_a_robust_loss_that_is_none_is_refused(lines, named):
    with pytest.raises((InputError, UnknownName), match=named):
        described(HEAD + "[loss]\n" + lines + "\n")
