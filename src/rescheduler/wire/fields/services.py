"""Services and their endpoints, and who may talk to whom."""

TABLE = """
ServiceSpec
    2  selector  {text}
    3  clusterIP  text
    4  type  text
    13 publishNotReadyAddresses  flag
Service
    1  metadata  ObjectMeta
    2  spec  ServiceSpec
EndpointConditions
    1  ready  flag?
    2  serving  flag?
    3  terminating  flag?
Endpoint
    2  conditions  EndpointConditions
    4  targetRef  ObjectReference?
    6  nodeName  text?
EndpointSlice
    1  metadata  ObjectMeta
    2  endpoints  Endpoint[]
NetworkPolicyPeer
    1  podSelector  LabelSelector?
NetworkPolicyIngressRule
    2  from  NetworkPolicyPeer[]
NetworkPolicyEgressRule
    2  to  NetworkPolicyPeer[]
NetworkPolicySpec
    1  podSelector  LabelSelector
    2  ingress  NetworkPolicyIngressRule[]
    3  egress  NetworkPolicyEgressRule[]
NetworkPolicy
    1  metadata  ObjectMeta
    2  spec  NetworkPolicySpec
"""
