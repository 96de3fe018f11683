"""Stored heads are measured and paid for; one that is not understood is refused, never replaced."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import checkpoints
import dudley as du
from checkpoints import V, d
from dudley.calculus.union import pay
from dudley.core.errors import InputError
from dudley.weights.network import describe
from each import each

pytestmark = pytest.mark.usefixtures("measured_once")
PATCHES = {"X.row2inf": 1.0}


def described(folder, made, **overrides):
    measurement = du.measure(checkpoints.write(folder, *made))
    return describe(measurement, {"T": 4, **overrides})


def capacity(description, n=1e7):
    return du.capacity(description.network, description.inputs, n, description.loss)


def log_entropy(cap) -> float:
    """log log N(0.01), norms on their grid."""
    return float(pay(cap, du.Grid())[0].allocated.log_log(math.log(0.01)))


def scaled(made, prefix: str, factor: float):
    config, tensors = made
    return config, {
        name: (factor * value).astype(value.dtype) if name.startswith(prefix) else value
        for name, value in tensors.items()
    }


HEADS = {  # family, kind ↦ tensors of the head
    ("bert", "classes"): ("bert.pooler", "classifier"),
    ("roberta", "classes"): ("classifier.dense", "classifier.out_proj"),
    ("distilbert", "classes"): ("pre_classifier", "classifier"),
    ("vit", "classes"): ("classifier",),
    ("gpt2", "classes"): ("score",),
    ("llama", "classes"): ("score",),
    ("bert", "language"): ("cls.predictions.transform.dense", "cls.predictions.bias"),
    ("bert-apart", "language"): ("cls.predictions.decoder",),
    ("roberta", "language"): ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    ("distilbert", "language"): ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    ("llama", "language"): ("lm_head",),
}


@each(("name", "kind"), HEADS)
def test_every_part_of_a_head_is_in_the_bound(tmp_path, name: str, kind: str):
    """A hundred times larger, each part makes the entropy larger; its norms are paid for."""
    every = checkpoints.classifiers() if kind == "classes" else checkpoints.language_models()
    made, overrides = every[name], PATCHES if name == "vit" else {}
    cap = capacity(described(tmp_path / "one", made, **overrides))
    paid = {payment.where for payment in pay(cap, du.Grid())[1]}
    last = f"network.{len(cap.network.nodes) - 1}."
    assert {f"{last}W.op", f"{last}W.fro", f"{last}W.col2inf"} <= paid
    for part in HEADS[name, kind]:
        large = capacity(described(tmp_path / part, scaled(made, part, 100.0), **overrides))
        assert log_entropy(large) > log_entropy(cap) + 1e-4, part


def test_a_readout_is_refused_where_a_head_is_stored(tmp_path):
    made = {**checkpoints.classifiers(), "gpt2-lm": checkpoints.gpt2(), "lm": checkpoints.llama()}
    for name, checkpoint in made.items():
        overrides = PATCHES if name == "vit" else {}
        with pytest.raises(InputError, match=r"w\.l2: expected no readout.*leave w\.l2 out"):
            described(tmp_path / name, checkpoint, **overrides, **{"w.l2": 1.0})
    with pytest.raises(InputError, match=r"w\.l1: expected no readout"):
        described(tmp_path / "l1", made["bert"], **{"w.l1": 1.0})
    assert described(tmp_path / "none", checkpoints.bert(), **{"w.l2": 2.0})


def test_several_classes_have_a_loss_of_logits(tmp_path):
    made = checkpoints.classifiers()["bert"]
    assert described(tmp_path / "a", made).loss == du.CrossEntropy(math.log(3))
    margin = described(tmp_path / "a", made, margin=0.5).loss
    assert margin == du.Margin(0.5, multiclass=True) and margin.lipschitz == 4.0
    checkpoint = checkpoints.with_head(
        checkpoints.bert(prefix="bert."), "BertForSequenceClassification", {"classifier": (d, 1)}
    )
    assert described(tmp_path / "b", checkpoint).loss == du.Loss()
    assert described(tmp_path / "b", checkpoint, margin=0.5).loss == du.Margin(0.5)


def test_the_output_is_listed_with_the_assumptions(tmp_path):
    def assumptions_of(name, made, **overrides):
        assumptions = described(tmp_path / name, made, **overrides).assumptions
        return {a.name: str(a) for a in assumptions}

    assert (
        "3 logits of the first row"
        in assumptions_of("a", checkpoints.classifiers()["bert"])["output"]
    )
    lm = assumptions_of("b", checkpoints.language_models()["bert"])["output"]
    assert f"{V} logits of one masked token" in lm
    assert "number from the pooler's output" in assumptions_of("c", checkpoints.bert())["readout"]
    config, tensors = checkpoints.language_models()["bert"]
    pooler = {"bert.pooler.dense.weight": np.ones((d, d), np.float32)}
    unused = assumptions_of("d", (config, tensors | pooler))["network"]
    assert "and 1 more tensors" in unused


def bert(name: str | None = None, without: tuple[str, ...] = (), **more):
    layers = {key.replace("__", "."): value for key, value in more.items()}
    config, tensors = checkpoints.with_head(
        checkpoints.bert(prefix="bert."), name or "", layers, without
    )
    return config | {"architectures": [name] if name else None}, tensors


def _tied_apart():
    config, tensors = checkpoints.gpt2()
    return config, tensors | {"lm_head.weight": tensors["transformer.wte.weight"] + 1}


def _twins_apart():
    config, tensors = checkpoints.language_models()["bert"]
    other = tensors["cls.predictions.bias"] + 1
    return config, tensors | {"cls.predictions.decoder.bias": other}


def _score_with_bias():
    config, tensors = checkpoints.classifiers()["llama"]
    return config, tensors | {"score.bias": np.ones(3, np.float32)}


def _no_lm_head():
    config, tensors = checkpoints.llama()
    return config, {k: v for k, v in tensors.items() if k != "lm_head.weight"}


def _adapted():
    config, tensors = checkpoints.language_models()["bert"]
    return config, tensors | {"classifier.weight": np.ones((3, d), np.float32)}


def _value_head():
    config, tensors = checkpoints.gpt2()
    head = {"v_head.weight": np.ones((1, d), np.float32)}
    return config | {"architectures": ["GPT2RewardModel"]}, tensors | head


REFUSED = {
    "token classes": (lambda: bert("BertForTokenClassification", classifier=(d, 3)), "TokenClass"),
    "classes without pooler": (lambda: bert(None, ("bert.pooler",), classifier=(d, 3)), "W_pool"),
    "a named class without pooler": (
        lambda: bert("BertForSequenceClassification", ("bert.pooler",), classifier=(d, 3)),
        "W_pool",
    ),
    "no classifier": (lambda: bert("BertForSequenceClassification"), "W_cls"),
    "questions": (lambda: bert("BertForQuestionAnswering", qa_outputs=(d, 2)), "QuestionAnsw"),
    "questions, no class": (lambda: bert(None, qa_outputs=(d, 2)), r"qa_outputs.*known role"),
    "pre-training": (lambda: bert("BertForPreTraining", classifier=(d, 3)), "ForPreTraining"),
    "a head on a class without": (lambda: bert("BertModel", classifier=(d, 3)), "without"),
    "a head that the class's name does not tell": (_value_head, r"v_head.*known role"),
    "two heads": (
        lambda: bert(None, classifier=(d, 3), cls__predictions__decoder=(d, V)),
        "classes and of a vocabulary",
    ),
    "a width that does not fit": (
        lambda: bert("BertForSequenceClassification", classifier=(d + 1, 3)),
        "rows of width 8",
    ),
    "an output that is tied and differs": (_tied_apart, "tied"),
    "one bias of two values": (_twins_apart, r"decoder\.bias.*another name"),
    "classes of every token": (_score_with_bias, r"score\.bias"),
    "no logits": (_no_lm_head, "W_out"),
    "logits of another kind than the class's": (_adapted, "classifier.weight.* too"),
}


@each("what", REFUSED)
def test_a_head_that_is_not_understood_is_refused(tmp_path, what: str):
    make, words = REFUSED[what]
    with pytest.raises(InputError, match=words):
        capacity(described(tmp_path, make())).gap(0.05, union=du.Grid())


def test_a_bias_that_is_stored_twice_is_used_once(tmp_path):
    config, tensors = checkpoints.language_models()["bert"]
    twice = tensors | {"cls.predictions.decoder.bias": tensors["cls.predictions.bias"].copy()}
    once = capacity(described(tmp_path / "once", (config, tensors)))
    again = capacity(described(tmp_path / "twice", (config, twice)))
    assert float(once.gap(0.05, union=du.Grid())) == float(again.gap(0.05, union=du.Grid()))


class Settings:
    def __init__(self, values: dict):
        self.values = values

    def to_dict(self) -> dict:
        return self.values


def live(name: str, made):
    """A live module of a class of that name, with the names and the config of a checkpoint."""
    config, tensors = made
    module = type(name, (torch.nn.Module,), {})()
    module.config = Settings(config)
    module.state_dict = lambda: {k: torch.from_numpy(v) for k, v in tensors.items()}
    return module


def test_a_live_module_has_the_head_of_its_class(tmp_path):
    """Its config may still name the class of the file that it was loaded from."""
    config, tensors = checkpoints.classifiers()["bert"]
    old = config | {"architectures": ["BertForMaskedLM"]}
    for name in ("BertForSequenceClassification", "Wrapped"):
        description = describe(du.measure(live(name, (old, tensors))), {"T": 4})
        assert description.network == described(tmp_path, (config, tensors)).network
    with pytest.raises(InputError, match="head"):
        describe(du.measure(live("BertForTokenClassification", (old, tensors))), {"T": 4})
