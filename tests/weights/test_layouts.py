"""Layouts: each family's tensors become the right matrices, and every tensor is accounted for."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

import checkpoints
import dudley as du
from checkpoints import FAMILIES, H, L, V, d
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.core.norms import NORMS
from dudley.weights.layout import LAYOUTS
from dudley.weights.measurement import Measurement
from library_models import MEASURED, MODELS

BERT_Q = "encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def family(request, tmp_path_factory) -> tuple[str, dict, dict, Measurement]:
    """(name, config, tensors, measurement) of each family's tiny checkpoint."""
    config, tensors = FAMILIES[request.param]()
    folder = checkpoints.write(tmp_path_factory.mktemp(request.param), config, tensors)
    return request.param, config, tensors, du.measure(folder)


def write_bert(folder, change=lambda config, tensors: None, **how):
    """A folder with a BERT that was changed first."""
    config, tensors = checkpoints.bert(**how)
    change(config, tensors)
    return checkpoints.write(folder, config, tensors)


def by_hand(name: str, t: dict) -> dict[tuple[str, int | None], np.ndarray]:
    """Some matrices as x ↦ xW, written out for each family without the layouts."""
    if name in ("bert", "roberta"):
        p = "roberta." if name == "roberta" else ""
        at = p + "encoder.layer.{}."
        return {
            ("W_E", None): t[p + "embeddings.word_embeddings.weight"],
            ("W_Q", 1): t[at.format(1) + "attention.self.query.weight"].T,
            ("W_K", 0): t[at.format(0) + "attention.self.key.weight"].T,
            ("W_v", 0): t[at.format(0) + "attention.self.value.weight"].T,
            ("W_c", 1): t[at.format(1) + "attention.output.dense.weight"].T,
            ("W_1", 0): t[at.format(0) + "intermediate.dense.weight"].T,
            ("W_2", 1): t[at.format(1) + "output.dense.weight"].T,
            ("ln_1.gain", 0): t[at.format(0) + "attention.output.LayerNorm.weight"][:, None],
            ("ln_2.bias", 1): t[at.format(1) + "output.LayerNorm.bias"][None],
        }
    if name == "distilbert":
        at = "distilbert.transformer.layer.{}."
        return {
            ("P", None): t["distilbert.embeddings.position_embeddings.weight"],
            ("W_Q", 0): t[at.format(0) + "attention.q_lin.weight"].T,
            ("W_c", 1): t[at.format(1) + "attention.out_lin.weight"].T,
            ("W_2", 0): t[at.format(0) + "ffn.lin2.weight"].T,
            ("ln_1.gain", 1): t[at.format(1) + "sa_layer_norm.weight"][:, None],
        }
    if name == "gpt2":
        at = "transformer.h.{}."
        fused = t[at.format(1) + "attn.c_attn.weight"]
        return {
            ("W_E", None): t["transformer.wte.weight"],
            ("W_Q", 1): fused[:, :d],
            ("W_K", 1): fused[:, d : 2 * d],
            ("W_v", 1): fused[:, 2 * d :],
            ("b_K", 0): t[at.format(0) + "attn.c_attn.bias"][None, d : 2 * d],
            ("W_c", 0): t[at.format(0) + "attn.c_proj.weight"],
            ("W_1", 0): t[at.format(0) + "mlp.c_fc.weight"],
            ("W_2", 1): t[at.format(1) + "mlp.c_proj.weight"],
            ("ln_f.gain", None): t["transformer.ln_f.weight"][:, None],
        }
    if name == "vit":
        at = "vit.encoder.layer.{}."
        return {
            ("W_patch", None): t["vit.embeddings.patch_embeddings.projection.weight"]
            .reshape(d, 12)
            .T,
            ("P", None): t["vit.embeddings.position_embeddings"][0],
            ("cls", None): t["vit.embeddings.cls_token"][0],
            ("W_v", 0): t[at.format(0) + "attention.attention.value.weight"].T,
            ("ln_2.gain", 1): t[at.format(1) + "layernorm_after.weight"][:, None],
        }
    at = "model.layers.{}."
    norms = {
        ("W_E", None): t["model.embed_tokens.weight"],
        ("W_Q", 0): t[at.format(0) + "self_attn.q_proj.weight"].T,
        ("W_K", 1): t[at.format(1) + "self_attn.k_proj.weight"].T,
        ("W_c", 1): t[at.format(1) + "self_attn.o_proj.weight"].T,
        ("W_1", 0): t[at.format(0) + "mlp.gate_proj.weight"].T,
        ("W_3", 0): t[at.format(0) + "mlp.up_proj.weight"].T,
        ("W_2", 0): t[at.format(0) + "mlp.down_proj.weight"].T,
    }
    if name == "qwen2":
        norms["b_v", 1] = t[at.format(1) + "self_attn.v_proj.bias"][None]
    if name == "qwen3":
        norms["g_k", 1] = t[at.format(1) + "self_attn.k_norm.weight"][:, None]
    if "lm_head.weight" in t:
        norms["W_out", None] = t["lm_head.weight"].T
    return norms


def check_norms(norms: dict[str, float], W: np.ndarray) -> None:
    """Raise unless these are upper ends of W's norms, and close ones."""
    W = W.astype(np.float64)
    for name, norm in NORMS.items():
        true = norm(W)
        assert norms[name] >= true * (1 - 1e-13), name
        if name != "nuc":
            assert norms[name] <= true * (1 + 1e-9) + 1e-300, name


def test_matrices_are_the_ones_written_by_hand(family):
    name, _, tensors, measured = family
    for (role, layer), W in by_hand(name, tensors).items():
        row = measured.row(role, layer)
        assert row.shape == W.shape, role
        check_norms(row.norms, W)
        top = np.linalg.svd(W.astype(float), compute_uv=False)
        assert row.op.lower <= top[0] * (1 + 1e-12) and top[0] <= row.op.upper
        stable = (top**2).sum() / top[0] ** 2
        assert row.stable_rank.lower - 1e-9 <= stable <= row.stable_rank.upper + 1e-9


def test_a_transposed_matrix_would_be_seen():
    W = np.arange(12.0).reshape(3, 4) ** 2
    norms = {name: norm(W) for name, norm in NORMS.items()}
    check_norms(norms, W)
    with pytest.raises(AssertionError):
        check_norms(norms, W.T)


def test_heads_are_slices_and_products(family):
    name, _, tensors, measured = family
    hand = by_hand(name, tensors)
    groups = 1 if name in ("llama", "mistral", "qwen2", "qwen3") else H
    k = d // H
    assert [row.head for row in measured.heads("W_QK", 0)] == list(range(H))
    assert len(measured.heads("W_K", 0)) == groups
    if name == "bert":
        layer0 = "encoder.layer.0.attention."
        Q, K, v, c = (
            tensors[layer0 + part].T.astype(float)
            for part in (
                "self.query.weight",
                "self.key.weight",
                "self.value.weight",
                "output.dense.weight",
            )
        )
    elif name == "llama":
        layer0 = "model.layers.0.self_attn."
        Q, K, v, c = (
            tensors[layer0 + f"{p}_proj.weight"].T.astype(float) for p in ("q", "k", "v", "o")
        )
    elif name == "gpt2":
        fused = tensors["transformer.h.0.attn.c_attn.weight"].astype(float)
        Q, K, v = fused[:, :d], fused[:, d : 2 * d], fused[:, 2 * d :]
        c = tensors["transformer.h.0.attn.c_proj.weight"].astype(float)
    else:
        assert hand
        return
    for h in range(H):
        g = h * groups // H
        mine, theirs = slice(h * k, (h + 1) * k), slice(g * k, (g + 1) * k)
        check_norms(measured.row("W_Q", 0, h).norms, Q[:, mine])
        check_norms(measured.row("W_K", 0, g).norms, K[:, theirs])
        check_norms(measured.row("W_c", 0, h).norms, c[mine])
        check_norms(measured.row("W_QK", 0, h).norms, Q[:, mine] @ K[:, theirs].T)
        check_norms(measured.row("W_VO", 0, h).norms, v[:, theirs] @ c[mine])


def test_every_tensor_is_listed_once_used_or_skipped_with_a_reason(family):
    _, _, tensors, measured = family
    assert sorted(use.name for use in measured.tensors) == sorted(tensors)
    assert all(use.why for use in measured.tensors)
    assert not any(use.vital for use in measured.tensors)
    names = ("position_ids", "inv_freq", ".attn.bias")
    buffers = [u for u in measured.tensors if u.name.endswith(names)]
    assert all(not use.used and "buffer" in use.why for use in buffers)
    weights = sum(row.shape[0] * row.shape[1] for row in measured.rows if row.head is None)
    used = sum(math.prod(use.shape) for use in measured.tensors if use.used)
    used -= d * measured.architecture.first_position  # rows of P that belong to no token
    assert weights == used == measured.totals()["weights"]


def test_json_and_csv_hold_every_row(family):
    measured = family[3]
    document = json.loads(json.dumps(measured.to_json(), allow_nan=False))
    assert len(document["rows"]) == len(measured.rows)
    assert len(document["tensors"]) == len(measured.tensors)
    lines = list(csv.DictReader(io.StringIO(measured.to_csv())))
    assert [float(line["op"]) for line in lines] == [row.norms["op"] for row in measured.rows]


@pytest.mark.parametrize("made", [checkpoints.bert(), checkpoints.llama(tied=True)])
def test_progress_ends_at_the_number_of_matrices(made, tmp_path):
    calls: list[tuple[str, int, int]] = []
    folder = checkpoints.write(tmp_path / "model", *made)
    measured = du.measure(folder, progress=lambda *what: calls.append(what))
    count = len(measured.rows)
    assert [done for _, done, _ in calls] == list(range(1, count + 1))
    assert {total for *_, total in calls} == {count} and all(what for what, *_ in calls)


def test_a_dataframe_or_a_clear_refusal():
    measured = du.measure("tiny-bert")
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(DudleyError, match="pandas"):
            measured.to_pandas()
    else:
        assert len(measured.to_pandas()) == len(measured.rows)


def test_the_shipped_example_is_the_one_that_is_made_here(tmp_path):
    made = checkpoints.write(tmp_path, *checkpoints.bert())
    shipped = du.measure("tiny-bert")
    assert [row.norms for row in du.measure(made).rows] == [row.norms for row in shipped.rows]


@pytest.mark.parametrize("prefix", ["", "bert.", "model.text.bert."])
def test_prefixes_are_found(tmp_path, prefix: str):
    measured = du.measure(write_bert(tmp_path, prefix=prefix))
    assert measured.layers == L and measured.tensors_used == 39
    assert {row.layer for row in measured.rows} == {None, 0, 1}


def test_two_networks_in_one_file_are_refused(tmp_path):
    config, tensors = checkpoints.bert(prefix="a.")
    _, other = checkpoints.bert(prefix="b.")
    checkpoints.write(tmp_path, config, tensors | other)
    with pytest.raises(InputError, match=r"one network.*'a\.', 'b\.'"):
        du.measure(tmp_path)


def test_without_a_config_the_names_decide_and_heads_are_asked_for(tmp_path):
    _, tensors = checkpoints.bert()
    checkpoints.write(tmp_path, None, tensors)
    measured = du.measure(tmp_path)
    assert measured.layout == "bert" and not measured.heads("W_QK", 0)
    assert any("--heads" in note for note in measured.notes)
    assert len(du.measure(tmp_path, heads=4).heads("W_QK", 0)) == 4
    with pytest.raises(InputError, match="divisor"):
        du.measure(tmp_path, heads=3)


def test_an_unknown_model_type_names_the_known_ones(tmp_path):
    folder = write_bert(tmp_path, lambda config, _: config.update(model_type="berd"))
    with pytest.raises(InputError, match=r"supported \(bert, .*got berd; .*mapping file"):
        du.measure(folder)
    with pytest.raises(UnknownName, match="did you mean gpt2"):
        du.measure(folder, layout="gpt3")


def test_names_of_no_family_ask_for_a_mapping_file(tmp_path):
    checkpoints.write(tmp_path, None, {"a.weight": np.ones((2, 2), dtype=np.float32)})
    with pytest.raises(InputError, match=r"mapping file: --layout"):
        du.measure(tmp_path)


CHANGES = {
    "missing": (lambda c, t: t.pop(BERT_Q.replace("query", "key")), "layer 0.*W_K"),
    "layer gone": (lambda c, t: c.update(num_hidden_layers=3), "expected 3.*got 2"),
    "wrong shape": (
        lambda c, t: t.update({BERT_Q: np.ones((d, d + 1), dtype=np.float32)}),
        r"self\.query\.weight.*W_Q of shape 8×8",
    ),
    "wrong bias": (
        lambda c, t: t.update({BERT_Q.replace("weight", "bias"): np.ones(d + 1, dtype=np.float32)}),
        r"query\.bias.*b_Q of shape 1×8",
    ),
    "not finite": (lambda c, t: t[BERT_Q].__setitem__((1, 2), np.nan), r"query\.weight.*finite"),
    "integers": (
        lambda c, t: t.update({BERT_Q: np.ones((d, d), dtype=np.int64)}),
        r"query\.weight",
    ),
    "a cube": (
        lambda c, t: t.update({BERT_Q: np.ones((2, d, d), dtype=np.float32)}),
        r"query\.weight",
    ),
    "heads": (lambda c, t: c.update(num_attention_heads=3), "divisor"),
    "size": (lambda c, t: c.update(hidden_size=-1), "hidden_size"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_does_not_fit_is_refused_and_named(tmp_path, what: str):
    change, words = CHANGES[what]
    folder = write_bert(tmp_path, change)
    with pytest.raises(DudleyError, match=words):
        du.measure(folder)


def test_a_tensor_without_a_role_is_listed_and_marked(tmp_path):
    extra = np.ones((d, d), dtype=np.float32)
    name = "encoder.layer.0.adapter.weight"
    folder = write_bert(tmp_path, lambda _, tensors: tensors.update({name: extra}))
    (use,) = [use for use in du.measure(folder).tensors if use.name == name]
    assert not use.used and use.vital and "mapping file" in use.why


def test_distances_from_a_second_checkpoint(tmp_path):
    now, start = checkpoints.bert(seed=0), checkpoints.bert(seed=9)
    a, b = (checkpoints.write(tmp_path / n, *c) for n, c in (("a", now), ("b", start)))
    measured = du.measure(a, init=b)
    moved = measured.row("W_Q", 0).distance
    assert moved is not None
    check_norms(moved, (now[1][BERT_Q].astype(float) - start[1][BERT_Q].astype(float)).T)
    assert du.measure(a, init=a).row("W_1", 1).distance == dict.fromkeys(NORMS, 0.0)
    other = checkpoints.write(tmp_path / "c", *checkpoints.gpt2())
    with pytest.raises(DudleyError):
        du.measure(a, init=other)


@pytest.mark.parametrize("name", ["gpt2", "qwen2"])
def test_a_tied_output_is_measured_once(tmp_path, name: str):
    config, tensors = FAMILIES[name]()
    table = "transformer.wte.weight" if name == "gpt2" else "model.embed_tokens.weight"
    tied = tensors | {"lm_head.weight": tensors[table].copy()}
    measured = du.measure(checkpoints.write(tmp_path / "tied", config, tied))
    (use,) = [use for use in measured.tensors if use.name == "lm_head.weight"]
    assert not use.used and "tied" in use.why and measured.find("W_out") is None
    apart = tensors | {"lm_head.weight": tensors[table] + 1}
    measured = du.measure(checkpoints.write(tmp_path / "apart", config, apart))
    assert measured.row("W_out").shape == (d, V)


def test_ranks_are_counted_on_request(tmp_path):
    def flatten(_, tensors):
        tensors[BERT_Q][1:] = 0.0  # rank one

    measured = du.measure(write_bert(tmp_path, flatten), rank_tolerance=1e-6)
    assert measured.row("W_Q", 0).rank == 1 and measured.row("W_Q", 1).rank == d
    assert du.measure("tiny-bert").row("W_Q", 0).rank is None
    with pytest.raises(InputError):
        du.measure("tiny-bert", rank_tolerance=2.0)


def test_every_layout_has_a_family_here():
    torch_own = {"torch-encoder", "torch-encoder-layer", "torch-attention"}
    near = {"xlm-roberta", "camembert"}
    beside_the_library = {name.split()[0] for name in MODELS | MEASURED}
    assert set(LAYOUTS) == set(FAMILIES) | torch_own | near | beside_the_library


def test_the_public_function_measures():
    assert du.measure("tiny-bert", layout="bert").layers == L
