package secretvalues

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"metascript/controller/object"
)

func benchValue(r *rand.Rand, n int) string {
	value := make([]byte, n)
	for i := range value {
		value[i] = byte('!' + r.IntN('~'-'!'))
	}
	return string(value)
}

func BenchmarkSearch(b *testing.B) {
	text := strings.Repeat(`create Service default/web: Invalid value: "no-such-thing\n" `, 5)
	for _, c := range []struct{ secrets, size int }{{1, 200}, {1, 1 << 20}, {500, 200}, {5000, 200}} {
		b.Run(fmt.Sprintf("%dx%d", c.secrets, c.size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var values []*Values
			for range c.secrets {
				values = append(values, newValues([]string{benchValue(r, c.size)}))
			}
			for b.Loop() {
				Search([]string{text}, values)
			}
		})
	}
}

func BenchmarkNewValues(b *testing.B) {
	for _, size := range []int{200, 1 << 20} {
		value := benchValue(rand.New(rand.NewPCG(1, 2)), size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newValues([]string{value})
			}
		})
	}
}

// Many values that are the same, short or long, are found once at each place.
func TestEqualValuesAreFoundOnce(t *testing.T) {
	short := map[string]any{}
	for i := range 10000 {
		short[fmt.Sprintf("k%d", i)] = "a"
	}
	var values []*Values
	for range 3 {
		values = append(values, OfTexts(slices.Collect(Each(object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": short})))))
	}
	for range 300 {
		values = append(values, OfTexts([]string{strings.Repeat("zQx7Kp2mVw9RtB4n", 100)}))
	}
	texts := []string{strings.Repeat(`"a" `, 100), strings.Repeat("zQx7Kp2mVw9RtB4n", 100)}
	found := Search(texts, values)
	if len(found[0]) != 100 || len(found[1]) != 1 {
		t.Errorf("found %d and %d places, want 100 and 1", len(found[0]), len(found[1]))
	}
}

// A text with more grams than a value is looked up by those of the value, with the same result.
func TestLongTextsBesideShortValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var values []*Values
	var text strings.Builder
	for i := range 100 {
		value := benchValue(r, 30) + "=" + benchValue(r, 12)
		v := newValues([]string{value})
		if i%2 == 0 {
			v.know()
		}
		values = append(values, v)
		fmt.Fprintf(&text, " it is %s, and ", value)
	}
	found := Search([]string{text.String()}, values)
	if len(found[0]) < 100 {
		t.Errorf("%d of 100 values are found", len(found[0]))
	}
	one := Search([]string{text.String()}, values[:1])
	if len(one[0]) == 0 || slices.ContainsFunc(one[0], func(f Found) bool { return f.To > 60 }) {
		t.Errorf("one value is found at %v", one[0])
	}
}

// A place of a text that is in one value is not looked for in others, so that many values with the same grams cost no more than one.
func TestPlacesAreFoundOnce(t *testing.T) {
	var values []*Values
	for i := range 500 {
		v := newValues([]string{fmt.Sprintf("%04d", i) + strings.Repeat("a", 12)})
		v.know()
		values = append(values, v)
	}
	text := strings.Repeat("a", 4<<10)
	s := newSearch([]string{text}, values)
	for i, v := range values {
		s.in(i, v)
	}
	for _, r := range s.readings {
		if len(r.runs) > len(text) || len(s.some.groups) > 0 {
			t.Errorf("%d places are found, and %d grams are left", len(r.runs), len(s.some.groups))
		}
	}
}

// Whatever is looked up in what, each part of a value is found and nothing else.
func TestEachPartIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string { // of a few letters, so that there are common parts by chance
		text := make([]byte, n)
		for i := range text {
			text[i] = "abc"[r.IntN(3)]
		}
		return string(text)
	}
	for range 50 {
		var values []*Values
		in := map[string]bool{} // the parts
		for range 1 + r.IntN(20) {
			text := word(10 + r.IntN(1000))
			v := newValues([]string{text})
			if r.IntN(3) > 0 {
				v.know()
			}
			values = append(values, v)
			for i := range len(text) - Part + 1 {
				in[text[i:i+Part]] = true
			}
		}
		texts := []string{word(20), word(100 + r.IntN(3000)), `\u0061` + word(300)}
		for n, found := range Search(texts, values) {
			is, want := make([]bool, len(texts[n])), make([]bool, len(texts[n]))
			for _, f := range found {
				for i := f.From; i < f.To; i++ {
					is[i] = true
				}
			}
			for i := range max(0, len(texts[n])-Part+1) {
				if in[texts[n][i:i+Part]] {
					for j := range Part {
						want[i+j] = true
					}
				}
			}
			if n == 2 {
				is, want = is[6+Part:], want[6+Part:] // the escape is a letter of some of them
			}
			if !slices.Equal(is, want) {
				t.Fatalf("%q: found %v", texts[n], found)
			}
		}
	}
}
