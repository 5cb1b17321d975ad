package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestErrorsOfFlagsHaveHints(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-zap-log-levle=4", "unknown flag --zap-log-levle: did you mean --zap-log-level?"},
		{"controller --metrics-adress=0", "did you mean --metrics-address?"},
		{"-workers=many", `--workers "many": want a whole number`},
		{"-client-go-qps=fast", `--client-go-qps "fast": want a number`},
		{"-leader-election=maybe", `--leader-election "maybe": want true or false`},
		{"-discovery-interval=5", `--discovery-interval "5": want a duration; write it with a unit, such as 5s`},
		{"-zap-encoder=jsn", `--zap-encoder "jsn": want console or json; did you mean "json"?`},
		{"-zap-log-level=0", "a number above 0"},
		{"-zap-log-level=loud", "want debug, info, warn, error, panic"},
		{"-apply-strategy=server", "want dynamic-apply or server-side-apply"},
		{"-leader-election-resource-lock=endpoints", "want leases"},
	} {
		metascript(t, strings.Fields(c.args)...).expect(t, 2, nil, []string{c.want})
	}
}

func TestInvalidValuesOfFlags(t *testing.T) {
	got := metascript(t, strings.Fields("-workers=0 -discovery-interval=0s -cache-flush-interval=-1s -fallback-probe-interval=0 -client-go-qps=-1 -events-qps=0 -events-burst=0")...)
	got.expect(t, 1, nil, []string{
		"--workers must be at least 1", "--discovery-interval must be above 0", "--cache-flush-interval must be 0 or above",
		"--fallback-probe-interval must be above 0",
		"--client-go-qps must be 0 or above", "--events-qps must be above 0", "--events-burst must be at least 1",
	})
}

// An alias such as "kubectl metascript --context c -n a --as u" works for each command.
func TestEveryCommandHasTheFlagsOfKubectl(t *testing.T) {
	for _, cmd := range rootCommand(false, false).Commands() {
		for _, name := range []string{"kubeconfig", "context", "namespace", "as", "as-group", "user", "server", "token"} {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s has no flag --%s", cmd.Name(), name)
			}
		}
		if n := cmd.Flags().ShorthandLookup("n"); n == nil || n.Name != "namespace" {
			t.Errorf("%s: -n is not --namespace", cmd.Name())
		}
	}
}

// A flag that has no effect elsewhere must not make somebody expect that this command keeps to a namespace.
func TestUninstallCannotBeLimitedToANamespace(t *testing.T) {
	metascript(t, "uninstall", "--yes", "-n", "shop").expect(t, 1, nil, []string{"uninstall is for the whole cluster, and cannot be limited by --namespace"})
}

func TestKubeconfigVariableWithoutAFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nosuch")
	t.Setenv("KUBECONFIG", missing)
	metascript(t, "controller").expect(t, 1, nil, []string{"the variable KUBECONFIG names " + missing + ", and there is no such file"})
}
