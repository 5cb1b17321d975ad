package hook

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine"
	"metascript/engine/tree"
)

// A function is a hook written in Go.
type function func(ctx context.Context, req *Request) (*Response, error)

func (f function) Call(ctx context.Context, req *Request) (*Response, error) { return f(ctx, req) }

// about is a request about the parent of that name.
func about(name string) *Request {
	parent := &object.Object{}
	parent.SetAPIVersion("example.com/v1")
	parent.SetKind("CatSet")
	parent.SetName(name)
	return &Request{Parent: parent}
}

func refOf(name string) object.Ref { return object.RefOf(about(name).Parent) }

// A pair is a Fallback whose script fails as it is told, with a clock that stands still.
type pair struct {
	*Fallback
	asked []string // since it was looked at: "script a", "webhook a"
	told  []string // of switches
	comes error    // of the script
	clock time.Time
	mu    sync.Mutex
}

var scriptsAnswer, webhooksAnswer = &Response{}, &Response{}

func newPair() *pair {
	p := &pair{clock: time.Now()}
	p.Fallback = &Fallback{
		Script: function(func(_ context.Context, req *Request) (*Response, error) {
			p.note("script", req)
			return scriptsAnswer, p.comes
		}),
		Webhook: function(func(_ context.Context, req *Request) (*Response, error) {
			p.note("webhook", req)
			return webhooksAnswer, nil
		}),
		ProbeEvery: time.Minute,
		Now:        func() time.Time { return p.clock },
		Switched: func(active bool, why error) {
			p.told = append(p.told, fmt.Sprintf("%t %v", active, why))
		},
	}
	return p
}

func (p *pair) note(who string, req *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, who+" "+req.Parent.GetName())
}

// ask says who was asked, and whose answer or error came back: "script", "script, webhook", "script: late", or
// "probe" when the webhook's answer came back and the script was asked beside it.
func (p *pair) ask(t testing.TB, parent string, comes error) string {
	t.Helper()
	was, _ := p.Active()
	p.asked, p.comes = nil, comes
	resp, err := p.Call(t.Context(), about(parent))
	if resp == webhooksAnswer != (strings.HasPrefix(strings.Join(p.asked, ","), "webhook") || len(p.asked) == 2) {
		t.Errorf("about %s was asked %v, and the answer is the webhook's: %t", parent, p.asked, resp == webhooksAnswer)
	}
	var who []string
	for _, asked := range p.asked {
		who = append(who, strings.TrimSuffix(asked, " "+parent))
	}
	switch {
	case err != nil:
		who = append(who, "fails")
	case was && len(who) == 2:
		return "probe"
	}
	return strings.Join(who, ", ")
}

// Faults of a script.
var (
	late     = &engine.Error{Kind: engine.KindTimeout, Msg: "late"}
	typo     = &engine.Error{Kind: engine.KindRuntime, Msg: "typo"}
	raised   = &engine.Error{Kind: engine.KindRaised, Msg: "no such cat"}
	canceled = &engine.Error{Kind: engine.KindCanceled, Msg: "canceled"}
)

// A turn is a call about a parent, and who is asked.
type turn struct {
	after  time.Duration // since the turn before
	parent string
	comes  error // of the script, if it is asked
	want   string
}

func TestFallback(t *testing.T) {
	const script, fails, switches, webhook, probe = "script", "script, fails", "script, webhook", "webhook", "probe"
	broken := []turn{{0, "a", late, fails}, {0, "a", late, switches}}
	after := func(before []turn, turns ...turn) []turn { return append(before[:len(before):len(before)], turns...) }
	for _, c := range []struct {
		name    string
		onError bool
		turns   []turn
	}{
		{"a script that works", false, []turn{{0, "a", nil, script}, {0, "b", nil, script}, {time.Hour, "a", nil, script}}},
		{"a single parent", false, after(broken, turn{0, "a", nil, webhook}, turn{0, "b", nil, webhook})},
		{"failures that are no two in a row", false, []turn{{0, "a", late, fails}, {0, "a", nil, script}, {0, "a", late, fails}, {0, "a", late, switches}}},
		{"a script that does what it is meant to between two failures", false, []turn{{0, "a", late, fails}, {0, "a", raised, fails}, {0, "a", late, fails}, {0, "a", late, switches}}},
		{"two parents", false, []turn{{0, "a", late, fails}, {0, "b", late, switches}, {0, "a", nil, webhook}}},
		{"one poison parent of two", false, []turn{{0, "b", nil, script}, {0, "a", late, fails}, {0, "a", late, fails}, {0, "a", late, fails}, {0, "b", nil, script}}},
		{"one poison parent of three", false, []turn{{0, "a", late, fails}, {0, "b", nil, script}, {0, "c", nil, script}, {0, "a", late, fails}, {0, "a", late, fails}}},
		{"half of the parents", false, []turn{{0, "a", nil, script}, {0, "b", nil, script}, {0, "c", late, fails}, {0, "d", late, fails}, {0, "a", late, switches}}},
		{"a failure that was mended by an edit of the parent", false, []turn{{0, "a", late, fails}, {0, "b", nil, script}, {0, "a", nil, script}, {0, "b", late, fails}, {0, "b", late, fails}, {0, "a", late, switches}}},
		{"mistakes, on unavailable", false, []turn{{0, "a", typo, fails}, {0, "a", typo, fails}, {0, "a", typo, fails}}},
		{"mistakes, on error", true, []turn{{0, "a", typo, fails}, {0, "a", typo, switches}}},
		{"mistakes and limits, on error", true, []turn{{0, "a", typo, fails}, {0, "a", late, switches}}},
		{"on purpose", true, []turn{{0, "a", raised, fails}, {0, "a", raised, fails}, {0, "a", raised, fails}}},
		{"canceled calls say nothing", true, []turn{{0, "a", late, fails}, {0, "a", canceled, fails}, {0, "a", canceled, fails}, {0, "a", late, switches}}},
		{"nor do faults of others", true, []turn{{0, "a", errors.New("no disk"), fails}, {0, "a", errors.New("no disk"), fails}, {0, "a", late, fails}, {0, "a", late, switches}}},
		{"to come again later is an answer", true, []turn{{0, "a", late, fails}, {0, "a", &RetryAfter{After: time.Second}, fails}, {0, "a", late, fails}}},

		{"a probe comes after its time", false, after(broken, turn{59 * time.Second, "a", late, webhook}, turn{time.Second, "a", late, probe}, turn{0, "a", late, webhook},
			turn{59 * time.Second, "a", late, webhook}, turn{time.Second, "a", late, probe})},
		{"a probe that works", false, after(broken, turn{time.Minute, "a", nil, probe}, turn{0, "a", nil, script}, turn{0, "b", nil, script})},
		{"a probe at which the script says that the input is wrong", false, after(broken, turn{time.Minute, "a", raised, probe}, turn{0, "a", nil, script})},
		{"a mistake in a probe, on unavailable", false, after(broken, turn{time.Minute, "a", typo, probe}, turn{0, "a", nil, script})},
		{"a mistake in a probe, on error", true, after(broken, turn{time.Minute, "a", typo, probe}, turn{0, "a", nil, webhook})},
		{"a probe that is canceled", false, after(broken, turn{time.Minute, "a", canceled, probe}, turn{0, "a", nil, webhook}, turn{time.Minute, "a", nil, probe}, turn{0, "a", nil, script})},
		{"counts begin anew", false, after(broken, turn{time.Minute, "a", nil, probe}, turn{0, "a", late, fails}, turn{0, "b", nil, script}, turn{0, "a", late, fails}, turn{0, "a", late, fails})},
		{"those that failed are probed first", false, after(broken, turn{time.Minute, "b", nil, webhook}, turn{0, "a", nil, probe})},
		{"others are probed if none of those comes", false, after(broken, turn{time.Minute, "b", nil, webhook}, turn{time.Minute, "b", nil, probe}, turn{0, "b", nil, script})},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair()
			p.OnError = c.onError
			for i, turn := range c.turns {
				p.clock = p.clock.Add(turn.after)
				if got := p.ask(t, turn.parent, turn.comes); got != turn.want {
					t.Fatalf("turn %d about %s: %s, want %s", i+1, turn.parent, got, turn.want)
				}
			}
		})
	}
}

// A script that cannot be interrupted still reads its request while the webhook is called.
func TestWebhookIsCalledWhileScriptStillReads(t *testing.T) {
	parent := objecttest.Packed(t, objecttest.ParseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {b: c}}}`))
	var script sync.WaitGroup
	p := newPair()
	p.Script = function(func(_ context.Context, req *Request) (*Response, error) {
		value := req.Recorder.Parent(req.Parent)
		script.Go(func() {
			for range 100 {
				_, _ = tree.AppendJSON(nil, value)
			}
		})
		return nil, &engine.Error{Kind: engine.KindSteps}
	})
	p.Webhook = function(func(_ context.Context, req *Request) (*Response, error) {
		v, _ := req.Recorder.Parent(req.Parent).(tree.Map).Get("metadata")
		_, err := tree.AppendJSON(nil, v)
		return webhooksAnswer, err
	})
	answers := 0
	for range 10 { // the first calls return the error of the script, and the last ones probe it
		recorder := &object.Recorder{}
		p.clock = p.clock.Add(time.Hour)
		if _, err := p.Call(t.Context(), &Request{Parent: parent, Recorder: recorder}); err != nil {
			continue
		}
		answers++
		if recorder.ReadsTheSame(parent) || !recorder.Incomplete {
			t.Error("the reads of the script count for the answer of the webhook")
		}
	}
	if answers < 3 {
		t.Errorf("the webhook answered %d times, want at least 3", answers)
	}
	script.Wait()
}

func TestErrorsThatSwitchToWebhook(t *testing.T) {
	for kind, want := range map[engine.Kind]string{
		engine.KindTimeout: "OnUnavailable", engine.KindSteps: "OnUnavailable", engine.KindMemory: "OnUnavailable",
		engine.KindOutput: "OnUnavailable", engine.KindStack: "OnUnavailable", engine.KindSource: "OnUnavailable", engine.KindPanic: "OnUnavailable",
		engine.KindRuntime: "OnError", engine.KindResult: "OnError", engine.KindMissing: "OnError",
		engine.KindParams: "OnError", engine.KindModule: "OnError", engine.KindSyntax: "OnError",
		engine.KindRaised: "never", engine.KindCanceled: "never",
	} {
		err := fmt.Errorf("asked about it: %w", &engine.Error{Kind: kind})
		got := "never"
		switch {
		case (&Fallback{}).classify(err) == broken:
			got = "OnUnavailable"
		case (&Fallback{OnError: true}).classify(err) == broken:
			got = "OnError"
		}
		if got != want {
			t.Errorf("a fault of kind %s breaks a script %s, want %s", kind, got, want)
		}
	}
}

func TestEachSwitchIsReportedOnceWithReason(t *testing.T) {
	p := newPair()
	p.ask(t, "a", late)
	if active, why := p.Active(); active || why != nil {
		t.Errorf("after one failure it is active: %t, %v", active, why)
	}
	p.ask(t, "b", late)
	p.ask(t, "b", late)
	active, why := p.Active()
	var fault *engine.Error
	if !active || !errors.As(why, &fault) || fault != late {
		t.Errorf("it is active: %t, because of %v", active, why)
	}
	p.clock = p.clock.Add(time.Minute)
	p.ask(t, "a", nil)
	p.ask(t, "a", nil)
	if active, why := p.Active(); active || why != nil {
		t.Errorf("after a probe that worked it is active: %t, %v", active, why)
	}
	want := []string{"true the script failed for 2 of 2 parents, last for b: late", "false <nil>"}
	if diff := cmp.Diff(want, p.told); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

func TestUnloadedScriptIsNotProbed(t *testing.T) {
	p := newPair()
	p.Script, p.Unloaded = nil, errors.New("sync.js is not there")
	for range 3 {
		if got := p.ask(t, "a", nil); got != "webhook" {
			t.Errorf("asked: %s", got)
		}
		p.clock = p.clock.Add(time.Hour)
	}
	if active, why := p.Active(); !active || why != p.Unloaded {
		t.Errorf("it is active: %t, %v", active, why)
	}
	if parent, found := p.ProbeCandidate(); found || len(p.told) > 0 {
		t.Errorf("candidate %v, reported %v", parent, p.told)
	}
}

func TestWebhookErrorIsReturnedUnchanged(t *testing.T) {
	p := newPair()
	want := &RetryAfter{After: time.Second}
	p.Webhook = function(func(context.Context, *Request) (*Response, error) { return nil, want })
	p.Script, p.Unloaded = nil, late
	if _, err := p.Call(t.Context(), about("a")); err != want {
		t.Errorf("got %v", err)
	}
}

func TestForgottenParentIsNotCounted(t *testing.T) {
	p := newPair()
	p.ask(t, "good", nil)
	for _, poison := range []string{"a", "b", "c"} { // each would be one of two, then two of three
		if got := p.ask(t, poison, late); got != "script, fails" {
			t.Errorf("%s: %s", poison, got)
		}
		p.Forget(refOf(poison))
		p.Forget(refOf(poison))
	}
	if parents, failing := p.tally.Calls(); failing != 0 || parents != 1 {
		t.Errorf("it knows of %d parents, %d of which fail", parents, failing)
	}
	p.Forget(refOf("good"))
	if got := p.ask(t, "d", late); got != "script, webhook" {
		t.Errorf("the only parent that is left: %s", got)
	}
}

func TestProbeCandidates(t *testing.T) {
	p := newPair()
	p.ask(t, "good", nil)
	p.ask(t, "a", late)
	p.ask(t, "b", late)
	candidates := func(n int) (names []string) {
		for range n {
			parent, _ := p.ProbeCandidate()
			names = append(names, parent.Name)
		}
		return names
	}
	for _, c := range []struct {
		what  string
		after time.Duration
		want  []string
	}{
		{"before its time", 59 * time.Second, []string{""}},
		{"those that failed take turns", time.Second, []string{"a", "b", "a"}},
		{"after twice the time all do", time.Minute, []string{"good", "b", "a", "good"}},
	} {
		p.clock = p.clock.Add(c.after)
		if diff := cmp.Diff(c.want, candidates(len(c.want))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	p.Forget(refOf("a"))
	p.Forget(refOf("b"))
	if got := p.ask(t, "good", late); got != "probe" {
		t.Errorf("the parent that is left: %s", got)
	}
	if got := candidates(1); got[0] != "" {
		t.Errorf("right after a probe %s is a candidate", got)
	}
	p.clock = p.clock.Add(time.Minute)
	if got := candidates(1); got[0] != "good" {
		t.Errorf("when none failed %q is the candidate, want good", got)
	}
}

// holdSlow has the script answer about the parent "slow" once slow is closed. It closes asked when it is asked.
func (p *pair) holdSlow() (asked, slow chan struct{}) {
	slow, asked = make(chan struct{}), make(chan struct{})
	quick := p.Script
	p.Script = function(func(ctx context.Context, req *Request) (*Response, error) {
		if req.Parent.GetName() == "slow" {
			close(asked)
			<-slow
			return scriptsAnswer, nil
		}
		return quick.Call(ctx, req)
	})
	return asked, slow
}

// Parents in flight have not failed: a single parent that fails fast must not count as all parents.
func TestParentsInFlightAreCounted(t *testing.T) {
	p := newPair()
	asked, slow := p.holdSlow()
	var calls sync.WaitGroup
	calls.Go(func() { _, _ = p.Call(t.Context(), about("slow")) })
	<-asked
	for range 3 {
		if got := p.ask(t, "poison", late); got != "script, fails" {
			t.Errorf("while another is under way: %s", got)
		}
	}
	close(slow)
	calls.Wait()
}

func TestCallInFlightAtSwitchUsesWebhook(t *testing.T) {
	p := newPair()
	asked, slow := p.holdSlow()
	answered := make(chan *Response)
	go func() {
		resp, _ := p.Call(t.Context(), about("slow"))
		answered <- resp
	}()
	<-asked
	p.ask(t, "a", late)
	p.ask(t, "b", late)
	close(slow)
	if <-answered != webhooksAnswer {
		t.Error("the script answered the call")
	}
	if active, _ := p.Active(); !active {
		t.Error("what the script answered too late switched back")
	}
}

// A probe that takes long is the only one, and keeps neither the webhook from being asked beside it nor other parents.
func TestOneProbeAtATime(t *testing.T) {
	p := newPair()
	p.ask(t, "a", late)
	p.ask(t, "b", late)
	p.clock = p.clock.Add(time.Minute)
	quick, beside, release := p.Webhook, make(chan struct{}), make(chan struct{})
	p.Script = function(func(context.Context, *Request) (*Response, error) {
		<-beside
		<-release
		return nil, late
	})
	p.Webhook = function(func(ctx context.Context, req *Request) (*Response, error) {
		if req.Parent.GetName() == "a" {
			close(beside)
			return webhooksAnswer, nil
		}
		return quick.Call(ctx, req)
	})
	var probe sync.WaitGroup
	probe.Go(func() { _, _ = p.Call(t.Context(), about("a")) })
	<-beside
	p.clock = p.clock.Add(time.Hour)
	if got := p.ask(t, "b", late); got != "webhook" {
		t.Errorf("during a probe: %s", got)
	}
	if parent, found := p.ProbeCandidate(); found {
		t.Errorf("during a probe %s is a candidate for another", parent)
	}
	close(release)
	probe.Wait()
	if parent, _ := p.ProbeCandidate(); parent.Name != "b" {
		t.Errorf("after a probe about a, %q is the candidate, want b", parent.Name)
	}
}

// The response of the webhook is used whatever the result of the probe, and a panic in the probe ends nothing else.
func TestPanicInProbeIsFailedProbe(t *testing.T) {
	p := newPair()
	p.ask(t, "a", late)
	p.ask(t, "a", late)
	p.clock = p.clock.Add(time.Minute)
	p.Script = function(func(context.Context, *Request) (*Response, error) { panic("oh") })
	if resp, err := p.Call(t.Context(), about("a")); resp != webhooksAnswer || err != nil {
		t.Errorf("got %v, %v", resp, err)
	}
	if active, _ := p.Active(); !active || p.probing {
		t.Errorf("active: %t, probing: %t", active, p.probing)
	}
}

// Whatever happens, the webhook is asked only while it answers for all, and probes are an interval apart.
func TestFallbackUnderRandomEvents(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	comes := []error{nil, nil, nil, late, late, raised, canceled, typo}
	names := []string{"a", "b", "c", "d"}
	for range 2000 {
		p := newPair()
		p.OnError = random.IntN(2) == 0
		last := time.Time{}
		for range 50 {
			p.clock = p.clock.Add(time.Duration(random.IntN(30)) * time.Second)
			name := names[random.IntN(len(names))]
			was, _ := p.Active()
			switch random.IntN(8) {
			case 0:
				p.Forget(refOf(name))
				continue
			case 1:
				if parent, found := p.ProbeCandidate(); found {
					name = parent.Name
				}
			}
			got := p.ask(t, name, comes[random.IntN(len(comes))])
			now, _ := p.Active()
			switch {
			case !was && strings.Contains(got, "webhook") != now:
				t.Fatalf("seed %d: the script answered for all, then it was: %s, active: %t", seed, got, now)
			case was && got == "script":
				t.Fatalf("seed %d: the webhook answered for all, then it was: %s", seed, got)
			case got != "probe":
			case !last.IsZero() && p.clock.Sub(last) < p.ProbeEvery:
				t.Fatalf("seed %d: a probe %s after another", seed, p.clock.Sub(last))
			default:
				last = p.clock
			}
		}
	}
}

// A script fails and works again with many concurrent parents.
func TestFallbackUnderLoad(t *testing.T) {
	var breaks, open atomic.Bool // the webhook may be asked while open is set
	var stray, switches atomic.Int64
	f := &Fallback{
		ProbeEvery: time.Nanosecond,
		Script: function(func(context.Context, *Request) (*Response, error) {
			if breaks.Load() {
				return nil, late
			}
			return scriptsAnswer, nil
		}),
		Webhook: function(func(context.Context, *Request) (*Response, error) {
			if !open.Load() {
				stray.Add(1)
			}
			return webhooksAnswer, nil
		}),
		Switched: func(bool, error) { switches.Add(1) },
	}
	round := func(until bool) { // all parents, again and again, until the webhook answers, or the script does
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				for active := !until; active != until; active, _ = f.Active() {
					_, _ = f.Call(t.Context(), about(fmt.Sprint(i)))
				}
			})
		}
		calls.Wait()
	}
	for range 20 {
		for i := range 100 {
			if resp, err := f.Call(t.Context(), about(fmt.Sprint(i))); resp != scriptsAnswer || err != nil {
				t.Fatalf("a script that works is answered by %v, %v", resp, err)
			}
		}
		open.Store(true)
		breaks.Store(true)
		round(true)
		breaks.Store(false)
		round(false)
		open.Store(false)
	}
	if stray.Load() > 0 || switches.Load() != 40 {
		t.Errorf("%d calls of the webhook while the script answered; %d switches, want 40", stray.Load(), switches.Load())
	}
}
