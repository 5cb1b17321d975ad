package lib

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A version is a semantic version, https://semver.org.
type version struct {
	numbers    [3]int64 // major, minor, patch
	prerelease string
	build      string
}

// maxVersion is the maximum length of the text of a version.
const maxVersion = 256

// versionText matches a version. It may begin with a v, like the versions of Kubernetes.
var versionText = regexp.MustCompile(`^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?` +
	`(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`)

// readVersion returns the version with that text, or false if there is none.
func readVersion(text string) (version, bool) {
	if len(text) > maxVersion {
		return version{}, false
	}
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	v := version{prerelease: m[4], build: m[5]}
	for i := range v.numbers {
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil {
			return version{}, false
		}
		v.numbers[i] = n
	}
	return v, true
}

// version returns the argument at i, a version.
func (c *call) version(i int) (version, error) {
	v, ok := readVersion(c.text(i))
	if !ok {
		err := c.errorf("%q is not a version", short(c.text(i)))
		err.Hint = "a version has three numbers, such as 1.2.3 or v1.2.3-rc.1+build"
		return v, err
	}
	return v, c.meter.Spend(int64(len(c.text(i))))
}

// parseSemver returns the parts of a version.
func parseSemver(c *call) (any, error) {
	v, err := c.version(0)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"major": v.numbers[0], "minor": v.numbers[1], "patch": v.numbers[2],
		"prerelease": v.prerelease, "build": v.build,
	}, nil
}

// validSemver reports whether a value is the text of a version.
func validSemver(c *call) (any, error) {
	text, ok := c.args[0].(string)
	if ok {
		_, ok = readVersion(text)
	}
	return ok, nil
}

// compareSemver returns -1, 0 or 1 if the first version is before, equal to or after the second. Build metadata does not count.
func compareSemver(c *call) (any, error) {
	a, err := c.version(0)
	if err != nil {
		return nil, err
	}
	b, err := c.version(1)
	if err != nil {
		return nil, err
	}
	return int64(a.compare(b)), nil
}

// compare returns -1, 0 or 1 if v is before, equal to or after w.
func (v version) compare(w version) int {
	for i := range v.numbers {
		if r := cmp.Compare(v.numbers[i], w.numbers[i]); r != 0 {
			return r
		}
	}
	switch {
	case v.prerelease == w.prerelease:
		return 0
	case v.prerelease == "":
		return 1
	case w.prerelease == "":
		return -1
	}
	return comparePrereleases(strings.Split(v.prerelease, "."), strings.Split(w.prerelease, "."))
}

// comparePrereleases compares prereleases part by part. Numbers are compared by value, and are before other parts.
func comparePrereleases(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if r := comparePart(a[i], b[i]); r != 0 {
			return r
		}
	}
	return cmp.Compare(len(a), len(b))
}

func comparePart(a, b string) int {
	isNumberA, isNumberB := isDigits(a), isDigits(b)
	switch {
	case isNumberA && isNumberB: // they have no leading zeros
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case isNumberA:
		return -1
	case isNumberB:
		return 1
	}
	return cmp.Compare(a, b)
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// A versionRange has all versions from the first version up to the second, which is not included; nil means no limit.
type versionRange struct{ from, to *version }

// contains reports whether v is in the range.
func (s versionRange) contains(v version) bool {
	return (s.from == nil || v.compare(*s.from) >= 0) && (s.to == nil || v.compare(*s.to) < 0)
}

// satisfiesSemver reports whether a version meets a constraint. A constraint is one or more lists with || between them, of which one
// must be met. A list has comparisons, separated by spaces or commas, which must all be met.
func satisfiesSemver(c *call) (any, error) {
	v, err := c.version(0)
	if err != nil {
		return nil, err
	}
	constraint := c.text(1)
	if err := c.meter.Spend(int64(len(constraint))); err != nil {
		return nil, err
	}
	if len(constraint) > 10*maxVersion {
		return nil, c.errorf("the constraint has more than %d characters", 10*maxVersion)
	}
	satisfied := false
	for _, list := range strings.Split(constraint, "||") {
		met, err := c.meetsAll(v, list)
		if err != nil {
			return nil, err
		}
		satisfied = satisfied || met
	}
	return satisfied, nil
}

// comparison matches a comparison of a constraint, with the spaces and commas around it.
var comparison = regexp.MustCompile(`^[\s,]*(>=|<=|!=|==|=|>|<|\^|~|)\s*v?([^\s,<>=!^~]+)[\s,]*`)

// meetsAll reports whether v meets all comparisons of a list.
func (c *call) meetsAll(v version, list string) (bool, error) {
	if strings.TrimSpace(list) == "" {
		return false, c.constraintError(list)
	}
	all := true
	for list != "" {
		m := comparison.FindStringSubmatch(list)
		if m == nil {
			return false, c.constraintError(list)
		}
		named, given, ok := readPartial(m[2])
		if !ok {
			return false, c.constraintError(m[0])
		}
		all = all && compares(v, m[1], named, given)
		list = list[len(m[0]):]
	}
	return all, nil
}

// constraintError returns an error about the part of a constraint that begins with at.
func (c *call) constraintError(at string) error {
	err := c.errorf("the constraint is not understood at %q", short(strings.TrimSpace(at)))
	err.Hint = "write comparisons such as >=1.2.0 <2, ~1.4, ^1.2.3 or 1.x, and || between alternatives"
	return err
}

// partialText matches a version whose last numbers may be missing, x or *.
var partialText = regexp.MustCompile(`^(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?$`)

// readPartial returns a version that may be partial, and how many of its numbers are given.
func readPartial(text string) (v version, given int, ok bool) {
	if v, ok := readVersion(text); ok {
		return v, 3, true
	}
	m := partialText.FindStringSubmatch(text)
	if m == nil {
		return version{}, 0, false
	}
	for i, digits := range m[1:] {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return v, i, digits == "" || !isDigits(digits)
		}
		v.numbers[i] = n
	}
	return v, 3, true
}

// compares reports whether v has a relation, such as >=, to the version w, of which only the first numbers are given: 1.2 means all
// of 1.2.0, 1.2.1 and so on.
func compares(v version, relation string, w version, given int) bool {
	all := rangeOf(w, given)
	switch relation {
	case ">=":
		return versionRange{from: all.from}.contains(v)
	case "<":
		return given > 0 && versionRange{to: all.from}.contains(v)
	case ">":
		return given > 0 && !versionRange{to: all.to}.contains(v)
	case "<=":
		return versionRange{to: all.to}.contains(v)
	case "!=":
		return !all.contains(v)
	case "~":
		return versionRange{all.from, rangeOf(w, min(given, 2)).to}.contains(v)
	case "^":
		first := 0 // the first number that is not zero must not change
		for first < given-1 && w.numbers[first] == 0 {
			first++
		}
		return versionRange{all.from, rangeOf(w, min(given, first+1)).to}.contains(v)
	}
	return all.contains(v)
}

// rangeOf returns the versions whose first numbers, as many as are given, are those of w. If all three are given, it has only w.
func rangeOf(w version, given int) versionRange {
	if given == 0 {
		return versionRange{}
	}
	from, to := w, w
	if given == 3 {
		// The next version after a prerelease has one more part, 0. The next one after a release is the first prerelease of the
		// next patch.
		to.prerelease += ".0"
		if w.prerelease == "" {
			to.prerelease = "0"
			to.numbers[2] = next(to.numbers[2])
		}
		return versionRange{&from, &to}
	}
	to.prerelease = "0" // the first prerelease of the next version
	to.numbers[given-1] = next(to.numbers[given-1])
	clear(to.numbers[given:])
	return versionRange{&from, &to}
}

// next returns n + 1, or n if that overflows.
func next(n int64) int64 {
	if n == math.MaxInt64 {
		return n
	}
	return n + 1
}
