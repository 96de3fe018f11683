"""What the number is about, in words. It is never the final model.

The risk of every model of the stretch is measured once, on a unit that it has not seen. So what is
bounded is the mean of these risks, which is the risk

- of *redrawing*: for every prediction a model of the stretch is drawn anew, each with the share of
  the units that it predicted. (A model that is drawn once and then kept has this risk in the mean.)
- at least of the *mixture* of the models, for the log loss, which is convex in the probability;
- of *one checkpoint*, where it alone is measured, on units that come after it.

The mean of the risks is the risk of redrawing because every model has its risk on the same
population. Two kinds of unit have no such population, and there each model is named with its units:

- *tokens*: the risk of a model is the one in the context that it met. In other contexts it may be
  anything, so neither a redrawn model nor the mixture is bounded in any context.
- *units of which none comes twice*: z_t is drawn from the units that had not come before, and the
  risk of h_{t−1} is the one on these. On the units that it has read it may be anything. The proofs
  of the forms ask for nothing else; in `totals`, ℓ is the mean over t of E[l_t | the past].
"""

from __future__ import annotations

from dudley.certificates.methods.prequential.declared import TOKEN, PassChoices, PassDeclared
from dudley.certificates.order import seed_declared


def quantity(declared: PassDeclared, choices: PassChoices) -> str:
    """One sentence that names loss, unit and model."""
    return f"{_loss(declared)}, {_model(declared, choices)}"


def name_of(declared: PassDeclared) -> str:
    """A short name for a line that runs: error, loss, bits/size."""
    mean = "" if declared.totals else " (mean over units)"
    names = {"error": "error", "bounded": "loss", "bits": f"bits per size{mean}"}
    return names[declared.loss]


def declarations(declared: PassDeclared, ordered: bool) -> tuple[str, ...]:
    """What the number rests on; ``ordered`` says whether the pass committed to an order."""
    lines = [
        f"each {declared.unit} is an independent draw from the population the number is about",
        "every loss is that of a model that had not learnt from the unit, nor from a later one",
        "limit, start, tokenizer and settings come from before the stretch, none from its units",
        "what is listed under declared was fixed before the pass, and the seed of the order was "
        "not known to the learner",
    ]
    if declared.seed is not None:
        lines.append(seed_declared(declared.seed))
    if not ordered:
        lines.append("the units came in the order of their draw: no order was committed to")
    if declared.distinct:
        lines[0] = (
            f"no {declared.unit} comes twice: each is drawn at random from those of the population "
            "that had not come before"
        )
    if declared.unit == TOKEN:
        lines[0] = "contexts are those that were sampled: nothing is said about new documents"
    if declared.mode == "training":
        lines.append("the models predict in training mode, with fresh dropout at every prediction")
    if declared.checkpoints:
        lines.append(
            "the losses of a block are those of the checkpoint before it: the journal alone does "
            "not show it, and whoever has the units can evaluate the checkpoints again"
        )
    else:
        lines.append("log only: the losses are as logged, and no checkpoint shows them again")
    return tuple(lines)


def _loss(declared: PassDeclared) -> str:
    unit = declared.unit
    if unit == TOKEN:
        names = {"error": "probability of an error", "bounded": "expected loss"}
        what = names.get(declared.loss, "expected bits")
        return f"{what} at the next token, mean over the sampled contexts"
    new = f"a new {unit}"
    if declared.distinct:
        new = f"{'an' if unit[0] in 'aeiou' else 'a'} {unit} that had not come before"
    if declared.loss == "error":
        return f"probability of an error on {new}"
    if declared.loss == "bounded":
        return f"expected loss on {new}, from 0 to {declared.limit:g}"
    if declared.totals:
        return f"expected smoothed bits of {new} over its expected size (totals)"
    return f"expected smoothed bits over size of {new} (mean over units)"


def _model(declared: PassDeclared, choices: PassChoices) -> str:
    units = f"units {declared.start} to {choices.end} of one pass"
    if declared.about == "checkpoint":
        return (
            f"of checkpoint {choices.checkpoint}, measured on units of the pass that came after it"
        )
    if declared.unit == TOKEN:
        return f"each by the model at its place in the pass, {units}; not of the final model"
    which = f"before {units}; not of the final model"
    if declared.about == "mixture":
        return f"of the mixture of the models {which}"
    return f"of a model drawn anew for every prediction from those {which}"
