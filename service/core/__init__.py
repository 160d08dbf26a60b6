"""What every other package may use: settings, errors, logging, tracing, the text form of API keys.

Imports no other package of the service.
"""
