"""Faults put into our own code on purpose: named ones, and every small change of an expression.

The proofs refute them, and ``reattach serve --mutant`` serves them. Only the standard library and ``attrs`` are needed.
"""
