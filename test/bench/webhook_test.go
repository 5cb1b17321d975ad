package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// webhook serves the functions in Go, and returns a function that calls one of them. It does the same as controller/hook, except that it
// does not check the answer. Connections are reused.
func webhook(tb testing.TB, function string) callFunc {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var arg map[string]any
		if err := json.NewDecoder(r.Body).Decode(&arg); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(inGo[function](arg)); err != nil {
			tb.Error(err)
		}
	}))
	tb.Cleanup(server.Close)
	return func(ctx context.Context, arg map[string]any) (map[string]any, error) {
		text, err := json.Marshal(arg)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("status %s: %v", resp.Status, err)
		}
		var answer map[string]any
		return answer, utiljson.Unmarshal(body, &answer)
	}
}

// inGo has the functions in testdata, implemented in Go.
var inGo = map[string]func(map[string]any) map[string]any{
	"noop":   func(map[string]any) map[string]any { return map[string]any{} },
	"status": statusInGo,
	"full":   fullInGo,
}

func statusInGo(arg map[string]any) map[string]any {
	pods, image := at(arg, "children", "Pod.v1"), at(arg, "parent", "spec")["image"]
	nodes, waiting, running, current := map[string]bool{}, []string{}, 0, 0
	for _, p := range pods {
		pod := p.(map[string]any)
		nodes[at(pod, "spec")["nodeName"].(string)] = true
		if at(pod, "spec")["containers"].([]any)[0].(map[string]any)["image"] == image {
			current++
		}
		if at(pod, "status")["phase"] == "Running" {
			running++
		}
		if !isReady(pod) {
			waiting = append(waiting, at(pod, "metadata")["name"].(string))
		}
	}
	slices.Sort(waiting)
	sorted := make([]string, 0, len(nodes))
	for node := range nodes {
		sorted = append(sorted, node)
	}
	slices.Sort(sorted)
	return map[string]any{"status": map[string]any{
		"replicas": len(pods), "running": running, "current": current, "nodes": sorted, "waiting": waiting,
	}}
}

func isReady(pod map[string]any) bool {
	for _, c := range at(pod, "status")["conditions"].([]any) {
		if condition := c.(map[string]any); condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}

func fullInGo(arg map[string]any) map[string]any {
	template, image := at(arg, "parent", "spec", "template"), at(arg, "parent", "spec")["image"]
	children := []any{}
	for name := range at(arg, "children", "Pod.v1") {
		labels := map[string]any{"pod": name}
		for key, value := range at(template, "metadata", "labels") {
			labels[key] = value
		}
		var containers []any
		for _, c := range at(template, "spec")["containers"].([]any) {
			of := c.(map[string]any)
			containers = append(containers, map[string]any{
				"name": of["name"], "image": image, "ports": of["ports"],
				"env": append(slices.Clone(of["env"].([]any)), map[string]any{"name": "POD", "value": name}),
			})
		}
		children = append(children, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "labels": labels},
			"spec": map[string]any{"restartPolicy": "Always", "containers": containers},
		})
	}
	slices.SortFunc(children, func(a, b any) int {
		return bytes.Compare(nameOf(a), nameOf(b))
	})
	return map[string]any{"children": children}
}

func nameOf(object any) []byte {
	return []byte(at(object.(map[string]any), "metadata")["name"].(string))
}

// at returns the map at a path in m.
func at(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		m = m[key].(map[string]any)
	}
	return m
}
