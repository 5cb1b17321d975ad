package runtimes_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/runtimes"
)

const recordedPod = `{"kind":"Pod","metadata":{"name":"a","labels":{"app":"x","tier":"y"},"resourceVersion":"1"},
	"spec":{"containers":[{"name":"c","image":"i","args":["1","2"]},{"name":"d","image":"k"}],"nodeName":"n","priority":5},
	"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"restarts":3}}`

// Whether a script has to be called again when a field has changed, of an object of which it has read some.
func TestWhatAScriptReads(t *testing.T) {
	const (
		phase     = `"phase":"Running" "phase":"Failed"`
		restarts  = `"restarts":3 "restarts":4`
		version   = `"resourceVersion":"1" "resourceVersion":"22"`
		label     = `"app":"x" "app":"z"`
		noLabel   = `"app":"x", `
		image     = `"image":"i" "image":"other"`
		image2    = `"image":"k" "image":"other"`
		container = `,{"name":"d","image":"k"} `
		status    = `"status":"True" "status":"False"`
		priority  = `"priority":5 "priority":6`
		added     = `"nodeName" "hostname":"h","nodeName"`
		all       = phase + "\n" + restarts + "\n" + version + "\n" + label + "\n" + noLabel + "\n" + image + "\n" + image2 + "\n" + container + "\n" + status + "\n" + priority + "\n" + added
	)
	for _, c := range []struct {
		star, js string   // an expression
		reads    []string // the changes after which the script has to be called
	}{
		{`1`, `1`, nil},
		{`len(pods)`, `Object.keys(pods).length`, nil},
		{`[name for name in pods]`, `Object.keys(pods)`, nil},
		{`"b" in pods`, `"b" in pods`, nil},
		{`pod["status"]["phase"]`, `pod.status.phase`, []string{phase}},
		{`pod.status.phase`, `pod["status"]["phase"]`, []string{phase}},
		{`pod.get("status", {}).get("restarts", 0) + 1`, `(pod.status?.restarts ?? 0) + 1`, []string{restarts}},
		{`[p["spec"]["priority"] for p in pods.values()]`, `Object.values(pods).map(p => p.spec.priority)`, []string{priority}},
		{`[p["spec"]["priority"] for _, p in pods.items()]`, `Object.entries(pods).map(([_, p]) => p.spec.priority)`, []string{priority}},
		{`pod["spec"].get("hostname")`, `pod.spec.hostname`, []string{added}},
		{`"hostname" in pod["spec"]`, `"hostname" in pod.spec`, []string{added}},
		{`hasattr(pod.spec, "hostname")`, `pod.spec.hasOwnProperty("hostname")`, []string{added}},
		{`getattr(pod.spec, "hostname", 1)`, `pod.spec.hostname || 1`, []string{added}},
		{`pod["metadata"]["labels"].keys()`, `Object.keys(pod.metadata.labels)`, []string{noLabel}},
		{`len(pod["metadata"]["labels"])`, `Object.keys(pod.metadata.labels).length`, []string{noLabel}},
		{`bool(pod["metadata"]["labels"])`, `Object.keys(pod.metadata.labels).length > 0`, []string{noLabel}},
		{`pod["metadata"]["labels"]`, `pod.metadata.labels`, []string{label, noLabel}},
		{`dict(pod["metadata"]["labels"])`, `({...pod.metadata.labels})`, []string{label, noLabel}},
		{`pod["metadata"]["labels"] | {"a": "b"}`, `Object.assign({}, pod.metadata.labels)`, []string{label, noLabel}},
		{`str(pod["metadata"]["labels"])`, `JSON.stringify(pod.metadata.labels)`, []string{label, noLabel}},
		{`json.encode(pod["metadata"]["labels"])`, `Object.fromEntries(Object.entries(pod.metadata.labels))`, []string{label, noLabel}},
		{`pod["metadata"]["labels"] == {"app": "x", "tier": "y"}`, `JSON.stringify(pod.metadata.labels) === "x"`, []string{label, noLabel}},
		{`pod["metadata"]["labels"].values()`, `Object.values(pod.metadata.labels)`, []string{label, noLabel}},
		{`pod["metadata"]["labels"].items()`, `Object.entries(pod.metadata.labels)`, []string{label, noLabel}},
		{`pod["metadata"]["labels"].get("app")`, `(({app}) => app)(pod.metadata.labels)`, []string{label, noLabel}},
		{`len(pod["spec"]["containers"])`, `pod.spec.containers.length`, []string{container}},
		{`pod["spec"]["containers"][0]["image"]`, `pod.spec.containers[0].image`, []string{image, container}},
		{`[c["image"] for c in pod["spec"]["containers"]]`, `pod.spec.containers.map(c => c.image)`, []string{image, image2, container}},
		{`[c["name"] for c in pod["spec"]["containers"]]`, `[...pod.spec.containers].map(c => c.name)`, []string{container}},
		{`pod["spec"]["containers"][1:]`, `pod.spec.containers.slice(1)`, []string{image2, container}},
		{`pod["spec"]["containers"] + []`, `[...pod.spec.containers]`, []string{image, image2, container}},
		{`any([k["type"] == "Ready" and k["status"] == "True" for k in pod["status"]["conditions"]])`, `pod.status.conditions.some(k => k.type === "Ready" && k.status === "True")`, []string{status}},
		{`pod["spec"]`, `pod.spec`, []string{image, image2, container, priority, added}},
		{`[pod["spec"]]`, `JSON.parse(JSON.stringify(pod.spec))`, []string{image, image2, container, priority, added}},
		{`{"a": {"b": pod["spec"]["containers"][0]}}`, `({a: {b: pod.spec.containers[0]}})`, []string{image, container}},
		{`pod["spec"]["containers"] == pods["a"]["spec"]["containers"]`, `String(pod.spec.containers.map(c => JSON.stringify(c)))`, []string{image, image2, container}},
		{`pod`, `pod`, strings.Split(all, "\n")},
		{`pods`, `pods`, strings.Split(all, "\n")},
		{`"%s" % pods`, "`${JSON.stringify(pods)}`", strings.Split(all, "\n")},
	} {
		for language, source := range map[string]string{
			engine.Starlark:   "def sync(pods):\n    pod = pods[\"a\"]\n    return {\"x\": " + c.star + "}\n",
			engine.JavaScript: "function sync({pods}) { const pod = pods.a; return {x: " + c.js + "}; }\n",
		} {
			called := afterWhich(t, language, source, strings.Split(all, "\n"))
			if !sameTexts(called, c.reads) {
				t.Errorf("%s: called after\n%s\nwant\n%s", source, strings.Join(called, "\n"), strings.Join(c.reads, "\n"))
			}
		}
	}
}

// In Jsonnet the values of a map that are no maps and lists count as read together, except for some that often change.
func TestWhatAJsonnetScriptReads(t *testing.T) {
	const (
		phase    = `"phase":"Running" "phase":"Failed"`
		restarts = `"restarts":3 "restarts":4`
		version  = `"resourceVersion":"1" "resourceVersion":"22"`
		name     = `"name":"a" "name":"other"`
		label    = `"app":"x" "app":"z"`
		image    = `"image":"i" "image":"other"`
		image2   = `"image":"k" "image":"other"`
		status   = `"status":"True" "status":"False"`
		priority = `"priority":5 "priority":6`
		isMap    = `"priority":5 "priority":{}`
		removed  = `"priority":5 "removed":5`
		added    = `"nodeName" "hostname":"h","nodeName"`
		argument = `["1","2"] ["1","3"]`
		fewer    = `["1","2"] ["1"]`
		kind     = `"kind":"Pod" "kind":"Other"`
		noStatus = `"status":{ "other":{`
	)
	all := []string{phase, restarts, version, name, label, image, image2, status, priority, isMap, removed, added, argument, fewer, kind, noStatus}
	for _, c := range []struct {
		expression string
		reads      []string
	}{
		{`1`, nil},
		{`std.length(pods)`, nil},
		{`std.objectFields(pods)`, nil},
		{`pod.kind`, []string{kind, noStatus}},
		{`std.objectHas(pod, 'status')`, []string{kind, noStatus}},
		{`pod.metadata.name`, []string{kind, noStatus, name}},
		{`pod.metadata.resourceVersion`, []string{kind, noStatus, name, version}},
		{`std.get(pod.metadata, 'resourceVersion')`, []string{kind, noStatus, name, version}},
		{`pod.metadata.labels.app`, []string{kind, noStatus, name, label}},
		{`pod.status.phase`, []string{kind, noStatus, phase, restarts}},
		{`pod.spec.priority`, []string{kind, noStatus, priority, isMap, removed, added}},
		{`std.length(pod.spec.containers)`, []string{kind, noStatus, priority, isMap, removed, added}},
		{`[c.image for c in pod.spec.containers]`, []string{kind, noStatus, priority, isMap, removed, added, image, image2}},
		{`pod.spec.containers[1].image`, []string{kind, noStatus, priority, isMap, removed, added, image2}},
		{`pod.spec.containers[0].args[0]`, []string{kind, noStatus, priority, isMap, removed, added, image, argument, fewer}},
		{`[c.status for c in pod.status.conditions if c.type == 'Ready']`, []string{kind, noStatus, phase, restarts, status}},
		{`pod.metadata`, []string{kind, noStatus, name, version, label}},
		{`pod.metadata { x: 1 }`, []string{kind, noStatus, name, version, label}},
		{`std.manifestJson(pod.metadata)`, []string{kind, noStatus, name, version, label}},
		{`pod.metadata == { name: 1 }`, []string{kind, noStatus, name}},
		{`std.mapWithKey(function(k, v) v, pod.metadata)`, []string{kind, noStatus, name, version, label}},
		{`std.objectValues(pod.metadata)`, []string{kind, noStatus, name, version, label}},
		{`std.toString(pod)`, all},
		{`pods`, all},
	} {
		source := "{ sync(pods):: local pod = pods.a; { x: " + c.expression + " } }"
		for range 2 { // with another tree, and with the same
			if called := afterWhich(t, engine.Jsonnet, source, all); !sameTexts(called, c.reads) {
				t.Errorf("%s: called after\n%s\nwant\n%s", source, strings.Join(called, "\n"), strings.Join(c.reads, "\n"))
			}
		}
	}
}

func sameTexts(a, b []string) bool {
	set := func(texts []string) map[string]bool {
		m := map[string]bool{}
		for _, text := range texts {
			m[text] = true
		}
		return m
	}
	return reflect.DeepEqual(set(a), set(b))
}

// afterWhich calls a script, and returns the changes of the object after which what it has read does not hold. Without reading, its
// answer must be the same.
func afterWhich(t *testing.T, language, source string, changes []string) (called []string) {
	t.Helper()
	answer, recording := callRecorded(t, language, source, recordedPod)
	for _, change := range changes {
		from, to, _ := strings.Cut(change, " ")
		text := strings.Replace(recordedPod, from, to, 1)
		if text == recordedPod {
			t.Fatalf("no %s", from)
		}
		if _, hold := recording.reads.Hold(recording.of, parsePod(t, text)); !hold {
			called = append(called, change)
			continue
		}
		if again, _ := callRecorded(t, language, source, text); !reflect.DeepEqual(again, answer) {
			t.Errorf("%s: after %s it answers %v, before %v", source, change, again, answer)
		}
	}
	return called
}

type recorded struct {
	of    packed.Map
	reads packed.Reads
}

func parsePod(t *testing.T, text string) packed.Map {
	t.Helper()
	pod, err := packed.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// callRecorded calls sync with one Pod, and returns its answer and what it has read.
func callRecorded(t *testing.T, language, source, pod string) (map[string]any, recorded) {
	t.Helper()
	entry := "sync." + language
	program, err := runtimes.All()[language].Compile(t.Context(), engine.Script{Language: language, Entry: entry, Files: fstest.MapFS{entry: {Data: []byte(source)}}}, engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	of := parsePod(t, pod)
	recording := (&packed.Recorder{}).Record(of)
	arg := map[string]any{"pods": map[string]any{"a": recording.Map()}}
	env := engine.Env{Identify: func(m engine.Map) (id, version string) {
		if _, group := m.(engine.GoMap); group {
			return "", ""
		}
		return "a", pod
	}}
	answer, err := program.Call(t.Context(), "sync", arg, env)
	if err != nil {
		t.Fatal(source, engine.DetailOf(err))
	}
	return answer, recorded{of, recording.Reads()}
}
