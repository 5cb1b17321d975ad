package build

import (
	"testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
)

func TestMissingChildrenIsSetByTheWebhookOrTheServer(t *testing.T) {
	for _, c := range []struct {
		server v1alpha1.MissingChildren
		spec   string
		hold   bool
	}{
		{"", "", false},
		{"", "missingChildren: Hold", true},
		{v1alpha1.MissingChildrenDelete, "missingChildren: Hold", true},
		{v1alpha1.MissingChildrenHold, "", true},
		{v1alpha1.MissingChildrenHold, "missingChildren: Delete", false},
	} {
		l := newBuilder()
		l.MissingChildren = c.server
		spec := `
script: {language: Starlark, inline: "def finalize(): return {}"}
hooks:
  sync: {webhook: {url: 'http://x/', ` + c.spec + `}}
  customize: {webhook: {url: 'http://x/', ` + c.spec + `}, script: {function: finalize}}
endpointConfigs: [{host: x}]`
		loaded := load(t, l, spec)
		for name, h := range map[string]hook.Hook{"sync": loaded.Sync, "customize": loaded.Customize.(*hook.Fallback).Webhook} {
			if got := h.(*hook.Webhook).RefuseMissing; got != c.hold {
				t.Errorf("%s, the server has %q and the webhook %q: Hold is %t, want %t", name, c.server, c.spec, got, c.hold)
			}
		}
	}
}
