"""What can be computed: each quantity as a recipe of inputs, outputs and a recursion."""
