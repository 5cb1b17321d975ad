package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// foreign returns the value of the environment variable KUBECONFIG, or "" if it
// is the kubeconfig of the cluster in dir. So users can export the line that up
// printed and still use up and down.
func foreign(dir string) string {
	kubeconfig := os.Getenv("KUBECONFIG")
	if dir == "" {
		return kubeconfig
	}
	own, err := filepath.Abs(folder(dir).kubeconfig())
	if err == nil && kubeconfig == own {
		return ""
	}
	return kubeconfig
}

// adopt checks that a cluster that this program did not start is ready, and
// prints the path of its kubeconfig. It does not change the cluster.
func (l *Launcher) adopt(ctx context.Context, kubeconfig string) error {
	kubeconfig, err := absoluteList(kubeconfig)
	if err != nil {
		return err
	}
	if err := l.answers(ctx, kubeconfig); err != nil {
		return err
	}
	l.progress("KUBECONFIG is set: using this cluster, not starting one")
	return l.announce(kubeconfig)
}

// answers returns an error unless the cluster is ready. It runs kubectl, which
// supports every kind of authentication that a kubeconfig can have.
func (l *Launcher) answers(ctx context.Context, kubeconfig string) error {
	cmd := exec.CommandContext(ctx, l.Executable, "kubectl", "get", "--raw", "/readyz", "--request-timeout=15s")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl: the cluster of %s is not ready: %w: %s", kubeconfig, err, bytes.TrimSpace(output))
	}
	return nil
}

// absoluteList returns the value of KUBECONFIG with absolute paths. KUBECONFIG
// can be a list of paths.
func absoluteList(list string) (string, error) {
	paths := filepath.SplitList(list)
	for i, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("make the paths in KUBECONFIG absolute: %w", err)
		}
		paths[i] = absolute
	}
	return strings.Join(paths, string(filepath.ListSeparator)), nil
}
