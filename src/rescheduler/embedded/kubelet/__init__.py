"""The kubelets of all nodes: whom they admit, and the statuses that they give pods and nodes."""

from rescheduler.embedded.kubelet.kubelet import Kubelet

__all__ = ["Kubelet"]
