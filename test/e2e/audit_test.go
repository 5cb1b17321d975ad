package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// auditLog is the file, in a script's folder, to which the API server of "cluster audited" logs all writes.
const auditLog = "audit.log"

// A write has the relevant fields of an audit event.
type write struct {
	Verb             string
	RequestURI       string
	User             struct{ Username string }
	ImpersonatedUser *struct{ Username string }
	ObjectRef        struct{ Resource, Subresource, Namespace string }
	ResponseStatus   struct{ Code int }
	Received         metav1.MicroTime `json:"requestReceivedTimestamp"`
}

func (w write) user() string {
	if w.ImpersonatedUser != nil {
		return w.ImpersonatedUser.Username
	}
	return w.User.Username
}

// resource returns what was written, as cmdWrote takes it.
func (w write) resource() string {
	text := w.ObjectRef.Resource
	if w.ObjectRef.Subresource != "" {
		text += "/" + w.ObjectRef.Subresource
	}
	return text + "@" + w.ObjectRef.Namespace
}

// successfulWrites returns the writes in the audit log that were not refused, by their users.
func successfulWrites(ts *testscript.TestScript) map[string][]write {
	of := map[string][]write{}
	for line := range strings.Lines(ts.ReadFile(auditLog)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var w write
		ts.Check(json.Unmarshal([]byte(line), &w))
		if w.ResponseStatus.Code < 300 {
			of[w.user()] = append(of[w.user()], w)
		}
	}
	return of
}

// cmdWrote waits, since an event is written after the object that it is about.
func cmdWrote(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(eventually(func() error {
		found := map[string]bool{}
		for _, w := range successfulWrites(ts)[args[0]] {
			found[w.resource()] = true
		}
		got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(slices.Values(args[1:]))
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s wrote %q, want %q", args[0], got, want)
		}
		return nil
	}))
}

// cmdApart compares when the API server received the writes of two users. It ignores writes to Leases, by which servers elect
// a leader, and writes that were refused.
func cmdApart(ts *testscript.TestScript, _ bool, args []string) {
	all := successfulWrites(ts)
	toLease := func(w write) bool { return w.ObjectRef.Resource == "leases" }
	first, other := slices.DeleteFunc(all[args[0]], toLease), slices.DeleteFunc(all[args[1]], toLease)
	if len(first) == 0 || len(other) == 0 {
		ts.Fatalf("%d writes of %s and %d of %s: there is nothing to compare", len(first), args[0], len(other), args[1])
	}
	begun := other[0].Received.Time
	for _, w := range other {
		if w.Received.Time.Before(begun) {
			begun = w.Received.Time
		}
	}
	var late []string
	var last time.Time
	for _, w := range first {
		if w.Received.Time.After(last) {
			last = w.Received.Time
		}
		if w.Received.Time.After(begun) {
			late = append(late, fmt.Sprintf("%s later: %s %s", w.Received.Sub(begun), w.Verb, w.RequestURI))
		}
	}
	ts.Logf("%d writes of %s, %d of %s, which begin %s after the last one of the first", len(first), args[0], len(other), args[1], begun.Sub(last))
	if len(late) > 0 {
		ts.Fatalf("%s wrote %d times after %s had begun:\n%s", args[0], len(late), args[1], strings.Join(late, "\n"))
	}
}

// cmdChurn changes objects continuously, so that servers always have work: until the script ends, or for a time.
func cmdChurn(ts *testscript.TestScript, _ bool, args []string) {
	r, err := worldOf(ts).named(args[0])
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	list, err := r.List(ctx, metav1.ListOptions{})
	ts.Check(err)
	done := make(chan struct{})
	stop := func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond) // the rate of changes
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			patch := fmt.Appendf(nil, `{"spec":{"n":%d}}`, n)
			_, _ = r.Patch(ctx, list.Items[n%len(list.Items)].GetName(), types.MergePatchType, patch, metav1.PatchOptions{}) // one may fail
			<-tick.C
		}
	}()
	if len(args) == 1 {
		ts.Defer(stop)
		return
	}
	limit, err := time.ParseDuration(args[1])
	ts.Check(err)
	time.Sleep(limit)
	stop()
}
