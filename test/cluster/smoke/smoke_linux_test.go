// Package smoke tests the built binary. It tests that the control plane does what
// controllers need, and that all processes exit with the launcher. The tests
// fail if the binary is not built.
package smoke

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var binary = flag.String("cluster", "../../../build/cluster", "the binary to test")

// cluster is a launcher process with its cluster.
type cluster struct {
	t          *testing.T
	binary     string
	cmd        *exec.Cmd
	stdin      io.Closer
	kubeconfig string
	children   []int // process ids
}

// start starts a cluster with `cluster run`, in a temporary directory of the
// test.
func start(t *testing.T) *cluster {
	t.Helper()
	path, err := filepath.Abs(*binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the binary is not built (\"make cluster\" builds it): %v", err)
	}
	c := &cluster{t: t, binary: path, cmd: exec.Command(path, "run", "--until-eof")}
	c.cmd.Env = append(os.Environ(), "KUBECONFIG=", "TMPDIR="+t.TempDir())
	stderr := &strings.Builder{}
	c.cmd.Stderr = stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stdin.Close(); c.cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		c.cmd.Wait()
		t.Fatalf("the cluster is not ready: %v\n%s", err, stderr)
	}
	c.kubeconfig = strings.TrimPrefix(strings.TrimSpace(line), "KUBECONFIG=")
	c.children = c.childIDs()
	return c
}

// childIDs returns the ids of the child processes of the launcher. It reads them
// from /proc, so that it also finds processes that the launcher does not know.
func (c *cluster) childIDs() []int {
	c.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	var ids []int
	for _, thread := range threads {
		content, _ := os.ReadFile(thread) // a thread that has ended has no children
		for field := range strings.FieldsSeq(string(content)) {
			id, err := strconv.Atoi(field)
			if err != nil {
				c.t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// kubectl runs kubectl and returns its output. stdin is its standard input.
func (c *cluster) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.Command(c.binary, append([]string{"kubectl", "--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// do runs kubectl and returns its output. If kubectl fails, the test fails.
func (c *cluster) do(stdin string, args ...string) string {
	c.t.Helper()
	output, err := c.kubectl(stdin, args...)
	if err != nil {
		c.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// eventually calls condition until it returns nil. The test fails after a minute,
// which is long enough for a busy machine.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for err := condition(); err != nil; err = condition() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestCluster(t *testing.T) {
	c := start(t)
	t.Run("nodes", func(t *testing.T) {
		c.do("", "wait", "--for=condition=Ready", "node/node-1", "node/node-2", "node/node-3", "--timeout=60s")
	})
	t.Run("deployment", c.testDeployment)
	t.Run("job", func(t *testing.T) {
		c.do("", "create", "job", "once", "--image=none")
		c.do("", "wait", "--for=condition=Complete", "job/once", "--timeout=60s")
	})
	t.Run("claims", c.testClaims)
	t.Run("custom resource", c.testCustomResource)
	t.Run("flow control", func(t *testing.T) {
		c.do("", "get", "flowschemas", "exempt")
	})
	t.Run("loopback only", c.testLoopbackOnly)
}

func (c *cluster) testDeployment(t *testing.T) {
	c.do("", "create", "deployment", "web", "--image=none", "--replicas=3")
	c.do("", "wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
	pods := func() []string {
		return strings.Fields(c.do("", "get", "pods", "-l", "app=web", "-o", "name"))
	}
	before := pods()
	if len(before) != 3 {
		t.Fatalf("Pods: %v, want 3", before)
	}
	c.do("", "delete", before[0])
	c.do("", "rollout", "status", "deployment/web", "--timeout=60s")
	eventually(t, func() error {
		after := pods()
		if strings.Contains(strings.Join(after, " "), before[0]) || len(after) != 3 {
			return fmt.Errorf("before the deletion the Pods are %v, after it %v", before, after)
		}
		return nil
	})
}

const claims = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 12
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: none, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// testClaims uses all volumes, and then uses them again.
func (c *cluster) testClaims(t *testing.T) {
	for range 2 {
		c.do(claims, "apply", "-f", "-")
		c.do("", "wait", "--for=jsonpath={.status.readyReplicas}=12", "statefulset/db", "--timeout=60s")
		c.do("", "delete", "statefulset", "db")
		eventually(t, func() error {
			if pvcs := c.do("", "get", "pvc", "-o", "name"); pvcs != "" {
				return fmt.Errorf("claims that are not deleted: %s", pvcs)
			}
			return nil
		})
	}
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Box, plural: boxes}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer}}
            x-kubernetes-validations:
            - {rule: self.size < 5, message: the box is too large}
`

func (c *cluster) testCustomResource(t *testing.T) {
	c.do(definition, "apply", "-f", "-")
	c.do("", "wait", "--for=condition=Established", "crd/boxes.example.com", "--timeout=60s")
	box := "{apiVersion: example.com/v1, kind: Box, metadata: {name: box}, spec: {size: %d}}"
	c.do(fmt.Sprintf(box, 4), "apply", "-f", "-")
	output, err := c.kubectl(fmt.Sprintf(box, 5), "apply", "-f", "-")
	if err == nil || !strings.Contains(output, "the box is too large") {
		t.Errorf("an object that is not valid: %v: %s", err, output)
	}
}

// testLoopbackOnly checks the addresses that the processes of the cluster listen
// on: two of etcd and one of the API server.
func (c *cluster) testLoopbackOnly(t *testing.T) {
	var addresses []string
	for _, pid := range c.children {
		addresses = append(addresses, listening(t, pid)...)
	}
	const loopback = "0100007F" // 127.0.0.1 in the format of /proc/net/tcp
	if want := []string{loopback, loopback, loopback}; !slices.Equal(addresses, want) {
		t.Errorf("listening on %v, want %v", addresses, want)
	}
}

// listener matches a line of /proc/net/tcp with the state LISTEN (0A). The groups
// are the local address and the inode of the socket.
var listener = regexp.MustCompile(`(?m)^ *\d+: ([0-9A-F]+):[0-9A-F]{4} \S+ 0A (?:\S+ +){5}(\d+)`)

// listening returns the addresses that a process listens on, from the lines of
// /proc/net/tcp and tcp6 whose sockets are file descriptors of the process.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	sockets := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		target, _ := os.Readlink(link) // an error means that the descriptor is closed now
		sockets[target] = true
	}
	var addresses []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, err := os.ReadFile(table)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // without IPv6, tcp6 does not exist
			t.Fatal(err)
		}
		for _, match := range listener.FindAllStringSubmatch(string(content), -1) {
			if sockets["socket:["+match[2]+"]"] {
				addresses = append(addresses, match[1])
			}
		}
	}
	return addresses
}

func TestNoProcessIsLeft(t *testing.T) {
	endings := map[string]func(*cluster){
		"SIGTERM": func(c *cluster) { c.cmd.Process.Signal(syscall.SIGTERM) },
		"EOF":     func(c *cluster) { c.stdin.Close() },
		"SIGKILL": func(c *cluster) { c.cmd.Process.Kill() },
	}
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			if len(c.children) != 5 {
				t.Fatalf("child processes: %v, want 5", c.children)
			}
			end(c)
			err := c.cmd.Wait()
			if name != "SIGKILL" && err != nil {
				t.Error(err)
			}
			for _, pid := range c.children {
				eventually(t, func() error { return ended(pid) })
			}
		})
	}
}

// ended returns nil if a process has exited. This includes zombies: after SIGKILL
// of the launcher, init has to wait for its child processes.
func ended(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err == nil && strings.Contains(string(stat), ") Z ") {
		return nil
	}
	return fmt.Errorf("process %d still runs: %s, %v", pid, stat, err)
}
