package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"metascript/engine"
)

// Identity returns a digest of a spec, without its shadow, and its scripts. It identifies a version of a controller.
func Identity(spec any, p Parts) (string, error) {
	digests, err := p.digests()
	if err != nil {
		return "", err
	}
	return digestOf(map[string]any{"spec": WithoutShadow(spec), "scripts": digests})
}

// ShortDigest returns the beginning of a digest "sha256:...", for messages to users.
func ShortDigest(digest string) string {
	const length = len("sha256:") + 12
	return digest[:min(len(digest), length)]
}

// digests returns the digest of each script, by its key in Parts.
func (p Parts) digests() (map[string]string, error) {
	all := map[string]string{}
	for name, part := range p {
		digest, err := part.Script.Digest(engine.Limits{Source: MaxSource})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", SpecPath(name), err)
		}
		all[name] = digest
	}
	return all, nil
}

// statusDigest returns the digest that the status shows. It is that of the script if there is only one.
func (p Parts) statusDigest() (string, error) {
	all, err := p.digests()
	if err != nil {
		return "", err
	}
	if len(all) == 1 {
		for _, digest := range all {
			return digest, nil
		}
	}
	return digestOf(all)
}

// versionDigest returns the digest by which revisions refer to the scripts. It is "" without scripts. If spec.script is the
// only script, it is the digest of that script. Otherwise it is a digest of the names and digests of all scripts, so that it
// is never equal to the digest of one script.
func (p Parts) versionDigest() (string, error) {
	digests, err := p.digests()
	if err != nil || len(p) == 0 {
		return "", err
	}
	if p.onlyOwn() {
		return digests[""], nil
	}
	return digestOf(digests)
}

// digestOf returns the SHA-256 of v as JSON, in hexadecimal.
func digestOf(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}
