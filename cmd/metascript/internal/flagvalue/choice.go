// Package flagvalue has values of flags that package pflag does not have. Their errors say which values are valid, and can be shown
// to users unchanged.
package flagvalue

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"metascript/engine"
)

// A Choice is the value of a flag that is one of a few words, in upper or lower case. It implements pflag.Value.
//
// The zero value cannot be used: it has no words. [OneOf] returns a Choice.
type Choice struct {
	value string   // one of words
	words []string // in the order in which help lists them
	set   bool     // the command line has set it, so that SetDefault has no effect
}

// OneOf returns a choice of words. The first one is the default.
func OneOf(words ...string) Choice { return Choice{value: words[0], words: words} }

// String returns the value.
func (c *Choice) String() string { return c.value }

// Type returns the type of the flag for help.
func (c *Choice) Type() string { return "word" }

// SetDefault sets the value, unless the command line has set it.
func (c *Choice) SetDefault(word string) {
	if !c.set {
		c.value = word
	}
}

// Words is a value that is one of a few words, which shells complete.
type Words interface{ Completions() []string }

// Completions implements Words.
func (c *Choice) Completions() []string { return c.words }

// Words returns the words, separated by commas, for help.
func (c *Choice) Words() string { return strings.Join(c.words, ", ") }

// Set implements pflag.Value.
func (c *Choice) Set(word string) error {
	i := slices.IndexFunc(c.words, func(w string) bool { return strings.EqualFold(w, word) })
	if i < 0 {
		return errors.New("want " + engine.OneOf(word, c.words))
	}
	c.value, c.set = c.words[i], true
	return nil
}

// Bytes returns the value of a flag that is a quantity of bytes, such as 64Mi. Its default is n.
func Bytes(n int64) resource.QuantityValue {
	return resource.QuantityValue{Quantity: *resource.NewQuantity(n, resource.BinarySI)}
}
