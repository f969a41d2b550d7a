"""Volumes, claims, and where volumes can be attached."""

TABLE = """
PersistentVolumeClaimSpec
    1  accessModes  text[]
    3  volumeName  text
    5  storageClassName  text?
    6  volumeMode  text?
PersistentVolumeClaimStatus
    1  phase  text
PersistentVolumeClaim
    1  metadata  ObjectMeta
    2  spec  PersistentVolumeClaimSpec
    3  status  PersistentVolumeClaimStatus
CSIPersistentVolume
    1  driver  text
    2  volumeHandle  text
PersistentVolumeSource
    22 csi  CSIPersistentVolume?
VolumeNodeAffinity
    1  required  NodeSelector?
PersistentVolumeSpec
    2  persistentVolumeSource  =PersistentVolumeSource
    3  accessModes  text[]
    4  claimRef  ObjectReference?
    6  storageClassName  text
    9  nodeAffinity  VolumeNodeAffinity?
PersistentVolumeStatus
    1  phase  text
PersistentVolume
    1  metadata  ObjectMeta
    2  spec  PersistentVolumeSpec
    3  status  PersistentVolumeStatus
TopologyRequirement
    1  key  text
    2  values  text[]
TopologyTerm
    1  matchLabelExpressions  TopologyRequirement[]
StorageClass
    1  metadata  ObjectMeta
    2  provisioner  text
    7  volumeBindingMode  text?
    8  allowedTopologies  TopologyTerm[]
VolumeNodeResources
    1  count  number?
CSINodeDriver
    1  name  text
    3  topologyKeys  text[]
    4  allocatable  VolumeNodeResources?
CSINodeSpec
    1  drivers  CSINodeDriver[]
CSINode
    1  metadata  ObjectMeta
    2  spec  CSINodeSpec
VolumeAttachmentSource
    1  persistentVolumeName  text?
VolumeAttachmentSpec
    1  attacher  text
    2  source  VolumeAttachmentSource
    3  nodeName  text
VolumeAttachmentStatus
    1  attached  flag
VolumeAttachment
    1  metadata  ObjectMeta
    2  spec  VolumeAttachmentSpec
    3  status  VolumeAttachmentStatus
"""
