"""Luck that depends on nothing but a seed and names: the same for every contender, in any order."""

import hashlib
import math
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Seeds = npt.NDArray[np.uint64]

_BITS: Final = 64
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def number(seed: int, *words: str) -> int:
    """Of 64 bits."""
    text = "\0".join((str(seed), *words))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=_BITS // 8).digest(), "big")


def fraction(seed: int, *words: str) -> float:
    """From 0 up to 1."""
    return number(seed, *words) / 2.0**_BITS


def normal(seed: int, *words: str) -> float:
    """Around 0, of deviation 1."""
    radius = math.sqrt(-2.0 * math.log(1.0 - fraction(seed, "radius", *words)))
    return radius * math.cos(2.0 * math.pi * fraction(seed, "angle", *words))


def noise(seeds: Seeds, moment: int) -> Numbers:
    """From -1 up to 1: another at each moment, for each of many (splitmix64)."""
    with np.errstate(over="ignore"):  # numbers of 64 bits go round
        mixed = seeds + _GOLDEN * np.uint64(moment % 2**_BITS)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
        mixed ^= mixed >> np.uint64(31)
    return mixed.astype(np.float64) / 2.0 ** (_BITS - 1) - 1.0
