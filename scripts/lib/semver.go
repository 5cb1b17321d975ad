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

// maxVersion is how long the text of a version may be.
const maxVersion = 256

// versionText matches a version, also one that begins with a v, as those of Kubernetes do.
var versionText = regexp.MustCompile(`^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?` +
	`(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`)

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

// version reads the argument at i.
func (c *call) version(i int) (version, error) {
	v, ok := readVersion(c.text(i))
	if !ok {
		err := c.errorf("%q is no version", short(c.text(i)))
		err.Hint = "a version has three numbers, such as 1.2.3 or v1.2.3-rc.1+build"
		return v, err
	}
	return v, c.meter.Spend(int64(len(c.text(i))))
}

// parseSemver takes a version apart.
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

// compareSemver returns -1, 0 or 1, by precedence: what was built does not count.
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

// comparePrereleases compares part by part: numbers by value, and below words.
func comparePrereleases(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if r := comparePart(a[i], b[i]); r != 0 {
			return r
		}
	}
	return cmp.Compare(len(a), len(b))
}

func comparePart(a, b string) int {
	number, also := isDigits(a), isDigits(b)
	switch {
	case number && also: // neither has zeros in front
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case number:
		return -1
	case also:
		return 1
	}
	return cmp.Compare(a, b)
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// A span holds the versions from one up to another, which is not in it; nil is no bound.
type span struct{ from, to *version }

func (s span) holds(v version) bool {
	return (s.from == nil || v.compare(*s.from) >= 0) && (s.to == nil || v.compare(*s.to) < 0)
}

// satisfiesSemver reports whether a version meets a constraint: comparisons that must all hold, separated by blanks or
// commas, or several such lists with || between them, of which one must.
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
		all, err := c.meets(v, list)
		if err != nil {
			return nil, err
		}
		satisfied = satisfied || all
	}
	return satisfied, nil
}

// comparison matches one of a constraint's, with the blanks and commas around it.
var comparison = regexp.MustCompile(`^[\s,]*(>=|<=|!=|==|=|>|<|\^|~|)\s*v?([^\s,<>=!^~]+)[\s,]*`)

// meets reports whether v passes all comparisons of a list.
func (c *call) meets(v version, list string) (bool, error) {
	if strings.TrimSpace(list) == "" {
		return false, c.wrongConstraint(list)
	}
	all := true
	for list != "" {
		m := comparison.FindStringSubmatch(list)
		if m == nil {
			return false, c.wrongConstraint(list)
		}
		named, given, ok := readPartial(m[2])
		if !ok {
			return false, c.wrongConstraint(m[0])
		}
		all = all && compares(v, m[1], named, given)
		list = list[len(m[0]):]
	}
	return all, nil
}

func (c *call) wrongConstraint(at string) error {
	err := c.errorf("the constraint is not understood at %q", short(strings.TrimSpace(at)))
	err.Hint = "write comparisons such as >=1.2.0 <2, ~1.4, ^1.2.3 or 1.x, and || between alternatives"
	return err
}

// partialText matches a version of which the last numbers may be missing, or x or *.
var partialText = regexp.MustCompile(`^(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?$`)

// readPartial reads a version that may be partial, and how many of its numbers are given.
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

// compares reports whether v stands in a relation to a version of which so many numbers are given: 1.2 stands for all
// of 1.2.0, 1.2.1 and so on.
func compares(v version, relation string, w version, given int) bool {
	all := spanOf(w, given)
	switch relation {
	case ">=":
		return span{from: all.from}.holds(v)
	case "<":
		return given > 0 && span{to: all.from}.holds(v)
	case ">":
		return given > 0 && !span{to: all.to}.holds(v)
	case "<=":
		return span{to: all.to}.holds(v)
	case "!=":
		return !all.holds(v)
	case "~":
		return span{all.from, spanOf(w, min(given, 2)).to}.holds(v)
	case "^":
		first := 0 // the first number that is not zero must not change
		for first < given-1 && w.numbers[first] == 0 {
			first++
		}
		return span{all.from, spanOf(w, min(given, first+1)).to}.holds(v)
	}
	return all.holds(v)
}

// spanOf returns the versions whose first so many numbers are those of w; with all three, w alone.
func spanOf(w version, given int) span {
	if given == 0 {
		return span{}
	}
	from, to := w, w
	if given == 3 {
		// Nothing is between a version and the next, which is its prerelease with a part more, or the patch after it.
		to.prerelease += ".0"
		if w.prerelease == "" {
			to.prerelease = "0"
			to.numbers[2] = next(to.numbers[2])
		}
		return span{&from, &to}
	}
	to.prerelease = "0" // below all prereleases of the next
	to.numbers[given-1] = next(to.numbers[given-1])
	clear(to.numbers[given:])
	return span{&from, &to}
}

// next is n + 1, or n where there is none.
func next(n int64) int64 {
	if n == math.MaxInt64 {
		return n
	}
	return n + 1
}
