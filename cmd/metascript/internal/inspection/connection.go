package inspection

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// A forward is a connection to a Pod through the API server, as kubectl port-forward makes it. A connection to the port of the Pod is a
// stream in it: no port of this machine is opened, to which other users could connect, or which they could take over to get the token.
type forward struct {
	namespace, pod, port string
	connection           httpstream.Connection
	requests             atomic.Int64
}

// forwardTo connects to a Pod. It prefers a WebSocket, as kubectl does, and uses SPDY if the API server or a proxy does not know that.
func forwardTo(ctx context.Context, config *rest.Config, client rest.Interface, namespace, pod, port string) (*forward, error) {
	u := client.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer, err := dialerFor(config, u)
	if err != nil {
		return nil, err
	}
	type dialed struct {
		connection httpstream.Connection
		err        error
	}
	done := make(chan dialed, 1)
	go func() {
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		done <- dialed{connection, err}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			return nil, d.err
		}
		return &forward{namespace: namespace, pod: pod, port: port, connection: d.connection}, nil
	case <-ctx.Done():
		return nil, ctx.Err() // the command ends, and with it the request
	}
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

// close ends all connections.
func (f *forward) close() { _ = f.connection.Close() }

// lost reports whether the connection to the Pod has ended.
func (f *forward) lost() bool {
	select {
	case <-f.connection.CloseChan():
		return true
	default:
		return false
	}
}

// dial connects to the port of the Pod.
func (f *forward) dial() (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, f.port)
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(f.requests.Add(1), 10))
	problem, err := f.connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = problem.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := f.connection.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, problem.Reset())
	}
	c := &podConn{Stream: data, forward: f, problem: problem, said: make(chan string, 1)}
	go func() {
		text, _ := io.ReadAll(io.LimitReader(problem, maxProblem)) // it ends with the connection at the latest
		c.said <- string(text)
	}()
	return c, nil
}

const (
	maxProblem  = 4 << 10     // bytes of an error of the node
	problemWait = time.Second // for this error, after the data have ended
)

// A podConn is a connection to a port of a Pod.
type podConn struct {
	httpstream.Stream
	forward *forward
	problem httpstream.Stream
	said    chan string // gets the error of the node, "" if there is none
}

// Read implements io.Reader. When the data end because of an error of the node, it returns that error.
func (c *podConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if n > 0 || err == nil {
		return n, err
	}
	select {
	case text := <-c.said:
		c.said <- text
		if text = strings.TrimSpace(text); text != "" {
			return 0, errors.New(text)
		}
	case <-c.forward.connection.CloseChan():
		return 0, errors.New("the connection to the Pod was lost")
	case <-time.After(problemWait):
	}
	return 0, err
}

// Close implements net.Conn.
func (c *podConn) Close() error {
	err := errors.Join(c.Stream.Reset(), c.problem.Reset())
	c.forward.connection.RemoveStreams(c.Stream, c.problem)
	return err
}

// LocalAddr implements net.Conn.
func (c *podConn) LocalAddr() net.Addr { return podAddr("") }

// RemoteAddr implements net.Conn.
func (c *podConn) RemoteAddr() net.Addr {
	return podAddr(c.forward.namespace + "/" + c.forward.pod + ":" + c.forward.port)
}

// SetDeadline implements net.Conn. A request has a context instead, whose end closes the connection.
func (c *podConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn; see SetDeadline.
func (c *podConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn; see SetDeadline.
func (c *podConn) SetWriteDeadline(time.Time) error { return nil }

// A podAddr is the address of a port of a Pod.
type podAddr string

// Network implements net.Addr.
func (podAddr) Network() string { return "pod" }

// String implements net.Addr.
func (a podAddr) String() string { return string(a) }
