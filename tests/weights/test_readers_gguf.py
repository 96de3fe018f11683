"""GGUF files: blocks against a scalar oracle, a Llama back in its own names, hostile headers."""

from __future__ import annotations

import json
import struct
from fractions import Fraction

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from dudley.core.errors import InputError
from dudley.weights.measure import measure
from dudley.weights.named_tensors import open_weights

KINDS = {"float32": 0, "float16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8}
KINDS |= {"Q5_K": 13, "Q6_K": 14, "bfloat16": 30}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def setting(name: str, value) -> bytes:
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        words = isinstance(value[0], str)
        entries = (text(each) if words else struct.pack("<i", each) for each in value)
        return (
            text(name) + struct.pack("<IIQ", 9, 8 if words else 5, len(value)) + b"".join(entries)
        )
    kind, form = (6, "<f") if isinstance(value, float) else (4, "<I")
    return text(name) + struct.pack("<I", kind) + struct.pack(form, value)


def gguf(tensors: dict[str, tuple[str, tuple[int, ...], bytes]], settings=None, version=3) -> bytes:
    """A file as the format is described: sizes the fastest first, data aligned to 32 bytes."""
    settings = settings or {}
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(settings))
    head += b"".join(setting(name, value) for name, value in settings.items())
    data = b""
    for name, (kind, shape, raw) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", size) for size in shape[::-1])
        head += struct.pack("<IQ", KINDS[kind], len(data))
        data += raw + b"\0" * (-len(raw) % 32)
    return head + b"\0" * (-len(head) % 32) + data


def scalar(kind: str, block: bytes) -> list[Fraction]:
    """Number by number, as the format is described."""
    offset = kind.endswith("_1")
    places = (0, 2) if offset else (0,)
    half = [Fraction(float(np.frombuffer(block[i : i + 2], "<f2")[0])) for i in places]
    if kind == "Q8_0":
        return [half[0] * struct.unpack("<b", block[2 + i : 3 + i])[0] for i in range(32)]
    at = 4 if offset else 2
    fifth = 0
    if kind.startswith("Q5"):
        fifth, at = int.from_bytes(block[at : at + 4], "little"), at + 4
    made = []
    for i in range(32):
        byte = block[at + i % 16]
        q = (byte & 15 if i < 16 else byte >> 4) + 16 * (fifth >> i & 1) * kind.startswith("Q5")
        zero = {"Q4_0": 8, "Q5_0": 16}.get(kind, 0)
        made.append(half[0] * (q - zero) + (half[1] if offset else 0))
    return made


def sixes(block: bytes) -> list[Fraction]:
    """Q6_K number by number: place p is l of the r-th quarter of a run."""
    d, made = Fraction(float(np.frombuffer(block[208:], "<f2")[0])), []
    for p in range(256):
        run, inside = divmod(p, 128)
        r, l = divmod(inside, 32)
        byte = block[64 * run + 32 * (r % 2) + l]
        four = byte & 15 if r < 2 else byte >> 4
        two = block[128 + 32 * run + l] >> 2 * r & 3
        s = struct.unpack("<b", block[192 + p // 16 : 193 + p // 16])[0]
        made.append(d * s * (four + 16 * two - 32))
    return made


def test_blocks_of_six_bits_are_exact(tmp_path):
    rng, path = np.random.default_rng(6), tmp_path / "m.gguf"
    heads = [np.array([d], "<f2").tobytes() for d in (0.0371, -(2.0**-20), 6e4, 0.0)]
    blocks = [rng.bytes(208) + d for d in heads]
    path.write_bytes(gguf({"W": ("Q6_K", (2, 512), b"".join(blocks))}))
    with open_weights(path) as weights:
        assert weights.error("W") == 0.0
        made = weights.load("W").reshape(-1, 256).tolist()
    for block, row in zip(blocks, made, strict=True):
        assert [Fraction(x) for x in row] == sixes(block)


@pytest.mark.parametrize(("kind", "size"), [
    ("Q8_0", 34), ("Q4_0", 18), ("Q4_1", 20), ("Q5_0", 22), ("Q5_1", 24),
])  # fmt: skip
def test_blocks_are_exact(tmp_path, kind, size):
    rng = np.random.default_rng(size)
    blocks = []
    for d, m in ((0.0371, -1.25), (-(2.0**-20), 3e-7), (6e4, -6e4), (0.0, 0.0)):
        head = np.array([d, m][: 1 + kind.endswith("1")], "<f2").tobytes()
        blocks += [head + rng.bytes(size - len(head)) for _ in range(3)]
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf({"W": (kind, (4, 96), b"".join(blocks))}))
    with open_weights(path) as weights:
        assert weights.info("W").shape == (4, 96) and weights.error("W") == 0.0
        made = weights.load("W").reshape(-1, 32).tolist()
    for block, row in zip(blocks, made, strict=True):
        assert [Fraction(x) for x in row] == scalar(kind, block)


def test_plain_elements_come_as_stored_and_others_are_named(tmp_path):
    X = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
    path = tmp_path / "m.gguf"
    bf16 = torch.tensor(X).bfloat16()
    path.write_bytes(gguf({
        "a": ("float32", (2, 3), X.tobytes()),
        "b": ("float16", (2, 3), X.astype(np.float16).tobytes()),
        "c": ("bfloat16", (2, 3), bf16.view(torch.int16).numpy().tobytes()),
        "d": ("Q5_K", (1, 256), bytes(176)),
    }, {"tokens": ["a", "ü"], "general.architecture": "other"}))  # fmt: skip
    weights = open_weights(path)
    assert weights.names() == ["a", "b", "c"] and "Q5_K" in weights.skipped["d"]
    assert torch.equal(weights.load("a"), torch.tensor(X))
    assert torch.equal(weights.load("b"), torch.tensor(X).half())
    assert torch.equal(weights.load("c"), bf16)
    with pytest.raises(InputError, match="Q5_K"):
        weights.load("d")


D, HEADS, GROUPS, LAYERS, HIDDEN, SYMBOLS = 8, 2, 1, 2, 12, 16
SETTINGS = {
    "general.architecture": "llama", "llama.embedding_length": D, "llama.block_count": LAYERS,
    "llama.feed_forward_length": HIDDEN, "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": GROUPS, "llama.context_length": 32,
    "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0,
}  # fmt: skip
SHAPES = {
    "attn_q": (D, D), "attn_k": (D // 2, D), "attn_v": (D // 2, D), "attn_output": (D, D),
    "ffn_gate": (HIDDEN, D), "ffn_up": (HIDDEN, D), "ffn_down": (D, HIDDEN),
    "attn_norm": (D,), "ffn_norm": (D,),
}  # fmt: skip
NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


def llama_file() -> bytes:
    """A small Llama of bytes with its tokenizer: an end, 256 bytes, and one merge."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = [chr(byte) for byte in shown] + [chr(256 + i) for i in range(len(hidden))]
    tokenizer = {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": ["<end>", *letters, "do"], "tokenizer.ggml.merges": ["d o"],
        "tokenizer.ggml.token_type": [3] + [1] * 257, "tokenizer.ggml.eos_token_id": 0,
    }  # fmt: skip
    return llama(258, {"llama.context_length": 64} | tokenizer)[1]


def llama(symbols: int = SYMBOLS, more=None) -> tuple[dict[str, np.ndarray], bytes]:
    """Weights by the names of the family, and their file: rows of Q and K in pairs."""
    rng = np.random.default_rng(0)
    plain = {"model.embed_tokens.weight": rng.standard_normal((symbols, D)).astype(np.float32)}
    plain["model.norm.weight"] = rng.standard_normal(D).astype(np.float32)
    stored = {"token_embd.weight": plain["model.embed_tokens.weight"]}
    stored["output_norm.weight"] = plain["model.norm.weight"]
    for layer in range(LAYERS):
        for part, shape in SHAPES.items():
            W = rng.standard_normal(shape).astype(np.float32)
            plain[f"model.layers.{layer}.{NAMES[part]}.weight"] = W
            if part in ("attn_q", "attn_k"):
                half, rows = 2, []  # a head has 4 rows: i of the first half, then i of the second
                for head in range(shape[0] // 4):
                    rows += [4 * head + i + half * j for i in range(half) for j in range(2)]
                W = W[rows]
            stored[f"blk.{layer}.{part}.weight"] = W
    file = gguf(
        {name: ("float32", W.shape, W.tobytes()) for name, W in stored.items()},
        SETTINGS | (more or {}),
    )
    return plain, file


def test_a_llama_is_measured_as_its_own_names_are(tmp_path):
    plain, file = llama()
    path = tmp_path / "model.gguf"
    path.write_bytes(file)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')  # of another file
    weights = open_weights(path)
    assert set(weights.names()) == set(plain)
    for name, W in plain.items():
        assert torch.equal(weights.load(name), torch.tensor(W)), name
    assert weights.config["tie_word_embeddings"] and weights.config["vocab_size"] == SYMBOLS
    folder = tmp_path / "folder"
    folder.mkdir()
    save_file({n: torch.tensor(W) for n, W in plain.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(weights.config))
    first, second = measure(path), measure(folder)
    assert first.rows == second.rows and len(first.rows) > 9
    assert first.architecture == second.architecture


def test_a_llama_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    for change in ({"llama.embedding_length": "8"}, {"llama.attention.head_count": 3}):
        plain, _ = llama()
        W = plain["model.layers.0.self_attn.q_proj.weight"]
        entry = {"blk.0.attn_q.weight": ("float32", W.shape, W.tobytes())}
        path.write_bytes(gguf(entry, SETTINGS | change))
        with pytest.raises(InputError):
            open_weights(path).load("model.layers.0.self_attn.q_proj.weight")


def test_every_cut_and_every_changed_byte_of_the_header_is_read_or_refused(tmp_path):
    X = np.ones((2, 32), np.float32)
    whole = gguf({"W": ("float32", (2, 32), X.tobytes())}, {"n": 3, "words": ["a", "b"]})
    path, refused = tmp_path / "m.gguf", 0
    for end in range(0, len(whole), 3):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError):
            open_weights(path)
    for place in range(0, len(whole) - X.nbytes, 2):
        for byte in (255, whole[place] ^ 1):
            changed = bytearray(whole)
            changed[place] = byte
            path.write_bytes(changed)
            try:
                weights = open_weights(path)
                for name in weights.names():
                    weights.load(name)
            except InputError:
                refused += 1
    assert refused > 50


def test_tensors_that_overlap_or_have_one_name_are_refused(tmp_path):
    X = np.ones(8, np.float32).tobytes()
    whole = gguf({"A": ("float32", (8,), X), "B": ("float32", (8,), X)})
    path = tmp_path / "m.gguf"
    path.write_bytes(whole.replace(text("B"), text("A")))
    with pytest.raises(InputError, match="twice"):
        open_weights(path)
    offset = struct.pack("<IQ", 0, 32)
    assert whole.count(offset) == 1
    path.write_bytes(whole.replace(offset, struct.pack("<IQ", 0, 0)))
    with pytest.raises(InputError, match="overlap"):
        open_weights(path)
    path.write_bytes(gguf({"A": ("Q8_0", (16,), bytes(34))}))
    with pytest.raises(InputError, match="blocks of 32"):
        open_weights(path)
