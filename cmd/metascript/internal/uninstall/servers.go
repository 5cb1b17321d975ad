package uninstall

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/kube"
)

// servers are the objects that run servers and permit them something. Nothing but a person deletes them.
type servers struct {
	releases   map[string]bool     // commands that uninstall the releases of Helm
	objects    map[string][]string // by namespace; the form is that of the arguments of kubectl
	namespaces map[string]bool
}

// names are the names of the objects in the manifests.
var names = []string{
	"metacontroller", "metacontroller-server", "metacontroller-accounts", "metacontroller-author", "metacontroller-use-accounts", "metacontroller-run-as-server",
	"metacontroller-garbage-collector", "aggregate-metacontroller-edit", "aggregate-metacontroller-view",
}

// deletable are the kinds of the objects in the manifests and in the chart, and of what a server creates for itself.
var deletable = []string{
	"statefulsets.apps", "deployments.apps", "services", "serviceaccounts", "leases.coordination.k8s.io",
	"poddisruptionbudgets.policy", "networkpolicies.networking.k8s.io",
	"roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
	"clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
	"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
}

// programs are the values of the label app.kubernetes.io/name of servers; the last one is that of Metacontroller's chart.
var programs = []string{"metascript", "metacontroller", "metacontroller-helm"}

// The marks of Helm on the objects of a release.
const (
	helmRelease   = "meta.helm.sh/release-name"
	helmNamespace = "meta.helm.sh/release-namespace"
)

// add adds an object if it belongs to a server.
func (s *servers) add(r kube.Resource, o *metav1.PartialObjectMetadata) {
	if s.objects == nil {
		*s = servers{map[string]bool{}, map[string][]string{}, map[string]bool{}}
	}
	isServer := slices.Contains(programs, o.Labels["app.kubernetes.io/name"])
	if r.GroupResource().String() == "namespaces" && (isServer || o.Name == names[0]) {
		s.namespaces[o.Name] = true
	}
	if !slices.Contains(deletable, r.GroupResource().String()) || !isServer && !slices.Contains(names, o.Name) || metav1.GetControllerOfNoCopy(o) != nil {
		return
	}
	if release := o.Annotations[helmRelease]; release != "" {
		s.releases[fmt.Sprintf("helm uninstall %s --namespace %s", release, o.Annotations[helmNamespace])] = true
		return
	}
	s.objects[o.Namespace] = append(s.objects[o.Namespace], r.Resource+"/"+o.Name)
}

// commands returns the commands that delete the objects: releases, workloads and what they need, and then what has no namespace.
func (s *servers) commands() []string {
	all := slices.AppendSeq([]string{}, maps.Keys(s.releases))
	slices.Sort(all)
	for _, of := range s.objects {
		slices.Sort(of)
	}
	for _, namespace := range slices.Sorted(maps.Keys(s.objects)) {
		if namespace != "" {
			all = append(all, fmt.Sprintf("kubectl delete --namespace %s %s", namespace, strings.Join(s.objects[namespace], " ")))
		}
	}
	if without := s.objects[""]; len(without) > 0 {
		all = append(all, "kubectl delete "+strings.Join(without, " "))
	}
	for _, namespace := range slices.Sorted(maps.Keys(s.namespaces)) {
		all = append(all, fmt.Sprintf("kubectl delete namespace %s # if it contains nothing else that you need", namespace))
	}
	return all
}
