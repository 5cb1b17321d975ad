// Package pattern reads regular expressions of JavaScript for an interpreter that does not know them completely: goja understands no
// \p{…}, ignores case by other rules, and keeps what a group captured in an earlier repetition.
//
// [Translate] returns two forms of a pattern. One is a text for Go's package regexp, which needs linear time. It has the same groups, and
// each class of characters is a list of ranges, so that neither properties of Unicode nor flags have to be known. Some patterns have no such
// text: those with look-around, for example. The other form is a [Program], which finds what the standard says for every pattern, but goes
// back to try something else, and so may need very long.
package pattern

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	Text   string // for Go's package regexp, without the flags i and s; if Own, only a name of the pattern
	Size   int    // how many instructions Go's package regexp has for it at most, or its Program if Own
	Memory int    // about how many bytes it takes, with its Program
	Groups int    // how many groups capture
	Own    bool   // Go's package regexp cannot match it, or would need much memory
	Empty  bool   // it matches empty texts; Go's package regexp leaves them out after another match
	ASCII  bool   // Text is right only for a text that is ASCII and has no \r

	Program func() *Program
	beyond  float64 // how many characters after a match are read at most to find it
}

// IgnoresCase reports whether a text that [Translate] returned is of a pattern with the flag i.
func IgnoresCase(text string) bool { return ignoring.MatchString(text) }

var ignoring = regexp.MustCompile(`\(\?:[msu]*i[msu]*\)\{0\}$`)

// marked returns the end of the text of a pattern with flags. It matches nothing, and makes the text another one for other flags.
func marked(flags string) string { return "(?:" + flags + "){0}" }

// Translate translates a pattern with these flags. What it needs does not grow with the repetitions in the pattern.
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
	defer func() {
		if x := recover(); x != nil {
			fault, ok := x.(*Error)
			if !ok {
				panic(x)
			}
			err = fault
		}
	}()
	if len(source) > MaxLength {
		refuse("it has more than %d characters", MaxLength)
	}
	t.decode(source)
	t.groups, t.named = countGroups(t.in)
	whole := t.disjunction(0)
	if t.more() {
		t.fail("no group begins before this )")
	}
	t.resolve()
	return t.finished(whole, source), nil
}

// resolve finds the groups of back-references by name.
func (t *translator) resolve() {
	for _, ref := range t.references {
		n, ok := t.names[ref.name]
		if !ok {
			t.at = ref.at
			t.fail("invalid named reference")
		}
		ref.node.group = n
	}
}

// finished returns the pattern, whose text is written.
func (t *translator) finished(whole part, source []uint16) Pattern {
	p := Pattern{Text: t.out.String(), Groups: t.groups, Own: t.own, Empty: whole.node.empty(), ASCII: t.ascii, beyond: min(whole.node.beyond(), whole.node.row())}
	p.Program = sync.OnceValue(func() *Program { return t.compile(whole.node) })
	mark := ""
	if flags := t.flags(); flags != "" {
		mark = marked(flags)
	}
	p.Text += mark
	if !p.Own {
		fits := false
		p.Size, fits = t.fitsGo(p.Text, whole.weight)
		p.Own = !fits
	}
	p.Memory = 96*len(source) + 32*t.ranges
	if p.Own {
		p.Text = nameOf(source, t.flags()) + mark
		p.Size = len(p.Program().instructions)
	} else {
		p.Memory += 4*len(p.Text) + 12*whole.weight // Go's package regexp copies classes of which it needs no more than one at a time
	}
	if p.Size > maxSize {
		refuse("it needs more than %d instructions", maxSize)
	}
	p.Memory += 128 * p.Size
	return p
}

// flags returns the flags that change what the pattern means.
func (t *translator) flags() (s string) {
	for _, flag := range []struct {
		letter string
		on     bool
	}{{"i", t.ignoreCase}, {"m", t.multiline}, {"s", t.dotAll}, {"u", t.unicode}} {
		if flag.on {
			s += flag.letter
		}
	}
	return s
}

// nameOf returns a text that stands for a pattern.
func nameOf(source []uint16, flags string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s/%x", flags, source)
	return hex.EncodeToString(h.Sum(nil))
}

// A part is what was read of a pattern: how large it is, and what it matches.
type part struct {
	weight   int // see maxWeight
	repeated int // how often it repeats a character, if that is more than once
	node     *node
}

func (p part) plus(other part) part {
	return part{min(p.weight+other.weight, maxWeight+1), max(p.repeated, other.repeated), nil}
}

func (p part) times(n int) part {
	return part{min(p.weight*n, maxWeight+1), min(max(p.repeated, 1)*n, maxRE2+1), nil}
}

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
	captured   int  // how many groups that capture have begun
	names      map[string]int
	references []namedReference

	own, ascii bool // see Pattern
}

// A namedReference is a back-reference to a group with a name.
type namedReference struct {
	name string
	at   int
	node *node
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
func (t *translator) disjunction(depth int) part {
	if depth > maxDepth {
		refuse("its groups are nested deeper than %d", maxDepth)
	}
	sum, all, last := part{}, &node{kind: anyOf}, &node{kind: sequence}
	all.list = append(all.list, last)
	for t.more() && t.peek() != ')' {
		if t.eat("|") {
			t.out.WriteByte('|')
			last = &node{kind: sequence}
			all.list = append(all.list, last)
			continue
		}
		term := t.term(depth)
		last.list = append(last.list, term.node)
		sum = sum.plus(term)
	}
	sum.node = all
	if len(all.list) == 1 {
		sum.node = last
	}
	return sum
}

// term reads an assertion, or an atom with its quantifier.
func (t *translator) term(depth int) part {
	captured := t.captured
	switch {
	case t.eat("^"), t.eat("$"):
		return t.assert(string(t.in[t.at-1]), t.multiline)
	case t.eat(`\b`), t.eat(`\B`):
		return t.assert(`\`+string(t.in[t.at-1]), true)
	case t.eat("(?="), t.eat("(?!"):
		look := t.look("(?"+string(t.in[t.at-1]), depth)
		if t.unicode {
			return look
		}
		return t.quantifier(look, captured)
	case t.eat("(?<="), t.eat("(?<!"):
		return t.look("(?<"+string(t.in[t.at-1]), depth)
	}
	return t.quantifier(t.atom(depth), captured)
}

// assert writes an assertion. ascii is true if Go's package regexp knows it for ASCII only: there a word is ASCII, and a line ends with \n.
func (t *translator) assert(text string, ascii bool) part {
	t.ascii = t.ascii || ascii
	t.out.WriteString(text)
	kinds := map[string]kind{"^": textBegin, "$": textEnd, `\b`: wordEdge, `\B`: noWordEdge}
	if t.multiline {
		kinds["^"], kinds["$"] = lineBegin, lineEnd
	}
	return part{node: &node{kind: kinds[text]}}
}

// look reads the rest of a look-around, which begins with that text.
func (t *translator) look(begin string, depth int) part {
	t.own = true
	inner := t.group(begin, depth)
	inner.node = &node{kind: look, list: []*node{inner.node}, back: strings.Contains(begin, "<"), negative: strings.HasSuffix(begin, "!")}
	return inner
}

// group reads the rest of a group, which begins with that text.
func (t *translator) group(begin string, depth int) part {
	at := t.at
	t.out.WriteString(begin)
	before := t.out.Len()
	inner := t.disjunction(depth + 1)
	if t.out.Len() == before {
		t.out.WriteString("(?:)")
	}
	if !t.eat(")") {
		t.at = at
		t.fail("unterminated group")
	}
	t.out.WriteByte(')')
	return inner
}

// capture reads the rest of a group that captures.
func (t *translator) capture(depth int) part {
	t.captured++
	n := t.captured
	inner := t.group("(", depth)
	inner.node = &node{kind: capture, group: n, list: []*node{inner.node}}
	return inner
}

// atom reads a character, a class, a group or a back-reference.
func (t *translator) atom(depth int) part {
	switch {
	case t.eat("."):
		if t.dotAll {
			return t.class(set{{0, unicode.MaxRune}})
		}
		return t.class(lineEnds.inverted())
	case t.eat("(?:"):
		return t.group("(?:", depth)
	case t.eat("(?<"):
		t.newName()
		return t.capture(depth)
	case t.eat("(?"):
		t.fail("invalid group")
	case t.eat("("):
		return t.capture(depth)
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

// newName reads the name of a group, the next that captures. Go's package regexp does not know all names.
func (t *translator) newName() {
	at := t.at
	name := t.name()
	if t.names[name] > 0 {
		t.at = at
		t.fail("duplicate capture group name")
	}
	if t.names == nil {
		t.names = map[string]int{}
	}
	t.names[name] = t.captured + 1
	t.own = true
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

// maxCount is the highest number that is distinguished in a pattern. No text is as long.
const maxCount = math.MaxInt32

func (t *translator) decimal() (n int, ok bool) {
	for t.peek() >= '0' && t.peek() <= '9' {
		n, ok = min(maxCount, n*10+int(t.peek()-'0')), true
		t.at++
	}
	return n, ok
}

// maxRE2 is the highest number of repetitions that Go's package regexp allows.
const maxRE2 = 1000

// quantifier reads the quantifier of an atom, before which so many groups had captured.
//
// For JavaScript, each repetition forgets what the groups in it captured before, and one that is not required matches no empty text. Go's
// package regexp does neither.
func (t *translator) quantifier(atom part, captured int) part {
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
			return atom
		}
	}
	if most >= 0 && most < least {
		t.fail("numbers out of order in {} quantifier")
	}
	text := string(t.in[at:t.at])
	lazy := t.eat("?")
	if lazy {
		text += "?"
	}
	t.out.WriteString(text)
	times := atom.times(max(1, least, most))
	captures := t.captured > captured && (least != 0 || most != 1)
	t.own = t.own || captures || atom.node.empty() || times.repeated > maxRE2
	times.node = &node{kind: repeat, list: []*node{atom.node}, least: least, most: most, lazy: lazy, first: captured + 1, last: t.captured}
	return times
}

// class writes a set of characters.
func (t *translator) class(s set) part {
	if t.ignoreCase {
		s = t.folded(s)
	}
	made := part{weight: 1, node: &node{kind: characters, set: s}}
	if len(s) == 1 && s[0].lo == s[0].hi {
		t.char(s[0].lo)
		return made
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
	t.countRanges(len(s))
	made.weight = len(s)
	return made
}

// countRanges counts the ranges of a class of characters.
func (t *translator) countRanges(n int) {
	if t.ranges += n; t.ranges > maxRanges {
		refuse("its classes of characters have more than %d ranges", maxRanges)
	}
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
