"""Functions of users: traced once, compiled, differentiated."""
