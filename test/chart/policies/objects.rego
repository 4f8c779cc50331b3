# Rules that hold between the objects of a release, which checks of single objects do not see.
package main

import rego.v1

resources := [file.contents | some file in input; file.contents != null]

workload_kinds := {"Deployment", "StatefulSet", "DaemonSet", "Job"}

# Pod templates with the resource that creates them.
workloads contains {"owner": resource, "pod": resource.spec.template} if {
	some resource in resources
	resource.kind in workload_kinds
}

workloads contains {"owner": resource, "pod": resource.spec.jobTemplate.spec.template} if {
	some resource in resources
	resource.kind == "CronJob"
}

name_of(resource) := sprintf("%s %s", [resource.kind, resource.metadata.name])

namespace_of(resource) := object.get(resource.metadata, "namespace", "")

selects(selector, labels) if {
	every name, value in selector {
		labels[name] == value
	}
}

has_pods(selector) if {
	some workload in workloads
	selects(selector, workload.pod.metadata.labels)
}

services[name] contains port if {
	some resource in resources
	resource.kind == "Service"
	name := resource.metadata.name
	some port in resource.spec.ports
}

deny contains message if {
	some resource in resources
	resource.kind == "Service"
	selector := object.get(resource.spec, "selector", {})
	count(selector) > 0
	not has_pods(selector)
	message := sprintf("%s selects no pod", [name_of(resource)])
}

deny contains message if {
	some resource in resources
	resource.kind in {"NetworkPolicy", "PodDisruptionBudget"}
	selector := object.get(resource.spec[selector_member[resource.kind]], "matchLabels", {})
	not has_pods(selector)
	message := sprintf("%s selects no pod", [name_of(resource)])
}

selector_member := {"NetworkPolicy": "podSelector", "PodDisruptionBudget": "selector"}

# Every pod is covered by a NetworkPolicy that restricts what it receives.
deny contains message if {
	some resource in resources
	resource.kind == "NetworkPolicy"
	some workload in workloads
	workload.owner.kind in {"Deployment", "StatefulSet"}
	not is_restricted(workload.pod.metadata.labels)
	message := sprintf("no NetworkPolicy selects the pods of %s", [name_of(workload.owner)])
}

is_restricted(labels) if {
	some resource in resources
	resource.kind == "NetworkPolicy"
	selects(object.get(resource.spec.podSelector, "matchLabels", {}), labels)
	"Ingress" in resource.spec.policyTypes
}

# Backends of routes exist, with that port.
deny contains message if {
	some resource in resources
	resource.kind == "Ingress"
	some rule in resource.spec.rules
	some path in rule.http.paths
	backend := path.backend.service
	not has_port(backend.name, backend.port)
	message := sprintf("%s leads to %s, which has no such port", [name_of(resource), backend.name])
}

has_port(name, wanted) if {
	some port in services[name]
	port.name == wanted.name
}

has_port(name, wanted) if {
	some port in services[name]
	port.port == wanted.number
}

deny contains message if {
	some resource in resources
	resource.kind == "HTTPRoute"
	some rule in resource.spec.rules
	some backend in rule.backendRefs
	not has_port(backend.name, {"number": backend.port})
	message := sprintf("%s leads to %s, which has no such port", [name_of(resource), backend.name])
}

# What scales or bounds a workload names one that exists.
deny contains message if {
	some resource in resources
	resource.kind == "HorizontalPodAutoscaler"
	target := resource.spec.scaleTargetRef
	count([one | some one in resources; one.kind == target.kind; one.metadata.name == target.name]) == 0
	message := sprintf("%s scales %s, which does not exist", [name_of(resource), target.name])
}

# Service accounts, config maps and rights that are named are created.
deny contains message if {
	some workload in workloads
	account := workload.pod.spec.serviceAccountName
	count([one | some one in resources; one.kind == "ServiceAccount"; one.metadata.name == account]) == 0
	message := sprintf("%s runs as %s, which does not exist", [name_of(workload.owner), account])
}

deny contains message if {
	some resource in resources
	resource.kind in {"RoleBinding", "ClusterRoleBinding"}
	kind := resource.roleRef.kind
	name := resource.roleRef.name
	count([one | some one in resources; one.kind == kind; one.metadata.name == name]) == 0
	message := sprintf("%s grants %s, which does not exist", [name_of(resource), name])
}

# Two objects of a kind never share a name.
deny contains message if {
	some at, resource in resources
	some other_at, other in resources
	at < other_at
	resource.kind == other.kind
	resource.metadata.name == other.metadata.name
	namespace_of(resource) == namespace_of(other)
	message := sprintf("%s exists twice", [name_of(resource)])
}

# Rights name what they cover.
deny contains message if {
	some resource in resources
	resource.kind in {"Role", "ClusterRole"}
	some rule in resource.rules
	some member in ["apiGroups", "resources", "verbs"]
	"*" in rule[member]
	message := sprintf("%s grants * in %s", [name_of(resource), member])
}

# Images have a version, and a registry that names itself.
deny contains message if {
	some workload in workloads
	some container in containers_of(workload.pod)
	not regex.match(`^[a-z0-9.-]+\.[a-z]+(:[0-9]+)?/.+(:[^:/]+|@sha256:[0-9a-f]{64})$`, container.image)
	message := sprintf("%s uses the image %s without a registry or version", [name_of(workload.owner), container.image])
}

deny contains message if {
	some workload in workloads
	some container in containers_of(workload.pod)
	endswith(container.image, ":latest")
	message := sprintf("%s uses the latest version of %s", [name_of(workload.owner), container.image])
}

containers_of(pod) := array.concat(
	pod.spec.containers,
	object.get(pod.spec, "initContainers", []),
)

# Values of Secrets reach a container by reference or as a file, never as text.
deny contains message if {
	some workload in workloads
	some container in containers_of(workload.pod)
	some variable in object.get(container, "env", [])
	regex.match(`(PASS|PASSWORD|SECRET|TOKEN|MASTER_KEY|CREDENTIAL)S?$`, variable.name)
	not object.get(variable, "value", "") in {"", "1", "yes"}
	not startswith(variable.value, "/")
	message := sprintf("%s has the text of %s", [name_of(workload.owner), variable.name])
}
