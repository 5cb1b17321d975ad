package pattern

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// escape reads what follows a backslash outside of a class.
func (t *translator) escape() part {
	if t.peek() == 'k' && (t.unicode || t.named) {
		t.at++
		return t.namedReference()
	}
	if t.peek() >= '1' && t.peek() <= '9' {
		at := t.at
		if n, _ := t.decimal(); n <= t.groups {
			return t.reference(&node{kind: reference, group: n})
		}
		if t.at = at; t.unicode {
			t.fail("invalid escape")
		}
	}
	if s, ok := t.classEscape(); ok {
		return t.class(s)
	}
	c := t.charEscape(false)
	return t.class(set{{c, c}})
}

func (t *translator) namedReference() part {
	at := t.at
	if !t.eat("<") {
		t.fail("invalid named reference")
	}
	made := &node{kind: reference}
	t.references = append(t.references, namedReference{t.name(), at, made})
	return t.reference(made)
}

// reference returns a back-reference, which Go's package regexp does not know.
func (t *translator) reference(n *node) part {
	t.own = true
	return part{node: n}
}

// classEscape reads the escape of a class, such as \d or \p{L}.
func (t *translator) classEscape() (s set, ok bool) {
	c := t.peek()
	switch unicode.ToLower(c) {
	case 'd':
		s = digits
	case 's':
		s = spaces
	case 'w':
		if s = wordCharacters; t.unicode && t.ignoreCase {
			s = t.folded(s)
		}
	case 'p':
		if !t.unicode {
			return nil, false
		}
		t.at++
		s = t.property()
		t.at--
	default:
		return nil, false
	}
	t.at++
	if unicode.IsUpper(c) {
		s = s.inverted()
	}
	return s, true
}

// property reads the name of a property in braces.
func (t *translator) property() set {
	at := t.at
	end := t.at
	for end < len(t.in) && t.in[end] != '}' {
		end++
	}
	if t.peek() != '{' || end == len(t.in) {
		t.fail("\\p needs a property in braces")
	}
	name := string(t.in[t.at+1 : end])
	s, fault := property(name)
	if fault != nil {
		fault.At = t.offsets[at]
		panic(fault)
	}
	t.at = end + 1
	return s
}

// controls are the escapes of control characters.
var controls = map[rune]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r'}

// charEscape reads the escape of a character.
func (t *translator) charEscape(class bool) rune {
	c := t.peek()
	if c < 0 {
		t.fail("a backslash ends the pattern")
	}
	t.at++
	if control, ok := controls[c]; ok {
		return control
	}
	switch {
	case class && c == 'b':
		return '\b'
	case class && t.unicode && c == '-':
		return '-'
	case c == 'c':
		return t.control(class)
	case c == 'x':
		if r, ok := t.hex(2); ok {
			return r
		}
	case c == 'u':
		if r, ok := t.codePoint(); ok {
			return r
		}
	case c == '0' && (t.peek() < '0' || t.peek() > '9'):
		return 0
	case c >= '0' && c <= '7' && !t.unicode:
		return t.octal(c)
	}
	if t.unicode && !strings.ContainsRune(`^$\.*+?()[]{}|/`, c) {
		t.at--
		t.fail("invalid escape")
	}
	return c
}

// control reads the letter of \cA. Without the flag u, another character is read later, and the backslash stands for itself.
func (t *translator) control(class bool) rune {
	c := t.peek()
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	if letter || class && !t.unicode && (c == '_' || c >= '0' && c <= '9') {
		t.at++
		return c % 32
	}
	if t.at--; t.unicode {
		t.fail("invalid unicode escape")
	}
	return '\\'
}

// hex reads n hexadecimal digits, or nothing.
func (t *translator) hex(n int) (value rune, ok bool) {
	for i := range n {
		digit := digitOf(t.ahead(i))
		if digit < 0 {
			return 0, false
		}
		value = value*16 + digit
	}
	t.at += n
	return value, true
}

func digitOf(r rune) rune {
	switch {
	case r >= '0' && r <= '9':
		return r - '0'
	case r >= 'a' && r <= 'f':
		return r - 'a' + 10
	case r >= 'A' && r <= 'F':
		return r - 'A' + 10
	}
	return -1
}

// codePoint reads the digits of \uFFFF, \u{10FFFF} or of a surrogate pair.
func (t *translator) codePoint() (r rune, ok bool) {
	if t.unicode && t.eat("{") {
		at := t.at
		for digitOf(t.peek()) >= 0 && r <= unicode.MaxRune {
			r = r*16 + digitOf(t.peek())
			t.at++
		}
		if t.at == at || r > unicode.MaxRune || !t.eat("}") {
			t.fail("invalid Unicode escape")
		}
		return r, true
	}
	if r, ok = t.hex(4); !ok {
		if t.unicode {
			t.fail("invalid Unicode escape")
		}
		return 0, false
	}
	at := t.at
	if t.unicode && utf16.IsSurrogate(r) && t.eat(`\u`) {
		if low, ok := t.hex(4); ok {
			if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
				return pair, true
			}
		}
		t.at = at
	}
	return r, true
}

// octal reads the rest of an octal number of at most 255.
func (t *translator) octal(first rune) rune {
	value := first - '0'
	for i := 0; i < 2 && t.peek() >= '0' && t.peek() <= '7' && value*8+t.peek()-'0' <= 0xff; i++ {
		value = value*8 + t.peek() - '0'
		t.at++
	}
	return value
}

// bracket reads the rest of a class in brackets.
func (t *translator) bracket() set {
	at := t.at
	inverted := t.eat("^")
	var all set
	for !t.eat("]") {
		if !t.more() {
			t.at = at
			t.fail("unterminated character class")
		}
		if all = append(all, t.classRange()...); len(all) > 4*maxRanges {
			t.countRanges(len(all))
		}
	}
	all = all.normal()
	if !inverted {
		return all
	}
	if t.ignoreCase {
		all = t.folded(all)
	}
	return all.inverted()
}

// classRange reads one character of a class, an escape, or a range.
func (t *translator) classRange() set {
	from, single := t.classAtom()
	if t.peek() != '-' || t.ahead(1) == ']' || t.ahead(1) < 0 {
		return from
	}
	t.at++
	to, alsoSingle := t.classAtom()
	switch {
	case single && alsoSingle && from[0].lo > to[0].lo:
		t.fail("range out of order in character class")
	case single && alsoSingle:
		return set{{from[0].lo, to[0].lo}}
	case t.unicode:
		t.fail("invalid character class")
	}
	return append(append(append(set{}, from...), to...), span{'-', '-'})
}

// classAtom reads one character of a class, or an escape. single is false for the escape of a class.
func (t *translator) classAtom() (s set, single bool) {
	c := t.peek()
	t.at++
	if c == '\\' {
		if s, ok := t.classEscape(); ok {
			return s, false
		}
		c = t.charEscape(true)
	}
	return set{{c, c}}, true
}
