"""One module an operation, joining the store and the engine; dataclasses in and out.

No HTTP and no schemas. May import jobs, store, ingest, engine and core.
"""
