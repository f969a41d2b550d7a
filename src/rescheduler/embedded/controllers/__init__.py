"""The controllers that matter to whoever moves pods, each as the real one decides.

In: changes of the store. Out: writes, by way of the API server as any other client's. Each looks at
one object at a time, a moment after it changed (`queue`).
"""
