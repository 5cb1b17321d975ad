package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWebhook serves, as a webhook would be in a cluster, one ConfigMap for each name in the parent's spec.names, with
// a status that counts those observed. A parent with spec.fail is answered with status 500. /finalize is done once
// no child is observed.
func cmdWebhook(ts *testscript.TestScript, _ bool, _ []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sync", serveHook(false))
	mux.HandleFunc("POST /finalize", serveHook(true))
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("WEBHOOK", server.URL)
}

type hookRequest struct {
	Parent struct {
		Spec struct {
			Names []string
			Fail  string
		}
	}
	Children   map[string]map[string]any
	Finalizing bool
}

func serveHook(finalize bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req hookRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if fail := req.Parent.Spec.Fail; fail != "" {
			http.Error(w, fail, http.StatusInternalServerError)
			return
		}
		children := []any{}
		if !finalize {
			for _, name := range req.Parent.Spec.Names {
				children = append(children, map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
				})
			}
		}
		observed := len(req.Children["ConfigMap.v1"])
		_ = json.NewEncoder(w).Encode(map[string]any{
			"status": map[string]any{"observed": observed}, "children": children, "finalized": finalize && observed == 0,
		})
	}
}
