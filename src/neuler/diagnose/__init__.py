"""What is wrong with a robot, and why a result is not a number."""
