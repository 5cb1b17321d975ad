package scrub

import "encoding/base64"

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
	places(text, func(at uint32) bool {
		w.bits[at/64] |= 1 << (at % 64)
		return true
	})
}

// mayHave reports whether text may be in a text that was noted.
func (w written) mayHave(text string) bool {
	has := len(text) >= part
	places(text, func(at uint32) bool {
		has = w.bits[at/64]&(1<<(at%64)) != 0
		return has
	})
	return has
}

// mayHaveValue reports whether a value, or what is base64 of it, may be in a text that was noted. It is false for values that do not look
// like a password: they are in many texts for other reasons.
func (w written) mayHaveValue(value string) bool {
	if !strong(value) || w.bits == nil {
		return false
	}
	for before := range 3 {
		if w.mayHave(core(base64.StdEncoding, value, before)) {
			return true
		}
	}
	return w.mayHave(value)
}
