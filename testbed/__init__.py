"""A real Kubernetes control plane, and what tests need around it. Never imported by the product.

In: pinned versions (`pins/`). Out: running instances (`instance`), simulated kubelets
(`stages.yaml`), faults between a process and its API server (`faultproxy`), an independent judge
(`auditor` records, `audit` judges), and a test's own piece of a cluster with all of it (`world`).
"""
