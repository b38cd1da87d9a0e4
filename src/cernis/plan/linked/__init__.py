"""The planner of the sweep: which definitions of a stage one walk in time can evaluate, and how."""
