"""Named trainings: a start and a training that plain data declare, so that others can repeat them.

A user's own factory and fit are code, which no file holds. A training of `TRAININGS` is a frozen
dataclass whose fields are plain settings: a certificate declares it by its table, a model file
holds weights beside the table, and whoever has both counts again, or trains again.
"""
