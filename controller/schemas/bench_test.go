package schemas

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// BenchmarkFirstPod measures what a command pays for the first Pod: it decompresses all schemas, and parses those of a Pod.
func BenchmarkFirstPod(b *testing.B) {
	pod := object(b, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}`)
	for b.Loop() {
		all, err := decode()
		if err != nil {
			b.Fatal(err)
		}
		s := newSet(Kubernetes().table, true, func(schema.GroupVersion) (*definitions, error) { return all, nil })
		if problems := kind(b, s, pods).Validate(pod); problems != nil {
			b.Fatal(problems)
		}
	}
}
