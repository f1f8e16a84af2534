"""The contract of an event store: what is done to it, what it owes in answer, and what it did instead.

A store is what the SDKs put between a session's messages and its cursors: it gives each event an id, and from an id it
sends again what came after. ``reattach.store_contract`` is the base class for a project's own tests in Python; the
vectors of kind ``store`` are the same histories for other languages.
"""
