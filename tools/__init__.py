"""Programs for whoever works on this repository: what is written here is made from other files."""
