"""The OpenAPI document: its examples, links, upload bodies and security schemes.

May import the modules beside the packages of service.api, never routes.
"""
