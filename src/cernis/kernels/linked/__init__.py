"""The walk over linked instances: words of several kinds, which read each other over links."""
