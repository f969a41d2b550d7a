"""Real nodes beside a control plane: kubelet, containerd, CNI and kube-proxy, several on a machine.

    with OwnedInstance() as owned, RealNodes(owned.instance) as nodes: ...

Each node is a set of namespaces (processes, mounts, network, cgroups, host name) whose first
process is `node`. When that ends, for whatever reason, the kernel takes everything else away:
containers, shims, mounts, links, rules. What the kernel does not take away, a folder and cgroups,
is removed by `supervisor`, which outlives the test run that it belongs to just long enough for
that. Nothing of the machine is changed: no rule, no route, no link, no setting of the kernel.
"""
