"""The papers' trainings as configurations: what the benchmarks run, in full or in part.

Sparse AND and parity: edelman2021, section 5 and appendix C.1; sparse majority: trauger2024,
section 6 and the authors' script.
"""

ADAM = {"name": "adamw", "lr": 1e-3, "betas": [0.9, 0.999], "weight_decay": 1e-4}
CLIPPED = {"name": "clipped", "limit": 1.0, "optimiser": ADAM}
LENGTHS = [*range(100, 401, 50), 500, 600, 700, 800]

AND = {
    "task": {"name": "and", "T": LENGTHS, "s": 3, "m": [*range(50, 201, 10)], "holdout": 10_000},
    "model": {"name": "and-classifier", "d": 64, "H": 16, "dropout": [0.1, 0.1, 0.1]},
    "training": {"optimiser": CLIPPED, "steps": 1000, "evaluate_every": 10},
}
AND_TRIALS = 50

PARITY = {
    "task": {"name": "parity", "T": [10, 15, 20], "s": 3, "holdout": 10_000},
    "model": AND["model"],
    "training": {
        "optimiser": CLIPPED, "steps": 10_000, "evaluate_every": 20, "batch": 2048,
        "online": True, "evaluate": ["holdout"],
    },
}  # fmt: skip
PARITY_TRIALS = 10

EPOCHS, BATCHES = 200_000, 3  # 300 examples in batches of 128
MAJORITY = {
    "task": {"name": "majority", "T": [*range(20, 201, 20)], "s": 9, "m": 300, "holdout": 10_000},
    "model": {"name": "majority-classifier", "d": 64, "H": 2, "k": 64},
    "training": {
        "optimiser": {"name": "sgd", "lr": 0.01, "momentum": 0.9, "rate_inside": True},
        "schedule": {"name": "exponential", "factor": 0.999, "every": BATCHES, "floor": 0.001},
        "loss": "binary-cross-entropy", "batch": 128, "steps": EPOCHS * BATCHES,
        "evaluate_every": BATCHES, "points_every": 500,
        "evaluate": ["train", "validation"], "final": ["holdout"],
        "measures": ["l1"], "stop": {"metric": "train_accuracy", "at_least": 1.0},
        "keep": [{"metric": "validation_loss"}],
    },
}  # fmt: skip
MAJORITY_TRIALS = 5
