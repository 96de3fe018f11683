"""What reading and measuring a sharded checkpoint costs in memory.

A checkpoint of Llama's shapes in float32 is made in a temporary folder; a fresh process reads it
tensor by tensor (*walk*) or measures it (*measure*) while a thread samples RssAnon, its anonymous
memory: pages mapped from the files are the system's to drop and do not count. The limits:

- walk: no more than 32 MB and the largest tensor beyond what the imports took;
- measure: under 1 GB and twice the largest tensor, imports included.

`python benchmarks/bench_memory.py --gigabytes 4` does the same at full size; 0.2 is the default.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

HIDDEN, INNER, VOCABULARY, HEADS = 512, 1408, 32768, 8
SMALL = 0.2e9
MB = 1e6

CHILD = """
import json, sys, threading, time
def anonymous():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
from dudley.weights.named_tensors import finite, open_weights
from dudley.weights import measure as run
path, work = sys.argv[1:]
start = peak = anonymous()
done = False
def sample():
    global peak
    while not done:
        peak = max(peak, anonymous())
        time.sleep(0.001)
thread = threading.Thread(target=sample)
thread.start()
kept, tensors = [], 0
if work == "measure":
    tensors = sum(use.used for use in run.measure(path).tensors)
else:
    with open_weights(path) as weights:
        for name in weights.names():
            tensor = finite(weights.load(name), name, path)
            tensors += 1
            if work == "keep":
                kept.append(tensor.clone())
peak = max(peak, anonymous())
done = True
thread.join()
print(json.dumps({"start": start, "peak": peak, "tensors": tensors}))
"""


def make(folder: Path, nbytes: float) -> int:
    """A checkpoint of about that size in at least three shards; the bytes of its largest tensor."""
    import torch
    from safetensors.torch import save_file

    attention = dict.fromkeys((f"self_attn.{x}_proj" for x in "qkvo"), (HIDDEN, HIDDEN))
    mlp = {"mlp.gate_proj": (INNER, HIDDEN), "mlp.up_proj": (INNER, HIDDEN)}
    shapes = {**attention, **mlp, "mlp.down_proj": (HIDDEN, INNER)}
    shapes |= {"input_layernorm": (HIDDEN,), "post_attention_layernorm": (HIDDEN,)}
    table = 4 * VOCABULARY * HIDDEN
    per_layer = 4 * (4 * HIDDEN**2 + 3 * HIDDEN * INNER + 2 * HIDDEN)
    layers = max(2, round((nbytes - table) / per_layer))
    generator = torch.Generator().manual_seed(0)

    def weight(shape):
        return torch.randn(shape, generator=generator).mul_(0.02)

    outside = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN), "model.norm.weight": (HIDDEN,)}
    parts = [outside] + [
        {f"model.layers.{i}.{name}.weight": shape for name, shape in shapes.items()}
        for i in range(layers)
    ]
    each = -(-len(parts) // max(3, round(nbytes / 1e9)))
    weight_map = {}
    for start in range(0, len(parts), each):
        file = f"model-{start:05}.safetensors"
        tensors = {n: weight(s) for part in parts[start : start + each] for n, s in part.items()}
        save_file(tensors, folder / file)
        weight_map |= dict.fromkeys(tensors, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    config = {
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return table


def peak(folder: Path, work: str) -> dict[str, float]:
    """RssAnon of a fresh process, after the imports and at its peak, in bytes."""
    env = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    begin = time.perf_counter()
    command = [sys.executable, "-c", CHILD, str(folder), work]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {**json.loads(done.stdout), "seconds": time.perf_counter() - begin}


def line(work: str, size: float, got: dict[str, float]) -> str:
    return (
        f"\n{work} {size / 1e9:.2f} GB, {got['tensors']} tensors: anonymous memory "
        f"{got['start'] / MB:.0f} MB after the imports, {got['peak'] / MB:.0f} MB at the peak, "
        f"{got['seconds']:.1f} s"
    )


def check(folder: Path, largest: int, size: float, work: str) -> None:
    """Run it, print what it took, and hold it to its limit."""
    got = peak(folder, work)
    if work == "measure":
        used, limit = got["peak"], 1e9 + 2 * largest
    else:
        used, limit = got["peak"] - got["start"], 32 * MB + largest
    print(line(work, size, got) + f"; {used / MB:.0f} of {limit / MB:.0f} MB allowed")
    assert got["tensors"] > 0 and used <= limit


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    if not Path("/proc/self/status").exists():
        pytest.skip("RssAnon is read from /proc, which this system lacks")
    folder = tmp_path_factory.mktemp("checkpoint")
    return folder, make(folder, SMALL)


@pytest.mark.parametrize("work", ["walk", "measure"])
def test_memory(checkpoint, work: str):
    check(*checkpoint, SMALL, work)


def test_the_limit_sees_a_reader_that_keeps_everything(checkpoint):
    with pytest.raises(AssertionError):
        check(*checkpoint, SMALL, "keep")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=SMALL / 1e9)
    parser.add_argument(
        "--work", choices=["walk", "measure"], nargs="*", default=["walk", "measure"]
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        largest = make(Path(name), chosen.gigabytes * 1e9)
        for work in chosen.work:
            check(Path(name), largest, chosen.gigabytes * 1e9, work)
