package main

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	metascript(t, "explain", "scriptheld").expect(t, 0, []string{"ScriptHeld\n  Warning event on a parent.\n\nMeaning\n  The script is not called", "\nCause\n  ", "\nWhat to do\n  "}, nil)
	metascript(t, "explain").expect(t, 0, []string{"SyncError\n    A sync failed.", "\nRolloutWaiting\n    "}, nil)
	metascript(t, "explain", "ScriptHel").expect(t, 1, nil, []string{`error: no event and no condition has the reason "ScriptHel": did you mean ScriptHeld?`})
	one := parseYAML(t, "list: "+strings.ReplaceAll(metascript(t, "explain", "Ready", "-o", "json").stdout, "\n", " "))["list"].([]any)
	if entry := one[0].(map[string]any); len(one) != 1 || entry["name"] != "Ready" || entry["remedy"] == "" || entry["where"] == "" {
		t.Errorf("as JSON: %v", one)
	}
}

func TestDocs(t *testing.T) {
	list := metascript(t, "docs")
	list.expect(t, 0, []string{"scripts: Writing a script\n    A controller's script is a function `sync`.\n", "reasons: Reasons of events and conditions\n"}, nil)
	got := metascript(t, "docs", "server")
	got.expect(t, 0, []string{"Running the server\n", "  `--target-label-selector`\n      run only the controller objects whose labels match\n"}, nil)
	if strings.Contains(got.stdout, "](") {
		t.Error("the page has the address of a link")
	}
	metascript(t, "docs", "scripts.md").expect(t, 0, []string{"Writing a script\n"}, nil)
	metascript(t, "docs", "security").expect(t, 0, []string{"Security\n", "Report a vulnerability\n"}, nil)
	metascript(t, "docs", "script").expect(t, 1, nil, []string{`error: there is no page "script": did you mean scripts?`})
	metascript(t, "docs", "../go.mod").expect(t, 1, nil, []string{`error: there is no page "../go.mod"`})
}
