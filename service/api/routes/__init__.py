"""One module per resource: parse, authorise, call one use case, answer.

The highest layer of the API: may import all of it, and everything below.
"""
