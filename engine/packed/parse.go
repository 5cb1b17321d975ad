package packed

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// maxDepth is the maximum nesting of JSON text, as in the decoders of Go and of Kubernetes.
const maxDepth = 10_000

// A Parser makes packed objects of JSON text. The zero value keeps all fields. It can be used many times, but not concurrently.
//
// The values are those of the decoder of Kubernetes: a number is an int64 if it is written as an integer and fits, and else a float64;
// the last one of equal keys counts; and what is not UTF-8 is replaced by U+FFFD.
type Parser struct {
	// Drop, if set, reports whether a field is left out. It is called for the fields of the object, with an outer of "", and for
	// the fields of these. The keys must not be kept.
	Drop func(outer, key string) bool

	// Dropped, if set, is called with the JSON text of each field that is left out. The arguments must not be kept.
	Dropped func(outer, key string, text []byte)

	// Missing are strings that the object gets as fields if it has none of these fields, or if all of them are left out.
	Missing map[string]string

	in      []byte
	i       int
	depth   int
	outer   string // the key of the field of the object that is being read
	out     []byte
	entries []entry // of the maps and arrays that are being read
	spare   []byte
	later   later
	moved   int // how many bytes were moved within out, or from and to it
}

// An entry is an element of a map or an array that was read: where it begins in out and, in a map, its key.
type entry struct {
	start, end       int
	keyStart, keyEnd int
}

// parsers has Parsers for Parse.
var parsers = sync.Pool{New: func() any { return &Parser{} }}

// Parse makes a packed object of JSON text.
func Parse(text []byte) (Map, error) {
	p := parsers.Get().(*Parser)
	defer parsers.Put(p)
	return p.Parse(text)
}

// maxReused is the size up to which the memory of a Parser is used again.
const maxReused = 1 << 20

// Parse makes a packed object of JSON text, which may be changed afterwards.
func (p *Parser) Parse(text []byte) (Map, error) {
	p.begin(text)
	defer p.release()
	p.space()
	if p.peek() != '{' {
		return Map{}, p.unexpected("want an object")
	}
	if err := p.value(); err != nil {
		return Map{}, err
	}
	if p.space(); p.i < len(p.in) {
		return Map{}, p.unexpected("want the end of the text")
	}
	return own(p.out), nil
}

// begin drops what is left of the last object.
func (p *Parser) begin(text []byte) {
	p.in, p.i, p.depth, p.outer = text, 0, 0, ""
	p.out, p.entries, p.moved = p.out[:0], p.entries[:0], 0
	p.later.clear()
}

// own returns the object in a copy of a block. The last byte of the copy is not used: so an address after the last value is in the
// same memory.
func own(block []byte) Map {
	copied := make([]byte, len(block)+1)
	copy(copied, block)
	return Map{&copied[0]}
}

// release drops what the Parser must not keep.
func (p *Parser) release() {
	p.in = nil
	if cap(p.out) > maxReused {
		p.out, p.spare, p.entries, p.later = nil, nil, nil, later{}
	}
}

func (p *Parser) peek() byte {
	if p.i < len(p.in) {
		return p.in[p.i]
	}
	return 0
}

func (p *Parser) space() {
	for p.i < len(p.in) {
		switch p.in[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// errEnd is the error for JSON text that ends too early.
var errEnd = errors.New("the JSON text ends too early")

// unexpected returns an error about the character at the current position.
func (p *Parser) unexpected(want string) error {
	if p.i >= len(p.in) {
		return errEnd
	}
	r, _ := utf8.DecodeRune(p.in[p.i:])
	return fmt.Errorf("invalid character %s at byte %d of the JSON text: %s", strconv.QuoteRune(r), p.i, want)
}

// value reads a value and appends it to out.
func (p *Parser) value() error {
	switch c := p.peek(); c {
	case '"':
		return p.text()
	case '{':
		return p.nested(tagMap)
	case '[':
		return p.nested(tagArray)
	case 't':
		p.out = append(p.out, tagTrue)
		return p.word("true")
	case 'f':
		p.out = append(p.out, tagFalse)
		return p.word("false")
	case 'n':
		p.out = append(p.out, tagNil)
		return p.word("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number()
	}
	return p.unexpected("want a value")
}

// text reads a string that is a value.
func (p *Parser) text() error {
	at := len(p.out)
	p.out = append(p.out, tagString)
	start, end, err := p.string()
	if number, ok := wordNumber(p.out[start:end]); ok {
		p.out = append(p.out[:at], tagWord, number)
	}
	return err
}

func (p *Parser) word(w string) error {
	for j := range len(w) {
		if p.peek() != w[j] {
			return p.unexpected("want " + w)
		}
		p.i++
	}
	return nil
}

// nested reads a map or an array.
func (p *Parser) nested(tag byte) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("the JSON text is nested deeper than %d levels", maxDepth)
	}
	base, first := p.open()
	var err error
	if p.i++; tag == tagMap {
		err = p.fields()
	} else {
		err = p.items()
	}
	if err != nil {
		return err
	}
	if tag == tagMap && p.depth == 1 {
		p.add(first)
	}
	err = p.close(tag, base, first)
	p.depth--
	return err
}

// add adds the fields of Missing to the object, unless one of its entries is one of them.
func (p *Parser) add(first int) {
	for _, e := range p.entries[first:] {
		if _, has := p.Missing[string(p.key(e))]; has {
			return
		}
	}
	for key, text := range p.Missing {
		start := len(p.out)
		p.packText(key)
		keyEnd := len(p.out)
		_ = p.pack(text) // fails only for other types
		p.entries = append(p.entries, entry{start, len(p.out), keyEnd - len(key), keyEnd})
	}
}

// more reads what follows an element, and reports whether another one follows.
func (p *Parser) more(end byte) (bool, error) {
	p.space()
	switch p.peek() {
	case ',':
		p.i++
		p.space()
		return true, nil
	case end:
		p.i++
		return false, nil
	}
	return false, p.unexpected("want , or " + string(end))
}

func (p *Parser) items() error {
	if p.space(); p.peek() == ']' {
		p.i++
		return nil
	}
	for {
		start := len(p.out)
		if err := p.value(); err != nil {
			return err
		}
		p.entries = append(p.entries, entry{start: start, end: len(p.out)})
		if more, err := p.more(']'); !more {
			return err
		}
	}
}

func (p *Parser) fields() error {
	if p.space(); p.peek() == '}' {
		p.i++
		return nil
	}
	for {
		if err := p.field(); err != nil {
			return err
		}
		if more, err := p.more('}'); !more {
			return err
		}
	}
}

// field reads a key and its value.
func (p *Parser) field() error {
	if p.peek() != '"' {
		return p.unexpected("want a key")
	}
	start := len(p.out)
	keyStart, keyEnd, err := p.string()
	if err != nil {
		return err
	}
	if p.space(); p.peek() != ':' {
		return p.unexpected("want :")
	}
	p.i++
	p.space()
	if p.Drop != nil && p.depth <= 2 {
		if dropped, err := p.drop(start, keyStart, keyEnd); dropped || err != nil {
			return err
		}
	}
	if err := p.value(); err != nil {
		return err
	}
	p.entries = append(p.entries, entry{start, len(p.out), keyStart, keyEnd})
	return nil
}

// drop leaves out the value that follows if Drop says so. The key is in out already.
func (p *Parser) drop(start, keyStart, keyEnd int) (bool, error) {
	// The key stays where it is in out, or in the memory that out had, until its map ends.
	key := unsafe.String(unsafe.SliceData(p.out[keyStart:]), keyEnd-keyStart)
	if p.depth == 1 {
		p.outer = ""
	}
	if !p.Drop(p.outer, key) {
		if p.depth == 1 {
			p.outer = key
		}
		return false, nil
	}
	// The value is read like others, since its text must be valid too, and then removed.
	from, depth := p.i, p.depth
	p.depth += 2
	err := p.value()
	p.depth = depth
	if err == nil && p.Dropped != nil {
		p.Dropped(p.outer, key, p.in[from:p.i])
	}
	p.out = p.out[:start]
	return true, err
}

// open begins a map or an array. It returns where it begins in out, and the index of its first entry.
func (p *Parser) open() (base, first int) {
	base = len(p.out)
	if p.depth > maxMoved {
		p.out = append(p.out, noPart...)
	}
	return base, len(p.entries)
}

// close ends a map or an array, which has all entries from first on, and removes these.
func (p *Parser) close(tag byte, base, first int) (err error) {
	inPlace := tag == tagArray || p.sort(first) && adjacent(p.entries[first:], base)
	switch {
	case p.depth > maxMoved:
		p.postpone(tag, base, first)
		if p.depth == maxMoved+1 {
			err = p.writePart(base)
		}
	case inPlace:
		err = p.addHeader(tag, base, first)
	default:
		p.arrange(base, first)
		err = p.addHeader(tag, base, first)
	}
	p.entries = p.entries[:first]
	return err
}

// sort sorts the entries of a map by their keys, and reports whether they were sorted already. Of entries with the same key it keeps the
// last.
func (p *Parser) sort(first int) bool {
	all := p.entries[first:]
	sorted := true
	for i := 1; i < len(all) && sorted; i++ {
		sorted = bytes.Compare(p.key(all[i-1]), p.key(all[i])) < 0
	}
	if sorted {
		return true
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(bytes.Compare(p.key(a), p.key(b)), a.start-b.start) })
	kept := all[:0]
	for i, e := range all {
		if i+1 < len(all) && bytes.Equal(p.key(e), p.key(all[i+1])) {
			continue
		}
		kept = append(kept, e)
	}
	p.entries = p.entries[:first+len(kept)]
	return false
}

// arrange moves the entries of a map so that they follow each other in out, from base on.
func (p *Parser) arrange(base, first int) {
	p.spare = p.spare[:0]
	for i, e := range p.entries[first:] {
		start := base + len(p.spare)
		p.spare = append(p.spare, p.out[e.start:e.end]...)
		p.entries[first+i].start, p.entries[first+i].end = start, base+len(p.spare)
	}
	p.out = append(p.out[:base], p.spare...)
	p.moved += 2 * len(p.spare)
}

// adjacent reports whether entries follow each other in out, from base on.
func adjacent(all []entry, base int) bool {
	for _, e := range all {
		if e.start != base {
			return false
		}
		base = e.end
	}
	return true
}

func (p *Parser) key(e entry) []byte { return p.out[e.keyStart:e.keyEnd] }

// uvarintSize returns the length of a varint.
func uvarintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// offsetWidth returns the width of the offsets in the table of n elements that have a size together; 0 if they have none.
func offsetWidth(n, size int) int {
	switch {
	case n <= maxPlain:
		return 0
	case size < maxNarrow:
		return 2
	}
	return 4
}

// headerSize returns the length of the tag and the header of n elements that have a size together.
func headerSize(n, size int) int {
	rest := uvarintSize(n) + offsetWidth(n, size)*n
	return 1 + uvarintSize(rest+size) + rest
}

// appendHeader appends the tag and the header of n elements that have a size together, without the table.
func appendHeader(buf []byte, tag byte, n, size int) []byte {
	rest := uvarintSize(n) + offsetWidth(n, size)*n
	buf = binary.AppendUvarint(append(buf, tag), uint64(rest+size))
	return binary.AppendUvarint(buf, uint64(n))
}

// setOffset sets an offset in a table.
func setOffset(table []byte, width, i, offset int) {
	switch width {
	case 2:
		binary.LittleEndian.PutUint16(table[2*i:], uint16(offset))
	case 4:
		binary.LittleEndian.PutUint32(table[4*i:], uint32(offset))
	}
}

var errTooLarge = errors.New("the JSON text is larger than 4 GiB")

// addHeader puts the tag and the header in front of the elements, which begin at base.
func (p *Parser) addHeader(tag byte, base, first int) error {
	all := p.entries[first:]
	size := len(p.out) - base
	if size > math.MaxUint32 {
		return errTooLarge
	}
	shift := headerSize(len(all), size)
	p.out = slices.Grow(p.out, shift)[:len(p.out)+shift]
	copy(p.out[base+shift:], p.out[base:])
	p.moved += size
	appendHeader(p.out[:base], tag, len(all), size)
	if width := offsetWidth(len(all), size); width > 0 {
		table := p.out[base+shift-width*len(all):]
		for i, e := range all {
			setOffset(table, width, i, e.start-base)
		}
	}
	return nil
}

// number reads a number.
func (p *Parser) number() error {
	start := p.i
	integer := true
	if p.peek() == '-' {
		p.i++
	}
	switch c := p.peek(); {
	case c == '0':
		p.i++
	case c >= '1' && c <= '9':
		p.digits()
	default:
		return p.unexpected("want a digit")
	}
	if p.peek() == '.' {
		integer = false
		p.i++
		if c := p.peek(); c < '0' || c > '9' {
			return p.unexpected("want a digit")
		}
		p.digits()
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		integer = false
		p.i++
		if c := p.peek(); c == '+' || c == '-' {
			p.i++
		}
		if c := p.peek(); c < '0' || c > '9' {
			return p.unexpected("want a digit")
		}
		p.digits()
	}
	return p.appendNumber(p.in[start:p.i], integer)
}

func (p *Parser) digits() {
	for p.i < len(p.in) && p.in[p.i] >= '0' && p.in[p.i] <= '9' {
		p.i++
	}
}

func (p *Parser) appendNumber(text []byte, integer bool) error {
	s := unsafe.String(unsafe.SliceData(text), len(text))
	if integer {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			p.out = binary.AppendVarint(append(p.out, tagInt), n)
			return nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("number %s at byte %d of the JSON text is out of range", strings.Clone(s[:min(len(s), 40)]), p.i-len(text))
	}
	p.out = binary.LittleEndian.AppendUint64(append(p.out, tagFloat), math.Float64bits(f))
	return nil
}

// string reads a string and appends its length and its bytes to out. It returns where the bytes are in out.
func (p *Parser) string() (start, end int, err error) {
	p.i++
	from := p.i
	ascii := true
	for p.i < len(p.in) {
		switch c := p.in[p.i]; {
		case c == '"':
			text := p.in[from:p.i]
			if !ascii && !utf8.Valid(text) {
				p.i = from
				return p.unquoted()
			}
			p.out = append(binary.AppendUvarint(p.out, uint64(len(text))), text...)
			p.i++
			return len(p.out) - len(text), len(p.out), nil
		case c == '\\':
			p.i = from
			return p.unquoted()
		case c < ' ':
			return 0, 0, p.unexpected("want an escape sequence in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		p.i++
	}
	return 0, 0, errEnd
}

// unquoted is string for one with escape sequences, or with invalid UTF-8.
func (p *Parser) unquoted() (start, end int, err error) {
	text := p.spare[:0]
	for p.i < len(p.in) {
		switch c := p.in[p.i]; {
		case c == '"':
			p.i++
			p.out = append(binary.AppendUvarint(p.out, uint64(len(text))), text...)
			p.spare = text
			return len(p.out) - len(text), len(p.out), nil
		case c == '\\':
			if text, err = p.escape(text); err != nil {
				return 0, 0, err
			}
		case c < ' ':
			return 0, 0, p.unexpected("want an escape sequence in a string")
		case c < utf8.RuneSelf:
			text = append(text, c)
			p.i++
		default:
			r, size := utf8.DecodeRune(p.in[p.i:])
			text = utf8.AppendRune(text, r)
			p.i += size
		}
	}
	return 0, 0, errEnd
}

// escapes are the characters after a backslash, and what they mean.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads an escape sequence and appends the character to text.
func (p *Parser) escape(text []byte) ([]byte, error) {
	p.i++
	c := p.peek()
	if plain := escapes[c]; plain != 0 {
		p.i++
		return append(text, plain), nil
	}
	if c != 'u' {
		return nil, p.unexpected("want an escape sequence")
	}
	r, err := p.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return utf8.AppendRune(text, r), err
	}
	if !bytes.HasPrefix(p.in[p.i:], []byte(`\u`)) {
		return utf8.AppendRune(text, utf8.RuneError), nil
	}
	back := p.i
	p.i++
	second, err := p.hex()
	if err != nil {
		return nil, err
	}
	if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
		p.i = back // the second one is a character of its own
	}
	return utf8.AppendRune(text, r), nil
}

// hex reads four hexadecimal digits after a u.
func (p *Parser) hex() (rune, error) {
	var r rune
	for range 4 {
		p.i++
		c := p.peek()
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, p.unexpected("want a hexadecimal digit")
		}
		r = r<<4 | rune(c)
	}
	p.i++
	return r, nil
}
