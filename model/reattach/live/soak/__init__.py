"""The soak: what a real process does with memory and budgets when clients do not come back."""
