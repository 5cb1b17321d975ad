package pattern

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

func translate(pattern, flags string) (Pattern, error) {
	return Translate(utf16.Encode([]rune(pattern)), flags)
}

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		pattern, flags string
		want           Pattern
	}{
		{`ab+`, "", Pattern{Text: `ab+`, Size: 5}},
		{`ab+`, "u", Pattern{Text: `ab+(?:u){0}`, Size: 6}},
		{`[[:digit:]]`, "", Pattern{Text: `[\u003a\u005bdgit]\u005d`, Size: 4}},
		{`\u{1f600}|.`, "u", Pattern{Text: `\u{1f600}|[^\u{a}\u{d}\u{2028}-\u{2029}](?:u){0}`, Size: 6}},
		{`\p{Script=Ogham}`, "u", Pattern{Text: `[\u{1680}-\u{169c}](?:u){0}`, Size: 4}},
		{`k`, "iu", Pattern{Text: `[Kk\u{212a}](?:iu){0}`, Size: 4}},
		{`k`, "i", Pattern{Text: `[Kk](?:i){0}`, Size: 4}},
		{`^(?:)$`, "m", Pattern{Text: `^(?:(?:))$(?:m){0}`, ASCII: true, Empty: true, Size: 6}},
		{`a{2,3}?`, "u", Pattern{Text: `a{2,3}?(?:u){0}`, Size: 7}},
		{`[]`, "u", Pattern{Text: `[^\u{0}-\u{10ffff}](?:u){0}`, Size: 4}},
		{`\c`, "i", Pattern{Text: `\u005c[Cc](?:i){0}`, Size: 5}},
		{`(a)?b`, "", Pattern{Text: `(a)?b`, Groups: 1, Size: 7}},
	} {
		got, err := translate(c.pattern, c.flags)
		got.Program, got.beyond, got.Memory = nil, 0, 0
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("/%s/%s: got %+v, %v, want %+v", c.pattern, c.flags, got, err, c.want)
		}
	}
}

// Go's package regexp does not match these as JavaScript does.
func TestOwn(t *testing.T) {
	names := map[string]bool{}
	for _, pattern := range []string{`(x)\1`, `(?=a)`, `(?<!a)b`, `(?<y>a)`, `(a)*`, `(?:|a)+`, `(a*)?`, `a{1001}`, `(?:a{100}){11}`, `(?:(?:a?){100}){11}`} {
		for _, flags := range []string{"", "i", "u"} {
			got, err := translate(pattern, flags)
			if err != nil || !got.Own || names[got.Text] || IgnoresCase(got.Text) != (flags == "i") {
				t.Errorf("/%s/%s: got %+v, %v", pattern, flags, got, err)
			}
			names[got.Text] = true
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		pattern, flags string
		at             int
		want           string
	}{
		{`ab(`, "u", 3, "unterminated group"},
		{`a)`, "u", 1, "no group begins before this )"},
		{`a**`, "u", 2, "nothing to repeat"},
		{`x\p{Foo}`, "u", 3, `there is no property "Foo"`},
		{`[b-a]`, "u", 4, "range out of order in character class"},
		{`\u{110000}`, "u", 9, "invalid Unicode escape"},
		{`a{2,1}`, "u", 6, "numbers out of order in {} quantifier"},
		{`\k<b>(?<a>x)`, "u", 2, "invalid named reference"},
		{`a`, "uu", -1, "the flag u is there twice"},
		{`a`, "v", -1, "the flag v is not supported"},
	} {
		_, err := translate(c.pattern, c.flags)
		var fault *Error
		if !errors.As(err, &fault) || fault.Msg != c.want || fault.At != c.at || fault.Large {
			t.Errorf("/%s/%s: got %+v, want %q at %d", c.pattern, c.flags, err, c.want, c.at)
		}
	}
}

// A pattern that exceeds a limit is refused before it is as large as it would become.
func TestLimits(t *testing.T) {
	for pattern, want := range map[string]string{
		strings.Repeat(`\p{L}`, 1600):             "its classes of characters have more than 30000 ranges",
		"[" + strings.Repeat(`\p{L}`, 1600) + "]": "its classes of characters have more than 30000 ranges",
		strings.Repeat(`\S`, 5000):                "its classes of characters have more than 30000 ranges",
		strings.Repeat("(", 5000):                 "its groups are nested deeper than 500",
		strings.Repeat("a", 40_001):               "it has more than 40000 characters",
		strings.Repeat("(?=a)", 7000):             "it needs more than 20000 instructions",
		strings.Repeat("()", 19_000):              "it needs more than 20000 instructions",
	} {
		var fault *Error
		if _, err := translate(pattern, "iu"); !errors.As(err, &fault) || !fault.Large || fault.Msg != want {
			t.Errorf("%.40s: got %v, want %q", pattern, err, want)
		}
	}
}

// A pattern that would be large for Go's package regexp has a program, which has each repeated part once.
func TestLargeForGo(t *testing.T) {
	for _, pattern := range []string{
		`(?:` + strings.Repeat("a", 3300) + `[(]){900}`, `(?:` + strings.Repeat("a?", 1500) + `[(]?){300}b`, // a bracket in a class opens no group
		`(((a?){30}){30}){30}`, `[a-z]{1,63}(?:\.[a-z]{1,63}){0,253}`, `a{99999999999}`,
		strings.Repeat("(a?)", 2000) + "z", // a list of 2000 groups at each of 8000 instructions
		`^(?:[` + evens(7000) + `]){200}`,  // Go's package regexp copies classes
		`(?:` + strings.Repeat("a", 30) + `){900}`,
	} {
		got, err := translate(pattern, "")
		if err != nil || !got.Own || got.Size > 20_000 || len(got.Text) > 100 {
			t.Errorf("%.40s: got %d instructions, own %v, %v", pattern, got.Size, got.Own, err)
		}
	}
}

// evens returns n characters of which no two follow one another.
func evens(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune(0x3000 + 2*i))
	}
	return b.String()
}

// The cost is of one search, and of a search of all matches, in a text of 100 characters.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		one, many float64
	}{
		{`ab`, 4 * 101, 4 * 101 * (5 + 2)},
		{`a{2,3}`, 6 * 101, 6 * 101 * (5 + 3)},
		{`(?:a|bc)?x{7}`, 14 * 101, 14 * 101 * (5 + 2 + 7)},
		{`a*b`, 6 * 101, 6 * 101 * (5 + 1)},
		{`a(?:a*b)?`, 8 * 101, 8 * 101 * (5 + 100)},
		{`x?(?:a|bc*)`, 10 * 101, 10 * 101 * (5 + 1 + 2)},
		{`a{3,}`, 6 * 101, 6 * 101 * (5 + 3)},
		{`(a)(b)`, 8 * 101 * 1.125, 8 * 101 * 1.125 * (5 + 2)},
	} {
		p, err := translate(c.pattern, "")
		if err != nil || p.Cost(100) != c.one || p.CostOfAll(100) != c.many {
			t.Errorf("/%s/: got %v and %v, %v; want %v and %v", c.pattern, p.Cost(100), p.CostOfAll(100), err, c.one, c.many)
		}
	}
}

// The searches of Go's package regexp for all matches read no more than was computed.
func TestCostOfAll(t *testing.T) {
	random, finite := rand.New(rand.NewPCG(5, 6)), 0
	for range 6000 {
		pattern := randomPattern(random, random.IntN(4))
		p, err := translate(pattern, "")
		if err != nil || p.Own || p.Empty {
			continue
		}
		text, again := "", strings.Repeat(string("aabcx1("[random.IntN(7)]), random.IntN(4))
		for range random.IntN(60) {
			text += again + string("aabcxx(1"[random.IntN(8)])
		}
		read := readForAll(regexp.MustCompile(goText(t, p.Text, "")), text)
		if most := float64(len(text)+1) * p.CostOfAll(len(text)) / p.Cost(len(text)); float64(read) > most {
			t.Errorf("/%s/ in %q: read %d characters, want at most %v", pattern, text, read, most)
		}
		if read > 0 && p.beyond < 20 {
			finite++
		}
	}
	if finite < 500 {
		t.Errorf("only %d searches with a limit", finite)
	}
}

// readForAll searches all matches in a text, which are not empty, and returns how many characters that reads.
func readForAll(re *regexp.Regexp, text string) (read int) {
	for {
		reader := strings.NewReader(text)
		found := re.FindReaderIndex(reader)
		read += len(text) - reader.Len()
		if found == nil {
			return read
		}
		text = text[found[1]:]
	}
}

// Go's package regexp never has more instructions than were counted, and not many fewer.
func FuzzInstructions(f *testing.F) {
	for _, seed := range []string{
		`(?:aaa[(]){300}`, `(?:a?[(]?){300}b`, `(?:(?:a|b*?){3,}c+){5}`, `[^]\b|(?:|x)*`, `(?:(?:)+){9}`, `[]|a`, `a{0}b{0,0}c{1}`, `(?:ab|ac|ad)*`, `x**`, `(?:x{2}){3}{4}`,
		`\u{10}{900}`, `\p{L}{20,30}`,
	} {
		for _, flags := range []string{"", "u", "i", "ms"} {
			f.Add(seed, flags)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, flags string) {
		if len(pattern) > 100 || strings.Trim(flags, "imsu") != "" || len(flags) > 4 {
			return
		}
		checkInstructions(t, pattern, flags)
	})
}

// The same for patterns that are all valid.
func TestInstructions(t *testing.T) {
	random, own := rand.New(rand.NewPCG(1, 2)), 0
	for range 3000 {
		pattern, flags := randomPattern(random, 5), []string{"", "u", "i", "m"}[random.IntN(4)]
		if checkInstructions(t, pattern, flags) {
			own++
		}
	}
	if own < 500 || own > 2500 {
		t.Errorf("%d of 3000 patterns have programs of their own", own)
	}
}

// randomPattern returns a pattern.
func randomPattern(random *rand.Rand, depth int) string {
	choose := func(of ...string) string { return of[random.IntN(len(of))] }
	var b strings.Builder
	for range 1 + random.IntN(3) {
		if depth == 0 || random.IntN(2) == 0 {
			b.WriteString(choose("a", "b", "[(]", "[^)]", ".", `\S`, `\d`, "abc", "(?:)", "[]", "[^]"))
		} else {
			b.WriteString(choose("(?:", "(?:", "(?:", "(?:", "(?:", "(?:", "(?:", "(", "(?:x|", "(?:^|") + randomPattern(random, depth-1) + ")")
		}
		b.WriteString(choose("", "", "", "", "*", "+", "?", "{2}", "{0,3}", "{3,}", "{7,30}", "{0}", "{1}", "{900}", "*?", "{2,4}?", "|", `\b`, "$"))
	}
	return b.String()
}

// checkInstructions compares how many instructions were counted for a pattern with how many there are. It reports whether the pattern has a program
// of its own.
func checkInstructions(t *testing.T, pattern, flags string) (own bool) {
	t.Helper()
	p, err := translate(pattern, flags)
	if err != nil {
		return false
	}
	made := len(p.Program().instructions)
	if !p.Own {
		made = compiled(t, p.Text, flags)
	}
	if p.Size < made || p.Size > 2*made+2 || p.Size > maxSize {
		t.Errorf("/%s/%s: counted %d instructions, and it has %d", pattern, flags, p.Size, made)
	}
	return p.Own
}

// compiled returns how many instructions Go's package regexp makes of the text of a pattern, compiled as goja does.
func compiled(t *testing.T, text, flags string) int {
	text = goText(t, text, flags)
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return len(program.Inst)
}

// goText returns what goja makes of the text of a pattern.
func goText(t *testing.T, text, flags string) string {
	text, err := parser.TransformRegExp(text, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"m", "s"} {
		if strings.Contains(flags, flag) {
			text = "(?" + flag + ":" + text + ")"
		}
	}
	return text
}

// goja compiles what comes of any pattern that is valid.
func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{`\p{L}+`, `[^\d\p{Lu}-]`, `(?<a>x)\k<a>|(?!\b)^$`, `\u{1f600}{2,}?`, `\ud83d\ude00`, `a{,2}\c]`, `[\w-\s]`, `(?:(?<=a)){0}`} {
		for _, flags := range []string{"", "u", "i", "iu", "m"} {
			f.Add(seed, flags)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, flags string) {
		if len(pattern) > 200 || strings.Trim(flags, "imsu") != "" || len(flags) > 4 {
			return
		}
		p, err := translate(pattern, flags)
		if err != nil {
			return
		}
		vm := goja.New()
		flags = strings.Replace(flags, "i", "", 1)
		if _, err := vm.New(vm.Get("RegExp"), vm.ToValue(p.Text), vm.ToValue(flags)); err != nil && !strings.Contains(err.Error(), "Invalid flags") {
			t.Errorf("/%s/%s becomes %s: %v", pattern, flags, p.Text, err)
		}
		match(p.Program(), "ab\U0001f600\nx", 0)
	})
}

// match searches in a text. It gives up after a while.
func match(p *Program, text string, from int) (found []int) {
	defer func() { _ = recover() }()
	units := utf16.Encode([]rune(text))
	made := NewText(len(units), func(i int) uint16 { return units[i] }, p.Unicode)
	return p.Match(made, from, false, func(steps, _ int) {
		if steps > 1<<20 {
			panic("too long")
		}
	})
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, flags, text string
		want                 []int
	}{
		{`(?:(a)|b)+`, "", "ab", []int{0, 2, -1, -1}},
		{`(?:(a)|(b))+\1$`, "", "xab", []int{1, 3, -1, -1, 2, 3}},
		{`(z)((a+)?(b+)?(c))*`, "", "zaacbbbcac", []int{0, 10, 0, 1, 8, 10, 8, 9, -1, -1, 9, 10}},
		{`(?:|a)+`, "", "aa", []int{0, 2}},
		{`(a*)*`, "", "b", []int{0, 0, -1, -1}},
		{`(?:a?){3}`, "", "aa", []int{0, 2}},
		{`(a{1,2}?){2,3}?b`, "", "aaab", []int{0, 4, 2, 3}},
		{`(?=(a+))a*b\1`, "", "baaabac", []int{3, 6, 3, 4}},
		{`(.*?)a(?!(a+)b\2c)\2(.*)`, "", "baaabaac", []int{0, 8, 0, 2, -1, -1, 3, 8}},
		{`(?<=(\d+)(\d+))$`, "", "1053", []int{4, 4, 0, 1, 1, 4}},
		{`(?<=\1(a))b`, "", "aab", []int{2, 3, 1, 2}},
		{`(.)\1`, "iu", "s\u017f", []int{0, 2, 0, 1}},
		{`(.)\1`, "i", "s\u017f", nil},
		{`.`, "u", "\U0001f600", []int{0, 2}},
		{`^b$`, "m", "a\u2028b\rc", []int{2, 3}},
		{`\bb`, "", "\u00e4b", []int{1, 2}},
		{`(?:a{2}){2,}?`, "", "aaaaaa", []int{0, 4}},
		{`[^]+x`, "", "abc", nil},
	} {
		p, err := translate(c.pattern, c.flags)
		if err != nil {
			t.Fatal(err)
		}
		if got := match(p.Program(), c.text, 0); !slices.Equal(got, c.want) {
			t.Errorf("/%s/%s in %q: got %v, want %v", c.pattern, c.flags, c.text, got, c.want)
		}
	}
}

// A search remembers where it failed, so that a repetition in a repetition does not take exponential time.
func TestSteps(t *testing.T) {
	for _, pattern := range []string{`(a+)+$`, `(?:(a|aa)+)+?$`, `(.|\n)*z`} {
		p, err := translate(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		text, steps := strings.Repeat("a", 1000)+"b", 0
		made := NewText(len(text), func(i int) uint16 { return uint16(text[i]) }, false)
		p.Program().Match(made, 0, false, func(n, _ int) { steps = n })
		if !p.Own || steps > 2_000_000 {
			t.Errorf("/%s/: %d steps", pattern, steps)
		}
	}
}
