package secretvalues

import "sync/atomic"

// known has the grams of all Values, and the starts of their texts. With it, a text costs the same beside any number of Secrets: most of
// its places are in none of them. It has false positives, and keeps what was of Secrets that are gone: then more places are compared.
var known filter

// A filter is a set of hashes that may have others.
type filter struct {
	bits [knownBits / 64]atomic.Uint64
}

// knownBits is the size of a filter in bits. Memory is used for those parts only that were written.
const knownBits = 1 << 26

// places returns the two bits of a hash.
func places(hash uint64) (a, b uint64) { return hash % knownBits, hash >> 32 % knownBits }

func (f *filter) put(hash uint64) {
	a, b := places(hash)
	f.bits[a/64].Or(1 << (a % 64))
	f.bits[b/64].Or(1 << (b % 64))
}

func (f *filter) has(hash uint64) bool {
	a, b := places(hash)
	return f.bits[a/64].Load()&(1<<(a%64)) != 0 && f.bits[b/64].Load()&(1<<(b%64)) != 0
}

// hash returns the hash of a start, which is none of a gram.
func (s start) hash() uint64 { return gram(uint64(s)<<16 | 0xFFFF).hash() }
