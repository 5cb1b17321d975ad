package plan

import (
	"slices"

	"metascript/controller/builtin"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// Kept has, by the path in a child, the fields that the hook returned as null, and that are not removed, since another field manager
// wrote them last.
type Kept map[string]bool

// Nulls returns the paths of the fields of have that want would remove because the hook returned them as null. It returns none if want
// was already applied: a default that the API server has set again is not removed again.
func (p Policy) Nulls(have, want *object.Object) ([]Path, error) {
	desired := object.Copy(want).Map()
	builtin.Normalize(desired)
	var last map[string]any
	if by, err := p.strategy(want); err != nil {
		return nil, err
	} else if by == dynamicApply && !p.onServer(have) {
		m, err := p.merging(have, want, "")
		if err != nil || m.answered {
			return nil, err
		}
		last = m.last
	} else if j, err := p.judgeWanted(have, want); err != nil || j.why == "" || j.answered {
		return nil, err
	}
	var found []Path
	eachNull(nil, contentOf(have), desired, last, func(path Path, _, _ map[string]any, _ string) {
		found = append(found, slices.Clone(path))
	})
	return found, nil
}

// judgeWanted judges a child as server-side apply does.
func (p Policy) judgeWanted(have, want *object.Object) (judgement, error) {
	config, err := p.configuration(want)
	if err != nil {
		return judgement{}, err
	}
	return p.judge(have, config)
}

// HasNull reports whether a child has a field that is null, at any depth of its maps and lists.
func HasNull(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, field := range v {
			if HasNull(field) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if item != nil && HasNull(item) {
				return true
			}
		}
	}
	return false
}

// keepThem drops the nulls of the paths in kept from desired, and what was applied there from last, so that a merge leaves the fields
// of have as they are.
func keepThem(have tree.Map, desired, last map[string]any, kept Kept) {
	eachNull(nil, have, desired, last, func(path Path, desired, last map[string]any, key string) {
		if kept[path.String()] {
			delete(desired, key)
			delete(last, key)
		}
	})
}

// eachNull calls visit for each field of have that is null in desired, with the maps of desired and of last that have it. Items of lists
// are paired as merge does. The path is one in have. visit may remove the field from both maps.
func eachNull(path Path, have tree.Map, desired, last map[string]any, visit func(path Path, desired, last map[string]any, key string)) {
	for key, want := range desired {
		value, there := have.Get(key)
		at := path.to(key)
		if !there || value == nil || at.is("metadata", "finalizers") || at.is("metadata", "ownerReferences") {
			continue
		}
		switch want := want.(type) {
		case nil:
			visit(at, desired, last, key)
		case map[string]any:
			if inside, ok := tree.MapOf(value); ok {
				eachNull(at, inside, want, mapOf(last[key]), visit)
			}
		case []any:
			if list, ok := tree.ArrayOf(value); ok {
				before, _ := last[key].([]any)
				eachNullIn(at, list, want, before, visit)
			}
		}
	}
}

// eachNullIn is eachNull for the items of a list. A list without keys is replaced as a whole, so that it has nothing to remove.
func eachNullIn(path Path, have tree.Array, desired, last []any, visit func(path Path, desired, last map[string]any, key string)) {
	key := commonKey(have, tree.GoSlice(last), tree.GoSlice(desired))
	if key == "" {
		return
	}
	wants, lasts := byKey(desired, key), byKey(last, key)
	for i := range have.Len() {
		item := readMap(have.Index(i))
		id := identify(item, key)
		eachNull(path.to(i), item, wants[id], lasts[id], visit)
	}
}
