"""Records of migrations: asked for, followed, written, tried again, deleted when they are old."""
