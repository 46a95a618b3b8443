"""C99: readable, without dependencies but the C library's mathematics, without allocation, recursion or state."""
