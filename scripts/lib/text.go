package lib

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"
)

// encodeBase64 returns the UTF-8 bytes of a text in base64.
func encodeBase64(c *call) (any, error) {
	text := c.text(0)
	if err := c.meter.CheckSize(2*int64(len(text)), "the base64 text"); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), c.meter.Spend(int64(len(text)) / bytesPerStep)
}

// decodeBase64 returns the text whose UTF-8 bytes are encoded in base64.
func decodeBase64(c *call) (any, error) {
	text := c.text(0)
	if err := c.meter.CheckSize(int64(len(text)), "the decoded base64"); err != nil {
		return nil, err
	}
	if err := c.meter.Spend(int64(len(text)) / bytesPerStep); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, c.errorf("%v", err)
	}
	if !utf8.Valid(data) {
		err := c.errorf("the decoded data is not text: it is not UTF-8")
		err.Hint = "pass binary data on in its encoded form"
		return nil, err
	}
	return string(data), nil
}

// sha256Text returns the SHA-256 of a text's bytes, in hexadecimal.
func sha256Text(c *call) (any, error) {
	if err := c.meter.Spend(int64(len(c.text(0))) / 16); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(c.text(0)))
	return hex.EncodeToString(sum[:]), nil
}

const (
	// hashLetters are the characters of a hash. They have no vowels, so a hash is never a word; Kubernetes uses them in names.
	hashLetters = "bcdfghjklmnpqrstvwxz2456789"
	// hashLength is the length of a hash, which has about 47 bits.
	hashLength = 10
)

// hashValue returns a short text for use in names. It is the same for equal values.
func hashValue(c *call) (any, error) {
	if err := c.reserveJSON(c.sizes[0]); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(writeJSON(c.args[0], 0)))
	name := make([]byte, hashLength)
	for i := range name {
		name[i] = hashLetters[(int(sum[2*i])<<8|int(sum[2*i+1]))%len(hashLetters)]
	}
	return string(name), nil
}

// reserveJSON returns an error if the JSON of arguments of these sizes needs too much work or memory.
func (c *call) reserveJSON(sizes ...size) error {
	for _, s := range sizes {
		if err := c.meter.CheckSize(2*(s.bytes+s.escape+24*s.nodes), "the value's JSON"); err != nil {
			return err
		}
		if err := c.meter.Spend((s.bytes + 24*s.nodes) / 8); err != nil {
			return err
		}
	}
	return nil
}
