"""What the probe does to a server, a module per topic."""

from reattach.live.experiments import (  # noqa: F401  (importing registers)
    budgets,
    calls,
    cursors,
    deployment,
    handover,
    isolation,
    played,
    sessionless,
    sessions,
    slow_reader,
    standalone,
    takeover,
    window,
)
from reattach.live.experiments.registry import EXPERIMENTS, Cost, Experiment, Need, ParameterError, Parameters

__all__ = ["EXPERIMENTS", "Cost", "Experiment", "Need", "ParameterError", "Parameters"]
