package pattern

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/dop251/goja"
)

func translate(pattern, flags string) (Pattern, error) {
	return Translate(utf16.Encode([]rune(pattern)), flags)
}

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		pattern, flags string
		want           Pattern
	}{
		{`ab+`, "", Pattern{Text: `ab+`, States: 2}},
		{`ab+`, "u", Pattern{Text: `ab+(?:u){0}`, States: 2}},
		{`[[:digit:]]`, "", Pattern{Text: `[\u003a\u005bdgit]\u005d`, States: 2}},
		{`\u{1f600}|.`, "u", Pattern{Text: `\u{1f600}|[^\u{a}\u{d}\u{2028}-\u{2029}](?:u){0}`, States: 3}},
		{`\p{Script=Ogham}`, "u", Pattern{Text: `[\u{1680}-\u{169c}](?:u){0}`, States: 1}},
		{`k`, "iu", Pattern{Text: `[Kk\u{212a}](?:iu){0}`, States: 1}},
		{`k`, "i", Pattern{Text: `[Kk](?:i){0}`, States: 1}},
		{`^(?:)$`, "m", Pattern{Text: `^(?:(?:))$(?:m){0}`, ASCII: true, Empty: true, States: 4}},
		{`a{2,3}?`, "u", Pattern{Text: `a{2,3}?(?:u){0}`, States: 3}},
		{`[]`, "u", Pattern{Text: `[^\u{0}-\u{10ffff}](?:u){0}`, States: 1}},
		{`\c`, "i", Pattern{Text: `\u005c[Cc](?:i){0}`, States: 2}},
		{`(a)?b`, "", Pattern{Text: `(a)?b`, States: 4}},
	} {
		got, err := translate(c.pattern, c.flags)
		got.Program = nil
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
	for _, pattern := range []string{
		strings.Repeat(`\p{L}`, 1600), "[" + strings.Repeat(`\p{L}`, 1600) + "]", `(?:(?:\p{L}{99}){99}){99}`, strings.Repeat("(", 5000), strings.Repeat(`\S`, 5000),
	} {
		var fault *Error
		if _, err := translate(pattern, "iu"); !errors.As(err, &fault) || !fault.Large {
			t.Errorf("%.40s: got %v", pattern, err)
		}
	}
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
		if err != nil || p.States > 10_000 {
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
