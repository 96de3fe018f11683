"""Tasks by the names that configurations use.

>>> task_of({"name": "and", "T": 100, "s": 3, "m": 50})
Planted(name='and', T=100, s=3, m=50, ...)
>>> task_of({"name": "mnist01", "m": 400}).config()
{'name': 'mnist01', 'm': 400}
>>> task_of({"name": "nand", "T": 100, "s": 3})
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown task 'nand'; did you mean and?
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry
from dudley.train.tasks.base import Task

TASKS: Registry[type[Task]] = Registry("task", "dudley.train.tasks.*")


def task_of(config: Mapping) -> Task:
    """The task of a configuration: ``name``, and the fields of its class."""
    name = str(config.get("name"))
    unit = TASKS[name]
    fields = {field.name: field for field in dataclasses.fields(cast(Any, unit))}
    settings = {k: v for k, v in config.items() if k in fields or k != "name"}
    for field in settings:
        if field not in fields:
            raise UnknownName(f"field of the task {name}", str(field), fields)
    required = [f.name for f in fields.values() if f.default is dataclasses.MISSING]
    missing = [field for field in required if field not in settings]
    if missing:
        raise InputError(f"task {name}", " and ".join(required), f"no {missing[0]}")
    return unit(**settings)
