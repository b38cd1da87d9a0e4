"""The jetstream application: who is carried into turbulence."""
