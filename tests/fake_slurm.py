"""Slurm's commands, as far as submitit uses them, on this machine: jobs are processes.

`install` writes sbatch, srun, sacct and scancel into a folder; jobs leave ``ID.pid`` beside.
"""

from __future__ import annotations

import sys
from pathlib import Path

SBATCH = """
import os, pathlib, re, subprocess, sys
here = pathlib.Path(__file__).parent
text = pathlib.Path(sys.argv[-1]).read_text()
number = 100 + len(list(here.glob("*.batch")))
(here / f"{number}.batch").touch()
found = re.search(r"--array=(\\d+)-(\\d+)", text)
for k in range(int(found[1]), int(found[2]) + 1) if found else [None]:
    name = str(number) if k is None else f"{number}_{k}"
    own = {"SLURM_JOB_ID": str(number), "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
           "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
    if k is not None:
        own |= {"SLURM_ARRAY_JOB_ID": str(number), "SLURM_ARRAY_TASK_ID": str(k)}
    job = subprocess.Popen(["bash", sys.argv[-1]], env=os.environ | own, start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=(here / f"{name}.err").open("w"))
    (here / f"{name}.pid").write_text(str(job.pid))
print(f"Submitted batch job {number}")
"""
SRUN = """
import os, sys
arguments = sys.argv[1:]
while arguments[0].startswith("--"):
    arguments = arguments[2 if arguments[0] in ("--output", "--error") else 1:]
os.execvp(arguments[0], arguments)
"""
SACCT = """
import pathlib
print("JobID|State|NodeList")
for path in pathlib.Path(__file__).parent.glob("*.pid"):
    stat = pathlib.Path(f"/proc/{path.read_text()}/stat")
    live = stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    print(f"{path.stem}|{'RUNNING' if live else 'FAILED'}|here")
"""
SCANCEL = """
import os, pathlib, signal, sys
name = next(one for one in sys.argv[1:] if not one.startswith("--"))
here = pathlib.Path(__file__).parent
with (here / "cancelled").open("a") as file:
    print(name, file=file)
for path in here.glob(f"{name}.pid"):
    try:
        os.killpg(int(path.read_text()), signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


def install(folder: Path) -> Path:
    """The commands, in a folder for PATH."""
    folder.mkdir()
    commands = {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT, "scancel": SCANCEL}
    for name, text in commands.items():
        (folder / name).write_text(f"#!{sys.executable}\n{text.lstrip()}")
        (folder / name).chmod(0o755)
    return folder
