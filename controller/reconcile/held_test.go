package reconcile

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/apiserver"
	"metascript/controller/kube"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
)

// throttling answers 429 to all requests.
type throttling struct{}

func (throttling) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// A parent whose requests are held is reconciled when they are sent again. Its own back-off does not grow, and the log has no line for it.
func TestHeldRequestsAreNoBackoffOfTheParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestReconciler(t, wants(), nil)
		defer r.close()
		defer r.queue.ShutDown()
		var log bytes.Buffer
		r.events.log = slog.New(slog.NewTextHandler(&log, nil))
		key := objecttest.WidgetRef("default", "w")
		connection := apiserver.New(slog.New(slog.DiscardHandler))
		request, err := http.NewRequest(http.MethodPut, "https://x/api/v1/namespaces/default/configmaps/c", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, refused := connection.Hold(throttling{}).RoundTrip(request)
		failed := kube.Join(refused, kube.Requeue(errors.New("conflict")))
		state := r.states.of(key)
		for range 20 {
			state.held = apiserver.Held(failed)
			if wait := r.worker.scheduleNext(t.Context(), key, 0, 0, failed); wait != 7*time.Second {
				t.Fatalf("it waits %s", wait)
			}
		}
		if n := r.queue.NumRequeues(key); n > 0 || log.Len() > 0 {
			t.Errorf("%d retries, log %s", n, log.String())
		}
		if state.failing == nil || !strings.Contains(state.failing.Error(), "429 Too Many Requests, Retry-After: 7, for requests about configmaps") {
			t.Errorf("the error that is shown is %v", state.failing)
		}
		if wait := r.worker.heldFor(key, queue.Retry); wait != 7*time.Second {
			t.Errorf("a retry waits %s", wait)
		}
		if wait := r.worker.heldFor(key, queue.Retry|queue.ParentChanged); wait > 0 {
			t.Errorf("a change of the parent waits %s", wait) // it may have to write another kind
		}
		time.Sleep(7 * time.Second)
		if wait := r.worker.heldFor(key, queue.Retry); wait > 0 {
			t.Errorf("it still waits %s", wait)
		}
		// With another cause beside it, the parent is retried as always.
		if r.worker.scheduleNext(t.Context(), key, 0, 0, errors.Join(refused, errors.New("another"))); r.queue.NumRequeues(key) != 1 || !strings.Contains(log.String(), "another") {
			t.Errorf("%d retries, log %s", r.queue.NumRequeues(key), log.String())
		}
	})
}

// When the API server answers again, one of the parents that failed because it did not is tried at once, whatever its back-off is.
func TestParentsAreTriedWhenTheAPIServerAnswersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestReconciler(t, wants(), nil)
		defer r.close()
		defer r.queue.ShutDown()
		key := objecttest.WidgetRef("default", "w")
		failed := &url.Error{Op: "Put", URL: "https://x", Err: errors.New("connection refused")}
		for range 30 {
			r.worker.scheduleNext(t.Context(), key, 0, 0, failed)
			time.Sleep(time.Hour)
			r.queue.Take(key)
		}
		r.worker.scheduleNext(t.Context(), key, 0, 0, failed)
		if why := r.queue.Pending(key); why != 0 {
			t.Fatalf("it is queued for %s", why)
		}
		r.RetryFailed()
		synctest.Wait()
		if why := r.queue.Pending(key); why != queue.Retry {
			t.Errorf("it is queued for %q", why)
		}
	})
}
