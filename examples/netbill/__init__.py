"""NetBill: trade with deadlines and sanctions."""
