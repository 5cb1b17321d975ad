package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// With -short, scripts that only need a server for their controllers share one, which runs as long as the tests. A server runs
// the controllers that have its label: "start" adds the label of the shared server to a script's controllers, and "end" removes
// it. So the shared server does nothing for a script before its "start" and after its "end", like a server of its own.

// serverLabel is the label of a controller; its value is the name of the world whose server serves it.
const serverLabel = "e2e"

// sharedName is the name of the world of the shared server.
const sharedName = "shared"

// needOwnServer are the commands of scripts that cannot share: they replace a server, disturb it, or read its whole log or
// output. Scripts that read its metrics, probes and history cannot share either.
var needOwnServer = []string{
	"api", "authority", "cluster", "crash", "dev", "ends", "faults", "ipv6", "lagging", "launch", "log", "mark", "paced", "predicted", "resume", "serviceaccount", "suspend", "untold", "user", "weak", "writes",
}

// canShare reports whether a script starts one server, without a flag, and uses it only to run its controllers.
func canShare(script string) bool {
	if strings.Contains(script, alone) || strings.Contains(script, "$METRICS") || strings.Contains(script, "$HEALTH") || strings.Contains(script, "$INSPECT") {
		return false
	}
	starts, ended := 0, false
	for line := range strings.Lines(script) {
		words := slices.DeleteFunc(strings.Fields(line), func(word string) bool { return word == "!" || word[0] == '[' }) // without conditions
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if ended || slices.Contains(needOwnServer, words[0]) || words[0] == "start" && len(words) > 1 {
			return false
		}
		if words[0] == "start" {
			starts++
		}
		ended = words[0] == "end"
	}
	return starts == 1
}

// startShared starts the shared server, once.
var startShared = sync.OnceValues(func() (*sharedServer, error) {
	w, err := newWorld(sharedName)
	if err != nil {
		return nil, err
	}
	s, err := w.launch(sharedDir, "", nil)
	if err != nil {
		return nil, err
	}
	shared := &sharedServer{server: s, ended: make(chan struct{})}
	go func() {
		defer close(shared.ended)
		shared.result = s.Wait()
	}()
	return shared, s.ready()
})

type sharedServer struct {
	*server
	ended  chan struct{}
	result error // of its process; valid when ended is closed
}

// running returns an error if the server has ended by itself.
func (s *sharedServer) running() error {
	select {
	case <-s.ended:
		return fmt.Errorf("the shared server has ended: %v\n%s", s.result, lastOf(sharedLog()))
	default:
		return nil
	}
}

// endShared ends the shared server, if a script started it. Like every server it must exit with 0; it does not if the race
// detector found something.
func endShared() error {
	if _, err := os.Stat(filepath.Join(sharedDir, logOf(""))); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	s, err := startShared()
	if err == nil {
		err = s.running()
	}
	if err != nil {
		return err
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if <-s.ended; s.result != nil {
		log := sharedLog()
		if race := strings.Index(log, "WARNING: DATA RACE"); race >= 0 {
			log = log[race:min(len(log), race+32<<10)]
		}
		return fmt.Errorf("the shared server, after SIGTERM: %w\n%s", s.result, lastOf(log))
	}
	return nil
}

// sharedLog returns the log of the shared server, or "" if it cannot be read.
func sharedLog() string {
	text, _ := os.ReadFile(filepath.Join(sharedDir, logOf("")))
	return string(text)
}

// sharedLogOf returns the lines of the shared server's log that contain the name of a script.
func sharedLogOf(name string) string {
	var of strings.Builder
	for line := range strings.Lines(sharedLog()) {
		if strings.Contains(line, name) {
			of.WriteString(line)
		}
	}
	return of.String()
}

// join gives the script's controllers, also later ones, to the shared server, and waits until each of them has a status.
func (w *world) join() error {
	s, err := startShared()
	if err == nil {
		err = s.running()
	}
	if err == nil {
		err = w.serve(sharedName)
	}
	if err != nil {
		return err
	}
	for _, c := range w.controllers() {
		err := eventually(func() error { return w.loaded(c) })
		if err != nil {
			return errors.Join(err, s.running())
		}
	}
	return nil
}

// part takes the script's controllers away from the shared server.
func (w *world) part() {
	if w.served != w.name {
		_ = w.serve(w.name) // errors do not matter at the end of a script
	}
}

// serve labels the script's controllers with the name of the world whose server runs them.
func (w *world) serve(by string) error {
	w.served = by
	for _, c := range w.controllers() {
		r, err := w.resource(c)
		if err != nil {
			return err
		}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, serverLabel, by)
		_, err = r.Patch(context.Background(), c.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "e2e"})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// controllers returns the controllers that the script has applied; some may have been deleted.
func (w *world) controllers() []*unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.created), func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().Group != ownGroup
	})
}

// loaded returns nil once the server has written the status of the controller.
func (w *world) loaded(c *unstructured.Unstructured) error {
	r, err := w.resource(c)
	if err != nil {
		return err
	}
	found, err := r.Get(context.Background(), c.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && found.Object["status"] == nil {
		err = fmt.Errorf("%s %s has no status", c.GetKind(), c.GetName())
	}
	return err
}
