package main

import (
	"os"
	"testing"
)

// The exit code 2 of plan means that something would change, so that no mistake may have it.
func TestMistakesOfPlanFail(t *testing.T) {
	t.Chdir(t.TempDir())
	const controller = "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: c}\nspec: {parentResource: {apiVersion: v1, resource: pods}, script: {language: Starlark, inline: x}}\n"
	for name, text := range map[string]string{"controller.yaml": controller, "nothing.yaml": "", "other.yaml": "a: [", "kubeconfig": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "the flag -f is missing"},
		{[]string{"-f", "controller.yaml", "extra"}, `"extra"`},
		{[]string{"-f", "controller.yaml", "--nosuch"}, "unknown flag --nosuch"},
		{[]string{"-f", "controller.yaml", "--against", "lve"}, `did you mean "live"?`},
		{[]string{"-f", "nothing.yaml"}, "nothing.yaml is empty"},
		{[]string{"-f", "other.yaml"}, "other.yaml:1:4: "},
		{[]string{"-f", "controller.yaml", "--qps", "0"}, "--qps must be above 0"},
		{[]string{"-f", "controller.yaml", "-l", "a=b=c"}, "--selector: "},
		{[]string{"-f", "controller.yaml", "--live-scripts-dir", "."}, "--live-scripts-dir has an effect only with --against live"},
		{[]string{"-f", "controller.yaml", "--against", "live", "--live-scripts-dir", "nosuch"}, "nosuch"},
		{[]string{"-f", "controller.yaml", "--kubeconfig", "nosuch"}, "find a cluster: "},
	} {
		metascript(t, append([]string{"plan"}, c.args...)...).expect(t, 1, nil, []string{"error: ", c.want})
	}
}
