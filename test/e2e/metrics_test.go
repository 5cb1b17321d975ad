package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	familyLine = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	metricRow  = regexp.MustCompile("(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\|")
	metricName = regexp.MustCompile(`\b(metascript|workqueue|rest_client|leader_election|process|go)_[a-z_]+\b`)
)

// cmdDocumented checks that the server has each metric that docs/server.md and manifests/monitoring name, and that docs/server.md
// has each metric of ours. Metrics that only leader election has are checked elsewhere.
func cmdDocumented(ts *testscript.TestScript, _ bool, args []string) {
	text, err := fetch(args[0])
	ts.Check(err)
	served := map[string]bool{"leader_election_master_status": true}
	var ours []string
	for _, family := range familyLine.FindAllStringSubmatch(text, -1) {
		served[family[1]] = true
		if strings.HasPrefix(family[1], "metascript_") {
			ours = append(ours, family[1])
		}
		if family[2] == "histogram" {
			served[family[1]+"_bucket"], served[family[1]+"_sum"], served[family[1]+"_count"] = true, true, true
		}
	}
	documented, named := map[string]bool{}, map[string]string{}
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
		ts.Check(err)
		return string(text)
	}
	for _, row := range metricRow.FindAllStringSubmatch(section(read("docs", "server.md"), "## Metrics\n"), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			name = strings.Trim(name, "`")
			documented[name], named[name] = true, "docs/server.md"
		}
	}
	for _, file := range []string{"rules.yaml", "metascript.json"} {
		for _, name := range metricName.FindAllString(read("manifests", "monitoring", file), -1) {
			named[name] = file
		}
	}
	if len(documented) < 20 || len(named) <= len(documented) {
		ts.Fatalf("only %d metrics are documented, and %d are used", len(documented), len(named))
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !served[name] {
			wrong = append(wrong, named[name]+" names "+name+", which the server does not have")
		}
	}
	for _, name := range ours {
		if !documented[name] {
			wrong = append(wrong, "docs/server.md lacks "+name)
		}
	}
	if wrong != nil {
		ts.Fatalf("%s", strings.Join(wrong, "\n"))
	}
}

// section returns the text between a heading and the next one of its level.
func section(text, heading string) string {
	_, text, _ = strings.Cut(text, heading)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}
