"""Where batches are worked off: this process, several, a Slurm cluster, a Ray cluster."""
