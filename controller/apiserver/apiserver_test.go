package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server answers requests in place of the API server.
type server struct {
	mu     sync.Mutex
	answer func(r *http.Request) (code int, retryAfter string) // code 0: no answer
	sent   []time.Duration                                     // when requests arrived
	began  time.Time
	turns  []Condition
}

func (s *server) answers(by func(*http.Request) (int, string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = by
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, time.Since(s.began))
	code, after := s.answer(r)
	s.mu.Unlock()
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	header := http.Header{}
	if after != "" {
		header.Set("Retry-After", after)
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func (s *server) arrived() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// connected runs a test with a connection to a server, in virtual time.
func connected(t *testing.T, test func(t *testing.T, c *Connection, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(*http.Request) (int, string) { return 200, "" }, began: time.Now()}
		c := New(slog.New(slog.DiscardHandler))
		c.Turned = func(now State) { s.turns = append(s.turns, now.Condition) }
		c.Check = func(ctx context.Context) int {
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://x/readyz", nil)
			response, err := c.Note(s).RoundTrip(r)
			if err != nil {
				return 0
			}
			return response.StatusCode
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		test(t, c, s)
		cancel()
		<-done
	})
}

func send(t *testing.T, c *Connection, s *server, method, path, user string) error {
	t.Helper()
	r, err := http.NewRequest(method, "https://x"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.Header.Set("Impersonate-User", user)
	}
	response, err := c.Hold(s).RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

const (
	aConfigMap = "/api/v1/namespaces/n/configmaps/a"
	aWidget    = "/apis/example.com/v1/namespaces/n/widgets/w"
)

func TestAllWorkersTogetherWaitAsLongAsTheAPIServerAsks(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		s.answers(func(*http.Request) (int, string) { return 429, "1" })
		var workers sync.WaitGroup
		end := time.Now().Add(10 * time.Second)
		for range 16 {
			workers.Go(func() {
				for time.Now().Before(end) {
					err := send(t, c, s, http.MethodPut, aConfigMap, "")
					var held *HeldError
					if !errors.As(err, &held) || !apierrors.IsTooManyRequests(err) {
						t.Errorf("the error is %v", err)
						return
					}
					time.Sleep(max(held.Wait(), time.Millisecond))
				}
			})
			time.Sleep(time.Millisecond) // the first one is answered before the others begin
		}
		workers.Wait()
		if n := len(s.arrived()); n > 11 {
			t.Errorf("%d requests in 10 s with Retry-After: 1", n)
		}
		if got := c.State(); got.Condition != Throttled || got.Code != 429 || !slices.Equal(got.Resources, []string{"configmaps"}) {
			t.Errorf("the state is %+v", got)
		}
	})
}

// When 10,000 requests may be sent again at once, and the API server serves some and then asks to wait again, none but those that are on
// their way is sent before the time.
func TestManyThatRecoverAtOnceWaitAgain(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		const perSecond = 2000
		var served, early int
		var refused, second time.Time
		s.answers(func(*http.Request) (int, string) {
			now := time.Now()
			if now.After(refused) && now.Before(refused.Add(time.Second)) {
				early++
			}
			if now.Sub(second) >= time.Second {
				served, second = 0, now
			}
			if served++; served > perSecond {
				refused = now
				return 429, "1"
			}
			return 200, ""
		})
		var parents sync.WaitGroup
		for range 10000 {
			parents.Go(func() {
				for {
					held := Held(send(t, c, s, http.MethodPut, aConfigMap, ""))
					if held == nil {
						return
					}
					time.Sleep(max(held.Wait(), time.Millisecond))
				}
			})
		}
		parents.Wait()
		if early > 0 {
			t.Errorf("%d requests were sent before the time", early)
		}
		if took := time.Since(s.began); took > 10*time.Second {
			t.Errorf("all were sent after %s", took)
		}
	})
}

func TestOneRequestGoesFirst(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		s.answers(func(*http.Request) (int, string) { return 429, "3" })
		held := Cause(send(t, c, s, http.MethodPut, aConfigMap, ""))
		time.Sleep(3 * time.Second)
		release := make(chan struct{})
		s.answers(func(*http.Request) (int, string) { return 200, "" })
		slow := roundTripper(func(r *http.Request) (*http.Response, error) { <-release; return s.RoundTrip(r) })
		first := make(chan error)
		go func() {
			r, _ := http.NewRequest(http.MethodPut, "https://x"+aConfigMap, nil)
			_, err := c.Hold(slow).RoundTrip(r)
			first <- err
		}()
		synctest.Wait()
		for range 5 { // the others wait for the answer, and longer and longer
			if send(t, c, s, http.MethodPut, aConfigMap, "") == nil {
				t.Error("another request was sent before the first one was answered")
			}
			time.Sleep(held.(*HeldError).Wait())
		}
		if waited := held.(*HeldError).Wait(); waited < time.Second {
			t.Errorf("the others come again after %s", waited)
		}
		close(release)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := send(t, c, s, http.MethodPut, aConfigMap, ""); err != nil || held.(*HeldError).Wait() != 0 {
			t.Errorf("after it was answered: %v", err)
		}
	})
}

func TestOthersAreNotHeld(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		s.answers(func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "configmaps") && r.Header.Get("Impersonate-User") == "" {
				return 429, "30"
			}
			return 200, ""
		})
		if send(t, c, s, http.MethodPut, aConfigMap, "") == nil {
			t.Fatal("it was not answered 429")
		}
		synctest.Wait()
		if got := c.State(); got.Condition != Throttled {
			t.Errorf("the state is %+v", got)
		}
		for name, r := range map[string]struct{ method, path, user string }{
			"another kind":         {"PUT", aWidget, ""},
			"another account":      {"PUT", aConfigMap, "system:serviceaccount:a:b"},
			"a list":               {"GET", "/api/v1/namespaces/n/configmaps", ""},
			"a watch of an object": {"GET", aConfigMap + "?watch=true", ""},
			"discovery":            {"GET", "/api/v1", ""},
		} {
			if err := send(t, c, s, r.method, r.path, r.user); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, r := range []struct{ method, path string }{{"GET", aConfigMap}, {"POST", "/api/v1/namespaces/other/configmaps"}, {"PATCH", aConfigMap + "/status"}} {
			if send(t, c, s, r.method, r.path, "") == nil {
				t.Errorf("%s %s is not held", r.method, r.path)
			}
		}
		time.Sleep(31 * time.Second)
		s.answers(func(*http.Request) (int, string) { return 200, "" })
		if err := send(t, c, s, http.MethodPut, aConfigMap, ""); err != nil {
			t.Error(err)
		}
		time.Sleep(throttledHold + time.Second)
		if got := c.State(); got.Condition != Well || got.Code != 0 || got.Resources != nil {
			t.Errorf("the state is %+v", got)
		}
	})
}

// One long wait is obeyed up to a limit, a short one is no state, and a gate for which nobody waits is dropped.
func TestGatesHaveLimits(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		s.answers(func(*http.Request) (int, string) { return 429, "100000" })
		held := Held(fmt.Errorf("update: %w", send(t, c, s, http.MethodPut, aConfigMap, "")))
		if held.Wait() != longestAfter {
			t.Errorf("it waits %s", held.Wait())
		}
		time.Sleep(longestAfter + throttledHold + time.Second)
		if c.State().Condition != Well || len(c.gates) > 0 {
			t.Errorf("the state is %+v, with %d gates", c.State(), len(c.gates))
		}
		s.answers(func(*http.Request) (int, string) { return 429, "" })
		err := send(t, c, s, http.MethodPut, aConfigMap, "")
		if held := Held(errors.Join(err, fmt.Errorf("update: %w", err))); held == nil || held.Wait() != defaultAfter {
			t.Errorf("got %v", held)
		}
		if held := Held(errors.Join(err, errors.New("x"))); held != nil {
			t.Error("there is another cause")
		}
		synctest.Wait()
		if c.State().Condition != Well {
			t.Errorf("the state is %+v", c.State())
		}
	})
}

func TestStateFollowsFromEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		code  int // of all requests
		check int // of the check, if it is another one
		want  Condition
	}{
		"401":                       {401, 401, Unauthorized},
		"503":                       {503, 503, Unreachable},
		"no answer":                 {0, 0, Unreachable},
		"one group does not answer": {503, 200, Well},
		"a webhook fails":           {500, 200, Well},
		"conflicts":                 {409, 409, Well},
	} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(t *testing.T, conn *Connection, s *server) {
				s.answers(func(r *http.Request) (int, string) {
					if r.URL.Path == "/readyz" {
						return c.check, ""
					}
					return c.code, ""
				})
				for range 2 {
					_ = send(t, conn, s, http.MethodPut, aConfigMap, "")
				}
				time.Sleep(time.Hour)
				if conn.State().Condition != Well {
					t.Error("two failures are enough")
				}
				for range 4 {
					_ = send(t, conn, s, http.MethodPut, aWidget, "")
					time.Sleep(time.Second)
				}
				if got := conn.State(); got.Condition != c.want || c.want != Well && got.Code != c.code {
					t.Errorf("the state is %+v", got)
				}
				s.answers(func(*http.Request) (int, string) { return 200, "" })
				time.Sleep(checkEvery) // without a request of anybody
				synctest.Wait()
				if got := conn.State(); got.Condition != Well {
					t.Errorf("after it answers again, the state is %+v", got)
				}
				if want := []Condition{c.want, Well}; c.want != Well && !slices.Equal(s.turns, want) {
					t.Errorf("it turned to %v, want %v", s.turns, want)
				}
			})
		})
	}
}

// The answers to checks are evidence, and are not checked at once.
func TestChecksArePaced(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		s.answers(func(*http.Request) (int, string) { return 503, "1" })
		for range 3 {
			_ = send(t, c, s, http.MethodGet, "/api/v1/namespaces/n/configmaps", "")
		}
		time.Sleep(20 * time.Second)
		if n := len(s.arrived()); n > 3+10 || c.State().Condition != Unreachable {
			t.Errorf("%d requests, and the state %+v", n, c.State())
		}
	})
}

// A success between failures, and requests that the caller gave up, are no evidence that nothing works.
func TestWhatIsNoEvidence(t *testing.T) {
	connected(t, func(t *testing.T, c *Connection, s *server) {
		n := 0
		s.answers(func(*http.Request) (int, string) {
			if n++; n%3 == 0 {
				return 200, ""
			}
			return 503, ""
		})
		for range 30 {
			_ = send(t, c, s, http.MethodPut, aConfigMap, "")
			time.Sleep(time.Second)
		}
		if got := c.State(); got.Condition != Well {
			t.Errorf("the state is %+v", got)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for range 10 {
			r, _ := http.NewRequestWithContext(canceled, http.MethodPut, "https://x"+aConfigMap, nil)
			_, err := c.Hold(roundTripper(func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() })).RoundTrip(r)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if c.failures >= fewFailures {
			t.Error("requests that were given up count")
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
