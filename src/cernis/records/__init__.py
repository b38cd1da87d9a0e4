"""From sources of any form to typed columns of records."""
