package pattern

import (
	"errors"
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
		{`ab+`, "u", Pattern{Text: `ab+`, States: 2}},
		{`\u{1f600}|.`, "u", Pattern{Text: `\u{1f600}|[^\u{a}\u{d}\u{2028}-\u{2029}]`, States: 3}},
		{`\p{Script=Ogham}`, "u", Pattern{Text: `[\u{1680}-\u{169c}]`, States: 1}},
		{`k`, "iu", Pattern{Text: `[Kk\u{212a}](?:){0}`, States: 1}},
		{`k`, "i", Pattern{Text: `[Kk](?:){0}`, States: 1}},
		{`(x)\1`, "i", Pattern{Text: `([Xx])(?:\1)`, States: 4, Backtracks: true, KeepsCase: true}},
		{`^(?:)$`, "m", Pattern{Text: `^(?:(?:))$`, Exact: `(?<![^\n\r\u2028\u2029])(?:(?:))(?![^\n\r\u2028\u2029])`, States: 4}},
		{`(?<y>a)`, "u", Pattern{Text: `(?=)(?<y>a)`, States: 3, Backtracks: true}},
		{`a{2,3}?`, "u", Pattern{Text: `a{2,3}?`, States: 3}},
		{`[]`, "u", Pattern{Text: `[^\u{0}-\u{10ffff}]`, States: 1}},
		{`\c`, "i", Pattern{Text: `\u005c[Cc](?:){0}`, States: 2}},
	} {
		if got, err := translate(c.pattern, c.flags); err != nil || got != c.want {
			t.Errorf("/%s/%s: got %+v, %v, want %+v", c.pattern, c.flags, got, err, c.want)
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
		if !p.KeepsCase {
			flags = strings.Replace(flags, "i", "", 1)
		}
		for _, text := range []string{p.Text, p.Exact} {
			if _, err := vm.New(vm.Get("RegExp"), vm.ToValue(text), vm.ToValue(flags)); err != nil && !strings.Contains(err.Error(), "Invalid flags") {
				t.Errorf("/%s/%s becomes %s: %v", pattern, flags, text, err)
			}
		}
	})
}
