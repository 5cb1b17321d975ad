package informer

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"metascript/engine/packed"
)

// podText returns the text of a Pod of about 3.3 KB without managedFields, and of twice that with them.
func podText(managed bool) []byte {
	env, conditions := []any{}, []any{}
	for i := range 10 {
		env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", i), "value": "some value of a variable"})
	}
	for _, kind := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastProbeTime": nil, "lastTransitionTime": "2026-01-02T03:04:05Z"})
	}
	metadata := map[string]any{
		"name": "web-7c5ddbdf54-00001", "namespace": "default", "uid": "00000000-0000-4000-8000-000000000001", "resourceVersion": "123456",
		"labels": map[string]any{"app.kubernetes.io/name": "web", "tier": "front"}, "annotations": map[string]any{"note": strings.Repeat("what it is for. ", 60)},
	}
	if managed {
		fields := map[string]any{}
		for i := range 90 {
			fields[fmt.Sprintf("f:someFieldOfThePod%d", i)] = map[string]any{".": map[string]any{}}
		}
		metadata["managedFields"] = []any{map[string]any{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}}
	}
	text, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
		"spec": map[string]any{"nodeName": "node-1", "restartPolicy": "Always", "containers": []any{map[string]any{
			"name": "web", "image": "registry.example.com/team/web:1.27.3", "env": env,
			"ports": []any{map[string]any{"containerPort": 8080, "protocol": "TCP"}}, "resources": map[string]any{"limits": map[string]any{"cpu": "1", "memory": "256Mi"}},
		}}},
		"status": map[string]any{"phase": "Running", "podIP": "10.0.0.1", "conditions": conditions, "containerStatuses": []any{map[string]any{"name": "web", "ready": true, "restartCount": 2}}},
	})
	return text
}

// BenchmarkForms measures the forms that a cached object could have: the memory of one, the time to make it, and that to read five fields
// of it. Package packed has the results in its documentation.
func BenchmarkForms(b *testing.B) {
	plain, managed := podText(false), podText(true)
	decode := func(text []byte) map[string]any {
		m, err := decoded(text)
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	pack := newDecoder(Spec{}, nil)
	packedOf := func(text []byte) packed.Map {
		o, err := pack.object(text)
		if err != nil {
			b.Fatal(err)
		}
		return o.Packed()
	}
	for name, form := range map[string]struct {
		make func(text []byte) any
		read func(made any)
	}{
		"maps":   {func(text []byte) any { return decode(text) }, func(made any) { readMap(made.(map[string]any)) }},
		"text":   {func(text []byte) any { return append([]byte(nil), text...) }, func(made any) { readMap(decode(made.([]byte))) }},
		"packed": {func(text []byte) any { return packedOf(text) }, func(made any) { readPacked(made.(packed.Map)) }},
	} {
		b.Run("make/form="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				form.make(managed)
			}
		})
		b.Run("read/form="+name, func(b *testing.B) {
			b.ReportAllocs()
			made := form.make(plain)
			for b.Loop() {
				form.read(made)
			}
		})
		b.Run("memory/form="+name, func(b *testing.B) {
			const n = 1000
			kept := make([]any, n)
			for b.Loop() {
				before := inUse()
				for i := range kept {
					kept[i] = form.make(plain)
				}
				b.ReportMetric(float64(inUse()-before)/n, "B/object")
				clear(kept)
			}
		})
	}
}

func inUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func readMap(m map[string]any) (read [5]any) {
	metadata, status, spec := m["metadata"].(map[string]any), m["status"].(map[string]any), m["spec"].(map[string]any)
	status0 := status["containerStatuses"].([]any)[0].(map[string]any)
	return [5]any{metadata["name"], status["phase"], status["podIP"], spec["nodeName"], status0["restartCount"]}
}

func readPacked(m packed.Map) (read [5]any) {
	status, _ := m.Map("status")
	statuses, _ := status.Array("containerStatuses")
	restarts, _ := statuses.Index(0).(packed.Map).Get("restartCount")
	return [5]any{m.Text("metadata", "name"), status.Text("phase"), status.Text("podIP"), m.Text("spec", "nodeName"), restarts}
}
