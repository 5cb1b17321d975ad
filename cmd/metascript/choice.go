package main

import (
	"fmt"
	"slices"
	"strings"

	"metascript/engine"
)

// A choice is the value of a flag that is one of a few words.
type choice struct {
	value string
	of    []string
	given bool // on the command line
}

// oneOf gives a choice; the first word is the default.
func oneOf(words ...string) choice { return choice{value: words[0], of: words} }

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "word" }

// or makes text the value unless one is given.
func (c *choice) or(text string) {
	if !c.given {
		c.value = text
	}
}

// words lists what a choice is of, for help.
func (c *choice) words() string { return strings.Join(c.of, ", ") }

// Set implements pflag.Value.
func (c *choice) Set(text string) error {
	if slices.Contains(c.of, text) {
		c.value, c.given = text, true
		return nil
	}
	said := "want " + strings.Join(c.of, " or ")
	if near := engine.Nearest(text, c.of); near != "" {
		said += fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%s", said)
}
