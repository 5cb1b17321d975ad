package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/compared"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// A Memory has, by UID, what was last written to children, and what the API server stored of it: the desired state in its normal form.
// While a child is desired as it was written then, and has what was stored then, it does not differ, in whatever form its values are.
// A Memory is for one parent and must not be used concurrently. If it is lost, each child that is stored in another form than it is
// desired costs one request, which changes nothing.
type Memory map[types.UID]*outcome

// An outcome is what is remembered of a child.
type outcome struct {
	applied string   // a digest of what was desired
	print   string   // a digest of what was stored of it
	sorted  string   // the same without the order of lists that are merged by a key; "" after dynamic apply, whose print has no order
	empty   bool     // all empty maps and lists of it were stored
	back    bool     // an apply wrote it although dynamic apply is configured; see comeBack
	spelled []string // the paths of fields that are stored in another form than they were written
}

// keyOf returns the key of a comparison in Policy.Compared; zero if it is not remembered. of is the function that compares.
func (p Policy) keyOf(of string, have, want *object.Object, method Method) compared.Key {
	if p.Compared == nil || have == nil || p.Requested || len(p.Kept[have.GetUID()]) > 0 {
		return 0
	}
	known, _ := p.Memory.of(have)
	return p.Compared.Key(have, want, compared.Inputs{
		Of: of, Method: string(method), ServerSide: p.ServerSide, InPlace: p.InPlace != nil && p.InPlace(have.GetUID()), Owned: p.owned(have),
		Applied: known.applied, Print: known.print, Sorted: known.sorted, Spelled: strings.Join(known.spelled, "\n"), Empty: known.empty, Back: known.back,
	})
}

// maxSpelled is the maximum length of outcome.spelled. With more such fields, a wrong field may be named.
const maxSpelled = 16

// Spells reports whether a child has a field that is stored in another form than it was written.
func (m Memory) Spells() bool {
	for _, o := range m {
		if len(o.spelled) > 0 {
			return true
		}
	}
	return false
}

// ForgetSpelled drops the children with fields that are stored in another form than they were written.
func (m Memory) ForgetSpelled() {
	maps.DeleteFunc(m, func(_ types.UID, o *outcome) bool { return len(o.spelled) > 0 })
}

// noteApplied records that server-side apply did op, with this result. back says that dynamic apply is configured.
func (m Memory) noteApplied(stored *object.Object, op Op, back bool) error {
	print, sorted, err := fingerprints(stored, op.Object)
	if err != nil {
		return err
	}
	o := &outcome{applied: op.Content, print: print, sorted: sorted, back: back}
	for d := lacks(contentOf(stored), op.Object.Map()); d != nil && len(o.spelled) < maxSpelled; d = lacks(contentOf(stored), op.Object.Map(), o.spelled...) {
		o.spelled = append(o.spelled, strings.Clone(d.String()))
	}
	m[object.UIDOf(stored)] = o
	return nil
}

// noteMerged records that dynamic apply wrote what m merges, with the result m.have, or that writing it would change nothing.
func (m Memory) noteMerged(done *merging) error {
	done.answered, done.removes = true, false
	var rest residue
	if !settled(done.have, done.want) {
		rest = done.residue(observedOrder)
	}
	print, err := rest.print()
	if err != nil {
		return fmt.Errorf("%s: %w", object.Describe(done.have), err)
	}
	o := &outcome{applied: sumOf(done.text), print: print, empty: !done.unstored}
	for _, left := range rest[:min(len(rest), maxSpelled)] {
		o.spelled = append(o.spelled, strings.Clone(left.path.String()))
	}
	m[object.UIDOf(done.have)] = o
	return nil
}

// of returns what is remembered of a child, and whether there is something.
func (m Memory) of(child *object.Object) (known outcome, found bool) {
	if o := m[child.GetUID()]; o != nil {
		return *o, true
	}
	return known, false
}

// has reports whether the text was what dynamic apply last wrote to a child.
func (m Memory) has(child *object.Object, text string) bool {
	known, found := m.of(child)
	return found && known.applied == sumOf(text)
}

// storedEmpty reports whether the text was what dynamic apply last wrote to a child, and all empty maps and lists of it were stored.
func (m Memory) storedEmpty(child *object.Object, text string) bool {
	known, _ := m.of(child)
	return known.empty && known.applied == sumOf(text)
}

// differs returns the first field of rest that is not as it was stored when the same was last written to a child; nil if all are.
func (m Memory) differs(child *object.Object, text string, rest residue) (Path, error) {
	if len(rest) == 0 {
		return nil, nil
	}
	if !m.has(child, text) {
		return rest[0].path, nil
	}
	known, _ := m.of(child)
	print, err := rest.print()
	if err != nil || print == known.print {
		return nil, err
	}
	other := slices.IndexFunc(rest, func(l left) bool { return !slices.Contains(known.spelled, l.path.String()) })
	return rest[max(other, 0)].path, nil
}

// A residue has the fields of a child that a merge would change.
type residue []left

// A left is one field of a residue. Its value is nil if the child does not have it.
type left struct {
	path  Path
	value any
}

// print returns a digest of the fields with their values.
func (r residue) print() (string, error) {
	hash := sha256.New()
	for _, l := range r {
		text, err := json.Marshal([]any{l.path.String(), tree.Native(l.value)})
		if err != nil {
			return "", err
		}
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}

// digest returns a short digest of v as JSON.
func digest(v map[string]any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return sumOf(string(text)), nil
}

// sumOf returns a short digest of a text.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// AppliedBy returns the digest, as Op.Content, of what dynamic apply last wrote to an object according to its annotation LastApplied; ""
// if it has none.
func AppliedBy(o *object.Object) string {
	if text := remembered(o); text != "" {
		return sumOf(text)
	}
	return ""
}

// Digest returns a digest of a child as a hook returned it; "" if it cannot be written as JSON.
func Digest(want *object.Object) string {
	text, err := lastAppliedOf(want)
	if err != nil {
		return ""
	}
	return sumOf(text)
}
