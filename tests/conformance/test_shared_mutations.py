"""A test of the tests: shared weights in a wrong order, or with too few words, go red."""

import dataclasses
import math

import numpy as np
import pytest

import expanded_graph
from dudley.calculus import tie
from dudley.classes import ratio
from dudley.classes.covers.sequence import Adaptive
from planting import changed, goes_red
from words_of_corrections import EXAMPLES, check_words


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_apart", lambda here, there: True),
        ("_in_the_same_layers", lambda here, there: False),
        ("_repeated", lambda use: False),
        ("_on_the_basis", lambda use: True),
        ("_entangled", lambda uses: {}),
    ],
)
def test_a_wrong_order(plant, name, wrong):
    plant(tie, name, wrong)
    goes_red(expanded_graph.check_orders)


def test_too_few_blocks_together(plant):
    entangled = tie._entangled
    few = {"together": 1}
    plant(tie, "_entangled", lambda uses: {p: way and few for p, way in entangled(uses).items()})
    goes_red(expanded_graph.check_orders)


def test_a_fifth_too_few_words(plant):
    plant(Adaptive, "log_entropy", changed(Adaptive.log_entropy, lambda v: v - math.log(1.2)))
    for layers in EXAMPLES:
        goes_red(check_words, layers)


def test_a_fifth_too_few_corrections(plant):
    for kind in (ratio.ExactRatio, ratio.LogRatio):
        fewer = changed(kind.ceil_square, lambda K: np.maximum(np.ceil(K / 1.2), 1))
        plant(kind, "ceil_square", fewer)
    for layers in EXAMPLES:
        goes_red(check_words, layers)


def test_words_that_do_not_name_the_layer(plant):
    merged = tie._merged

    def first_layer_alone(name, uses):
        return dataclasses.replace(merged(name, uses), rows=uses[0].rows)

    plant(tie, "_merged", first_layer_alone)
    for layers in EXAMPLES:
        goes_red(check_words, layers)


def test_words_that_do_not_name_the_block(plant):
    right = Adaptive.log_entropy

    def nameless(self, *args):
        return right(dataclasses.replace(self, together=1), *args)

    plant(Adaptive, "log_entropy", nameless)
    for layers in EXAMPLES[2:]:
        goes_red(check_words, layers)
