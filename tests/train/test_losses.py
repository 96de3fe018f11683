"""Losses against torch's own, and what counts as a right answer."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from dudley.core.errors import UnknownName
from dudley.train.losses import LOSSES, correct, loss_of

E, B, T, C = 3, 7, 5, 4


def drawn(*shape: int) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def labels(*shape: int, classes: int = C) -> torch.Tensor:
    return torch.randint(classes, shape, generator=torch.Generator().manual_seed(2))


def test_cross_entropy_is_torchs():
    f, y = drawn(E, B, C), labels(E, B)
    losses = loss_of("cross-entropy")(f, y)
    assert losses.shape == (E, B)
    torch.testing.assert_close(
        losses, F.cross_entropy(f.flatten(0, 1), y.flatten(), reduction="none").unflatten(0, (E, B))
    )


def test_the_loss_of_a_sequence_is_the_sum_over_its_masked_tokens():
    f, y = drawn(E, B, T, C), labels(E, B, T)
    y[:, :, 1::2] = -100
    losses = loss_of("cross-entropy")(f, y)
    expected = F.cross_entropy(f.flatten(0, 2), y.flatten(), reduction="none", ignore_index=-100)
    torch.testing.assert_close(losses, expected.unflatten(0, (E, B, T)).sum(-1))
    f.requires_grad_()
    (gradient,) = torch.autograd.grad(loss_of("cross-entropy")(f, y).sum(), f)
    assert gradient[:, :, 1::2].eq(0).all() and gradient[:, :, ::2].ne(0).all()


def test_binary_cross_entropy_is_torchs_on_indicators():
    f, y = drawn(E, B, 2), labels(E, B, classes=2)
    indicator = torch.stack([1 - y, y], -1).float()
    expected = F.binary_cross_entropy_with_logits(f, indicator, reduction="none").mean(-1)
    torch.testing.assert_close(loss_of("binary-cross-entropy")(f, y), expected)


def test_logistic_is_torchs_binary_cross_entropy_of_one_logit():
    f, y = drawn(E, B, 1), labels(E, B, classes=2)
    expected = F.binary_cross_entropy_with_logits(f[..., 0], y.float(), reduction="none")
    torch.testing.assert_close(loss_of("logistic")(f, y), expected)


@pytest.mark.parametrize("whole", [True, False])
def test_square_is_half_of_torchs(whole: bool):
    f = drawn(E, B, 1)
    y = labels(E, B, classes=2) if whole else drawn(E, B)
    expected = F.mse_loss(f[..., 0], y.float(), reduction="none") / 2
    torch.testing.assert_close(loss_of("square")(f, y), expected)


@pytest.mark.parametrize("name", list(LOSSES))
def test_losses_stay_finite_far_out(name: str):
    classes = 1 if name in ("logistic", "square") else 2
    f = torch.tensor([-1e4, 1e4]).reshape(1, 2, 1).expand(1, 2, classes).clone().requires_grad_()
    loss = loss_of(name)(f, torch.tensor([[1, 0]]))
    (gradient,) = torch.autograd.grad(loss.sum(), f)
    assert loss.isfinite().all() and gradient.isfinite().all()


def test_a_misspelt_loss_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean cross-entropy"):
        loss_of("cros-entropy")


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_one_largest_logit_is_right_and_a_tie_is_wrong(classes: int):
    f, y = drawn(E, 200, classes), labels(E, 200, classes=classes)
    assert correct(f, y).equal(f.argmax(-1) == y)
    level = torch.zeros(1, classes, classes)  # every label, all logits alike
    assert not correct(level, torch.arange(classes)[None]).any()
    two = level.clone()
    two[0, :, :2] = 1.0  # 0 and 1 tie above all others
    assert not correct(two, torch.arange(classes)[None]).any()
    assert not correct(
        torch.full((1, classes, classes), torch.nan), torch.arange(classes)[None]
    ).any()


def test_one_output_is_right_on_the_labels_side_of_the_boundary():
    f = torch.tensor([[-0.1, 0.0, 0.1, 0.5, 0.6]])[..., None]
    zeros, ones = torch.zeros(1, 5).long(), torch.ones(1, 5).long()
    assert correct(f, ones).tolist() == [[False, False, True, True, True]]
    assert correct(f, zeros).tolist() == [[True, False, False, False, False]]
    assert correct(f, ones, 0.5).tolist() == [[False, False, False, False, True]]
    assert correct(f, zeros, 0.5).tolist() == [[True, True, True, False, False]]


def test_tokens_are_judged_one_by_one():
    f, y = drawn(E, B, T, C), labels(E, B, T)
    assert correct(f, y).equal(f.argmax(-1) == y)
