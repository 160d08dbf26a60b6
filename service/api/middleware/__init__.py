"""Middleware around every request: authentication, request id, log line, size limit.

May import the modules beside the packages of service.api, never routes.
"""
