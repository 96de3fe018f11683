"""Language certificates: the bound on toys with known means, the model against a plain loop."""

import itertools
import math

import numpy as np
import pytest

from certify.validity import allowed, failures, leaks
from dudley.certify.inversion import kl_upper
from dudley.certify.language import bound, wordnet
from dudley.certify.language.certificate import SIZES, certify, held_out, recheck
from dudley.certify.language.coded import Coded
from dudley.certify.language.corpus import PRINTABLE, Alphabet, Corpus, domains
from dudley.certify.language.gpt import EPSILON, GAIN, Gpt
from dudley.certify.language.smoothing import ENTRIES, GRID, Smoothing
from dudley.core.errors import InputError, UnknownName

δ, REPETITIONS = 0.1, 500

# -- the bound ---------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])
@pytest.mark.parametrize("c", [0.002, 0.05])
def test_on_two_values_the_bet_is_kl_inversion(share, c):
    """sup_g S_g(m) = kl(q‖m/B) for losses 0 and B, q of them B: the list misses little of it."""
    B, x = 5.0, np.where(np.arange(1000) < 1000 * share, 5.0, 0.0)
    value, _ = bound.bet(x, B, c)
    exact = B * kl_upper(share, c)
    assert exact - 1e-12 <= value <= exact + 0.03 * (exact - B * share)


def test_the_bet_against_exact_arithmetic():
    """∏(1 + g(m − x)/(B − m)) in rationals is ≥ e^{nc} at the value and not 10⁻⁶ below."""
    from fractions import Fraction as F

    x, B, g, n, c = [1.25, 2.5, 0.5, 3.75], 5.0, 0.75, 4, 0.2
    value = bound.bet_at(np.array(x), B, c, g)

    def product(m: float):
        return math.prod(1 + F(g) * (F(m) - F(v)) / (F(B) - F(m)) for v in x)

    assert float(product(value)) >= math.exp(n * c) > float(product(value - 1e-6))


def test_the_bet_is_never_much_above_kl_and_far_below_where_losses_vary_little():
    generator, B = np.random.default_rng(0), 6.0
    for c in (0.01, 0.1):
        x = generator.normal(3.0, 0.3, 2000)
        value, kl = bound.bet(x, B, c)[0], B * kl_upper(float(x.mean()) / B, c)
        assert x.mean() < value < x.mean() + 0.55 * (kl - x.mean())
        wild = B * generator.integers(0, 2, 2000) * generator.random(2000)
        assert bound.bet(wild, B, c)[0] <= B * kl_upper(float(wild.mean()) / B, c) + 1e-3


def test_losses_beyond_the_limit_are_refused():
    with pytest.raises(InputError, match="losses"):
        bound.bet(np.array([1.0, 7.0]), 6.0, 0.1)


def at_confidence(x, B, g, ways: int = 1):
    """With a bet fixed before the toys are drawn: nothing is paid for it."""
    return bound.bet_at(x, B, math.log(ways / δ) / len(x), g)


@pytest.mark.parametrize("p, g", [(0.02, 0.8), (0.1, 0.4)])
def test_every_model_pays_for_its_code(p, g):
    """64 models with independent losses; the one with the least bound is shown."""
    n, models, B = 200, 64, 4.0

    def draw(generator):
        return B * (generator.random((models, n)) < p)

    def least(paid: bool):
        return lambda x: at_confidence(x[x.mean(1).argmin()], B, g, models if paid else 1)

    assert allowed(failures(draw, least(True), B * p, REPETITIONS, 1), REPETITIONS, δ)
    assert leaks(failures(draw, least(False), B * p, REPETITIONS, 1), REPETITIONS, δ)


def test_documents_without_replacement_from_a_pool():
    """Maclaurin: the number holds for the mean of the pool, half of which was drawn."""
    pool = np.where(np.arange(200) < 10, 4.0, 0.5)

    def draw(generator):
        return generator.permutation(pool)[:100]

    failed = failures(draw, lambda x: at_confidence(x, 4.0, 0.3), pool.mean(), REPETITIONS, 2)
    assert allowed(failed, REPETITIONS, δ)


def test_chunks_are_not_documents():
    """Trap 20: 40 documents cut into 100 chunks with one loss each, counted as 4,000."""

    def draw(generator):
        return np.where(generator.random(40) < 0.3, 4.0, 1.0)

    def value(copies):
        return lambda x: at_confidence(np.repeat(x, copies), 4.0, 0.05 if copies > 1 else 0.4)

    assert leaks(failures(draw, value(100), 1.9, REPETITIONS, 3), REPETITIONS, δ)
    assert allowed(failures(draw, value(1), 1.9, REPETITIONS, 3), REPETITIONS, δ)


def test_the_number_is_about_the_smoothed_loss():
    """Trap 22: a rare document that costs the bare model 900 bits a symbol, the smoothed one 5."""
    p, B = 0.002, 5.0

    def draw(generator):
        return np.where(generator.random(300) < p, 900.0, 2.0)

    def value(x):
        return at_confidence(np.minimum(x, B), B, 0.75)

    assert leaks(failures(draw, value, 2 + 898 * p, REPETITIONS, 4), REPETITIONS, δ)
    assert allowed(failures(draw, value, 2 + 3 * p, REPETITIONS, 4), REPETITIONS, δ)


def part_of(x, generator, n_s):
    return x[generator.integers(0, len(x), n_s)]


def test_part_of_the_documents_drawn_after_training():
    """A part certifies nothing below the number of all; the best of 30 draws does (trap 18)."""
    n, n_s, B, g, g2 = 2000, 100, 4.0, 0.5, 0.5
    x = np.where(np.arange(n) < 200, 4.0, 1.0)
    c, c_part = 5.0 / n, math.log(1 / δ) / n_s
    below = bound.bet_at(x, B, c, g) - 1e-6

    def wrong(part):
        return not bound.certified_from_part(part, B, c, c_part, g, g2, below)

    def once(generator):
        return part_of(x, generator, n_s)

    def searched(generator):
        return min((part_of(x, generator, n_s) for _ in range(30)), key=np.mean)

    assert allowed(failures(once, wrong, 0.5, REPETITIONS, 5), REPETITIONS, δ)
    assert leaks(failures(searched, wrong, 0.5, REPETITIONS, 6), REPETITIONS, δ)


def test_the_part_bound_tends_to_that_of_all():
    generator, B = np.random.default_rng(7), 5.1
    x = np.round(generator.normal(3, 0.3, 5000), 2)
    value, c = bound.bet(x, B, 0.05)[0], 0.05
    few, many = (
        bound.bet_from_part(part_of(x, generator, n_s), B, c, 20 / n_s) for n_s in (500, 50_000)
    )
    assert few is not None and many is not None
    assert value < many[0] < few[0] < 4 and many[0] < value + 0.02


def test_sublora_by_hand_and_its_weights():
    K = 1000 + 2 * math.log2(1000) + 1
    r = 500 / 10_500
    expected = 3 + 6 * (
        math.sqrt((K * math.log(2) + math.log(1 / (r * 0.05))) / 20_000)
        + math.sqrt(math.log(1 / ((1 - r) * 0.05)) / 1000)
    )
    found = bound.sublora(3.0, 6.0, 1000, 10_000, 0.05, 500)
    assert expected <= found < expected + 1e-10
    lengths = range(1, 10_000)  # Σ over strings: 2^ℓ of each length
    assert sum(2.0 ** -(2 * math.log2(ℓ) + 1) for ℓ in lengths) < 1
    assert sum(2.0 ** -(2 * math.log2(ℓ)) for ℓ in lengths) > 1


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
    one = Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 16, 4)
    others = [
        Corpus.of(["abc def", "ghi jkm"], ["a", "b"], 16, 4),
        Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 17, 4),
        Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 16, 5),
        Corpus.of(["ghi jkl", "abc def"], ["a", "b"], 16, 4),
        Corpus.of(["abc def", "ghi jkl"], ["a", "b"], 16, 4, Alphabet("abcdefghijkl ")),
    ]
    assert len({c.sha256 for c in [one, *others]}) == 6


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

SMALL = Gpt(V=3, T=4, d=4, heads=2, window=2, width=8, layers=2)


def random_weights(gpt: Gpt, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {name: generator.normal(0, 0.7, shape) for name, shape in gpt.shapes.items()}


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
    found = []
    for x, s in zip(stream, document, strict=True):
        z = 0.5 * W["E"] @ scaled(x) + GAIN * W["b"][:, 0]
        found.append(float(np.log2(np.exp(z).sum()) - z[s] / math.log(2)))
    return found


def test_the_forward_is_that_of_a_plain_loop():
    W, generator = random_weights(SMALL), np.random.default_rng(1)
    codes = generator.integers(0, 3, (5, 4))
    found = SMALL.losses(W, codes)
    for i, document in enumerate(codes):
        assert found[:, i] == pytest.approx(plain_loop(SMALL, W, list(document)), abs=1e-12)


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


# -- the certificate ---------------------------------------------------------------------------

TEXT = "a the cat dog bird sees hears eats and or house tree runs sleeps big small red"
WORDS = TEXT.split()
TINY = Gpt(V=32, T=24, d=8, heads=2, window=4, width=16)


def sentences(n: int, seed: int = 0) -> Corpus:
    """n different strings of words."""
    generator, found = np.random.default_rng(seed), {}
    while len(found) < n:
        words = generator.choice(WORDS, generator.integers(4, 8))
        found.setdefault(" ".join(words), f"sentence {len(found)}")
    return Corpus.of(list(found), list(found.values()), 24, 8)


@pytest.fixture(scope="module")
def fitted():
    pytest.importorskip("torch")
    from dudley.certify.language.fit import Recipe, fit

    corpus, rest = sentences(12_000).split(10_000, 0)
    recipe = Recipe(steps=250, batch=32, rate=1e-2, q=2, price=1e-3)
    return fit(TINY, corpus, recipe), corpus, rest


def zeros(gpt: Gpt) -> Coded:
    return Coded.of(gpt, {name: np.zeros(shape) for name, shape in gpt.shapes.items()})


def test_guessing_is_vacuous():
    found = certify(zeros(TINY), sentences(500))
    assert found.facts["mean_loss"] == pytest.approx(5, abs=1e-3)
    assert found.value >= 5 and found.vacuous and "vacuous" in found.advice[0]


def test_a_fitted_model_is_certified_below_guessing(fitted):
    model, corpus, rest = fitted
    found = certify(model, corpus)
    assert found.facts["mean_loss"] < found.value < 5 and not found.vacuous
    assert found.value < found.facts["other_forms"]["kl"] < found.facts["other_forms"]["sublora"]
    smoothing = ENTRIES[found.choices["smoothing"]]
    outside = held_out(model, smoothing, rest, 0.05)
    assert outside["mean_loss"] < found.value and outside["mean_loss"] < outside["at_most"]
    again = [price for price in found.prices if price.name == "code"]
    assert again[0].nats == pytest.approx(model.word.length * math.log(2))
    assert {price.name for price in found.prices} == {
        *("code", "domain", "architecture", "smoothing", "bet")
    }


def test_part_of_the_documents_is_drawn_by_the_model(fitted):
    model, corpus, _ = fitted
    whole, part = certify(model, corpus), certify(model, corpus, evaluated=2000)
    assert whole.value < part.value < 5
    assert part.facts["evaluated"] == 2000 and "draw" in {price.name for price in part.prices}
    assert recheck(part.to_json(), corpus) == []
    with pytest.raises(InputError, match="place"):
        choices = {k: v for k, v in part.choices.items() if k not in ("code", "gpt")}
        certify(model, corpus, choices | {"place": 1}, evaluated=2000)
    with pytest.raises(UnknownName):
        certify(model, corpus, evaluated=2000, draw_seed=3)


def test_everything_is_computed_again(fitted):
    model, corpus, _ = fitted
    corpus = corpus.part(np.arange(400))
    told = certify(model, corpus, delta=0.01).to_json()
    assert recheck(told, corpus) == []
    for name in ("value", "nats", "vacuous", "quantity", "delta"):
        assert recheck(told | {name: 0.123}, corpus) == [name]
    for name in ("facts", "model", "data", "baseline"):
        for key in told[name]:
            assert recheck(told | {name: told[name] | {key: "other"}}, corpus) == [name]
    less = told | {"declared": told["declared"] | {"delta": 0.02}}
    assert "value" in recheck(less, corpus)
    assert "data" in recheck(told, corpus.part(np.arange(corpus.n - 1)))


def test_what_does_not_fit_is_refused(fitted):
    model, corpus, _ = fitted
    with pytest.raises(InputError, match="corpus"):
        certify(zeros(Gpt(V=32, T=16, d=8, heads=2, window=4, width=16)), corpus)
    with pytest.raises(InputError, match="width"):
        certify(zeros(Gpt(V=32, T=24, d=8, heads=2, window=4, width=12)), corpus)
    with pytest.raises(InputError, match="smoothing"):
        certify(model, corpus, {"smoothing": 16, "bet": 1})
    with pytest.raises(InputError, match="evaluated"):
        certify(model, corpus, evaluated=corpus.n + 1)
    with pytest.raises(InputError, match="short step"):
        Coded.of(TINY, random_weights(TINY))
    assert math.prod(map(len, SIZES.values())) == 2**17


@pytest.mark.parametrize("rank", [0, 1])
def test_a_point_of_a_random_subspace(rank):
    pytest.importorskip("torch")
    from dudley.certify.language.fit import Recipe, fit_subspace

    with pytest.raises(InputError, match="D and L"):
        fit_subspace(TINY, sentences(20), Recipe(), 123)
    corpus, seen = sentences(2000), []
    recipe = Recipe(steps=80, batch=32, rate=5e-2, q=3, price=0.0, shrink=0.0)
    model = fit_subspace(TINY, corpus, recipe, 100, rank, lambda i, loss: seen.append(loss))
    assert model.kind == "subspace" and model.word.length < 330
    found = certify(model, corpus)
    assert 100 in found.declared["dimensions"] and found.facts["mean_loss"] < seen[0]
    assert recheck(found.to_json(), corpus) == []
