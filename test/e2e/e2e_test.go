// Package e2e has the end-to-end tests: scripts in testdata, each for one behavior, that run the built binary against a real
// control plane. The commands of the scripts are in commands_test.go.
//
// The cluster is the one of KUBECONFIG, or that of the flag -cluster, build/cluster by default, which "make test-e2e" builds.
package e2e

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// root is the root folder of the repository.
const root = "../.."

// The cluster and the binary of all scripts, and a folder and a binary with the race detector for the shared server.
var (
	kubeconfig   string
	config       *rest.Config
	stays        = os.Getenv("KUBECONFIG") != "" // the cluster is not stopped after the tests
	binary       string
	sharedDir    string
	sharedBinary string
)

// cluster is the program of the test cluster, which is kubectl too.
var cluster = flag.String("cluster", root+"/build/cluster", "the program of the test cluster")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "metascript-e2e-")
	if err != nil {
		return fail(err)
	}
	if *cluster, err = filepath.Abs(*cluster); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return fail(fmt.Errorf("build the binary: %w", err))
	}
	var stop func()
	if config, kubeconfig, stop, err = startCluster(os.Environ()); err != nil {
		return fail(err)
	}
	defer stop()
	if err := prepareCluster(); err != nil {
		return fail(err)
	}
	code := m.Run()
	if err := endShared(); err != nil {
		return fail(err)
	}
	return code
}

// build builds the binary: with the race detector if these tests have it, and for the shared server always. The race detector
// costs a server most when it starts.
func build(dir string) error {
	sharedDir, binary, sharedBinary = filepath.Join(dir, "shared"), filepath.Join(dir, "metascript"), filepath.Join(dir, "metascript-race")
	if err := errors.Join(os.Mkdir(sharedDir, 0o755), goBuild(sharedBinary, "-race")); err != nil || !raced {
		return errors.Join(err, goBuild(binary))
	}
	return os.Link(sharedBinary, binary)
}

func goBuild(binary string, flags ...string) error {
	args := append([]string{"build", "-ldflags=-s -w", "-o", binary}, flags...)
	command := exec.Command("go", append(args, "./cmd/metascript")...)
	command.Dir, command.Stderr = root, os.Stderr
	return command.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// startCluster runs the test cluster, which uses the cluster of KUBECONFIG if that is in env. It ends when its standard input
// does, so also when this process ends.
func startCluster(env []string, flags ...string) (config *rest.Config, kubeconfig string, stop func(), err error) {
	launcher := exec.Command(*cluster, append([]string{"run", "--until-eof"}, flags...)...)
	// By default the garbage collector of Go takes a sixth of an API server's time; there is enough memory here.
	launcher.Stderr, launcher.Env = os.Stderr, append([]string{"GOGC=400"}, env...)
	stdin, err := launcher.StdinPipe()
	if err != nil {
		return nil, "", nil, err
	}
	stdout, err := launcher.StdoutPipe()
	if err != nil {
		return nil, "", nil, err
	}
	if err := launcher.Start(); err != nil {
		return nil, "", nil, fmt.Errorf("start the test cluster (\"make cluster\" builds it): %w", err)
	}
	stop = func() {
		stdin.Close()
		_ = launcher.Wait()
	}
	kubeconfig, err = readKubeconfig(stdout)
	if err == nil {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		stop()
		return nil, "", nil, err
	}
	config.QPS = -1
	return config, kubeconfig, stop, nil
}

func readKubeconfig(r io.Reader) (string, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if path, found := strings.CutPrefix(lines.Text(), "KUBECONFIG="); found {
			return path, nil
		}
	}
	return "", fmt.Errorf("the test cluster ended before it was ready")
}
