"""Parts that many kinds share, and the answer to a request that failed."""

TABLE = """
Time
    1  seconds  number?
    2  nanos  number
Quantity
    1  string  text
IntOrString
    1  type  number
    2  intVal  number
    3  strVal  text
OwnerReference
    1  kind  text
    3  name  text
    4  uid  text
    5  apiVersion  text
    6  controller  flag?
ObjectMeta
    1  name  text
    3  namespace  text
    5  uid  text
    6  resourceVersion  text
    7  generation  number
    8  creationTimestamp  time
    9  deletionTimestamp  time?
    11 labels  {text}
    12 annotations  {text}
    13 ownerReferences  OwnerReference[]
ListMeta
    2  resourceVersion  text
    3  continue  text
LabelSelectorRequirement
    1  key  text
    2  operator  text
    3  values  text[]
LabelSelector
    1  matchLabels  <text>
    2  matchExpressions  LabelSelectorRequirement[]
NodeSelectorRequirement
    1  key  text
    2  operator  text
    3  values  text[]
NodeSelectorTerm
    1  matchExpressions  NodeSelectorRequirement[]
    2  matchFields  NodeSelectorRequirement[]
NodeSelector
    1  nodeSelectorTerms  NodeSelectorTerm[]
Toleration
    1  key  text
    2  operator  text
    3  value  text
    4  effect  text
    5  tolerationSeconds  number?
ObjectReference
    1  kind  text
    2  namespace  text
    3  name  text
    4  uid  text
    5  apiVersion  text
ConditionNumbered3
    1  type  text
    2  status  text
    3  lastTransitionTime  time
    4  reason  text
PodCondition
    1  type  text
    2  status  text
    3  lastProbeTime  time
    4  lastTransitionTime  time
    5  reason  text
ConditionNumbered4
    1  type  text
    2  status  text
    4  lastTransitionTime  time
    5  reason  text

StatusCause
    1  reason  text
    2  message  text
    3  field  text
StatusDetails
    1  name  text
    2  group  text
    3  kind  text
    4  causes  StatusCause[]
    5  retryAfterSeconds  number
    6  uid  text
Status
    2  status  text
    3  message  text
    4  reason  text
    5  details  StatusDetails?
    6  code  number
"""
