"""The laboratory: experiments, what is run at each scale, and what follows from it."""
