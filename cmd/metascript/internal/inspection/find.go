package inspection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/inspect"
)

// servers is the selector of the Pods of servers: that of the manifests and of the chart.
const servers = "app.kubernetes.io/name in (metascript, metacontroller, metacontroller-helm)"

// chosen says what to do if the server cannot be told from other Pods.
const chosen = "name the namespace of the server with --server-namespace"

// find returns the Pod of the server that leads. It gets the token of the user, who can be impersonated with it. Any user who may create a
// Pod or a namespace can give a Pod the label of servers. So the Pod must be in the namespace that the user names. Without one, it must be
// in the only namespace with such Pods, and its account must be permitted what only that of a server is. In both cases it is the one that
// holds the Lease, and belongs to a workload.
func (c *Client) find(ctx context.Context) (*corev1.Pod, error) {
	if c.flags.ServerNamespace != "" {
		pods, err := c.pods(ctx, c.flags.ServerNamespace)
		if err != nil {
			return nil, c.cluster.Explain(fmt.Errorf("find the Pods of the server in the namespace %s; name another one with --server-namespace, or a server with --server-address: %w", c.flags.ServerNamespace, err))
		}
		return c.leader(ctx, pods, "in the namespace "+c.flags.ServerNamespace)
	}
	pods, err := c.pods(ctx, metav1.NamespaceAll)
	if err != nil {
		return nil, c.cluster.Explain(fmt.Errorf("find the Pods of the server in all namespaces, for which you need the permission to list them; without it, %s: %w", chosen, err))
	}
	namespaces := map[string]bool{}
	for _, pod := range pods {
		namespaces[pod.Namespace] = true
	}
	if len(namespaces) > 1 {
		return nil, fmt.Errorf("several namespaces have Pods with the label of a server, and one of them would get your token: %s; %s", namesOf(pods), chosen)
	}
	pod, err := c.leader(ctx, pods, "in any namespace")
	if err != nil {
		return nil, err
	}
	return pod, c.checkAccount(ctx, pod)
}

// pods returns the Pods in a namespace that run and have the label of servers, sorted by their names; "" is all namespaces.
func (c *Client) pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: servers})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
	}), nil
}

func nameOf(pod corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func namesOf(pods []corev1.Pod) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = nameOf(pod)
	}
	return strings.Join(names, ", ")
}

// leader returns the only one of the Pods that belongs to a workload and leads. where says where they were looked for.
func (c *Client) leader(ctx context.Context, pods []corev1.Pod, where string) (*corev1.Pod, error) {
	if len(pods) == 0 {
		return nil, noPodError{standby("there is no running Pod of a server %s, with the label %s: name another namespace with --server-namespace, or a server with --server-address", where, servers)}
	}
	var lead []corev1.Pod
	var not []error
	for _, pod := range pods {
		err := c.checkWorkload(ctx, &pod)
		if err == nil {
			err = c.checkLease(ctx, &pod)
		}
		if err == nil {
			lead = append(lead, pod)
		} else {
			not = append(not, fmt.Errorf("the Pod %s: %w", nameOf(pod), err))
		}
	}
	switch {
	case len(lead) == 1:
		return &lead[0], nil
	case len(lead) > 1:
		return nil, fmt.Errorf("several Pods may be the server, and only one of them can get your token: %s; use --server-address, with a port-forward to the one that you trust", namesOf(lead))
	}
	return nil, refusedAll(not)
}

// refusedAll returns the error that no Pod gets the token. It is over when another server leads if one of the Pods only does not hold the Lease.
func refusedAll(not []error) error {
	var texts []string
	var waits bool
	for _, err := range not {
		var problem *inspect.Problem
		waits = waits || errors.As(err, &problem) && problem.Standby
		texts = append(texts, err.Error())
	}
	text := "no Pod gets your token: " + strings.Join(texts, "; ")
	if waits {
		return standby("%s", text)
	}
	return errors.New(text)
}

// standby returns an error that may be over when another server leads.
func standby(format string, args ...any) error {
	return &inspect.Problem{Status: http.StatusServiceUnavailable, Standby: true, Message: fmt.Sprintf(format, args...)}
}

// checkWorkload returns an error unless a Pod is controlled by a StatefulSet, or by a Deployment, and acts as its account.
func (c *Client) checkWorkload(ctx context.Context, pod *corev1.Pod) error {
	owner, err := c.workloadOf(ctx, pod)
	if err != nil {
		return err
	}
	var template *corev1.PodTemplateSpec
	switch {
	case owner == nil || owner.APIVersion != apps:
	case owner.Kind == "StatefulSet":
		set, err := c.kube.AppsV1().StatefulSets(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err := isOwner(owner, set, err); err != nil {
			return err
		}
		template = &set.Spec.Template
	case owner.Kind == "Deployment":
		set, err := c.kube.AppsV1().Deployments(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err := isOwner(owner, set, err); err != nil {
			return err
		}
		template = &set.Spec.Template
	}
	switch {
	case template == nil:
		return errors.New("it is controlled by no StatefulSet and no Deployment, so anybody may have created it")
	case accountOf(&template.Spec) != accountOf(&pod.Spec):
		return fmt.Errorf("it acts as the ServiceAccount %s, and its %s %s as %s", accountOf(&pod.Spec), owner.Kind, owner.Name, accountOf(&template.Spec))
	}
	return nil
}

// apps is the API version of the workloads of servers.
const apps = "apps/v1"

// workloadOf returns the controller of a Pod, or that of its ReplicaSet; nil if there is none.
func (c *Client) workloadOf(ctx context.Context, pod *corev1.Pod) (*metav1.OwnerReference, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.APIVersion != apps || owner.Kind != "ReplicaSet" {
		return owner, nil
	}
	set, err := c.kube.AppsV1().ReplicaSets(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	if err := isOwner(owner, set, err); err != nil {
		return nil, err
	}
	return metav1.GetControllerOf(set), nil
}

// isOwner returns an error unless an object that was read is the owner, and not another one of the same name. err is that of the read.
func isOwner(owner *metav1.OwnerReference, read metav1.Object, err error) error {
	what := owner.Kind + " " + owner.Name
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("its %s does not exist", what)
	case err != nil:
		return fmt.Errorf("find its %s: %w", what, err)
	case read.GetUID() != owner.UID:
		return fmt.Errorf("its %s is not the one that exists, which has another UID", what)
	}
	return nil
}

func accountOf(spec *corev1.PodSpec) string {
	if spec.ServiceAccountName == "" {
		return "default"
	}
	return spec.ServiceAccountName
}

// checkLease returns an error if the server in a Pod takes part in a leader election and another one holds its Lease.
func (c *Client) checkLease(ctx context.Context, pod *corev1.Pod) error {
	if on, err := strconv.ParseBool(argument(pod, "leader-election", "false")); err == nil && !on {
		return nil
	}
	namespace, name := argument(pod, "leader-election-namespace", pod.Namespace), argument(pod, "leader-election-id", "metacontroller")
	lease, err := c.kube.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return standby("its Lease %s/%s does not exist yet", namespace, name)
	case err != nil:
		return fmt.Errorf("find out whether it leads: %w", err)
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return standby("nobody holds the Lease %s/%s at the moment", namespace, name)
	}
	// The identity of a server begins with the host name of its Pod.
	if host, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_"); host != hostOf(pod) {
		return standby("the server that leads is %s: it holds the Lease %s/%s", *lease.Spec.HolderIdentity, namespace, name)
	}
	return nil
}

// checkAccount returns an error unless the account of a Pod may write the status of controllers, as only that of a server may. Otherwise
// a user who may create a namespace could have a Pod there that looks like a server.
func (c *Client) checkAccount(ctx context.Context, pod *corev1.Pod) error {
	who := account.Account{Namespace: pod.Namespace, Name: accountOf(&pod.Spec)}
	review, err := c.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.User(), Groups: who.Groups(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "update", Group: v1alpha1.Group, Resource: v1alpha1.CompositeControllers.Resource, Subresource: "status"},
	}}, metav1.CreateOptions{})
	name := nameOf(*pod)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the Pod %s looks like the server, and would get your token; whether its account is that of a server can be found out only by who may create subjectaccessreviews: if you trust this namespace, use --server-namespace %s: %w", name, pod.Namespace, err)
	case err != nil:
		return c.cluster.Explain(fmt.Errorf("find out whether the account of the Pod %s is that of a server: %w", name, err))
	case !review.Status.Allowed || review.Status.Denied:
		return fmt.Errorf("the Pod %s has the label of a server, and its ServiceAccount %s may not write the status of controllers as a server does, so it does not get your token: %s", name, who.Name, chosen)
	}
	return nil
}

// maxHost is the maximum length of a host name on Linux.
const maxHost = 63

// hostOf returns the host name that the processes in a Pod see: its name, cut off if it is long, unless the Pod has another one or that of
// its node.
func hostOf(pod *corev1.Pod) string {
	switch {
	case pod.Spec.HostNetwork:
		return pod.Spec.NodeName
	case pod.Spec.Hostname != "":
		return pod.Spec.Hostname
	}
	return strings.TrimRight(pod.Name[:min(len(pod.Name), maxHost)], "-.")
}

// argument returns the value of a flag of the server in a Pod; fallback if it is not set. A flag without a value is true.
func argument(pod *corev1.Pod, name, fallback string) string {
	found := fallback
	for _, container := range pod.Spec.Containers {
		variables := variablesOf(pod, container)
		args := slices.Concat(container.Command, container.Args)
		for i := range args {
			args[i] = variables.Replace(args[i])
		}
		for i, arg := range args {
			flag, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			switch {
			case flag != name || !strings.HasPrefix(arg, "-"):
			case has:
				found = value
			case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
				found = args[i+1]
			default:
				found = "true"
			}
		}
	}
	return found
}

// variablesOf returns what replaces the references to environment variables, such as $(POD_NAMESPACE), in the arguments of a container. Those whose value is
// not in the Pod are not replaced.
func variablesOf(pod *corev1.Pod, container corev1.Container) *strings.Replacer {
	fields := map[string]string{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "spec.serviceAccountName": pod.Spec.ServiceAccountName, "spec.nodeName": pod.Spec.NodeName}
	var pairs []string
	for _, env := range container.Env {
		value := env.Value
		if from := env.ValueFrom; from != nil {
			field, known := "", false
			if from.FieldRef != nil {
				field, known = fields[from.FieldRef.FieldPath]
			}
			if value = field; !known {
				continue
			}
		}
		pairs = append(pairs, "$("+env.Name+")", value)
	}
	return strings.NewReplacer(pairs...)
}
