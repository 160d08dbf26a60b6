"""One reader a format; `service.ingest.registry` lists them."""
