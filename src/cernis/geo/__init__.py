"""From positions of moving vessels to the events that rules are about. Knows nothing of rules.

`cernis.geo.events.positions_to_events` is the whole way; `cernis.geo.ais` reads AIS sentences.
"""
