{{/* Whether it may move pods. */}}
{{- define "rescheduler.moves" -}}
{{- if ne .Values.mode "DryRun" }}true{{ end }}
{{- end }}

{{/* Whether the API server is to steer: where it can, and only for those who move pods. */}}
{{- define "rescheduler.steers" -}}
{{- $kind := "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}
{{- $choice := toString .Values.admissionPolicy.enabled }}
{{- $wanted := or (eq $choice "true") (and (eq $choice "auto") (.Capabilities.APIVersions.Has $kind)) }}
{{- if and (include "rescheduler.moves" .) $wanted }}true{{ end }}
{{- end }}

{{/* Whether it is asked about the evictions of others. */}}
{{- define "rescheduler.guards" -}}
{{- if .Values.guard.enabled }}
{{- if not (include "rescheduler.moves" .) }}
{{- fail "guard.enabled needs mode: Auto, or Approve, for whoever guards moves pods (--set mode=Auto)" }}
{{- end }}true{{ end }}
{{- end }}

{{/* The commands look for it there, and the Lease is there: of this name, as its role says. */}}
{{- define "rescheduler.checked" -}}
{{- if ne .Release.Namespace "kube-system" }}
{{- fail (printf "kube-rescheduler belongs into kube-system: add --namespace kube-system (found %s)" .Release.Namespace) }}
{{- end }}
{{- $lease := .Values.config.leaderElection | default dict }}
{{- range $name, $granted := dict "resourceName" "rescheduler" "resourceNamespace" "kube-system" }}
{{- $given := get $lease $name | default $granted }}
{{- if ne $given $granted }}
{{- fail (printf "config.leaderElection.%s: the role of this chart grants %s, and nothing else (found %s)" $name $granted $given) }}
{{- end }}
{{- end }}
{{- end }}
