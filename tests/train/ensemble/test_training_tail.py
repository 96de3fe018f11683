"""The kernels for the training tail of AND classifiers, against the formula.

Measured on the cases, largest relative error in norm of logits and gradients: 3e-7 in ieee and
1.1e-3 in fp16; of whole networks 6e-7 in ieee.
"""

from __future__ import annotations

import torch

import tail_cases
from each import each

TOLERANCES = {"ieee": 1e-6, "fp16": 2e-3}


def assert_near(answers, expected, precision) -> None:
    for n, (answer, reference) in enumerate(zip(answers, expected, strict=True)):
        error = (answer - reference).norm() / reference.norm()
        assert error < TOLERANCES[precision], (n, float(error))


@each("name", tail_cases.CASES)
def test_logits_and_gradients(kernels, name):
    case = tail_cases.CASES[name]
    expected, unused = tail_cases.by_formula(case), ~case.used()
    for precision in case.precisions:
        answers = kernels[f"training tail, {name}", precision]
        assert_near(answers, expected, precision)
        assert not any((one * unused).any() for one in answers[:3]), "rows that are no examples"


def test_of_whole_networks_in_training(kernels):
    assert_near(kernels["training"], tail_cases.trained(), "ieee")


def test_the_same_bits_again_and_without_neighbours(kernels):
    whole = kernels["training tail, dropout", "fp16"]
    again, alone = kernels["training tail, again"], kernels["training tail, alone"]
    assert all(one.equal(other) for one, other in zip(whole, again, strict=True))
    assert all(one[:1].equal(other) for one, other in zip(whole, alone, strict=True))


def test_which_rows_the_kernels_take():
    fits = tail_cases.and_classifier.training_tail_fits
    assert not fits(torch.empty(2, 3, 64), 2), "a processor has none"
    on_gpu = type("Rows", (), {"is_cuda": True, "dtype": torch.float32})
    for d, classes, fit in ((64, 2, True), (16, 16, True), (128, 2, False), (64, 17, False)):
        rows = on_gpu()
        rows.shape = (2, 3, d)
        assert fits(rows, classes) == fit
