"""Surge: a copy is Ready on the target before its ReplicaSet removes the original. Pure."""
