// Package printable decides which characters the program prints as they are. The others could hide a part of the output, turn it round or
// control the terminal, and texts come from scripts, files and clusters.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Is reports whether a character can be seen, or is white space. It is false for control characters except for line breaks and tabs,
// for format characters, such as those that change the direction of a text or have no width, for separators of lines and
// paragraphs, and for what no text has.
func Is(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r < utf8.RuneSelf:
		return r >= ' ' && r != 0x7f
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// All reports whether all characters of a text can be printed as they are.
func All(text string) bool { return strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) }

func hidden(r rune) bool { return !Is(r) }

// Text returns a text in which the characters that are not printed are escaped as in JSON, so that JSON remains the same value. What is
// not UTF-8 is replaced by U+FFFD.
func Text(text string) string {
	if All(text) {
		return text
	}
	var clean strings.Builder
	for _, r := range text {
		if Is(r) {
			clean.WriteRune(r)
			continue
		}
		for _, half := range utf16.AppendRune(nil, r) {
			clean.WriteString(escape(half))
		}
	}
	return clean.String()
}

// escape returns the escape of a character, or of one half of it.
func escape(half uint16) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[half>>12], digits[half>>8&15], digits[half>>4&15], digits[half&15]})
}

// Quoted returns a text in the double quotes of YAML, with the escapes of YAML.
func Quoted(text string) string {
	quoted := strings.Builder{}
	quoted.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			quoted.WriteString(`\` + string(r))
		case r == '\n':
			quoted.WriteString(`\n`)
		case r == '\t':
			quoted.WriteString(`\t`)
		case Is(r):
			quoted.WriteRune(r)
		case r > 0xffff:
			quoted.WriteString(`\U` + escape(uint16(r >> 16))[2:] + escape(uint16(r))[2:])
		default:
			quoted.WriteString(escape(uint16(r)))
		}
	}
	return quoted.String() + `"`
}
