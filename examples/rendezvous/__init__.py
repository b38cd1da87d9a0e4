"""From raw AIS to rendez-vous at sea, on a map."""
