package inspection

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/cmd/metascript/internal/serverflags"
	"metascript/controller/inspect"
)

// servers is the selector of the Pods of servers: that of the manifests and of the chart.
const servers = "app.kubernetes.io/name in (metascript, metacontroller, metacontroller-helm)"

// connect connects to the Pod of a server: of the one with that identity, or of any if that is "".
func (c *Client) connect(ctx context.Context, identity string) error {
	pod, err := c.find(ctx, identity)
	if err != nil {
		return err
	}
	port := portOf(pod)
	if port == "" {
		return fmt.Errorf("the server in Pod %s/%s has --inspect-address=0, so that it cannot be asked", pod.Namespace, pod.Name)
	}
	c.disconnect()
	if c.forward, err = forwardTo(ctx, c.cluster.Config, c.kube.CoreV1().RESTClient(), pod.Namespace, pod.Name, port); err != nil {
		return c.cluster.Explain(fmt.Errorf("forward a port to Pod %s/%s, for which you need the permission to create pods/portforward: %w", pod.Namespace, pod.Name, err))
	}
	c.base = "http://" + net.JoinHostPort("localhost", port)
	return nil
}

// disconnect closes the connection to the Pod.
func (c *Client) disconnect() {
	if c.forward != nil {
		c.http.CloseIdleConnections()
		c.forward.close()
		c.forward = nil
	}
}

// defaultNamespaces are those of the manifests and of the chart, as they are described in the documentation.
var defaultNamespaces = []string{"metacontroller", "metascript"}

// find returns the Pod of a server. The identity of a server begins with the host name of its Pod. Not all namespaces are searched, since the
// Pod gets the token of the user: whoever may create Pods with that label somewhere else must not get it.
func (c *Client) find(ctx context.Context, identity string) (*corev1.Pod, error) {
	namespaces := defaultNamespaces
	if c.flags.ServerNamespace != "" {
		namespaces = []string{c.flags.ServerNamespace}
	}
	host, _, _ := strings.Cut(identity, "_")
	var failed error
	for _, namespace := range namespaces {
		pods, err := c.pods(ctx, namespace)
		failed = cmp.Or(failed, err)
		for _, pod := range pods {
			if identity == "" || hostOf(&pod) == host {
				return &pod, nil
			}
		}
	}
	where := "the namespace " + strings.Join(namespaces, " or ")
	switch {
	case failed != nil:
		return nil, c.cluster.Explain(fmt.Errorf("find the Pods of the server in %s; name another one with --server-namespace, or a server with --server-address: %w", where, failed))
	case identity != "":
		return nil, standby("the server that leads is %s, and there is no running Pod %s in %s with the label %s", identity, host, where, servers)
	}
	return nil, standby("there is no running Pod of a server in %s, with the label %s: %s", where, servers, c.elsewhere(ctx))
}

// standby returns an error that may be over when another server leads.
func standby(format string, args ...any) error {
	return &inspect.Problem{Status: http.StatusServiceUnavailable, Standby: true, Message: fmt.Sprintf(format, args...)}
}

// pods returns the Pods of servers in a namespace that run, sorted by their names; "" is all namespaces.
func (c *Client) pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: servers})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
	}), nil
}

// elsewhere says where the server may be, for the error that it was not found.
func (c *Client) elsewhere(ctx context.Context) string {
	const advice = "name its namespace with --server-namespace, or a server with --server-address"
	pods, err := c.pods(ctx, metav1.NamespaceAll)
	if err != nil || len(pods) == 0 {
		return advice // the user may be permitted to read one namespace only
	}
	return fmt.Sprintf("if you trust the Pod %s/%s, which would get your token, use --server-namespace %s", pods[0].Namespace, pods[0].Name, pods[0].Namespace)
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

// portOf returns the port that the server in a Pod serves, according to its arguments; "" if it is turned off.
func portOf(pod *corev1.Pod) string {
	address := serverflags.DefaultInspect
	for _, container := range pod.Spec.Containers {
		for _, arg := range slices.Concat(container.Command, container.Args) {
			if value, found := strings.CutPrefix(strings.TrimLeft(arg, "-"), "inspect-address="); found {
				address = value
			}
		}
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return port
}
