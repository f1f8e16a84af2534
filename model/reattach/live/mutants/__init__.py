"""Faulty servers: the reference server with one mistake each, in the machine or in the way it is served.

``registry`` lists them, each with the clause and the fault class under which it has to be reported; ``campaign`` probes
them and ``table`` writes down what came out. A server that no check could fail would prove nothing about the checks.
"""
