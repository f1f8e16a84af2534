"""The commands: for each what its options are, and which parts it puts together."""
