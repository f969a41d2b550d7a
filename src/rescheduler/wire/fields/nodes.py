"""Nodes, namespaces, and what else the cluster lays down for pods."""

TABLE = """
Taint
    1  key  text
    2  value  text
    3  effect  text
    4  timeAdded  time?
NodeSpec
    3  providerID  text
    4  unschedulable  flag
    5  taints  Taint[]
AttachedVolume
    1  name  text
NodeStatus
    1  capacity  {quantity}
    2  allocatable  {quantity}
    4  conditions  ConditionNumbered4[]
    10 volumesAttached  AttachedVolume[]
Node
    1  metadata  ObjectMeta
    2  spec  NodeSpec
    3  status  NodeStatus
NamespaceStatus
    1  phase  text
Namespace
    1  metadata  ObjectMeta
    3  status  NamespaceStatus
PriorityClass
    1  metadata  ObjectMeta
    2  value  number
    3  globalDefault  flag
    5  preemptionPolicy  text?
Overhead
    1  podFixed  {quantity}
RuntimeScheduling
    1  nodeSelector  {text}
    2  tolerations  Toleration[]
RuntimeClass
    1  metadata  ObjectMeta
    3  overhead  Overhead?
    4  scheduling  RuntimeScheduling?
ScopeRequirement
    1  scopeName  text
    2  operator  text
    3  values  text[]
ScopeSelector
    1  matchExpressions  ScopeRequirement[]
ResourceQuotaSpec
    1  hard  {quantity}
    2  scopes  text[]
    3  scopeSelector  ScopeSelector?
ResourceQuotaStatus
    1  hard  {quantity}
    2  used  {quantity}
ResourceQuota
    1  metadata  ObjectMeta
    2  spec  ResourceQuotaSpec
    3  status  ResourceQuotaStatus
"""
