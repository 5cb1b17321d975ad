package inspection

import (
	"context"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"

	"metascript/cmd/metascript/internal/serverflags"
)

// connect connects to the Pod of the server that leads, or without any to a server on this machine, and says which it is, if it is another
// one than before.
func (c *Client) connect(ctx context.Context) error {
	pod, err := c.find(ctx)
	if none := (noPodError{}); c.flags.ServerNamespace == "" && errors.As(err, &none) {
		found, hint := c.connectLocally(ctx)
		if found {
			return nil
		}
		return fmt.Errorf("%w%s", err, hint)
	}
	if err != nil {
		return err
	}
	port := portOf(pod)
	if port == "" {
		return fmt.Errorf("the server in Pod %s has --inspect-address=0, so that it cannot be asked", nameOf(*pod))
	}
	c.disconnect()
	made, err := forwardTo(ctx, c.cluster.Config, c.kube.CoreV1().RESTClient(), pod.Namespace, pod.Name, port)
	if err != nil {
		return c.cluster.Explain(fmt.Errorf("forward a port to Pod %s, for which you need the permission to create pods/portforward: %w", nameOf(*pod), err))
	}
	if err := c.checkSame(ctx, pod); err != nil {
		made.close()
		return err
	}
	if c.forward = made; c.pod != pod.UID {
		c.notice(fmt.Sprintf("asking the server at the port %s of the Pod %s, which gets %s", port, nameOf(*pod), c.sent()))
	}
	c.pod, c.base = pod.UID, "http://"+net.JoinHostPort("localhost", port)
	return nil
}

// checkSame returns an error if a Pod was replaced by another one of the same name before the connection was made.
func (c *Client) checkSame(ctx context.Context, pod *corev1.Pod) error {
	now, err := c.pods(ctx, pod.Namespace)
	if err != nil {
		return c.cluster.Explain(err)
	}
	for _, other := range now {
		if other.UID == pod.UID {
			return nil
		}
	}
	return standby("the Pod %s of the server has ended", nameOf(*pod))
}

// sent says what a server gets.
func (c *Client) sent() string {
	if c.flags.Account != "" {
		return "a token of the ServiceAccount " + c.flags.Account + " for servers of this program only"
	}
	return "your token"
}

// disconnect closes the connection to the Pod.
func (c *Client) disconnect() {
	if c.forward != nil {
		c.http.CloseIdleConnections()
		c.forward.close()
		c.forward = nil
	}
}

// portOf returns the port that the server in a Pod serves, according to its arguments; "" if it is turned off.
func portOf(pod *corev1.Pod) string {
	_, port, err := net.SplitHostPort(argument(pod, "inspect-address", serverflags.DefaultInspect))
	if err != nil {
		return ""
	}
	return port
}
