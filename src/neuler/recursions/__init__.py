"""The papers: one file per recursion, outward and inward passes that read like the page they cite."""
