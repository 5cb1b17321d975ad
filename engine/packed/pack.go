package packed

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"metascript/engine/tree"
)

// Pack makes a packed object of a JSON-shaped map: its values are nil, bool, int64, float64, string, []any, map[string]any, Arrays and
// Maps. Equal maps have equal bytes. Unlike [Parse] it does not check whether texts are valid UTF-8.
func Pack(content map[string]any) (Map, error) {
	p := parsers.Get().(*Parser)
	defer parsers.Put(p)
	p.begin(nil)
	defer p.release()
	if err := p.pack(content); err != nil {
		return Map{}, err
	}
	return own(p.out), nil
}

// pack appends a value to out.
func (p *Parser) pack(v any) error {
	switch v := v.(type) {
	case nil:
		p.out = append(p.out, tagNil)
	case bool:
		tag := tagFalse
		if v {
			tag = tagTrue
		}
		p.out = append(p.out, tag)
	case int64:
		p.out = binary.AppendVarint(append(p.out, tagInt), v)
	case float64:
		p.out = binary.LittleEndian.AppendUint64(append(p.out, tagFloat), math.Float64bits(v))
	case string:
		if number, ok := wordNumber(unsafe.Slice(unsafe.StringData(v), len(v))); ok {
			p.out = append(p.out, tagWord, number)
			return nil
		}
		p.out = append(p.out, tagString)
		p.packText(v)
	case Map:
		p.out = append(p.out, block(v.at)...)
	case Array:
		p.out = append(p.out, block(v.at)...)
	case map[string]any:
		return p.packMap(v)
	case []any:
		return p.packArray(v)
	default:
		return fmt.Errorf("a value of type %T is not JSON-shaped", v)
	}
	return nil
}

func (p *Parser) packText(s string) {
	p.out = binary.AppendUvarint(p.out, uint64(len(s)))
	p.out = append(p.out, unsafe.Slice(unsafe.StringData(s), len(s))...)
}

func (p *Parser) packMap(m map[string]any) error {
	base, first := p.open()
	for key, v := range m {
		start := len(p.out)
		p.packText(key)
		keyEnd := len(p.out)
		if err := p.packNested(v); err != nil {
			return err
		}
		p.entries = append(p.entries, entry{start, len(p.out), keyEnd - len(key), keyEnd})
	}
	return p.close(tagMap, base, first)
}

func (p *Parser) packArray(list []any) error {
	base, first := p.open()
	for _, v := range list {
		start := len(p.out)
		if err := p.packNested(v); err != nil {
			return err
		}
		p.entries = append(p.entries, entry{start: start, end: len(p.out)})
	}
	return p.close(tagArray, base, first)
}

func (p *Parser) packNested(v any) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("the value is nested deeper than %d levels", maxDepth)
	}
	err := p.pack(v)
	p.depth--
	return err
}

// With returns a copy of m with other texts for some keys.
func (m Map) With(texts map[string]string) (Map, error) {
	content := m.Build()
	for key, value := range texts {
		content[key] = value
	}
	return Pack(content)
}

// MarshalJSON implements json.Marshaler.
func (m Map) MarshalJSON() ([]byte, error) { return tree.AppendJSON(nil, m) }

// MarshalJSON implements json.Marshaler.
func (a Array) MarshalJSON() ([]byte, error) { return tree.AppendJSON(nil, a) }
