package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// cmdDev runs "metascript dev" in the script's folder. The script's files are written in place, as a simple editor does.
func cmdDev(ts *testscript.TestScript, _ bool, args []string) {
	worldOf(ts).beside(ts, "dev", slices.Concat([]string{"dev"}, strategyFlags(), args))
}

// cmdBeside runs a command under a name, until "end" sends it SIGTERM.
func cmdBeside(ts *testscript.TestScript, _ bool, args []string) {
	worldOf(ts).beside(ts, args[0], args[1:])
}

// beside runs metascript with these arguments in the script's folder, under a name.
func (w *world) beside(ts *testscript.TestScript, name string, args []string) {
	dir := ts.Getenv("WORK")
	path, err := w.proxiedKubeconfig(dir, w.proxy)
	ts.Check(err)
	log, err := os.OpenFile(filepath.Join(dir, logOf(name)), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	ts.Check(err)
	s := &server{Cmd: exec.Command(binary, append(args, "--kubeconfig="+path)...), log: log}
	s.Dir, s.Stdout, s.Stderr = dir, log, log
	ts.Check(s.Start())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[name] = s
}

func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(fill(ts, ts.ReadFile(file))), 0o600))
	}
}

func cmdVersions(ts *testscript.TestScript, _ bool, args []string) {
	text, err := worldOf(ts).versions()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// versions lists the objects in the namespace, whatever their kinds, with their resourceVersions.
func (w *world) versions() (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(w.config)
	if err != nil {
		return "", err
	}
	groups, err := client.ServerPreferredNamespacedResources()
	if err != nil && len(groups) == 0 { // the kinds of other scripts appear and vanish
		return "", err
	}
	var lines []string
	for _, group := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, groups) {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return "", err
		}
		for _, r := range group.APIResources {
			list, err := w.client.Resource(gv.WithResource(r.Name)).Namespace(w.name).List(context.Background(), metav1.ListOptions{})
			if err != nil {
				continue // its kind has been deleted
			}
			for _, o := range list.Items {
				lines = append(lines, fmt.Sprintf("%s/%s %s", r.Name, o.GetName(), o.GetResourceVersion()))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}
