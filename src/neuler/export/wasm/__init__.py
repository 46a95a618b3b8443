"""WebAssembly: a module's bytes written from a schedule, the code that loads it, and its types."""
