"""Owners of pods, autoscalers and disruption budgets."""

TABLE = """
TemplateMeta
    11 labels  {text}
PodTemplate
    1  metadata  TemplateMeta
    2  spec  PodSpec
PlacedSpec
    10 nodeName  text
PlacedTemplate
    2  spec  PlacedSpec
ReplicaSetSpec
    1  replicas  number?
    2  selector  LabelSelector?
    3  template  PlacedTemplate
    4  minReadySeconds  number
ReplicaSetStatus
    1  replicas  number
    2  fullyLabeledReplicas  number
    3  observedGeneration  number
    4  readyReplicas  number
    5  availableReplicas  number
    7  terminatingReplicas  number?
ReplicaSet
    1  metadata  ObjectMeta
    2  spec  ReplicaSetSpec
    3  status  ReplicaSetStatus
RollingUpdate
    1  maxUnavailable  intOrString?
    2  maxSurge  intOrString?
UpdateStrategy
    1  type  text
    2  rollingUpdate  RollingUpdate?
DeploymentCondition
    1  type  text
    2  status  text
    4  reason  text
    6  lastUpdateTime  time
    7  lastTransitionTime  time
DeploymentSpec
    1  replicas  number?
    2  selector  LabelSelector?
    4  strategy  UpdateStrategy
    5  minReadySeconds  number
    7  paused  flag
DeploymentStatus
    1  observedGeneration  number
    2  replicas  number
    3  updatedReplicas  number
    4  availableReplicas  number
    5  unavailableReplicas  number
    6  conditions  DeploymentCondition[]
    7  readyReplicas  number
    9  terminatingReplicas  number?
Deployment
    1  metadata  ObjectMeta
    2  spec  DeploymentSpec
    3  status  DeploymentStatus
StatefulSetRollingUpdate
    1  partition  number?
    2  maxUnavailable  intOrString?
StatefulSetUpdateStrategy
    1  type  text
    2  rollingUpdate  StatefulSetRollingUpdate?
StatefulSetSpec
    1  replicas  number?
    2  selector  LabelSelector?
    3  template  PlacedTemplate
    5  serviceName  text
    6  podManagementPolicy  text
    7  updateStrategy  StatefulSetUpdateStrategy
    9  minReadySeconds  number
StatefulSetStatus
    1  observedGeneration  number
    2  replicas  number
    3  readyReplicas  number
    4  currentReplicas  number
    5  updatedReplicas  number
    6  currentRevision  text
    7  updateRevision  text
    11 availableReplicas  number
StatefulSet
    1  metadata  ObjectMeta
    2  spec  StatefulSetSpec
    3  status  StatefulSetStatus
DaemonSetSpec
    1  selector  LabelSelector?
    2  template  PodTemplate
    3  updateStrategy  UpdateStrategy
    4  minReadySeconds  number
DaemonSetStatus
    1  currentNumberScheduled  number
    2  numberMisscheduled  number
    3  desiredNumberScheduled  number
    4  numberReady  number
    5  observedGeneration  number
    6  updatedNumberScheduled  number
    7  numberAvailable  number
    8  numberUnavailable  number
DaemonSet
    1  metadata  ObjectMeta
    2  spec  DaemonSetSpec
    3  status  DaemonSetStatus
JobSpec
    1  parallelism  number?
    2  completions  number?
    4  selector  LabelSelector?
    10 suspend  flag?
JobStatus
    1  conditions  ConditionNumbered4[]
    4  active  number
    5  succeeded  number
    6  failed  number
    9  ready  number?
Job
    1  metadata  ObjectMeta
    2  spec  JobSpec
    3  status  JobStatus
ScaleTarget
    1  kind  text
    2  name  text
    3  apiVersion  text
HorizontalPodAutoscalerSpec
    1  scaleTargetRef  ScaleTarget
    2  minReplicas  number?
    3  maxReplicas  number
HorizontalPodAutoscalerStatus
    1  observedGeneration  number?
    2  lastScaleTime  time?
    3  currentReplicas  number
    4  desiredReplicas  number
    6  conditions  ConditionNumbered3[]
HorizontalPodAutoscaler
    1  metadata  ObjectMeta
    2  spec  HorizontalPodAutoscalerSpec
    3  status  HorizontalPodAutoscalerStatus
PodDisruptionBudgetSpec
    1  minAvailable  intOrString?
    2  selector  LabelSelector?
    3  maxUnavailable  intOrString?
    4  unhealthyPodEvictionPolicy  text?
PodDisruptionBudgetStatus
    1  observedGeneration  number
    3  disruptionsAllowed  number
    4  currentHealthy  number
    5  desiredHealthy  number
    6  expectedPods  number
    7  conditions  ConditionNumbered4[]
PodDisruptionBudget
    1  metadata  ObjectMeta
    2  spec  PodDisruptionBudgetSpec
    3  status  PodDisruptionBudgetStatus
"""
