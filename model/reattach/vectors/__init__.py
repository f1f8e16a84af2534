"""Test vectors: what the machine does, as JSON files that a test suite in any language can read.

Each kind has a module that asks (which inputs, chosen at the boundaries) and answers (what the machine says of them).
No answer is written by hand: a vector is a question with the machine's answers put in, under the key ``expect``.
"""
