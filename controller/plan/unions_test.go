package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
)

func TestUnreturnedFieldsOfUnions(t *testing.T) {
	have := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {strategy: {type: Rolling, rolling: {max: 1}}, volumes: [{name: other}, {name: v, emptyDir: {}}], list: [a]}}`)
	want := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {strategy: {type: Recreate}, volumes: [{name: v, secret: {}}], list: [b]}}`)
	for refused, fields := range map[string][]string{
		"spec.strategy.rolling":  {"spec.strategy.rolling"},
		"spec.volumes[0].secret": {"spec.volumes[0].emptyDir"},
		"spec.strategy.type":     {"spec.strategy.rolling"},
		"spec.list[0]":           nil,
		"spec.unknown":           nil,
		"metadata":               nil,
		"":                       nil,
	} {
		op := Op{Verb: Update, Observed: objecttest.Packed(t, have), Wanted: want}
		if diff := cmp.Diff(fields, op.Unreturned(refused)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", refused, diff)
		}
	}
}
