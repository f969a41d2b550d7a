"""A real Kubernetes control plane, and what tests need around it. Never imported by the product.

In: pinned versions (`pins/`). Out: running instances (`instance`), simulated kubelets
(`stages.yaml`) and what their pods use (`usage.yaml`), as metrics-server and Prometheus measure it,
faults between a process and its API server (`faultproxy`), an independent judge (`auditor` records,
`audit` judges), a piece of a cluster with all of it for each test (`world`), and a cluster of
thousands of nodes (`big_cluster`).
"""
