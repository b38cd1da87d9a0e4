"""Windows, state, query times: one evaluation after the other, in this process."""
