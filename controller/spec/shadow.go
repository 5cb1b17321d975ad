package spec

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
)

// sourceFields are the fields of a script that say where its text is.
var sourceFields = []string{"language", "inline", "modules", "file", "configMapRef"}

// MergeShadow returns the script that a candidate becomes when it takes the place of a script: the source of the candidate, and each
// other setting that the candidate sets. The settings that it does not set are those of live, which is nil if there is no script. Both are
// contents of a ControllerScript, and are not changed.
func MergeShadow(live, candidate map[string]any) map[string]any {
	merged := maps.Clone(live)
	if merged == nil {
		merged = map[string]any{}
	}
	for _, field := range sourceFields {
		delete(merged, field)
	}
	for field, value := range candidate {
		merged[field] = value
		before, nested := live[field].(map[string]any)
		if now, both := value.(map[string]any); both && nested && field != "modules" && field != "configMapRef" {
			settings := maps.Clone(before)
			maps.Copy(settings, now)
			merged[field] = settings
		}
	}
	return merged
}

// WithShadow returns d with the candidate in spec.shadow in the place of its script.
func (d *Declaration) WithShadow() (*Declaration, error) {
	if d.ShadowErr != nil {
		return nil, d.ShadowErr
	}
	candidate, err := contentOf(&d.Settings.Shadow.Script)
	if err != nil {
		return nil, err
	}
	live, err := contentOf(d.Script)
	if err != nil {
		return nil, err
	}
	with := *d
	with.Script = &v1alpha1.ControllerScript{}
	return &with, runtime.DefaultUnstructuredConverter.FromUnstructured(MergeShadow(live, candidate), with.Script)
}

// contentOf returns the content of a script; nil if there is none.
func contentOf(script *v1alpha1.ControllerScript) (map[string]any, error) {
	if script == nil {
		return nil, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(script)
}

// UsesScript reports whether the hook of that name is a function of spec.script, if spec.script defines it. Other hooks are webhooks,
// or have scripts of their own.
func (d *Declaration) UsesScript(name string) bool {
	set := d.Hook(name)
	if set == nil || set.Script == nil {
		return set == nil || set.Webhook == nil
	}
	return set.Script.Inline == "" && set.Script.File == "" && set.Script.ConfigMapRef == nil
}

// ErrServesNone is the error for a candidate that cannot be compared.
var ErrServesNone = errors.New("spec.shadow.script: it serves no hook: spec.hooks lists a webhook, or another script, for each hook that it defines")

// ShadowShare returns the percentage of the parents for which the candidate is called.
func ShadowShare(s *v1alpha1.ShadowScript) (int, error) {
	if s.Share == "" {
		return 100, nil
	}
	number, isPercent := strings.CutSuffix(s.Share, "%")
	n, err := strconv.Atoi(number)
	if !isPercent || err != nil || n < 1 || n > 100 {
		return 0, fmt.Errorf("spec.shadow.share is %q, want a whole percentage from 1%% to 100%%, such as 10%%", s.Share)
	}
	return n, nil
}
