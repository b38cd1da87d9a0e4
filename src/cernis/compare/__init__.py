"""Programs against programs: what another version, or another fact, would have recognised."""
