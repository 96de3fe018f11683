"""``dudley lab``: the commands of the laboratory, gathered."""

from __future__ import annotations

from dudley.cli import lab_run, lab_stores
from dudley.cli.lab import lab_app as lab

lab.command("run")(lab_run.run)
lab.command("status")(lab_stores.status)
lab.command("retry")(lab_stores.retry)
lab.command("export")(lab_stores.export)
lab.command("diff")(lab_stores.diff)
