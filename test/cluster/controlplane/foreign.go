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

// foreign returns the KUBECONFIG that the environment names, unless it is that
// of the cluster in dir: whoever exported what up printed still means ours.
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

// adopt uses a cluster that this program did not start: it checks that it
// answers and announces it. Nothing of it is ever changed or ended.
func (l *Launcher) adopt(ctx context.Context, kubeconfig string) error {
	kubeconfig, err := absoluteList(kubeconfig)
	if err != nil {
		return err
	}
	if err := l.answers(ctx, kubeconfig); err != nil {
		return err
	}
	l.progress("KUBECONFIG is set: using that cluster, starting none")
	return l.announce(kubeconfig)
}

// answers asks the cluster whether it is ready. It asks through kubectl, which
// knows every way of authentication that a kubeconfig can name.
func (l *Launcher) answers(ctx context.Context, kubeconfig string) error {
	cmd := exec.CommandContext(ctx, l.Executable, "kubectl", "get", "--raw", "/readyz", "--request-timeout=15s")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl: the cluster of %s is not ready: %w: %s", kubeconfig, err, bytes.TrimSpace(output))
	}
	return nil
}

// absoluteList makes each path of a KUBECONFIG absolute; it may hold several.
func absoluteList(list string) (string, error) {
	paths := filepath.SplitList(list)
	for i, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("path of KUBECONFIG: %w", err)
		}
		paths[i] = absolute
	}
	return strings.Join(paths, string(filepath.ListSeparator)), nil
}
