"""What people look at: diagnostics, dependency graphs, plans."""
