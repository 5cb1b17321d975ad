package hook

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"metascript/controller/etags"
)

// holders are webhooks and what answers in their form, with the setting Hold.
var holders = []string{"webhook", "strict webhook", "v2 webhook", "ported"}

// holding gives one that answers with text.
func holding(t *testing.T, which, text string) Hook {
	t.Helper()
	if which == "ported" {
		h := speakers[which](t, text).(*Script)
		h.RefuseMissing = true
		return h
	}
	h := answerWith(t, 200, text)
	h.RefuseMissing, h.Strict = true, which == "strict webhook"
	if which == "v2 webhook" {
		h.Version = V2
	}
	return h
}

func TestHoldMissingChildrenIsAnError(t *testing.T) {
	req := observing(t, newRequest(t), "a", "b")
	finalizing := observing(t, newRequest(t), "a", "b")
	finalizing.Finalizing = true
	const want = `no children in the answer, which would delete the 2 there are, and missingChildren is Hold: answer with children, or with [] to delete them on purpose`
	for _, which := range holders {
		for _, text := range []string{`{}`, `{"children": null}`, `{"status": {"a": 1}}`, `{"finalized": true}`} {
			for _, about := range []*Request{req, finalizing} {
				resp, err := holding(t, which, text).Call(t.Context(), about)
				if err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s: %s: response %v, error %v, want %q", which, text, resp, err, want)
				}
			}
			if resp := ask(t, holding(t, which, text), newRequest(t)); resp.Children.Len() != 0 {
				t.Errorf("%s: %s: children %v where there are none, want none", which, text, children(resp))
			}
		}
		if resp := ask(t, holding(t, which, `{"children": []}`), req); resp.Children.Len() != 0 {
			t.Errorf("%s: children %v, want [] to mean none", which, children(resp))
		}
	}
}

func TestHoldErrorNamesAttachments(t *testing.T) {
	req := observing(t, newRequest(t), "a")
	req.Shape = Decorator
	_, err := holding(t, "webhook", `{}`).Call(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), `no attachments in the answer, which would delete the 1 there is, and missingChildren is Hold`) {
		t.Errorf("error %v", err)
	}
	ask(t, holding(t, "webhook", `{"attachments": []}`), req)
}

func TestHoldMissingRelatedResourcesIsAnError(t *testing.T) {
	req := observing(t, newRequest(t), "a")
	req.Shape = Customizing
	for _, text := range []string{`{}`, `{"relatedResources": null}`} {
		_, err := holding(t, "webhook", text).Call(t.Context(), req)
		if err == nil || !strings.Contains(err.Error(), `no relatedResources in the answer, while 1 child is there that may depend on them, and missingChildren is Hold: answer with relatedResources, or with [] for none`) {
			t.Errorf("%s: error %v", text, err)
		}
	}
	ask(t, holding(t, "webhook", `{"relatedResources": []}`), req)
	req.Children = nil
	ask(t, holding(t, "webhook", `{}`), req)
}

func TestHoldValidatesCachedResponse(t *testing.T) {
	seen := []string{}
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen = append(seen, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	})
	h.RefuseMissing, h.Cache = true, etags.New(0, 0)
	ask(t, h, newRequest(t))
	req := observing(t, newRequest(t), "a")
	for range 2 {
		if _, err := h.Call(t.Context(), req); err == nil || !strings.Contains(err.Error(), "missingChildren is Hold") {
			t.Errorf("error %v", err)
		}
	}
	if got := strings.Join(seen, ","); got != `,"one",` {
		t.Errorf("If-None-Match of the calls: %s, want that of the kept answer once", got)
	}
}
