"""A Kubernetes in memory, behind the same interface as a real one, on virtual time.

In: what the stages ask of `kube.KubeApi`, and what users and fate do to a cluster. Out: a cluster
that behaves as a real one does, as far as the stages can tell: the same scenarios pass on both.
What does not belong here: anything of observing, planning or migrating; those are what runs on it.

`cluster` puts it together. `store` is its etcd, `apiserver/` has the rules of the API server,
`client/` is how one client reaches it; `controllers/`, `scheduler/` and `kubelet/` are what they
say, and `usage` is its metrics-server.
"""
