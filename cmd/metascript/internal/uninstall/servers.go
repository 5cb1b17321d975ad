package uninstall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"metascript/controller/kube"
	"metascript/controller/shell"
)

// servers are the objects that run servers and permit them something. Nothing but a person deletes them.
//
// A user who may write objects in one namespace may give them any label, annotation and name. So an object in a namespace counts only if
// there is a server in the namespace: according to objects without a namespace, which such a user may not write.
type servers struct {
	objects    []found
	bindings   []string        // ClusterRoleBindings of servers
	namespaces map[string]bool // that are of servers, and that the commands delete
	of         map[string]bool // where servers are
}

// A found is an object that has the name or the label of an object of a server.
type found struct {
	namespace, argument string // of kubectl
	release             release
}

// A release is one of Helm.
type release struct{ namespace, name string }

// maxRelease is how long the name of a release may be.
const maxRelease = 53

// releaseOf returns the release of an object; the zero value if there is none. What Helm does not accept as a name is no release.
func releaseOf(o *metav1.PartialObjectMetadata) release {
	r := release{o.Annotations[helmNamespace], o.Annotations[helmRelease]}
	if len(r.name) > maxRelease || len(validation.IsDNS1123Subdomain(r.name)) > 0 || len(validation.IsDNS1123Label(r.namespace)) > 0 {
		return release{}
	}
	return r
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

// add adds an object if it may belong to a server.
func (s *servers) add(r kube.Resource, o *metav1.PartialObjectMetadata) {
	if s.namespaces == nil {
		s.namespaces, s.of = map[string]bool{}, map[string]bool{}
	}
	isServer := slices.Contains(programs, o.Labels["app.kubernetes.io/name"])
	if r.GroupResource().String() == "namespaces" && (isServer || o.Name == names[0]) {
		s.namespaces[o.Name], s.of[o.Name] = true, true
	}
	if !slices.Contains(deletable, r.GroupResource().String()) || !isServer && !slices.Contains(names, o.Name) || metav1.GetControllerOfNoCopy(o) != nil {
		return
	}
	of := found{o.Namespace, shell.Quote(r.Resource + "/" + o.Name), releaseOf(o)}
	s.objects = append(s.objects, of)
	if o.Namespace == "" && of.release.namespace != "" {
		s.of[of.release.namespace] = true
	}
	if r.GroupResource() == clusterRoleBindings.GroupResource() {
		s.bindings = append(s.bindings, o.Name)
	}
}

// clusterRoleBindings name the ServiceAccounts of servers.
var clusterRoleBindings = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")

// locate finds out in which namespaces the ServiceAccounts of servers are.
func (s *servers) locate(ctx context.Context, client dynamic.Interface) error {
	for _, name := range s.bindings {
		o, err := client.Resource(clusterRoleBindings).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read ClusterRoleBinding %s: %w", name, err)
		}
		for _, namespace := range subjectsOf(o) {
			s.of[namespace] = true
		}
	}
	return nil
}

// subjectsOf returns the namespaces of the ServiceAccounts in a ClusterRoleBinding.
func subjectsOf(o *unstructured.Unstructured) (namespaces []string) {
	var binding rbacv1.ClusterRoleBinding
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding) != nil {
		return nil
	}
	for _, subject := range binding.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind {
			namespaces = append(namespaces, subject.Namespace)
		}
	}
	return namespaces
}

// commands returns the commands that delete the objects: releases, workloads and what they need, and then what has no namespace.
func (s *servers) commands() []string {
	releases, objects := map[string]bool{}, map[string][]string{}
	for _, o := range s.objects {
		switch {
		case o.namespace != "" && !s.of[o.namespace]: // somebody else's
		case s.of[o.release.namespace]:
			releases[fmt.Sprintf("helm uninstall %s --namespace %s", o.release.name, o.release.namespace)] = true
		default:
			objects[o.namespace] = append(objects[o.namespace], o.argument)
		}
	}
	all := slices.AppendSeq([]string{}, maps.Keys(releases))
	slices.Sort(all)
	for _, namespace := range slices.Sorted(maps.Keys(objects)) {
		slices.Sort(objects[namespace])
		if namespace != "" {
			all = append(all, fmt.Sprintf("kubectl delete --namespace %s %s", shell.Quote(namespace), strings.Join(objects[namespace], " ")))
		}
	}
	if without := objects[""]; len(without) > 0 {
		all = append(all, "kubectl delete "+strings.Join(without, " "))
	}
	for _, namespace := range slices.Sorted(maps.Keys(s.namespaces)) {
		all = append(all, fmt.Sprintf("kubectl delete namespace %s # if it contains nothing else that you need", shell.Quote(namespace)))
	}
	return all
}
