package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"metascript/test/docs"
)

// TestDocs runs the commands of the pages of the documentation that need a cluster. Package docs says how a page is written.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages, err := docs.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := programs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld("docs")
	if err != nil {
		t.Fatal(err)
	}
	defer w.leave()
	dir := t.TempDir()
	start := sync.OnceValue(func() error { return w.serveDocs(dir) })
	run := runner{T: t, running: &sync.WaitGroup{}}
	defer run.running.Wait()
	for _, page := range pages {
		if !page.NeedsCluster() {
			continue
		}
		slots() <- struct{}{}
		run.running.Go(func() {
			defer func() { <-slots() }()
			t.Run(filepath.Base(page.Name), func(t *testing.T) {
				to := kubeconfig
				if page.OwnCluster {
					to = ownCluster(t)
				} else if err := start(); err != nil {
					t.Fatal(err)
				}
				runPage(t, page, bin, to)
			})
		})
	}
}

// runPage runs the commands of a page.
func runPage(t *testing.T, page *docs.Page, bin, kubeconfig string) {
	s, err := docs.NewSession(t.TempDir(), root, bin, "KUBECONFIG="+kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, b := range page.Commands() {
		if err := s.Run(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
}

// serveDocs runs a server for the controllers of the pages, which are those without the label of a script.
func (w *world) serveDocs(dir string) error {
	s, err := w.launch(dir, "", []string{"--target-label-selector=!" + serverLabel})
	if err == nil {
		err = s.ready()
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, logOf("")))
		err = fmt.Errorf("%w\n%s", err, lastOf(string(log)))
	}
	return err
}

// ownCluster starts another cluster, which has no definition of a controller.
func ownCluster(t *testing.T) (kubeconfig string) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
	_, kubeconfig, stop, err := startCluster(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return kubeconfig
}

// programs puts metascript and kubectl into a directory. "kubectl wait" waits for 30 seconds; here it waits longer, since the machine may
// be slow.
func programs(dir string) (string, error) {
	kubectl := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = wait ]; then set -- \"$@\" --timeout=150s; fi\nexec %q kubectl \"$@\"\n", *cluster)
	return dir, errors.Join(
		os.Symlink(binary, filepath.Join(dir, "metascript")),
		os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o755),
	)
}
