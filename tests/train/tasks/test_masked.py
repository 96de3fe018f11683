"""The language against its definition, and Bayes' classifier against exact enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import Stream, key, keys_tensor
from dudley.train.tasks.language import Language
from dudley.train.tasks.masked import IGNORED, MaskedTokens

KEYS = keys_tensor([key("masked", e) for e in range(4)])
LANGUAGES = [Language(4, 1), Language(3, 3, 2), Language(3, 2, 1, 0.3), Language(5, 4, 1, 0.2)]


def ruled(language, rule, x, t):
    """π_c(x_{t−lag}) of one sequence, in Python: oracle."""
    number = 0
    for back in range(1, language.context + 1):
        number = number * language.V + x[t - back]
    return int(rule[number][x[t - language.lag]])


def probability(language, rule, x):
    """P(x) of one sequence, in Python: oracle."""
    V, ε, product = language.V, language.noise, language.V ** -float(language.lag)
    for t in range(language.lag, len(x)):
        product *= ε / V + (1 - ε) * (x[t] == ruled(language, rule, x, t))
    return product


def drawn(language, rows, T, keys=KEYS):
    rule = language.rule(keys)
    return rule, language.sequences(keys, rule, Stream.TOKENS, 0, rows, T)


@pytest.mark.parametrize("language", LANGUAGES)
def test_tokens_follow_the_rule(language):
    rule, x = drawn(language, 50, 12)
    V = language.V
    assert torch.equal(rule.sort(-1).values, torch.arange(V).expand(4, V**language.context, V))
    assert len({str(r.tolist()) for r in rule}) == 4
    followed = [
        [
            row[t] == ruled(language, rule[e].tolist(), row, t)
            for row in x[e].tolist()
            for t in range(language.lag, 12)
        ]
        for e in range(4)
    ]
    rate, count = 1 - language.noise + language.noise / V, 4 * len(followed[0])
    spread = math.sqrt(rate * (1 - rate) / count)
    assert abs(np.mean(followed) - rate) <= 4.5 * spread
    assert int(language.hits(rule, x).sum()) == np.sum(followed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_window_shorter_than_the_rule_is_uniform(language):
    """Windows of lag tokens, wherever they stand: frequencies say nothing of the rule."""
    x = drawn(language, 9000, 9, KEYS[:1])[1][0]
    window = x[:, -language.lag :] @ language.V ** torch.arange(language.lag)
    counts = np.bincount(window.numpy(), minlength=language.V**language.lag)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("language", [Language(3, 2, 1, 0.3), Language(3, 3, 0, 0.5)])
def test_bayes_classifier_by_enumeration(language):
    rule, x = drawn(language, 40, 7, KEYS[:1])
    for t in range(7):
        guess = language.best_guess(rule, x, torch.full((1, 40), t))[0]
        for row, token in zip(x[0].tolist(), guess.tolist(), strict=True):
            chances = [
                probability(language, rule[0].tolist(), [*row[:t], v, *row[t + 1 :]])
                for v in range(3)
            ]
            assert chances[token] == pytest.approx(max(chances))


def test_probabilities_sum_to_one():
    language = Language(3, 2, 1, 0.3)
    rule = language.rule(KEYS)[0].tolist()
    total = sum(probability(language, rule, x) for x in itertools.product(range(3), repeat=5))
    assert total == pytest.approx(1)


def test_the_ceiling_of_a_copy():
    """Each token of a copied half has one partner: best accuracy 1 − ε + ε/V."""
    task = MaskedTokens(V=4, T=10, lag=5, noise=0.2, holdout=5000)
    data, rule = task.held_out(KEYS), task.language.rule(KEYS)
    place = (data.labels != IGNORED).long().argmax(-1)
    truth = data.labels.gather(-1, place[..., None])[..., 0]
    right = task.language.best_guess(rule, data.inputs.clamp(max=3), place) == truth
    assert abs(float(right.double().mean()) - 0.85) < 4.5 * math.sqrt(0.85 * 0.15 / 20000)


@pytest.mark.parametrize("masked", [1, 3])
def test_masks_and_labels(masked):
    task = MaskedTokens(V=6, T=9, lag=2, noise=0.1, masked=masked, m=3000)
    data = task.sample(KEYS)
    hidden = data.inputs == 6
    assert torch.equal(hidden, data.labels != IGNORED)
    assert bool((hidden.sum(-1) == masked).all())
    whole = torch.where(hidden, data.labels, data.inputs)
    rule = task.language.rule(KEYS)
    assert torch.equal(whole, task.language.sequences(KEYS, rule, Stream.TOKENS, 0, 3000, 9))
    assert stats.chisquare(hidden.sum((0, 1)).numpy()).pvalue > 1e-3


def test_places_do_not_depend_on_tokens():
    many = keys_tensor([key("places", e) for e in range(4000)])
    data = MaskedTokens(V=4, T=4, lag=2, m=1).sample(many)
    hidden = data.inputs == 4
    first = torch.where(hidden, data.labels, data.inputs)[:, 0, 0]
    table = np.zeros((4, 4))
    np.add.at(table, (first.numpy(), hidden[:, 0].long().argmax(-1).numpy()), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_draws_are_prefixes_and_free_of_neighbours():
    fields = {"V": 6, "T": 9, "lag": 2, "noise": 0.1, "masked": 2}
    large, small = (
        MaskedTokens(**fields, m=50).sample(KEYS),
        MaskedTokens(**fields, m=20).sample(KEYS),
    )
    assert torch.equal(small.inputs, large.inputs[:, :20])
    alone = MaskedTokens(**fields, m=50).sample(KEYS[2:3])
    assert torch.equal(alone.inputs[0], large.inputs[2])
    assert torch.equal(alone.labels[0], large.labels[2])
    steps = [MaskedTokens(**fields).stream(KEYS, step, 50).inputs for step in (0, 1)]
    splits = [
        MaskedTokens(**fields, holdout=50).held_out(KEYS, stream=Stream(s)).inputs for s in (7, 8)
    ]
    draws = [large.inputs, *steps, *splits]
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(draws, 2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"V": 0},
        {"lag": 0},
        {"lag": 9},
        {"context": 2},
        {"noise": 2},
        {"masked": 10},
        {"m": 0},
        {"V": 2000, "context": 1},
    ],
)
def test_refusals(wrong):
    with pytest.raises(InputError):
        MaskedTokens(**{"V": 6, "T": 9, "lag": 2, **wrong})
