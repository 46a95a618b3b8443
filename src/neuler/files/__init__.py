"""States and trajectories on disk: tables, the names of their columns, and what makes a state valid."""
