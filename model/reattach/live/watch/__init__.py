"""``reattach watch``: a reverse proxy that judges what passes, and can break it on purpose.

``proxy`` listens, ``link`` carries one connection, ``watcher`` makes observations of what passes. What is broken is
data (``fault``), read from sentences (``sentence``) or TOML (``fault_file``) or drawn with a seed (``chance``); which
exchange it hits (``plan``) and what becomes of a stream's bytes (``script``) is decided without any I/O.
"""
