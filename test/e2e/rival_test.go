package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A rival writes an object again whenever somebody else has changed it, each time with another value.
type rival struct {
	client  dynamic.ResourceInterface
	name    string
	how     types.PatchType
	content string // with $N for the number of the write
	most    int

	mu     sync.Mutex
	writes int
}

// cmdRival starts a rival; see commands.
func cmdRival(ts *testscript.TestScript, _ bool, args []string) {
	resource, name, _ := split(args[0])
	r, err := worldOf(ts).named(resource)
	ts.Check(err)
	most, err := strconv.Atoi(args[2])
	ts.Check(err)
	how := map[string]types.PatchType{"update": types.MergePatchType, "apply": types.ApplyPatchType}[args[1]]
	if how == "" {
		ts.Fatalf("a rival uses update or apply, not %s", args[1])
	}
	one := &rival{client: r, name: name, how: how, content: args[3], most: most}
	worldOf(ts).rivals[args[0]] = one
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		one.run(ctx)
	}()
	ts.Defer(func() {
		cancel()
		<-done
	})
}

// run writes until ctx is done, or the rival has written as often as it may.
func (r *rival) run(ctx context.Context) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for mine := ""; r.count() < r.most; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := r.client.Get(ctx, r.name, metav1.GetOptions{})
		if err != nil || now.GetResourceVersion() == mine {
			continue
		}
		if version := r.write(ctx); version != "" {
			mine = version
		}
	}
}

// write writes once, and returns the version that is stored then; "" after an error.
func (r *rival) write(ctx context.Context) string {
	force, options := true, metav1.PatchOptions{FieldManager: "rival"}
	if r.how == types.ApplyPatchType {
		options.Force = &force
	}
	stored, err := r.client.Patch(ctx, r.name, r.how, []byte(strings.ReplaceAll(r.content, "$N", strconv.Itoa(r.count()+1))), options)
	if err != nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	return stored.GetResourceVersion()
}

func (r *rival) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}

// cmdPaced checks the times in the server's log at which it wrote what matches: after the first ten writes, at most one a minute.
func cmdPaced(ts *testscript.TestScript, _ bool, args []string) {
	line, err := regexp.Compile(`(?m)^time=(\S+) .*msg=wrote .*` + args[0] + `.*error=<nil>`)
	ts.Check(err)
	var times []time.Time
	for _, found := range line.FindAllStringSubmatch(ts.ReadFile(logOf("")), -1) {
		at, err := time.Parse(time.RFC3339Nano, found[1])
		ts.Check(err)
		times = append(times, at)
	}
	if len(times) == 0 {
		ts.Fatalf("there is no write of %s", args[0])
	}
	const slack = time.Second // the log has the time after the write
	for i := 10; i < len(times); i++ {
		if after := times[i].Sub(times[i-1]); after < time.Minute-slack {
			ts.Fatalf("of %d writes of %s, the one with the number %d is %s after the one before", len(times), args[0], i+1, after)
		}
	}
}

// wrote returns how often the rival of an object has written, as text.
func (w *world) wrote(what string) (string, error) {
	one := w.rivals[what]
	if one == nil {
		return "", fmt.Errorf("%s has no rival", what)
	}
	return strconv.Itoa(one.count()), nil
}
