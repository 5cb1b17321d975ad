package scale

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// childrenOfEach is the number of children of a parent.
const childrenOfEach = 3

// functions has the same function in each language. It returns ConfigMaps with a value of the parent, and a status with their number.
var functions = map[string]string{
	"Starlark": `
def sync(parent, children):
    name, value = parent["metadata"]["name"], parent["spec"]["value"]
    return {
        "status": {"observed": len(children["ConfigMap.v1"])},
        "children": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s-%d" % (name, i)},
            "data": {"index": str(i), "value": value},
        } for i in range(3)],
    }
`,
	"JavaScript": `
function sync({parent, children}) {
  const name = parent.metadata.name, value = parent.spec.value;
  return {
    status: {observed: Object.keys(children["ConfigMap.v1"]).length},
    children: [0, 1, 2].map((i) => ({
      apiVersion: "v1", kind: "ConfigMap", metadata: {name: name + "-" + i},
      data: {index: String(i), value},
    })),
  };
}
`,
	"Jsonnet": `
function(request) {
  local name = request.parent.metadata.name,
  status: { observed: std.length(request.children['ConfigMap.v1']) },
  children: [{
    apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '%s-%d' % [name, i] },
    data: { index: std.toString(i), value: request.parent.spec.value },
  } for i in std.range(0, 2)],
}
`,
}

// A request has the fields of a request that the function reads.
type request struct {
	Parent struct {
		Metadata struct{ Name string }
		Spec     struct{ Value string }
	}
	Children map[string]map[string]json.RawMessage
}

type child struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Data       map[string]string `json:"data"`
}

// serveHook serves the function, in Go, as a webhook, until the end of the benchmark.
func serveHook(b *testing.B) (url string) {
	b.Helper()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var req request
		if err == nil {
			err = json.Unmarshal(text, &req)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var children []child
		for i := range childrenOfEach {
			children = append(children, child{"v1", "ConfigMap",
				map[string]string{"name": fmt.Sprintf("%s-%d", req.Parent.Metadata.Name, i)},
				map[string]string{"index": fmt.Sprint(i), "value": req.Parent.Spec.Value},
			})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"status": map[string]int{"observed": len(req.Children["ConfigMap.v1"])}, "children": children,
		})
	}))
	b.Cleanup(hook.Close)
	return hook.URL
}
