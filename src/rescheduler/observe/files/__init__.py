"""Snapshots as files: saved from a cluster, loaded again, and read from what kubectl prints."""

from rescheduler.observe.files.errors import UnusableFile
from rescheduler.observe.files.exporting import to_objects
from rescheduler.observe.files.loading import Loaded, load
from rescheduler.observe.files.saving import save
from rescheduler.observe.files.taking import take
from rescheduler.observe.seeing import Unseen

__all__ = ["Loaded", "Unseen", "UnusableFile", "load", "save", "take", "to_objects"]
