package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestManual(t *testing.T) {
	root := &cobra.Command{Use: "metascript", Short: "Run controllers", Long: "One.\n\n  kept  as it is\n\n.Two\n'three \\n", Run: func(*cobra.Command, []string) {}}
	sub := &cobra.Command{Use: "check FILE", Short: "Check files", Example: "  metascript check -f x.yaml", Run: root.Run}
	sub.Flags().StringP("filename", "f", "", "a `FILE` to check")
	sub.Flags().Int("limit", 3, "at most")
	sub.Flags().Bool("secret", false, "not for users")
	_ = sub.Flags().MarkHidden("secret")
	root.AddCommand(sub, &cobra.Command{Use: "hidden", Hidden: true, Run: root.Run}, ManualCommand())
	dir := filepath.Join(t.TempDir(), "new", "man1")
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, f := range files {
		if strings.Contains(f.Name(), "hidden") || strings.Contains(f.Name(), "man.1") {
			t.Errorf("%s: a page of a hidden command", f.Name())
		}
		page, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[f.Name()] = string(page)
	}
	for name, wanted := range map[string][]string{
		"metascript.1": {".TH \"METASCRIPT\" 1 ", "\n.SH NAME\nmetascript \\- Run controllers\n", "\n.PP\n.nf\n  kept  as it is\n.fi\n.PP\n\\&.Two\n\\&'three \\en\n",
			".TP\n\\fBmetascript\\-check\\fR(1)\nCheck files\n"},
		"metascript-check.1": {".SH SYNOPSIS\n\\fBmetascript check FILE [flags]\\fR\n", ".TP\n\\fB\\-f\\fR, \\fB\\-\\-filename\\fR \\fIFILE\\fR\na FILE to check\n",
			"\\fB\\-\\-limit\\fR \\fIint\\fR\nat most (default 3)\n", "  metascript check \\-f x.yaml\n", ".SH SEE ALSO\n\\fBmetascript\\fR(1)\n"},
	} {
		for _, want := range wanted {
			if !strings.Contains(pages[name], want) {
				t.Errorf("%s has no %q:\n%s", name, want, pages[name])
			}
		}
		if strings.Contains(pages[name], "secret") {
			t.Errorf("%s has a hidden flag", name)
		}
	}
}
