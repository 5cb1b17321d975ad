// Package allowed says in words which names, labels, quantities and selectors Kubernetes allows. The errors of Kubernetes have regular
// expressions in their place.
package allowed

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A rule is what Kubernetes says about a kind of names, and the same in words.
type rule struct {
	kubernetes, words string
	lower             bool   // only lower-case letters are allowed
	others            string // the characters besides letters and digits that are allowed
}

const alnumEnds = ", and begin and end with a letter or a digit"

// rules are the rules of Kubernetes. A text that contains another one is before it.
var rules = []rule{
	{"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		"a label value must have only letters, digits, '-', '_' and '.'" + alnumEnds, false, "-_."},
	{"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
		"it must have only lower-case letters, digits, '-' and '.'" + alnumEnds, true, "-."},
	{"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
		"it must have only lower-case letters, digits and '-'" + alnumEnds, true, "-"},
	{"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
		"it must have only lower-case letters, digits and '-', begin with a letter, and end with a letter or a digit", true, "-"},
	{"a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
		"it must have only letters, digits, '-', '_' and '.'", false, "-_."},
	{"a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		"a key must have only letters, digits, '-', '_' and '.'" + alnumEnds, false, "-_."},
	{"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		"a key must have only letters, digits, '-', '_' and '.'" + alnumEnds, false, "-_."},
	{"name part must be non-empty", "a key must not be empty", false, ""},
	{"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		"a key must have only letters, digits, '-', '_' and '.'" + alnumEnds, false, "-_."},
}

var (
	// pattern matches the examples and the regular expression in a text of Kubernetes.
	pattern = regexp.MustCompile(` \(e\.g\. '.*?regex used for validation is '[^']*'\)`)
	// prefixed is what Kubernetes adds to the rule of a key of a label.
	prefixed = regexp.MustCompile(` with an optional DNS subdomain prefix and '/' \(e\.g\. '[^']*'\)`)
)

// Words returns a text of Kubernetes, such as the detail of an error about a field, without regular expressions and examples.
func Words(text string) string {
	text = prefixed.ReplaceAllString(pattern.ReplaceAllString(text, ""), "; a domain and '/' may be before it")
	for _, r := range rules {
		text = strings.ReplaceAll(text, r.kubernetes, r.words)
	}
	return text
}

// Like returns the name that was probably meant by a name about which Kubernetes says text, such as my-blog for My_Blog; "" if there is
// none.
func Like(name, text string) string {
	for _, r := range rules {
		if strings.Contains(text, r.kubernetes) {
			return r.like(name)
		}
	}
	return ""
}

// like returns name with a dash in the place of what is not allowed.
func (r *rule) like(name string) string {
	if r.lower {
		name = strings.ToLower(name)
	}
	alnum := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	meant := strings.Map(func(c rune) rune {
		if alnum(c) || strings.ContainsRune(r.others, c) {
			return c
		}
		return '-'
	}, name)
	return strings.TrimFunc(meant, func(c rune) bool { return !alnum(c) })
}

// IsQuantityPattern reports whether a regular expression is that of quantities in a schema.
func IsQuantityPattern(text string) bool {
	return strings.Contains(text, `(([KMGTPE]i)|[numkMGTPE]|([eE]`)
}

// unit matches a quantity with the unit byte, and with a suffix in the wrong case.
var unit = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([kKmMgGtTpPeE])?(i|I)?([bB]|bytes?)?$`)

// Quantity returns what to write in place of a text that is not a quantity, such as "write 64M or 64Mi" for 64MB.
func Quantity(text string) string {
	match := unit.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return "write a number with a suffix, such as 500m, 64M or 64Mi"
	}
	number, factor := match[1], strings.ToUpper(match[2])
	decimal := number + strings.Replace(factor, "K", "k", 1)
	binary := number + factor + "i"
	switch {
	case factor == "":
		return "write " + number
	case match[3] != "" && isQuantity(binary):
		return "write " + binary
	case isQuantity(decimal) && isQuantity(binary):
		return fmt.Sprintf("write %s or %s", decimal, binary)
	}
	return "write a number with a suffix, such as 500m, 64M or 64Mi"
}

func isQuantity(text string) bool {
	_, err := resource.ParseQuantity(text)
	return err == nil
}

// unitNames are units of time in words.
var unitNames = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *(milliseconds?|ms|seconds?|secs?|sec|s|minutes?|mins?|min|m|hours?|h|days?|d)?$`)

// Duration returns what to write in place of a text that is not a duration, such as "write 5s" for "5 seconds".
func Duration(text string) string {
	match := unitNames.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	switch {
	case match == nil:
		return "write a number with a unit, such as 500ms, 5s or 1m30s"
	case match[2] == "":
		return fmt.Sprintf("write it with a unit, such as %ss", match[1])
	case strings.HasPrefix(match[2], "mil"), match[2] == "ms":
		return "write " + match[1] + "ms"
	case match[2][0] == 'd':
		return "there is no unit for days: write hours, such as 24h"
	}
	return "write " + match[1] + match[2][:1]
}
