package hook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/bodies"
	"metascript/controller/etags"
)

// large is an answer with Pods of so many MiB together, each with a text of a MiB.
func large(mib int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"children": [`)
	for i := range mib {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p%d"}, "spec": {"n": %d, "list": [`, i, i)
		for line := range 2 << 10 {
			if line > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.Repeat("x", 509) + `"`)
		}
		b.WriteString(`]}}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// answering serves body, with its length or without.
func answering(t testing.TB, body []byte, length bool, headers ...string) *Webhook {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		if length {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		}
		_, _ = w.Write(body)
	})
}

func TestLargeResponseEqualsSmallOne(t *testing.T) {
	body := large(2)
	small := answering(t, body, true)
	want, err := small.read(t.Context(), body, newRequest(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []bool{true, false} {
		for _, strict := range []bool{true, false} {
			h := answering(t, body, length)
			h.Strict, h.InFlight = strict, bodies.New(0).Share()
			// cmp needs seconds to compare equal values of this size.
			if got := ask(t, h, newRequest(t)); !reflect.DeepEqual(got.Document(), want.Document()) {
				t.Errorf("length %t, strict %t (-want +got):\n%s", length, strict, cmp.Diff(want.Document(), got.Document()))
			}
		}
	}
}

func TestErrorsOfInvalidLargeResponses(t *testing.T) {
	const prefix = "the answer is not a JSON object: "
	blanks := strings.Repeat(" ", smallBody)
	for body, want := range map[string]string{
		blanks + ` `:               prefix + "unexpected end of JSON input",
		blanks + `null`:            prefix + "it is null",
		blanks + `[]`:              prefix + "json: cannot unmarshal array into Go value of type map[string]interface {}",
		blanks + `{"children": [`:  prefix + "unexpected end of JSON input",
		blanks + `{} x`:            prefix + "invalid character 'x' after top-level value",
		"<html>" + blanks + blanks: prefix + "invalid character '<' looking for beginning of value; it begins with \"<html>\"",
		blanks + `{"children": [], "status": {"a":1,"a":2}}`: `duplicate field "status.a"`,
		blanks + `{"childs": []}`:                            `unknown key "childs" in the answer: did you mean "children"?`,
	} {
		h := answering(t, []byte(body), false)
		h.Strict = true
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); got != want {
			t.Errorf("%s: error %q, want %q", strings.TrimSpace(body), got, want)
		}
	}
}

func TestTruncatedLargeResponseIsAnError(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", fmt.Sprint(1<<20))
		_, _ = w.Write([]byte(`{"children": [` + strings.Repeat(" ", 2*smallBody)))
	})
	_, err := h.Call(t.Context(), newRequest(t))
	if got := fault(t, h, err); !strings.HasPrefix(got, "the answer broke off after 1310") {
		t.Errorf("error %q", got)
	}
}

func TestErrorOfResponseAboveLimitNamesFlag(t *testing.T) {
	body := large(2)
	for length, want := range map[bool]string{
		true:  fmt.Sprintf("the answer has %d bytes, and all answers in flight can have at most 1048576 bytes together: raise --webhook-memory", len(body)),
		false: "the answer is larger than the 1048576 bytes that all answers in flight can have together: raise --webhook-memory",
	} {
		h := answering(t, body, length)
		budget := bodies.New(1 << 20)
		h.InFlight = budget.Share()
		for range 2 {
			_, err := h.Call(t.Context(), newRequest(t))
			if got := fault(t, h, err); got != want {
				t.Errorf("with its length %t: error %q, want %q", length, got, want)
			}
		}
		if !budget.TryTake(1 << 20) {
			t.Error("a failed call keeps memory")
		}
	}
}

func TestCallWithoutMemoryFailsAndReturnsMemory(t *testing.T) {
	h := answering(t, large(1), true)
	budget := bodies.New(4 << 20)
	h.InFlight = budget.Share()
	ctx, release := bodies.WithLease(t.Context())
	defer release()
	if bodies.FromContext(ctx).Take(ctx, h.InFlight, 1) != nil || !budget.TryTake(4<<20-1) {
		t.Fatal("the budget is too small")
	}
	bodies.FromContext(ctx).Shrink(1, 1)
	_, err := h.Call(ctx, newRequest(t)) // which does not wait, since no other reconcile has memory
	if got := fault(t, h, err); !strings.HasPrefix(got, "there is not enough memory for an answer of up to ") || !strings.Contains(got, "raise --webhook-memory if this happens often") {
		t.Errorf("error %q", got)
	}
	budget.GiveBack(4<<20 - 1)
	ask(t, h, newRequest(t))
}

// A small response does not wait for large ones of other reconciles.
func TestSmallResponseNeedsNoMemory(t *testing.T) {
	budget := bodies.New(1 << 20)
	if !budget.TryTake(1 << 20) {
		t.Fatal("the budget is too small")
	}
	h := answering(t, []byte(`{"children": []}`), false)
	h.InFlight = budget.Share()
	ask(t, h, newRequest(t))
}

func TestCachedResponsesShareLimit(t *testing.T) {
	room := bodies.New(3 << 20)
	one, two := answering(t, large(2), true, "ETag", `"a"`), answering(t, large(2), true, "ETag", `"b"`)
	for _, h := range []*Webhook{one, two} {
		h.Cache = etags.New(0, 0)
		h.Cache.Budget = room
		if cached := ask(t, h, newRequest(t)).Cached != 0; cached != (h == one) {
			t.Errorf("the response of the first webhook: %t; it is cached: %t", h == one, cached)
		}
	}
	one.Close()
	ask(t, two, newRequest(t))
	two.Close()
	if !room.TryTake(3 << 20) {
		t.Error("deleted responses keep their memory")
	}
}

// Responses without Content-Length for several revisions, which arrive at the same time.
func TestConcurrentResponsesOfOneReconcile(t *testing.T) {
	const revisions = 4
	for _, limit := range []int64{2 << 20, 8 << 20} { // of 4 MiB for the controller, and 8 MiB in all
		var arrived sync.WaitGroup
		arrived.Add(revisions)
		h := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"children": [`+strings.Repeat(" ", smallBody))
			_ = http.NewResponseController(w).Flush()
			arrived.Done()
			arrived.Wait()
			_, _ = io.WriteString(w, `]}`)
		})
		h.Limit, h.Timeout, h.InFlight = limit, time.Minute, bodies.New(8<<20).Share()
		ctx, release := bodies.WithLease(t.Context())
		var calls sync.WaitGroup
		for range revisions {
			calls.Go(func() {
				if _, err := h.Call(ctx, newRequest(t)); err != nil {
					t.Errorf("limit %d: %v", limit, err)
				}
			})
		}
		calls.Wait()
		release()
	}
}

func TestErrorOfSecondResponseOfReconcileNamesFlag(t *testing.T) {
	h := answering(t, large(2), false)
	h.InFlight = bodies.New(3 << 20).Share()
	ctx, release := bodies.WithLease(t.Context())
	defer release()
	if _, err := h.Call(ctx, newRequest(t)); err != nil {
		t.Fatal(err)
	}
	_, err := h.Call(ctx, newRequest(t))
	if got := fault(t, h, err); !strings.Contains(got, "all answers in flight can have at most 3145728 bytes together, and other answers for the same parent use the rest: raise --webhook-memory") {
		t.Errorf("error %q", got)
	}
}

// Of eight responses at the same time, at most two are in memory.
func TestMemoryOfResponsesInFlightIsLimited(t *testing.T) {
	body := large(5)
	budget := bodies.New(12 << 20)
	var calls sync.WaitGroup
	var inUse, most atomic.Int64
	for range 8 {
		h := answering(t, body, true)
		h.InFlight, h.Timeout = budget.Share(), 10*time.Minute
		calls.Go(func() {
			ctx, release := bodies.WithLease(t.Context())
			defer release()
			resp, err := h.Call(ctx, newRequest(t))
			if err != nil {
				t.Error(err)
				return
			}
			n := inUse.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			if resp.Children.Len() != 5 {
				t.Errorf("%d children, want 5", resp.Children.Len())
			}
			inUse.Add(-1)
		})
	}
	calls.Wait()
	if most.Load() > 2 {
		t.Errorf("%d responses of %d bytes were in use at the same time, with a limit of 12 MiB", most.Load(), len(body))
	}
}
