"""Pods: what scheduling rules, requests and moves need to know of them."""

TABLE = """
PodMeta
    1  name  text
    3  namespace  text
    5  uid  text
    6  resourceVersion  text
    7  generation  number
    8  creationTimestamp  time
    9  deletionTimestamp  time?
    11 labels  <text>
    12 annotations  {text}
    13 ownerReferences  OwnerReference[]
PreferredSchedulingTerm
    1  weight  number
    2  preference  NodeSelectorTerm
NodeAffinity
    1  requiredDuringSchedulingIgnoredDuringExecution  NodeSelector?
    2  preferredDuringSchedulingIgnoredDuringExecution  PreferredSchedulingTerm[]
PodAffinityTerm
    1  labelSelector  LabelSelector?
    2  namespaces  text[]
    3  topologyKey  text
    4  namespaceSelector  LabelSelector?
    5  matchLabelKeys  text[]
    6  mismatchLabelKeys  text[]
WeightedPodAffinityTerm
    1  weight  number
    2  podAffinityTerm  PodAffinityTerm
PodAffinity
    1  requiredDuringSchedulingIgnoredDuringExecution  PodAffinityTerm[]
    2  preferredDuringSchedulingIgnoredDuringExecution  WeightedPodAffinityTerm[]
Affinity
    1  nodeAffinity  NodeAffinity?
    2  podAffinity  PodAffinity?
    3  podAntiAffinity  PodAffinity?
TopologySpreadConstraint
    1  maxSkew  number
    2  topologyKey  text
    3  whenUnsatisfiable  text
    4  labelSelector  LabelSelector?
    5  minDomains  number?
    6  nodeAffinityPolicy  text?
    7  nodeTaintsPolicy  text?
    8  matchLabelKeys  text[]
ResourceRequirements
    1  limits  <quantity>
    2  requests  <quantity>
ContainerPort
    2  hostPort  number
    3  containerPort  number
    4  protocol  text
    5  hostIP  text
Container
    1  name  text
    6  ports  ContainerPort[]
    8  resources  ResourceRequirements
    24 restartPolicy  text?
SomeVolume
EmptyDir
    1  medium  text
GCEPersistentDisk
    1  pdName  text
    4  readOnly  flag
AWSElasticBlockStore
    1  volumeID  text
    4  readOnly  flag
ISCSI
    1  targetPortal  text
    2  iqn  text
    3  lun  number
    6  readOnly  flag
PersistentVolumeClaimReference
    1  claimName  text
    2  readOnly  flag
RBD
    1  monitors  text[]
    2  image  text
    4  pool  text
    8  readOnly  flag
AzureDisk
    1  diskName  text
CSIVolume
    1  driver  text
    2  readOnly  flag?
ClaimTemplate
    2  spec  PersistentVolumeClaimSpec
EphemeralVolume
    1  volumeClaimTemplate  ClaimTemplate?
VolumeSource
    1  hostPath  SomeVolume?
    2  emptyDir  EmptyDir?
    3  gcePersistentDisk  GCEPersistentDisk?
    4  awsElasticBlockStore  AWSElasticBlockStore?
    5  gitRepo  SomeVolume?
    6  secret  SomeVolume?
    7  nfs  SomeVolume?
    8  iscsi  ISCSI?
    9  glusterfs  SomeVolume?
    10 persistentVolumeClaim  PersistentVolumeClaimReference?
    11 rbd  RBD?
    12 flexVolume  SomeVolume?
    13 cinder  SomeVolume?
    14 cephfs  SomeVolume?
    15 flocker  SomeVolume?
    16 downwardAPI  SomeVolume?
    17 fc  SomeVolume?
    18 azureFile  SomeVolume?
    19 configMap  SomeVolume?
    20 vsphereVolume  SomeVolume?
    21 quobyte  SomeVolume?
    22 azureDisk  AzureDisk?
    23 photonPersistentDisk  SomeVolume?
    24 portworxVolume  SomeVolume?
    25 scaleIO  SomeVolume?
    26 projected  SomeVolume?
    27 storageos  SomeVolume?
    28 csi  CSIVolume?
    29 ephemeral  EphemeralVolume?
    30 image  SomeVolume?
Volume
    1  name  text
    2  volumeSource  =VolumeSource
ReadinessGate
    1  conditionType  text
SchedulingGate
    1  name  text
SchedulingGroup
    1  podGroupName  text?
PodResourceClaim
    1  name  text
    3  resourceClaimName  text?
    4  resourceClaimTemplateName  text?
PodSpec
    1  volumes  Volume[]
    2  containers  Container[]
    3  restartPolicy  text
    4  terminationGracePeriodSeconds  number?
    7  nodeSelector  <text>
    10 nodeName  text
    11 hostNetwork  flag
    18 affinity  Affinity?
    19 schedulerName  text
    20 initContainers  Container[]
    22 tolerations  Toleration[]
    24 priorityClassName  text
    25 priority  number?
    28 readinessGates  ReadinessGate[]
    29 runtimeClassName  text?
    31 preemptionPolicy  text?
    32 overhead  <quantity>
    33 topologySpreadConstraints  TopologySpreadConstraint[]
    38 schedulingGates  SchedulingGate[]
    39 resourceClaims  PodResourceClaim[]
    40 resources  ResourceRequirements?
    43 schedulingGroup  SchedulingGroup?
ContainerStatus
    1  name  text
    9  started  flag?
    10 allocatedResources  <quantity>
    11 resources  ResourceRequirements?
PodStatus
    1  phase  text
    2  conditions  PodCondition[]
    7  startTime  time?
    8  containerStatuses  ContainerStatus[]
    10 initContainerStatuses  ContainerStatus[]
    11 nominatedNodeName  text
    14 resize  text
    19 allocatedResources  <quantity>
    20 resources  ResourceRequirements?
Pod
    1  metadata  PodMeta
    2  spec  PodSpec
    3  status  PodStatus
"""
