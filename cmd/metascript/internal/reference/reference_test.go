package reference

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestCommandPage(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "program"}
	one := &cobra.Command{Use: "one FILE", Short: "Do <one> thing", Long: "Do it with --fast or -f.\n\nLists:\n  a_b\n  c", Example: "  program one x", Run: run}
	one.Flags().BoolP("fast", "f", false, "a or | b")
	one.Flags().String("name", "x_y", "the `NAME` of it")
	one.Flags().Bool("secret", false, "")
	_ = one.Flags().MarkHidden("secret")
	root.AddCommand(one, &cobra.Command{Use: "hidden", Hidden: true, Run: run})
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 2 {
		t.Errorf("%d pages", len(pages))
	}
	const want = "# program one\n\nDo \\<one> thing.\n\n    program one FILE [flags]\n\nDo it with `--fast` or `-f`.\n\n    Lists:\n      a_b\n      c\n\n" +
		"## Examples\n\n    program one x\n\n## Flags\n\n| flag | default | meaning |\n|---|---|---|\n" +
		"| `-f`, `--fast` |  | a or \\| b |\n| `-h`, `--help` |  | help for one |\n| `--name NAME` | x\\_y | the NAME of it |\n"
	if got := pages["command-one.md"]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The page and the table of docs/server.md have the same metrics.
func TestMetricsAreThoseOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all, err := registered()
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*?) \|`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			documented[name[1]] = row[2]
		}
	}
	kinds := map[string]int{}
	for _, m := range all {
		kinds[m.kind]++
		if m.help == "" {
			t.Errorf("%s has no help", m.name)
		}
		if !strings.HasPrefix(m.name, "metascript_") {
			continue
		}
		labels, found := documented[m.name]
		if delete(documented, m.name); !found {
			t.Errorf("docs/server.md has no %s", m.name)
		}
		for label := range strings.SplitSeq(m.labels, ", ") {
			if !strings.Contains(labels, label) {
				t.Errorf("docs/server.md has no label %s of %s", label, m.name)
			}
		}
	}
	for name := range documented {
		if strings.HasPrefix(name, "metascript_") {
			t.Errorf("docs/server.md has %s, which the server does not have", name)
		}
	}
	if kinds["gauge"] < 15 || kinds["counter"] < 6 || kinds["histogram"] < 6 {
		t.Errorf("the types are %v", kinds)
	}
}
