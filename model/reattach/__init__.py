"""The reference model of MCP Streamable HTTP session resumption, and the oracle built on it."""

__version__ = "0.1.0"
