"""What a traced function is: a graph of scalars, its derivatives, and the recipe that makes it."""
