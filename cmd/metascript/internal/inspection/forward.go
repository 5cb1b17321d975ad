package inspection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"metascript/cmd/metascript/internal/serverflags"
)

// servers is the selector of the Pods of servers: that of the manifests and of the chart.
const servers = "app.kubernetes.io/name in (metascript, metacontroller, metacontroller-helm)"

// connect forwards a port of this machine to the Pod of a server: of the one with that identity, or of any if that is "".
func (c *Client) connect(ctx context.Context, identity string) error {
	pod, err := c.find(ctx, identity)
	if err != nil {
		return err
	}
	port := portOf(pod)
	if port == "" {
		return fmt.Errorf("the server in Pod %s/%s has --inspect-address=0, so that it cannot be asked", pod.Namespace, pod.Name)
	}
	if c.forward != nil {
		c.http.CloseIdleConnections()
		c.forward.close()
	}
	if c.forward, err = forwardTo(c.cluster.Config, c.kube.CoreV1().RESTClient(), pod.Namespace, pod.Name, port); err != nil {
		return c.cluster.Explain(fmt.Errorf("forward a port to Pod %s/%s, for which you need the permission to create pods/portforward: %w", pod.Namespace, pod.Name, err))
	}
	c.base = "http://" + c.forward.address
	return nil
}

// find returns the Pod of a server. The identity of a server begins with the name of its Pod. Only one namespace is searched, since the Pod
// gets the token of the user: whoever may create Pods with that label somewhere else must not get it.
func (c *Client) find(ctx context.Context, identity string) (*corev1.Pod, error) {
	namespace := c.flags.ServerNamespace
	pods, err := c.pods(ctx, namespace)
	if err != nil {
		return nil, c.cluster.Explain(fmt.Errorf("find the Pods of the server in the namespace %s; name another one with --server-namespace, or a server with --server-address: %w", namespace, err))
	}
	host, _, _ := strings.Cut(identity, "_")
	for _, pod := range pods {
		if identity == "" || pod.Name == host {
			return &pod, nil
		}
	}
	if identity != "" {
		return nil, fmt.Errorf("the server that leads is %s, and there is no running Pod %s in the namespace %s with the label %s", identity, host, namespace, servers)
	}
	return nil, fmt.Errorf("there is no running Pod of a server in the namespace %s, with the label %s: %s", namespace, servers, c.elsewhere(ctx))
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

// A forward is a port of this machine from which connections are forwarded to a port of a Pod.
type forward struct {
	namespace, pod, port string
	address              string // on this machine
	stop                 chan struct{}
	ended                chan struct{}
}

func (f *forward) close() {
	close(f.stop)
	<-f.ended
}

// forwardTo begins to forward. It prefers a WebSocket, as kubectl does, and uses SPDY if the API server or a proxy does not know that.
func forwardTo(config *rest.Config, client rest.Interface, namespace, pod, port string) (*forward, error) {
	u := client.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer, err := dialerFor(config, u)
	if err != nil {
		return nil, err
	}
	f := &forward{namespace: namespace, pod: pod, port: port, stop: make(chan struct{}), ended: make(chan struct{})}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{"0:" + port}, f.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	go func() {
		defer close(f.ended)
		failed <- forwarder.ForwardPorts()
	}()
	select {
	case <-ready:
	case err := <-failed:
		if err == nil {
			err = errors.New("the connection was closed")
		}
		return nil, err
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		f.close()
		return nil, err
	}
	f.address = fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
	return f, nil
}

func dialerFor(config *rest.Config, u *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
