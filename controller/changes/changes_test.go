package changes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
)

func parse(t *testing.T, text string) *object.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return object.New(content)
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  uid: u-1
  resourceVersion: "7"
  annotations: {metacontroller.k8s.io/last-applied-configuration: "{}"}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - image: nginx:1
        name: web
        ports:
        - containerPort: 80
          protocol: TCP
      - env:
        - name: A
          value: a
        - name: B
          value: b
        image: sidecar:1
        name: sidecar
status: {replicas: 2}
`

func TestOf(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"no difference", deployment, strings.NewReplacer(`"7"`, `"8"`, `"{}"`, `"{...}"`).Replace(deployment), ""},
		{"a field", deployment, strings.Replace(deployment, "replicas: 2\n", "replicas: 3\n", 1), `
  spec:
-   replicas: 2
+   replicas: 3
`},
		{"in a list", deployment, strings.Replace(deployment, "nginx:1", "nginx:2", 1), `
  spec:
    template:
      spec:
        containers:
-       - image: nginx:1
+       - image: nginx:2
          name: web
`},
		{"in an item whose first field is not its name", deployment, strings.Replace(deployment, "value: b", "value: c", 1), `
  spec:
    template:
      spec:
        containers:
        - env:
          - name: B
-           value: b
+           value: c
          name: sidecar
`},
		{"a removed field", deployment, strings.Replace(deployment, "  replicas: 2\n", "", 1), `
  spec:
-   replicas: 2
`},
		{"a label where there was none", deployment, strings.Replace(deployment, "  uid:", "  labels: {a: b}\n  uid:", 1), `
+ metadata:
+   labels:
+     a: b
`},
		{"new", "", `
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: default, labels: {a: b}, ownerReferences: [{kind: Widget}], creationTimestamp: null}
data: {text: "one\ntwo\n"}
`, `
+ data:
+   text: |
+     one
+     two
+ metadata:
+   labels:
+     a: b
`},
		{"a line of a text",
			"apiVersion: v1\nkind: ConfigMap\ndata: {text: \"one\\ntwo\\nthree\\n\"}",
			"apiVersion: v1\nkind: ConfigMap\ndata: {text: \"one\\n2\\nthree\\n\"}", `
  data:
    text: |
-     two
+     2
`},
		{"a status", "kind: Widget\nstatus: {conditions: [{status: 'False', type: Ready}, {status: 'True', type: Up}]}",
			"kind: Widget\nstatus: {conditions: [{status: 'True', type: Ready}, {status: 'True', type: Up}], m: 1}", `
  status:
    conditions:
-   - status: "False"
+   - status: "True"
      type: Ready
+   m: 1
`},
		{"a Secret", "apiVersion: v1\nkind: Secret\ndata: {a: b2xk, b: c2FtZQ==, c: Z29uZQ==}",
			"apiVersion: v1\nkind: Secret\ndata: {a: bmV3, b: c2FtZQ==, d: bTByZQ==}\nmetadata: {annotations: {copy: m0re}}", `
  data:
-   a: '[redacted]'
+   a: '[redacted, another one]'
-   c: '[redacted]'
+   d: '[redacted]'
+ metadata:
+   annotations:
+     copy: [redacted]
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			for _, line := range Of(parse(t, c.before), parse(t, c.after), nil) {
				got.WriteString(line.String() + "\n")
			}
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfDoesNotChangeTheObjects(t *testing.T) {
	before, after := parse(t, deployment), parse(t, strings.Replace(deployment, "nginx:1", "nginx:2", 1))
	same := object.Copy(before)
	Of(before, after, nil)
	if diff := cmp.Diff(same, before); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The lines without '-' are the text after, and those without '+' are the text before.
func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd\n")
	f.Add("", "a\n")
	f.Add("a\n", "")
	f.Add("@@ -1,2 +1,2 @@\n-x\n+y\n", "+y\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		if before != "" && !strings.HasSuffix(before, "\n") || after != "" && !strings.HasSuffix(after, "\n") {
			return // YAML ends with a newline
		}
		var old, current strings.Builder
		for _, line := range merge(before, after) {
			if line.Sign != '+' {
				old.WriteString(line.Text + "\n")
			}
			if line.Sign != '-' {
				current.WriteString(line.Text + "\n")
			}
		}
		if old.String() != before || current.String() != after {
			t.Errorf("the merged lines have the texts %q and %q, want %q and %q", old.String(), current.String(), before, after)
		}
	})
}
