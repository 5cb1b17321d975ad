package scrub

import (
	"encoding/base64"
	"encoding/hex"

	"metascript/controller/secretvalues"
	"metascript/engine/tree"
)

// written is a set of the parts of all texts that were left as they are. It has false positives, and no false negatives. With it, a value
// that becomes known later is not overlooked in what is written already and cannot be changed.
type written struct {
	bits *[writtenBits / 64]uint64
}

const (
	writtenBits = 1 << 26 // 8 MiB
	part        = 6       // the length in bytes of the parts
)

func newWritten() written { return written{new([writtenBits / 64]uint64)} }

// places calls visit with the place of each part of text, until it returns false.
func places(text string, visit func(at uint32) bool) {
	var window uint64
	for i := range len(text) {
		window = window<<8 | uint64(text[i])
		if i < part-1 {
			continue
		}
		if !visit(uint32(window << 16 >> 16 * 0x9E3779B97F4A7C15 >> 38)) {
			return
		}
	}
}

// note adds a text.
func (w written) note(text string) {
	places(secretvalues.Fold(text), func(at uint32) bool {
		w.bits[at/64] |= 1 << (at % 64)
		return true
	})
}

// mayHave reports whether text may be in a text that was noted.
func (w written) mayHave(text string) bool {
	text = secretvalues.Fold(text)
	has := len(text) >= part
	places(text, func(at uint32) bool {
		has = w.bits[at/64]&(1<<(at%64)) != 0
		return has
	})
	return has
}

// mayHaveValue reports whether a value may be in a text that was noted: as it is, with the escapes of JSON, in base64 or in hexadecimal digits.
func (w written) mayHaveValue(value string) bool {
	if w.bits == nil {
		return false
	}
	for before := range 3 {
		if w.mayHave(core(value, before)) {
			return true
		}
	}
	return w.mayHave(value) || w.mayHave(asJSON(value)) || w.mayHave(hex.EncodeToString([]byte(value)))
}

// core returns the characters of base64 that depend on value alone, if it is encoded after before other bytes and before any others.
func core(value string, before int) string {
	form := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + value))
	from, to := 0, len(form)
	if before > 0 {
		from = before + 1
	}
	if (before+len(value))%3 != 0 {
		to--
	}
	return form[from:max(from, to)]
}

// asJSON returns value with the escapes of JSON.
func asJSON(value string) string {
	text := tree.AppendText(nil, value)
	return string(text[1 : len(text)-1])
}
