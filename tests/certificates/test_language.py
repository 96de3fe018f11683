"""Documents, and the model that reads them: its forward against a plain loop, bounded losses."""

import itertools
import math

import numpy as np
import pytest

from certificates.language_toys import SMALL, random_weights, sentences
from dudley.certificates.methods.language import wordnet
from dudley.certificates.methods.language.corpus import PRINTABLE, Alphabet, Corpus, domains
from dudley.certificates.methods.language.gpt import EPSILON, GAIN, Gpt
from dudley.certificates.methods.language.smoothing import GRID, Smoothing
from dudley.core.errors import InputError

# -- the corpus --------------------------------------------------------------------------------


def test_chunks_copies_and_short_documents_are_refused():
    texts = ["one small document", "another small one"]
    with pytest.raises(InputError, match="sources"):
        Corpus.of(texts, ["a", "a"], 32, 4)
    with pytest.raises(InputError, match="copies"):
        Corpus.of([texts[0]] * 2, ["a", "b"], 32, 4)
    with pytest.raises(InputError, match="lengths"):
        Corpus.of(texts, ["a", "b"], 32, 24)
    with pytest.raises(InputError, match="each once"):
        Corpus.of(texts, ["a", "b"], 32, 4).part([0, 0])


def test_the_hash_sees_everything():
    corpus = Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 16, 4)
    others = [
        Corpus.of(["abc def", "ghi jkm"], ["a", "b"], 16, 4),
        Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 17, 4),
        Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 16, 5),
        Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 16, 4, Alphabet("abcdefghijkl ")),
    ]
    assert len({c.sha256 for c in [corpus, *others]}) == 5
    assert Corpus.of(["ghi jkl", "abc def"], ["a", "b"], 16, 4).sha256 == corpus.sha256


def test_unigram_is_the_best_constant():
    corpus = Corpus.of(["aab", "abbbbb"], ["x", "y"], 8, 2, Alphabet("ab"))
    w = np.array([1 / 4 + 1 / 7, 2 / 4 + 1 / 7, 1 / 4 + 5 / 7, 0]) / 2
    assert corpus.unigram() == pytest.approx(-sum(p * math.log2(p) for p in w[:3]))


def test_a_domain_is_one_of_a_list():
    assert len(PRINTABLE) == len(set(PRINTABLE)) == 95 - 26
    assert set(PRINTABLE) == {chr(i).lower() for i in range(32, 127)}
    for alphabet, T in ((Alphabet("ba"), 8), (Alphabet("aé"), 8), (Alphabet("ab"), 257)):
        with pytest.raises(InputError, match="domain"):
            domains(alphabet, T)


def test_split_is_disjoint_and_complete():
    corpus = sentences(50)
    left, right = corpus.split(30, 1)
    assert (left.n, right.n) == (30, 20)
    rows = {row.tobytes() for row in left.codes} | {row.tobytes() for row in right.codes}
    assert len(rows) == 50


def test_wordnet_refuses_other_files(tmp_path):
    with pytest.raises(InputError, match="apt-get"):
        wordnet.wordnet(folder=tmp_path)
    for name in wordnet.FILES:
        (tmp_path / name).write_text("00000001 00 a 01 x 0 000 | a text\n")
    with pytest.raises(InputError, match="sha256"):
        wordnet.wordnet(folder=tmp_path)


def test_wordnet_is_read(require):
    present = (wordnet.FOLDER / "data.noun").is_file()
    require("wordnet", present, "apt-get install wordnet-base")
    corpus = wordnet.wordnet()
    assert corpus.n == 115_018 and corpus.lengths.min() == 17


# -- the model ---------------------------------------------------------------------------------


def plain_loop(gpt: Gpt, W, document) -> list[float]:
    """−log₂ p of every symbol, one vector at a time."""

    def scaled(v):
        return v / math.sqrt(sum(a * a for a in v) / len(v) + EPSILON)

    stream = [W["E"][s] for s in [0, *document[:-1]]]
    k = gpt.d // gpt.heads
    for i in range(gpt.layers):
        rows = [scaled(v) for v in stream]
        q, key, val = ([r @ W[f"{i}.{m}"] for r in rows] for m in "QKV")
        for t in range(len(stream)):
            heads = []
            for h in range(gpt.heads):
                part = slice(h * k, h * k + k)
                scores, values = [], []
                for o in range(gpt.window):
                    inside = t - o >= 0
                    dot = q[t][part] @ key[t - o][part] if inside else 0.0
                    scores.append(dot / math.sqrt(k) + GAIN * W[f"{i}.r"][h, o])
                    values.append(val[t - o][part] if inside else np.zeros(k))
                e = np.exp(scores)
                heads.append(e @ np.array(values) / e.sum())
            stream[t] = stream[t] + np.concatenate(heads) @ W[f"{i}.O"]
        stream = [x + np.maximum(scaled(x) @ W[f"{i}.A"], 0) @ W[f"{i}.B"] for x in stream]
    losses = []
    for x, s in zip(stream, document, strict=True):
        z = 0.5 * W["E"] @ scaled(x) + GAIN * W["b"][:, 0]
        losses.append(float(np.log2(np.exp(z).sum()) - z[s] / math.log(2)))
    return losses


def test_the_forward_is_that_of_a_plain_loop():
    W, generator = random_weights(SMALL), np.random.default_rng(1)
    codes = generator.integers(0, 3, (5, 4))
    losses = SMALL.losses(W, codes)
    for i, document in enumerate(codes):
        assert losses[:, i] == pytest.approx(plain_loop(SMALL, W, list(document)), abs=1e-12)


def test_torch_and_numpy_agree():
    torch = pytest.importorskip("torch")
    W, codes = random_weights(SMALL), np.random.default_rng(2).integers(0, 3, (6, 4))
    of_torch = SMALL.losses({k: torch.tensor(v) for k, v in W.items()}, torch.tensor(codes))
    assert of_torch.numpy() == pytest.approx(SMALL.losses(W, codes), abs=1e-12)


def every_document(V: int, T: int):
    """All strings that end, and all that are cut off."""
    for length in range(1, T):
        for body in itertools.product(range(1, V), repeat=length - 1):
            yield [*body, 0]
    for body in itertools.product(range(1, V), repeat=T - 1):
        yield from ([*body, last] for last in range(V))


@pytest.mark.parametrize("kind", ["document", "symbol"])
def test_smoothed_models_are_distributions_within_the_limit(kind):
    """Σ 2^{−bits} = 1 over all documents; the worst document is under the limit and near it."""
    W = {k: 40 * v for k, v in random_weights(SMALL, 3).items()}
    documents = list(every_document(3, 4))
    lengths = np.array([len(d) for d in documents])
    codes = np.array([d + [0] * (4 - len(d)) for d in documents])
    s = Smoothing(kind, 0.25)
    x = s.losses(SMALL.losses(W, codes), lengths, 3)
    total = float(np.exp2(-x * lengths).sum())
    assert 1 - 4 * GRID <= total <= 1 + 1e-9
    assert x.max() <= s.limit(3, 1)
    sure = s.losses(np.array([[1e9]]), np.array([1]), 3)[0]
    assert s.limit(3, 1) - 2 * GRID <= sure <= s.limit(3, 1)


def test_the_range_of_the_symbol_smoothing():
    s, V = Smoothing("symbol", 0.1), 32
    low, high = (s.losses(np.array([[bits]]), np.array([1]), V)[0] for bits in (0.0, 1e6))
    assert high - low == pytest.approx(math.log2(1 + 0.9 * 32 / 0.1), abs=2 * GRID)
    assert (
        s.range(V, 1) == pytest.approx(high - low, abs=3 * GRID)
        and s.range(V, 1) >= high - low - GRID
    )
