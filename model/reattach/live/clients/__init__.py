"""The client bench: a server of ours that follows a script, and a client program that is judged by what it does.

``scripts`` says as data what the server does; ``server`` does it, around the reference server, and records what passes;
``program`` runs the client, and records what it prints; ``bench`` puts them together, a run for each script. What the
runs mean is the oracle's (``oracle/clients``). ``client`` is the client of the machine, over HTTP, and ``mutants`` are
its mistakes: a bench that fails no client would prove nothing.
"""
