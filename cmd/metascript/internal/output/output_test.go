package output

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFormats(t *testing.T) {
	value := struct {
		Name  string   `json:"name"`
		Texts []string `json:"texts,omitempty"`
	}{"a", []string{"x < y"}}
	for arg, want := range map[string]string{
		"-ojson":        "{\n  \"name\": \"a\",\n  \"texts\": [\n    \"x < y\"\n  ]\n}\n",
		"--output=yaml": "name: a\ntexts:\n- x < y\n",
	} {
		var f Format
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.Register(flags)
		if !f.IsText() {
			t.Error("the default is not text")
		}
		var out strings.Builder
		if err := flags.Parse([]string{arg}); err != nil || f.IsText() {
			t.Fatalf("%s: error %v", arg, err)
		}
		if err := f.Print(&out, value); err != nil || out.String() != want {
			t.Errorf("%s: error %v, output:\n%s", arg, err, &out)
		}
	}
}
