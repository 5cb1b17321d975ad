package packed

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// What is loaded has the same content, and does not depend on the bytes.
func TestLoad(t *testing.T) {
	for _, text := range texts() {
		want := parse(t, text)
		block := bytes.Clone(want.Bytes())
		got, err := Load(block)
		if err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
		clear(block)
		if !got.Equal(want) {
			t.Errorf("%.100s: got other bytes", text)
		}
		check(t, "", got, want.Build())
	}
}

// A block is refused if any of its rules is violated.
func TestLoadChecks(t *testing.T) {
	object := func(content ...byte) []byte { return append([]byte{tagMap, byte(len(content))}, content...) }
	for name, block := range map[string][]byte{
		"nothing":              {},
		"no map":               {tagArray, 1, 0},
		"no header":            {tagMap},
		"more bytes":           {tagMap, 1, 0, 0},
		"a longer size":        {tagMap, 2, 0},
		"a wide varint":        {tagMap, 0x81, 0x00, 0},
		"an endless varint":    append([]byte{tagMap}, bytes.Repeat([]byte{0xff}, 20)...),
		"a tag":                object(1, 1, 'a', 8),
		"no value":             object(1, 1, 'a'),
		"no key":               object(1),
		"a long key":           object(1, 9, 'a', tagNil),
		"no UTF-8":             object(1, 1, 0xff, tagNil),
		"a text without UTF-8": object(1, 1, 'a', tagString, 1, 0xff),
		"the same key":         object(2, 1, 'a', tagNil, 1, 'a', tagNil),
		"keys out of order":    object(2, 1, 'b', tagNil, 1, 'a', tagNil),
		"more elements":        object(0, 1, 'a', tagNil),
		"fewer elements":       object(2, 1, 'a', tagNil),
		"an int that ends":     object(1, 1, 'a', tagInt, 0x80),
		"an int of 65 bits":    object(1, 1, 'a', tagInt, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02),
		"NaN":                  object(1, 1, 'a', tagFloat, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f),
		"half a float":         object(1, 1, 'a', tagFloat, 1, 0, 0, 0),
		"an inner size":        object(1, 1, 'a', tagMap, 9, 0),
	} {
		if m, err := Load(block); err == nil {
			t.Errorf("%s: loaded %v", name, m.Build())
		}
	}
}

// A table must have the offsets of the elements.
func TestLoadChecksTables(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,2,3,4,5,6,7,8,9]}`,
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`,
		`{"a":["` + strings.Repeat("x", 1<<16) + `",2,3,4,5,6,7,8,9]}`,
	} {
		good := parse(t, text).Bytes()
		table := bytes.Index(good, []byte{0, 0}) // the offset of the first element
		for at := table; at < table+18; at++ {
			block := slices.Clone(good)
			block[at]++
			if _, err := Load(block); err == nil {
				t.Errorf("%.40s: loaded with another byte %d", text, at)
			}
		}
	}
}

func TestLoadIsLimited(t *testing.T) {
	block := []byte{tagMap, 1, 0}
	for range maxDepth {
		block = slices.Concat([]byte{tagMap}, varint(len(block)+3), []byte{1, 1, 'a'}, block)
	}
	if _, err := Load(block); err == nil {
		t.Error("an object was loaded that is nested too deeply")
	}
}

func varint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// Arbitrary bytes are refused, or read like the object that has the same content.
func FuzzLoad(f *testing.F) {
	for _, text := range texts() {
		if len(text) < 4096 {
			m, err := Parse([]byte(text))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(m.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		m, err := Load(block)
		if err != nil {
			return
		}
		if !bytes.Equal(m.Bytes(), block) {
			t.Fatalf("the object has the bytes %x, not %x", m.Bytes(), block)
		}
		check(t, "", m, m.Build())
	})
}

func BenchmarkLoad(b *testing.B) {
	fields := strings.Repeat(`{"name":"VARIABLE","value":"some value of a variable","optional":true,"count":12},`, 40)
	m := parse(b, `{"spec":{"env":[`+strings.TrimSuffix(fields, ",")+`]}}`)
	b.SetBytes(int64(len(m.Bytes())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(m.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
