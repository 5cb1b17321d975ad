package inspection

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	kubetesting "k8s.io/client-go/testing"

	"metascript/cmd/metascript/internal/kubeconfig"
)

var labels = map[string]string{"app.kubernetes.io/name": "metascript"}

// aPod returns a Pod that looks like that of a server, and is controlled by an object of this kind and name, whose UID is "uid of " and its name.
func aPod(namespace, name, kind, owner string, args ...string) *corev1.Pod {
	controls := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, UID: types.UID(namespace + name)},
		Spec:       corev1.PodSpec{ServiceAccountName: "server", Containers: []corev1.Container{{Args: args}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if kind != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID("uid of " + owner), Controller: &controls}}
	}
	return pod
}

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid of " + name)}
}

var template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{ServiceAccountName: "server"}}

// aDeployment returns a Deployment and its ReplicaSet, whose name has the suffix -1.
func aDeployment(namespace, name string) []runtime.Object {
	set := &appsv1.ReplicaSet{ObjectMeta: metaOf(namespace, name+"-1")}
	set.OwnerReferences = aPod(namespace, "", "Deployment", name).OwnerReferences
	return []runtime.Object{&appsv1.Deployment{ObjectMeta: metaOf(namespace, name), Spec: appsv1.DeploymentSpec{Template: template}}, set}
}

func aStatefulSet(namespace, name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metaOf(namespace, name), Spec: appsv1.StatefulSetSpec{Template: template}}
}

func aLease(namespace, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "metacontroller"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

func TestWhichPodGetsTheToken(t *testing.T) {
	in := func(namespace string, flags ...string) []runtime.Object {
		return append(aDeployment(namespace, "server"), aPod(namespace, "server-1-a", "ReplicaSet", "server-1", flags...))
	}
	elects := []string{"--leader-election"}
	other := aPod("a", "server-1-b", "ReplicaSet", "server-1", elects...)
	impostor := aPod("a", "impostor", "ReplicaSet", "server-1", elects...)
	impostor.Spec.Hostname = "server-1-a"
	differs := aPod("a", "server-0", "StatefulSet", "server")
	differs.Spec.ServiceAccountName = "another"
	older := aPod("a", "server-0", "StatefulSet", "server")
	older.OwnerReferences[0].UID = "of one that was deleted"
	ends := aPod("b", "server-1-a", "", "")
	ends.Status.Phase = corev1.PodFailed
	with := func(objects []runtime.Object, more ...runtime.Object) []runtime.Object {
		return append(objects, more...)
	}
	for _, c := range []struct {
		name, namespace string
		objects         []runtime.Object
		want            string // the Pod, or a part of the error, which has a space
	}{
		{"a Deployment", "a", in("a"), "a/server-1-a"},
		{"the only namespace", "", in("a"), "a/server-1-a"},
		{"a StatefulSet", "", []runtime.Object{aStatefulSet("a", "server"), aPod("a", "server-0", "StatefulSet", "server")}, "a/server-0"},
		{"none", "", nil, "there is no running Pod of a server in any namespace"},
		{"two namespaces", "", with(in("a"), in("b")...), "several namespaces have Pods with the label of a server, and one of them would get your token: a/server-1-a, b/server-1-a; name the namespace of the server with --server-namespace"},
		{"two namespaces, of which one is named", "b", with(in("a"), in("b")...), "b/server-1-a"},
		{"a Pod with the label in another namespace", "", with(in("a"), aPod("metacontroller", "x", "", "")), "a/server-1-a, metacontroller/x"},
		{"one that has ended in another namespace", "", with(in("a"), ends), "a/server-1-a"},
		{"an account that is none of a server", "", in("metacontroller"), "ServiceAccount server may not write the status of controllers"},
		{"the same, named", "metacontroller", in("metacontroller"), "metacontroller/server-1-a"},
		{"no workload", "a", []runtime.Object{aPod("a", "x", "", "")}, "Pod a/x: it is controlled by no StatefulSet and no Deployment"},
		{"a workload that does not exist", "a", []runtime.Object{aPod("a", "x", "StatefulSet", "server")}, "its StatefulSet server does not exist"},
		{"one of another UID", "a", []runtime.Object{aStatefulSet("a", "server"), older}, "its StatefulSet server is not the one that exists"},
		{"a ReplicaSet without a Deployment", "a", []runtime.Object{&appsv1.ReplicaSet{ObjectMeta: metaOf("a", "server-1")}, aPod("a", "x", "ReplicaSet", "server-1")}, "it is controlled by no StatefulSet and no Deployment"},
		{"another account than the workload", "a", []runtime.Object{aStatefulSet("a", "server"), differs}, "it acts as the ServiceAccount another, and its StatefulSet server as server"},
		{"the one that leads", "a", with(in("a", elects...), other, aLease("a", "server-1-b_uid")), "a/server-1-b"},
		{"nobody leads", "a", with(in("a", elects...), aLease("a", "")), "nobody holds the Lease a/metacontroller"},
		{"no Lease", "a", in("a", elects...), "its Lease a/metacontroller does not exist yet"},
		{"another one leads", "a", with(in("a", elects...), aLease("a", "gone_uid")), "the server that leads is gone_uid"},
		{"a Lease in another namespace", "a", with(in("a", "-leader-election", "--leader-election-namespace", "leases"), aLease("leases", "gone_uid")), "it holds the Lease leases/metacontroller"},
		{"two without an election", "a", with(in("a"), aPod("a", "server-1-b", "ReplicaSet", "server-1")), "several Pods may be the server, and only one of them can get your token: a/server-1-a, a/server-1-b"},
		{"a Pod with the host name of the leader", "a", with(in("a", elects...), impostor, aLease("a", "server-1-a_uid")), "a/impostor, a/server-1-a"},
	} {
		kube := kubefake.NewClientset(c.objects...)
		kube.PrependReactor("create", "subjectaccessreviews", func(action kubetesting.Action) (bool, runtime.Object, error) {
			review := action.(kubetesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
			review.Status.Allowed = review.Spec.User == "system:serviceaccount:a:server" && review.Spec.ResourceAttributes.Subresource == "status"
			return true, review, nil
		})
		client := &Client{flags: &Flags{ServerNamespace: c.namespace}, kube: kube, cluster: &kubeconfig.Cluster{Config: &rest.Config{}}}
		pod, err := client.find(t.Context())
		switch {
		case err == nil && nameOf(*pod) != c.want:
			t.Errorf("%s: found %s, want %s", c.name, nameOf(*pod), c.want)
		case err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(c.want, " ")):
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestWhoMayNotFindTheServerHasToNameIt(t *testing.T) {
	forbidden := func(resource string) kubetesting.ReactionFunc {
		return func(action kubetesting.Action) (bool, runtime.Object, error) {
			return resource != "pods" || action.GetNamespace() == "", nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
		}
	}
	for _, resource := range []string{"pods", "subjectaccessreviews"} {
		kube := kubefake.NewClientset(aStatefulSet("a", "server"), aPod("a", "server-0", "StatefulSet", "server"))
		kube.PrependReactor("*", resource, forbidden(resource))
		client := &Client{flags: &Flags{}, kube: kube, cluster: &kubeconfig.Cluster{Config: &rest.Config{}}}
		if pod, err := client.find(t.Context()); err == nil || !strings.Contains(err.Error(), "--server-namespace") {
			t.Errorf("%s are forbidden: got %v, %v", resource, pod, err)
		}
		client.flags.ServerNamespace = "a"
		if _, err := client.find(t.Context()); err != nil {
			t.Errorf("%s are forbidden, and the namespace is named: %v", resource, err)
		}
	}
}

func TestArgumentsOfPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Command: []string{"/usr/bin/metacontroller", "-leader-election", "--leader-election-id=x-$(TEAM)"},
		Args:    []string{"--leader-election-namespace", "y", "inspect-address=1", "--metrics-address=:1", "--metrics-address=:2", "--namespace=$(POD_NAMESPACE)", "--other=$(KEY)"},
		Env: []corev1.EnvVar{
			{Name: "TEAM", Value: "a"},
			{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
			{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}},
		},
	}}}}
	for name, want := range map[string]string{
		"leader-election": "true", "leader-election-id": "x-a", "leader-election-namespace": "y", "inspect-address": "default", "metrics-address": ":2",
		"namespace": "ns", "other": "$(KEY)",
	} {
		if got := argument(pod, name, "default"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
