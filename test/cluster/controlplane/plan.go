package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
)

// plan has the components of a cluster that is not started yet, and the
// kubeconfig of the cluster.
type plan struct {
	// waves are lists of components that start at the same time. A wave starts
	// when all components of the wave before are ready.
	waves [][]component

	kubeconfig []byte
}

// component is a program of the binary.
type component struct {
	name string // the first argument of the binary
	args []string

	// ready returns nil if the component is ready, and an error that says what
	// is missing otherwise. If ready is nil, nothing waits for the component.
	ready func(context.Context) error
}

// newPlan writes the files that the components read and returns the plan.
func (l *Launcher) newPlan(f folder) (*plan, error) {
	if l.plan != nil {
		return l.plan(f)
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	etcdURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	serverURL := fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	kubeconfig := identity.kubeconfig(serverURL)
	if err := writeState(f, identity, kubeconfig, l.Stages); err != nil {
		return nil, err
	}
	api, err := newClient(serverURL, identity)
	if err != nil {
		return nil, err
	}
	return &plan{
		kubeconfig: kubeconfig,
		waves: [][]component{
			{etcd(f, etcdURL, peerURL)},
			{apiServer(f, etcdURL, ports[2], api).with(l.audit(f)...)},
			{controllerManager(f, api), scheduler(f), kwok(f, api)},
		},
	}, nil
}

// Names of the files in the directory state.
const (
	caFile              = "ca.crt"
	serverCertFile      = "apiserver.crt"
	serverKeyFile       = "apiserver.key"
	serviceAccountFile  = "service-account.key"
	tokenFile           = "tokens.csv"
	stagesFile          = "stages.yaml"
	componentConfigFile = "kubeconfig"
	auditPolicyFile     = "audit-policy.yaml"
)

// writeState writes the files that the components read.
func writeState(f folder, id *identity, kubeconfig []byte, stages []string) error {
	if err := os.MkdirAll(f.path("state"), 0o700); err != nil {
		return err
	}
	documents := append([]string{releasedVolumeStage}, stages...)
	files := map[string][]byte{
		caFile:              id.ca,
		serverCertFile:      id.serverCert,
		serverKeyFile:       id.serverKey,
		serviceAccountFile:  id.serviceAccountKey,
		tokenFile:           id.tokens(),
		stagesFile:          []byte(strings.Join(documents, "\n---\n")),
		componentConfigFile: kubeconfig,
		auditPolicyFile:     []byte(auditPolicy),
	}
	for name, content := range files {
		if err := os.WriteFile(f.path("state", name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// etcd returns etcd. It does not sync its files (--unsafe-no-fsync): the files
// are removed when the cluster stops, and syncing makes etcd slow.
func etcd(f folder, url, peerURL string) component {
	return component{
		name: "etcd",
		args: []string{
			"--data-dir=" + f.path("state", "etcd"),
			"--unsafe-no-fsync",
			"--listen-client-urls=" + url,
			"--advertise-client-urls=" + url,
			"--listen-peer-urls=" + peerURL,
			"--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=default=" + peerURL,
			"--log-level=warn",
		},
		ready: func(ctx context.Context) error { return etcdHealth(ctx, url) },
	}
}

// apiServer returns kube-apiserver with the default settings, with two
// exceptions. The ServiceAccount admission plugin is off, because no container
// runs that could use a token. The Service kubernetes has no endpoints, because
// an endpoint must not be a loopback address.
func apiServer(f folder, etcdURL string, port int, api *client) component {
	return component{
		name: "kube-apiserver",
		args: []string{
			"--etcd-servers=" + etcdURL,
			"--bind-address=127.0.0.1",
			"--advertise-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", port),
			"--tls-cert-file=" + f.path("state", serverCertFile),
			"--tls-private-key-file=" + f.path("state", serverKeyFile),
			"--token-auth-file=" + f.path("state", tokenFile),
			"--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + f.path("state", serviceAccountFile),
			"--service-account-signing-key-file=" + f.path("state", serviceAccountFile),
			"--service-cluster-ip-range=10.96.0.0/16",
			"--disable-admission-plugins=ServiceAccount",
			"--endpoint-reconciler-type=none",
		},
		ready: api.seed,
	}
}

// auditPolicy logs one event for each write, when the write is complete.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: Metadata}
`

// audit returns the arguments of kube-apiserver for the audit log, or nil if
// there is no audit log. The API server writes each event to the log before it
// responds to the request (blocking).
func (l *Launcher) audit(f folder) []string {
	if l.auditLog == "" {
		return nil
	}
	return []string{
		"--audit-policy-file=" + f.path("state", auditPolicyFile),
		"--audit-log-path=" + l.auditLog,
		"--audit-log-mode=blocking",
	}
}

// with returns the component with additional arguments.
func (c component) with(args ...string) component {
	c.args = append(c.args, args...)
	return c
}

// controllerManager returns kube-controller-manager. Its limit of requests per
// second is above the default, because tests create many objects at the same
// time, and no other users need the API server.
func controllerManager(f folder, api *client) component {
	return component{
		name: "kube-controller-manager",
		args: []string{
			"--kubeconfig=" + f.path("state", componentConfigFile),
			"--root-ca-file=" + f.path("state", caFile),
			"--service-account-private-key-file=" + f.path("state", serviceAccountFile),
			"--flex-volume-plugin-dir=" + f.path("state", "flexvolume"), // the default is a directory in /usr, which it would create
			"--leader-elect=false",
			"--secure-port=0",
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		},
		ready: api.controllersWork,
	}
}

// scheduler returns kube-scheduler. Nothing waits until it is ready.
func scheduler(f folder) component {
	return component{
		name: "kube-scheduler",
		args: []string{
			"--kubeconfig=" + f.path("state", componentConfigFile),
			"--leader-elect=false",
			"--secure-port=0",
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		},
	}
}

// kwok returns kwok, which simulates the kubelets of all nodes. It also renews
// the Leases of the nodes, so that kube-controller-manager does not set their
// condition Ready to Unknown.
func kwok(f folder, api *client) component {
	return component{
		name: "kwok",
		args: []string{
			"--kubeconfig=" + f.path("state", componentConfigFile),
			"--config=" + f.path("state", stagesFile),
			"--manage-all-nodes=true",
			"--cidr=10.244.0.0/16",
			"--node-lease-duration-seconds=40",
		},
		ready: api.nodesReady,
	}
}

// freePorts returns n different ports of 127.0.0.1 that no process listens on.
// They are below the range from which the kernel takes the ports of outgoing
// connections and of listeners on port 0. A port of this range could be in use
// before the component listens on it. All listeners are closed at the end, so
// that the ports are different.
func freePorts(n int) ([]int, error) {
	var ports []int
	for tries := 100 * n; len(ports) < n; tries-- {
		port := 11000 + rand.IntN(9000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			defer listener.Close()
			ports = append(ports, port)
		} else if tries == 0 {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
	}
	return ports, nil
}
