"""What every other package may use: settings, errors, logging, tracing, the text form of API keys.

Imports nothing else of ours.
"""
