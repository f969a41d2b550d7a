"""Strict documents: YAML that people write, read whole or refused with every problem at once.

In: the text of a file, and what it may look like: fields described by `settings`, or `shapes` put
together by hand.
Out: the values, or a `ConfigurationError` that names each problem by its path. The same description
writes a document back.

Only `reading` opens a file; all else is pure. Not here: which documents there are, what their
fields mean, and what Kubernetes objects look like, which are read leniently, by `wire`.
"""
