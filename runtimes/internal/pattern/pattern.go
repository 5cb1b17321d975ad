// Package pattern translates regular expressions of JavaScript for an interpreter that does not know them completely: goja
// understands no \p{…}, and ignores case by other rules.
//
// The translation has the same groups, and matches the same texts. It writes each class of characters as a list of ranges. So the
// interpreter needs to know neither properties of Unicode nor the flags i and s.
package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// An Error says what is wrong with a pattern, and where.
type Error struct {
	At   int // the offset in the pattern, in code units; -1 if a flag is wrong
	Msg  string
	Hint string // may be empty

	Large bool // the pattern exceeds a limit
}

func (e *Error) Error() string { return e.Msg }

// A Pattern is a translated pattern.
type Pattern struct {
	Text       string
	Exact      string // the same for a text that is not ASCII or has \r, if Text is wrong for such a text; else empty
	States     int    // how many characters it has, each counted as often as it is repeated
	Backtracks bool   // it has look-around, back-references or large repetitions
	KeepsCase  bool   // Text is for the flag i, too: it has back-references
}

// Folded ends the text of a pattern that ignores case and is to be compiled without the flag i.
const Folded = "(?:){0}"

const (
	maxDepth  = 500       // how deeply groups are nested
	maxRanges = 30_000    // how many ranges the text has
	maxWeight = 1_000_000 // the same, each counted as often as it is repeated
)

// Translate translates a pattern with these flags.
func Translate(source []uint16, flags string) (p Pattern, err error) {
	if strings.Count(flags, "u") > 1 {
		return Pattern{}, &Error{At: -1, Msg: "the flag u is there twice"}
	}
	if at := strings.IndexAny(flags, "vd"); at >= 0 {
		return Pattern{}, &Error{At: -1, Msg: "the flag " + flags[at:at+1] + " is not supported", Hint: "the flags are g, i, m, s, u and y"}
	}
	t := &translator{
		unicode: strings.Contains(flags, "u"), ignoreCase: strings.Contains(flags, "i"),
		multiline: strings.Contains(flags, "m"), dotAll: strings.Contains(flags, "s"),
	}
	t.decode(source)
	t.groups, t.named = countGroups(t.in)
	defer func() {
		if x := recover(); x != nil {
			fault, ok := x.(*Error)
			if !ok {
				panic(x)
			}
			err = fault
		}
	}()
	size := t.disjunction(0)
	if t.more() {
		t.fail("no group begins before this )")
	}
	for _, ref := range t.references {
		if !t.names[ref.name] {
			t.at = ref.at
			t.fail("invalid named reference")
		}
	}
	return t.finished(size.states), nil
}

// finished returns the pattern, whose text is written.
func (t *translator) finished(states int) Pattern {
	p := Pattern{Text: t.out.String(), States: states, Backtracks: t.backtracks, KeepsCase: t.backReferences}
	if t.unicode && len(t.names) > 0 { // goja loses the names otherwise
		p.Text, p.Backtracks = "(?=)"+p.Text, true
	}
	if t.ignoreCase && !t.backReferences {
		p.Text += Folded
	}
	exact := t.exactly(p.Text)
	switch {
	case p.Backtracks:
		p.Text = exact
	case exact != p.Text:
		p.Text, p.Exact = strings.ReplaceAll(p.Text, "\x00", ""), exact
	}
	return p
}

// exactly replaces assertions, which assert writes, by what they mean. Go's package regexp knows only ASCII words and only \n at the end
// of a line, and has no look-around; for regexp2, to which goja changes after the first match, all letters are of words.
func (t *translator) exactly(text string) string {
	word := "0-9A-Z_a-z"
	if t.unicode && t.ignoreCase {
		word += `\u{17f}\u{212a}` // they are s and k in another case
	}
	after, before := "(?<=["+word+"])", "(?=["+word+"])"
	notAfter, notBefore := "(?<!["+word+"])", "(?!["+word+"])"
	return strings.NewReplacer("\x00^", `(?<![^\n\r\u2028\u2029])`, "\x00$", `(?![^\n\r\u2028\u2029])`,
		"\x00\\b", "(?:"+after+notBefore+"|"+notAfter+before+")", "\x00\\B", "(?:"+after+before+"|"+notAfter+notBefore+")").Replace(text)
}

// A size says how large a part of a pattern is.
type size struct{ states, weight int }

func (s size) plus(other size) size { return size{s.states + other.states, s.weight + other.weight} }

func (s size) times(n int) size { return size{s.states * n, s.weight * n} }

type translator struct {
	unicode, ignoreCase, multiline, dotAll bool

	in      []rune // code points with the flag u, else code units
	offsets []int  // of in, in code units
	at      int
	out     strings.Builder
	ranges  int
	known   map[string]set // see folded

	groups     int  // how many groups capture
	named      bool // a group has a name
	names      map[string]bool
	references []reference

	backtracks, backReferences bool
}

// A reference is a back-reference to a group with a name.
type reference struct {
	name string
	at   int
}

// decode sets the text that is read.
func (t *translator) decode(source []uint16) {
	for i := 0; i < len(source); i++ {
		r, at := rune(source[i]), i
		if t.unicode && i+1 < len(source) {
			if pair := utf16.DecodeRune(r, rune(source[i+1])); pair != unicode.ReplacementChar {
				r, i = pair, i+1
			}
		}
		t.in, t.offsets = append(t.in, r), append(t.offsets, at)
	}
	t.offsets = append(t.offsets, len(source))
}

// countGroups returns how many groups of a pattern capture, and whether one of them has a name.
func countGroups(in []rune) (n int, named bool) {
	class := false
	for i := 0; i < len(in); i++ {
		switch {
		case in[i] == '\\':
			i++
		case class:
			class = in[i] != ']'
		case in[i] == '[':
			class = true
		case in[i] == '(' && (i+1 == len(in) || in[i+1] != '?'):
			n++
		case in[i] == '(' && i+3 < len(in) && in[i+2] == '<' && in[i+3] != '=' && in[i+3] != '!':
			n, named = n+1, true
		}
	}
	return n, named
}

func (t *translator) fail(format string, args ...any) {
	panic(&Error{At: t.offsets[min(t.at, len(t.offsets)-1)], Msg: fmt.Sprintf(format, args...)})
}

// refuse ends the translation of a pattern that is too large.
func (t *translator) refuse() {
	panic(&Error{Msg: "the classes of characters in it are too large", Large: true})
}

func (t *translator) more() bool { return t.at < len(t.in) }

// peek returns the next character, or -1 at the end.
func (t *translator) peek() rune { return t.ahead(0) }

func (t *translator) ahead(n int) rune {
	if t.at+n < len(t.in) {
		return t.in[t.at+n]
	}
	return -1
}

// eat reads s if it follows.
func (t *translator) eat(s string) bool {
	for i, r := range s { // s is ASCII
		if t.ahead(i) != r {
			return false
		}
	}
	t.at += len(s)
	return true
}

// disjunction reads alternatives, up to the end or a closing bracket.
func (t *translator) disjunction(depth int) size {
	if depth > maxDepth {
		panic(&Error{Msg: fmt.Sprintf("groups are nested deeper than %d", maxDepth), Large: true})
	}
	sum := size{}
	for t.more() && t.peek() != ')' {
		if t.eat("|") {
			t.out.WriteByte('|')
			sum.states++
			continue
		}
		sum = sum.plus(t.term(depth))
		if sum.weight > maxWeight {
			t.refuse()
		}
		sum.states = min(sum.states, maxWeight)
	}
	return sum
}

// term reads an assertion, or an atom with its quantifier.
func (t *translator) term(depth int) size {
	begin := t.out.Len()
	switch {
	case t.eat("^"), t.eat("$"):
		t.assert(string(t.in[t.at-1]), t.multiline)
		return size{states: 1}
	case t.eat(`\b`), t.eat(`\B`):
		t.assert(`\`+string(t.in[t.at-1]), true)
		return size{states: 1}
	case t.eat("(?="), t.eat("(?!"):
		look := "(?" + string(t.in[t.at-1])
		s := t.group(look, depth)
		if t.unicode {
			return s
		}
		return t.quantifier(s, begin)
	case t.eat("(?<="), t.eat("(?<!"):
		return t.group("(?<"+string(t.in[t.at-1]), depth)
	}
	return t.quantifier(t.atom(depth), begin)
}

// assert writes an assertion. If it is not always the same here as in JavaScript, a mark is before it; see exactly.
func (t *translator) assert(text string, marked bool) {
	if marked {
		t.out.WriteByte(0)
	}
	t.out.WriteString(text)
}

// group reads the rest of a group, which begins with that text.
func (t *translator) group(begin string, depth int) size {
	if begin != "(?:" && strings.HasPrefix(begin, "(?") && !strings.HasSuffix(begin, ">") {
		t.backtracks = true
	}
	at := t.at
	t.out.WriteString(begin)
	before := t.out.Len()
	s := t.disjunction(depth + 1)
	if t.out.Len() == before {
		t.out.WriteString("(?:)")
	}
	if !t.eat(")") {
		t.at = at
		t.fail("unterminated group")
	}
	t.out.WriteByte(')')
	return s.plus(size{states: 2})
}

// atom reads a character, a class, a group or a back-reference.
func (t *translator) atom(depth int) size {
	switch {
	case t.eat("."):
		if t.dotAll {
			return t.class(set{{0, unicode.MaxRune}})
		}
		return t.class(lineEnds.inverted())
	case t.eat("(?:"):
		return t.group("(?:", depth)
	case t.eat("(?<"):
		return t.group("(?<"+t.newName()+">", depth)
	case t.eat("(?"):
		t.fail("invalid group")
	case t.eat("("):
		return t.group("(", depth)
	case t.eat("["):
		return t.class(t.bracket())
	case t.eat(`\`):
		return t.escape()
	case strings.ContainsRune("*+?", t.peek()), t.peek() == '{' && t.repeats():
		t.fail("nothing to repeat")
	case t.unicode && strings.ContainsRune("{}]", t.peek()):
		t.fail("write \\%c for this bracket", t.peek())
	}
	t.at++
	return t.class(set{{t.in[t.at-1], t.in[t.at-1]}})
}

// newName reads the name of a group.
func (t *translator) newName() string {
	at := t.at
	name := t.name()
	if t.names[name] {
		t.at = at
		t.fail("duplicate capture group name")
	}
	if t.names == nil {
		t.names = map[string]bool{}
	}
	t.names[name] = true
	t.backtracks = t.backtracks || t.unicode
	return name
}

// name reads a name and the > after it.
func (t *translator) name() string {
	var b strings.Builder
	for !t.eat(">") {
		r := t.peek()
		if r < 0 || r != '$' && r != '_' && !unicode.IsLetter(r) && (b.Len() == 0 || !unicode.IsDigit(r)) {
			t.fail("invalid capture group name")
		}
		b.WriteRune(r)
		t.at++
	}
	if b.Len() == 0 {
		t.fail("invalid capture group name")
	}
	return b.String()
}

// repeats reports whether {n}, {n,} or {n,m} follows.
func (t *translator) repeats() bool {
	at := t.at
	_, _, ok := t.braces()
	t.at = at
	return ok
}

// braces reads {n}, {n,} or {n,m}; most is -1 if it has no limit.
func (t *translator) braces() (least, most int, ok bool) {
	at := t.at
	if t.eat("{") {
		if least, ok = t.decimal(); ok {
			most = least
			if t.eat(",") {
				if most, ok = t.decimal(); !ok {
					most = -1
				}
			}
			if t.eat("}") {
				return least, most, true
			}
		}
	}
	t.at = at
	return 0, 0, false
}

// maxCount is the highest number that is distinguished in a pattern.
const maxCount = 1 << 20

func (t *translator) decimal() (n int, ok bool) {
	for t.peek() >= '0' && t.peek() <= '9' {
		n, ok = min(maxCount, n*10+int(t.peek()-'0')), true
		t.at++
	}
	return n, ok
}

// maxRE2 is the highest number of repetitions that Go's package regexp allows.
const maxRE2 = 1000

// quantifier reads the quantifier of an atom, which was written at begin and has that size.
func (t *translator) quantifier(s size, begin int) size {
	at := t.at
	least, most := 1, 1
	switch {
	case t.eat("*"):
		least, most = 0, -1
	case t.eat("+"):
		most = -1
	case t.eat("?"):
		least = 0
	default:
		var ok bool
		if least, most, ok = t.braces(); !ok {
			if t.unicode && t.peek() == '{' {
				t.fail("incomplete quantifier")
			}
			return s
		}
	}
	if most >= 0 && most < least {
		t.fail("numbers out of order in {} quantifier")
	}
	t.backtracks = t.backtracks || max(least, most) > maxRE2
	text := string(t.in[at:t.at])
	if t.eat("?") {
		text += "?"
	}
	t.out.WriteString(text)
	return s.times(max(1, least, most))
}

// class writes a set of characters.
func (t *translator) class(s set) size {
	if t.ignoreCase {
		s = t.folded(s)
	}
	if len(s) == 1 && s[0].lo == s[0].hi {
		t.char(s[0].lo)
		return size{1, 1}
	}
	begin := "["
	if other := s.inverted(); len(other) < len(s) || len(s) == 0 {
		begin, s = "[^", other
	}
	t.out.WriteString(begin)
	for _, span := range s {
		t.char(span.lo)
		if span.hi > span.lo {
			t.out.WriteByte('-')
			t.char(span.hi)
		}
	}
	t.out.WriteByte(']')
	if t.ranges += len(s); t.ranges > maxRanges {
		t.refuse()
	}
	return size{1, len(s)}
}

// char writes a character.
func (t *translator) char(r rune) {
	switch {
	case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
		t.out.WriteRune(r)
	case t.unicode:
		t.out.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + "}")
	case r == unicode.MaxRune: // of a class that goes up to the last character
		t.out.WriteString(`\uffff`)
	default:
		fmt.Fprintf(&t.out, `\u%04x`, r)
	}
}
