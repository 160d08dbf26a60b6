"""One reader per format; `service.ingest.registry` lists them."""
