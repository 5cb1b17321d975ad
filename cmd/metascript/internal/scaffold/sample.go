package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"go.yaml.in/yaml/v3"
)

//go:embed samples
var samples embed.FS

//go:embed fields.yaml
var fieldsText []byte

// A field is a field of the parent's spec.
type field struct {
	Name     string    `yaml:"name"`
	Required bool      `yaml:"required"`
	Schema   yaml.Node `yaml:"schema"`
	Type     string    `yaml:"type"`  // in TypeScript
	Value    any       `yaml:"value"` // in the files of a new project
}

// readFields returns all fields, in the order in which files have them.
func readFields() ([]field, error) {
	var all []field
	if err := yaml.Unmarshal(fieldsText, &all); err != nil {
		return nil, fmt.Errorf("fields.yaml: %w", err)
	}
	return all, nil
}

// A sample is an example of a kind.
type sample struct {
	About    string         `yaml:"about"`    // what the object does, to be continued after "The Deployment"; "" if only the user knows
	Update   string         `yaml:"update"`   // the method of the updateStrategy
	Why      string         `yaml:"why"`      // the reason for the method; "" if it is InPlace
	Ready    *readiness     `yaml:"ready"`    // nil: it is ready when it exists
	Observed map[string]any `yaml:"observed"` // fields of an object that is ready
	Object   yaml.Node      `yaml:"object"`   // the fields besides apiVersion, kind and metadata
}

// updated reports whether the object is written again when the script returns something else.
func (s *sample) updated() bool { return s.Update != "OnDelete" }

// A readiness says how to find out whether an object is ready: a condition is True, or a field of its status is equal to another field.
type readiness struct {
	Condition string    `yaml:"condition"`
	Field     string    `yaml:"field"`
	Equals    [2]string `yaml:"equals"` // spec or status, and the name of the field
}

// The tags of values that come from the parent.
const (
	tagSpec = "!spec" // a field of its spec
	tagVar  = "!var"  // a variable or a function of the script, by its name in language.vars
)

// sampleOf returns the sample of a kind. A kind without one is only named: what it contains is not guessed.
func sampleOf(kind Kind) (*sample, error) {
	s := &sample{Update: "InPlace"}
	text, err := samples.ReadFile(path.Join("samples", kind.APIVersion, kind.Kind+".yaml"))
	if errors.Is(err, fs.ErrNotExist) || kind.Custom {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("sample of %s: %w", kind.Name(), err)
	}
	return s, nil
}
