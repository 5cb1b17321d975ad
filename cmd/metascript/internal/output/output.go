// Package output prints the result of a command for people, or as JSON or YAML for programs.
package output

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/flagvalue"
)

// The formats, as values of the flag.
const (
	text     = "text"
	jsonWord = "json"
	yamlWord = "yaml"
)

// A Format is the value of the flag --output. In JSON and YAML a command prints one document with the same fields. Fields are added in
// new versions, but not removed or renamed.
type Format struct{ choice flagvalue.Choice }

// Register adds the flag to a set.
func (f *Format) Register(flags *pflag.FlagSet) {
	f.choice = flagvalue.OneOf(text, jsonWord, yamlWord)
	flags.VarP(&f.choice, "output", "o", "format of the output: "+f.choice.Words())
}

// IsText reports whether the output is for people, so that the command prints it in its own form.
func (f *Format) IsText() bool { return f.choice.String() == text }

// Print prints a value as a document. The format must not be text.
func (f *Format) Print(w io.Writer, value any) error {
	if f.choice.String() == yamlWord {
		document, err := YAML(value)
		if err != nil {
			return err
		}
		_, err = w.Write(document)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // texts have "<" and "&", which people read too
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
