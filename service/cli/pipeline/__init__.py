"""`tastetest push` and `tastetest gate`: the API for pipelines, spoken over HTTP only."""
