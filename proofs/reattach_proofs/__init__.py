"""What is proved of the shipped machine, and the explorer that finds the shortest counterexamples."""
