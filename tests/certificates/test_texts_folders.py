"""Texts read by what other files bring: tokens of other texts, and folders of Hugging Face."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest
from safetensors.torch import save_file

from certificates.test_texts import DESCENT, TEXTS, sentences
from dudley.certificates.methods.prequential.smoothing import UnitSmoothing
from dudley.certificates.methods.selection.causal_prior import CausalTextModel
from dudley.certificates.methods.selection.prior import expect_kraft, text_prior
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.models.hf import FAMILIES
from dudley.certificates.texts.one_pass import certify_texts
from dudley.certificates.texts.recheck import recheck_texts
from dudley.core.backend import torch
from dudley.core.errors import InputError


@pytest.fixture
def causal_folder(tmp_path, require):
    """A tiny GPT-2 shape with a byte-level tokenizer, without weights."""
    for name in ("transformers", "tokenizers"):
        require(name, find_spec(name) is not None, "pip install '.[hf]'")
    import tokenizers  # pyright: ignore[reportMissingImports]

    folder = tmp_path / "model"
    folder.mkdir()
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(["the cat sat on a mat"] * 3, 280, special_tokens=["<end>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "gpt2", "vocab_size": 300, "n_embd": 8, "n_layer": 1, "n_head": 2,
        "n_positions": 64, "eos_token_id": 0, "bos_token_id": 0, "resid_pdrop": 0.5,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


def test_a_causal_folder_of_hugging_face_is_trained_and_certified(tmp_path, causal_folder):
    model = model_of(f"hf:{causal_folder}", {})
    declared = TextPass(tokens=True, seed=0)
    made = certify_texts(model, TEXTS, tmp_path / "out", declared, DESCENT).certificates
    assert made["mean"].facts.limit == UnitSmoothing(256, 1 / 64, TEXTS.shortest).limit
    assert made["tokens"].facts.limit == UnitSmoothing(300, 1 / 64).limit
    module, texts = model.make(), [TEXTS.texts[0], TEXTS.texts[1]]
    with torch.no_grad():
        together, alone = (model.nats(module, model.read(some)) for some in (texts, texts[:1]))
    assert torch.allclose(together[0, : alone.shape[1]], alone[0], atol=1e-5)
    codes, lengths = model.read([b"the cat\0", b"the cat"])
    assert lengths.tolist() == [int(lengths[1]) + 1, int(lengths[1])] and codes[0, -1] == 0


def test_tokens_of_other_texts_are_learnt_and_verified_again(tmp_path, require):
    require("tokenizers", find_spec("tokenizers") is not None, "pip install '.[hf]'")
    other = tmp_path / "other.txt"
    other.write_bytes(b"\n".join(sentences(50, seed=9)))
    sizes = {"vocabulary": 290, "d": 8, "heads": 2, "layers": 1, "context": 40}
    model, out = model_of(f"bpe:{other}", sizes), tmp_path / "out"
    assert model.symbols == 290 and "texts" not in model.table()
    codes, lengths = model.read([b"the cat\0", b"the cat"])
    assert lengths[0] == lengths[1] + 1 < 8 and codes[0, -1] == 0
    declared = TextPass(tokens=True, checkpoints=3, seed=0)
    made = certify_texts(model, TEXTS, out, declared, DESCENT).certificates
    assert made["mean"].facts.limit == UnitSmoothing(256, 1 / 64, TEXTS.shortest).limit
    file = made["mean"].to_json()
    assert recheck_texts(file, out, TEXTS, start=str(other)).holds
    with pytest.raises(InputError, match="the texts of the tokenizer"):
        recheck_texts(file, out, TEXTS)
    other.write_bytes(b"\n".join(sentences(50, seed=8)))
    with pytest.raises(InputError, match="the start of this pass"):
        recheck_texts(file, out, TEXTS, start=str(other))
    with pytest.raises(InputError, match="context"):
        model.expect(41)


def test_a_causal_folder_with_weights_prices_prompts(causal_folder):
    with pytest.raises(InputError, match="weights are needed"):
        CausalTextModel(causal_folder)
    module = model_of(f"hf:{causal_folder}", {}).make()
    save_file({k: v.contiguous() for k, v in module.state_dict().items() if k != "lm_head.weight"},
              causal_folder / "model.safetensors", {"format": "pt"})  # fmt: skip
    prior = CausalTextModel(causal_folder)
    prompts = ("the cat", "the mat sat", "on a mat")
    rows = [prior.model.read([prompt.encode() + b"\0"])[0][0].tolist() for prompt in prompts]
    for prompt, row in zip(prompts, rows, strict=True):
        logits = prior.module(input_ids=torch.tensor([[0, *row[:-1]]])).logits.double()
        logs = logits.detach().log_softmax(-1)[0, range(len(row)), row]
        assert prior.log_probability(prompt) == pytest.approx(float(logs.sum()), rel=1e-5)
    assert rows[0][-1] == 0, "the end is paid for"
    expect_kraft("prompts", text_prior(prior, prompts))
    with pytest.raises(InputError, match="at most 63 bytes"):
        prior.log_probability("the cat " * 10)
    with pytest.raises(InputError, match="UTF-8"):
        prior.log_probability("the cat \ud800")


def test_a_causal_folder_that_does_not_fit_is_refused(tmp_path, causal_folder):
    with pytest.raises(InputError, match="UTF-8"):
        model_of(f"hf:{causal_folder}", {}).read([b"\xff\xfe\0"])
    with pytest.raises(InputError, match="bytes"):
        model_of(f"hf:{causal_folder}", {}).expect(65)
    with pytest.raises(InputError, match="the token that ends texts"):
        model_of(f"hf:{causal_folder}", {}).read([b"the cat<end>sat\0"])
    for change in (
        {"model_type": "bert"}, {"vocab_size": 10}, {"n_layer": 10**6}, {"is_causal": False},
    ):  # fmt: skip
        path = causal_folder / "config.json"
        before = path.read_text("utf-8")
        path.write_text(json.dumps(json.loads(before) | change), "utf-8")
        with pytest.raises(InputError):
            model_of(f"hf:{causal_folder}", {}).make()
        path.write_text(before, "utf-8")
    (causal_folder / "adapter_config.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="merge the adapter"):
        model_of(f"hf:{causal_folder}", {})
    (causal_folder / "adapter_config.json").unlink()
    (causal_folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        model_of(f"hf:{causal_folder}", {})


SIZES = {
    "hidden_size": 8, "intermediate_size": 8, "ffn_dim": 8, "word_embed_proj_dim": 8,
    "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 4,
    "max_position_embeddings": 64,
}  # fmt: skip
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 4,
        "factor": 16.0, "short_factor": [1.0, 1.0], "long_factor": [8.0, 8.0]}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_no_token_of_a_folder_sees_a_later_one_or_the_length_of_the_text(family, causal_folder):
    """Else probabilities of texts would add up to more than 1, and bits be too few."""
    path = causal_folder / "config.json"
    config = json.loads(path.read_text("utf-8")) | ({} if family == "gpt2" else SIZES)
    config |= {"model_type": family, "pad_token_id": 0, "initializer_range": 0.5}
    path.write_text(json.dumps(config), "utf-8")
    torch.manual_seed(0)
    module = model_of(f"hf:{causal_folder}", {}).make().eval()
    codes = torch.tensor([[1, 5, 9, 3, 7, 2, 8, 4], [1, 5, 9, 3, 7, 2, 9, 6]])
    with torch.no_grad():
        whole, part = module(input_ids=codes).logits, module(input_ids=codes[:, :4]).logits
    assert torch.allclose(whole[0, :6], whole[1, :6], atol=1e-5)
    assert torch.allclose(whole[:, :4], part, atol=1e-4)
    looks = [{"is_causal": False}, {"is_causal": None}, {"is_causal": 1}]
    rotary = family not in ("gpt2", "opt")
    for change in (*looks, *({"rope_parameters": LONG}, {"rope_scaling": LONG}) * rotary):
        path.write_text(json.dumps(config | change), "utf-8")
        with pytest.raises(InputError, match=r"is_causal|rotary"):
            model_of(f"hf:{causal_folder}", {}).make()
