package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// A kubelet is the part of a kubelet that forwards ports: the API server connects to it for the subresource portforward of a Pod on its
// node. The processes of its Pods are servers of the script, and kwok does the rest for the node and the Pods.
type kubelet struct {
	*httptest.Server
	node   string
	client kubernetes.Interface

	mu          sync.Mutex        // guards the fields below
	processes   map[string]string // the addresses of the inspect endpoints, by the name of the Pod
	connections map[string][]httpstream.Connection
	tokens      []string // that impostors got
	ended       bool
	forwards    sync.WaitGroup // of the connections
}

// inspectPort is the port of a Pod whose server has the default for --inspect-address.
const inspectPort = "9998"

// cmdKubelet runs the kubelet of a script, and its Pods; see commands.
func cmdKubelet(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	if len(args) == 0 {
		ts.Check(w.startKubelet(ts))
		return
	}
	switch args[0] {
	case "runs":
		namespace, name := w.name, args[1]
		if other, rest, both := strings.Cut(name, "/"); both {
			namespace, name = other, rest
		}
		address := ""
		switch args[2] {
		case "none":
		case "impostor":
			address = w.kubelet.impostor(ts)
		default:
			address = strings.TrimPrefix(w.server(ts, args[2]).inspect, "http://")
		}
		ts.Check(w.kubelet.run(namespace, name, address, args[3:]))
	case "fails":
		ts.Check(w.kubelet.fail(w.name, args[1]))
	case "tokens":
		w.kubelet.mu.Lock()
		defer w.kubelet.mu.Unlock()
		fmt.Fprintln(ts.Stdout(), strings.Join(w.kubelet.tokens, "\n"))
	default:
		ts.Fatalf("kubelet: unknown word %s", args[0])
	}
}

// impostor serves what a Pod serves that is no server, but wants the tokens of users. It returns its address.
func (k *kubelet) impostor(ts *testscript.TestScript) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tokens = append(k.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		http.NotFound(w, r)
	}))
	ts.Defer(s.Close)
	return s.Listener.Addr().String()
}

// inPod returns command as the process of a Pod: with the name of the Pod as its host name. The process id is that of the command.
func inPod(command *exec.Cmd, name string) *exec.Cmd {
	args := []string{"--uts", "sh", "-c", `hostname "$0" && exec "$@"`, name}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	inside := exec.Command("unshare", append(args, command.Args...)...)
	inside.Stdout, inside.Stderr, inside.Env = command.Stdout, command.Stderr, command.Env
	return inside
}

func (w *world) startKubelet(ts *testscript.TestScript) error {
	client, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		return err
	}
	k := &kubelet{node: w.name + "-node", client: client, processes: map[string]string{}, connections: map[string][]httpstream.Connection{}}
	k.Server = httptest.NewUnstartedServer(http.HandlerFunc(k.portForward))
	k.Config.ErrorLog = log.New(io.Discard, "", 0)
	k.StartTLS()
	ts.Defer(k.end)
	w.kubelet = k
	return k.register()
}

// register creates the node, waits until kwok has made it ready, and then says where the kubelet is.
func (k *kubelet) register() error {
	ctx := context.Background()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node, Labels: map[string]string{"kubernetes.io/hostname": k.node}}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if _, err := k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	err := eventually(func() error {
		node, err := k.client.CoreV1().Nodes().Get(ctx, k.node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("the node is not ready")
	})
	if err != nil {
		return err
	}
	u, err := url.Parse(k.URL)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, u.Hostname(), u.Port())
	_, err = k.client.CoreV1().Nodes().Patch(ctx, k.node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// run starts a Pod on the node, and waits until kwok has started it. flags are those of its server. The Pod is that of a StatefulSet, whose
// name is that of the Pod without -0. With "bare" as the first flag, there is only the Pod.
func (k *kubelet) run(namespace, name, address string, flags []string) error {
	k.mu.Lock()
	k.processes[name] = address
	k.mu.Unlock()
	ctx := context.Background()
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "metascript"}}
	spec := corev1.PodSpec{NodeName: k.node, Containers: []corev1.Container{{Name: "metascript", Image: "metascript", Args: flags}}}
	var err error
	if slices.Contains(flags, "bare") {
		_, err = k.client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: spec}, metav1.CreateOptions{})
	} else {
		meta.Name = strings.TrimSuffix(name, "-0")
		set := appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: spec}}
		_, err = k.client.AppsV1().StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: meta, Spec: set}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	return eventually(func() error {
		pod, err := k.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("Pod %s is %s", name, pod.Status.Phase)
		}
		return err
	})
}

// fail deletes a Pod with its StatefulSet, and closes its connections.
func (k *kubelet) fail(namespace, name string) error {
	ctx := context.Background()
	if err := k.client.AppsV1().StatefulSets(namespace).Delete(ctx, strings.TrimSuffix(name, "-0"), metav1.DeleteOptions{}); err != nil {
		return err
	}
	err := eventually(func() error {
		_, err := k.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("Pod %s still exists: %v", name, err)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.processes, name)
	for _, c := range k.connections[name] {
		_ = c.Close()
	}
	return err
}

// end stops the kubelet, and deletes its node.
func (k *kubelet) end() {
	k.mu.Lock()
	k.ended = true
	for _, all := range k.connections {
		for _, c := range all {
			_ = c.Close()
		}
	}
	k.mu.Unlock()
	k.forwards.Wait()
	k.Close()
	_ = k.client.CoreV1().Nodes().Delete(context.Background(), k.node, metav1.DeleteOptions{})
}

// portForward serves POST /portForward/NAMESPACE/POD. Each forwarded connection has two streams with the same ID: one for data, and one for
// an error.
func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 3 || parts[0] != "portForward" {
		http.NotFound(w, r)
		return
	}
	pod := parts[2]
	k.mu.Lock()
	_, runs := k.processes[pod]
	k.mu.Unlock()
	if !runs {
		http.Error(w, "the Pod "+pod+" does not run", http.StatusNotFound)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return // it has responded
	}
	streams := make(chan httpstream.Stream, 16)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if connection == nil {
		return // it has responded
	}
	if !k.add(pod, connection) {
		_ = connection.Close()
		return
	}
	defer k.forwards.Done()
	var forwards sync.WaitGroup
	defer forwards.Wait()
	defer connection.Close()
	halves := map[string]httpstream.Stream{}
	for {
		select {
		case <-connection.CloseChan():
			return
		case stream := <-streams:
			id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
			other := halves[id]
			if halves[id] = stream; other == nil {
				continue
			}
			delete(halves, id)
			data, failed := stream, other
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				data, failed = other, stream
			}
			forwards.Go(func() { k.forward(pod, data, failed) })
		}
	}
}

// add notes a connection to a Pod, and returns false if the kubelet has ended.
func (k *kubelet) add(pod string, c httpstream.Connection) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return false
	}
	k.connections[pod] = append(k.connections[pod], c)
	k.forwards.Add(1)
	return true
}

// forward copies data between a stream and the process of a Pod.
func (k *kubelet) forward(pod string, data, failed httpstream.Stream) {
	defer failed.Close()
	defer data.Close()
	k.mu.Lock()
	address := k.processes[pod]
	k.mu.Unlock()
	if port := data.Headers().Get(corev1.PortHeader); port != inspectPort || address == "" {
		fmt.Fprintf(failed, "nothing listens on port %s of the Pod %s", port, pod)
		return
	}
	to, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprint(failed, err)
		return
	}
	var copying sync.WaitGroup
	copying.Go(func() {
		defer to.Close()
		_, _ = io.Copy(to, data) // until either side ends
	})
	_, _ = io.Copy(data, to)
	_ = data.Reset()
	_ = to.Close()
	copying.Wait()
}
