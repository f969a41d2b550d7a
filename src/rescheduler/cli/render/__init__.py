"""What people and programs read: tables, documents, pictures.

Pure, but for `demo_text` and `demo_screen`, to whom the demo is played.
"""
