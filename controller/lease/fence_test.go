package lease

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const overdue = 10 * time.Second

// A clock is set by hand.
type clock struct{ reading }

// pass lets time pass that both clocks show.
func (c *clock) pass(d time.Duration) {
	c.monotonic += d
	c.wall = c.wall.Add(d)
}

func newFence() (*Fence, *clock) {
	c := &clock{reading{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	f := New(overdue)
	f.now = func() reading { return c.reading }
	return f, c
}

// writes says why no write begins; "" when one does.
func writes(f *Fence) string {
	if err := f.begin(); err != nil {
		return err.Error()
	}
	f.end()
	return ""
}

func TestFenceIsOpenWhileLeaseIsRenewed(t *testing.T) {
	const late = "not sent: the Lease was last renewed 10s ago, and another server may lead"
	cases := []struct {
		name string
		do   func(f *Fence, c *clock)
		want string
	}{
		{"not acquired", func(*Fence, *clock) {}, "not sent: this server does not hold the Lease, and another may lead"},
		{"acquired", func(f *Fence, c *clock) { f.renew(c.reading) }, ""},
		{"just not overdue", func(f *Fence, c *clock) { f.renew(c.reading); c.pass(overdue - 1) }, ""},
		{"overdue", func(f *Fence, c *clock) { f.renew(c.reading); c.pass(overdue) }, late},
		{"renewed again", func(f *Fence, c *clock) { f.renew(c.reading); c.pass(overdue); f.renew(c.reading) }, ""},
		{"suspended with its machine: the monotonic clock stood still", func(f *Fence, c *clock) {
			f.renew(c.reading)
			c.wall = c.wall.Add(overdue)
		}, late},
		{"the wall clock was set back", func(f *Fence, c *clock) {
			f.renew(c.reading)
			c.wall = c.wall.Add(-time.Hour)
		}, ""},
		{"the wall clock was set back and time passed", func(f *Fence, c *clock) {
			f.renew(c.reading)
			c.wall = c.wall.Add(-time.Hour)
			c.pass(overdue)
		}, late},
		{"the wall clock was set forward, until it is renewed", func(f *Fence, c *clock) {
			f.renew(c.reading)
			c.wall = c.wall.Add(time.Hour)
			f.renew(c.reading)
		}, ""},
		{"a renewal that took long counts from when it was sent", func(f *Fence, c *clock) {
			sent := c.reading
			c.pass(overdue)
			f.renew(sent)
		}, late},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, clock := newFence()
			c.do(f, clock)
			if got := writes(f); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRealClocksAgree(t *testing.T) {
	before := now()
	if age := now().since(before); age < 0 || age > time.Hour {
		t.Errorf("between two readings %s passed", age)
	}
}

func TestCloseWaitsForWritesInFlight(t *testing.T) {
	f, c := newFence()
	f.renew(c.reading)
	if err := f.begin(); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("waited enough"))
	if err := f.close(canceled); err == nil || !strings.Contains(err.Error(), "waited enough") {
		t.Errorf("with a write in flight, close returned %v", err)
	}
	if got, want := writes(f), "not sent: this server is ending, and another may lead"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.end()
	if err := f.close(context.Background()); err != nil {
		t.Errorf("with no write in flight, close returned %v", err)
	}
	f.renew(c.reading)
	if writes(f) == "" {
		t.Error("a renewal opened what was closed")
	}
}

// A fakeLock holds a record in memory.
type fakeLock struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	err    error
}

func (l *fakeLock) Identity() string { return "me" }

func (l *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &l.record, nil, l.err
}

func (l *fakeLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *fakeLock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.err == nil {
		l.record = r
	}
	return l.err
}

func holder(name string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: name}
}

func TestOnlyHolderOfLeaseMayWrite(t *testing.T) {
	ctx := context.Background()
	f, _ := newFence()
	below := &fakeLock{record: holder("other")}
	var losses []string
	lock := f.observe(below, func(why error) { losses = append(losses, why.Error()) })

	if _, _, err := lock.Get(ctx); err != nil || len(losses) != 0 {
		t.Errorf("another held it from the beginning: error %v, lost %q", err, losses)
	}
	below.err = errors.New("refused")
	if err := lock.Update(ctx, holder("me")); err == nil || writes(f) == "" {
		t.Errorf("a Lease that could not be acquired opened the fence; error %v", err)
	}
	below.err = nil
	if err := lock.Create(ctx, holder("me")); err != nil || writes(f) != "" {
		t.Errorf("after it was acquired: error %v, %s", err, writes(f))
	}
	below.record, below.err = holder("other"), errors.New("not found")
	if _, _, err := lock.Get(ctx); err == nil || len(losses) != 0 {
		t.Errorf("an error was taken for a loss: %v, lost %q", err, losses)
	}
	below.err = nil
	for range 2 {
		if _, _, err := lock.Get(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(losses) != 1 || losses[0] != `its holder is "other", no longer "me"` {
		t.Errorf("lost %q, want it once", losses)
	}
	if got, want := writes(f), `not sent: the Lease was lost: its holder is "other", no longer "me"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFenceBlocksOnlyWrites(t *testing.T) {
	f, c := newFence()
	received := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Method }))
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: f.Wrap(transport)}
	send := func(method string) error {
		body := &closed{Reader: strings.NewReader("{}")}
		req, err := http.NewRequest(method, server.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		} else if !body.closed {
			t.Errorf("%s: the body was not closed", method)
		}
		return err
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if err := send(method); err == nil || !strings.Contains(err.Error(), "does not hold the Lease") {
			t.Errorf("%s before the Lease was acquired: %v", method, err)
		}
	}
	if err := send(http.MethodGet); err != nil || <-received != http.MethodGet {
		t.Errorf("a read was not sent: %v", err)
	}
	f.renew(c.reading)
	if err := send(http.MethodPatch); err != nil || <-received != http.MethodPatch {
		t.Errorf("a write of the holder was not sent: %v", err)
	}
	if len(received) != 0 {
		t.Errorf("%s was sent too", <-received)
	}
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error {
	c.closed = true
	return nil
}
