"""From what a caller passes to NumPy arrays that fit the operator, with indices checked, packed and recognised."""
