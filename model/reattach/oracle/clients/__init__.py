"""What a client does, judged: observations of the bench in, outcomes of the CLI clauses and findings out.

``reading`` turns what passes on the wire into the items of the machine's network; ``beside`` steps the machine's client
beside the real one, on the same items; ``said`` reads what the client program prints. ``judges`` compare: whatever the
machine's client decides is not decided again there. ``bench`` puts the runs of many scripts together into a report.
"""
