package engine

import "testing"

func TestOutlineFind(t *testing.T) {
	at := func(line int) Pos { return Pos{"sync.star", line, 1} }
	text := func(line int, text string) *Outline { return &Outline{Pos: at(line), Key: at(line + 100), Text: text} }
	pod := &Outline{Pos: at(3), Fields: map[string]*Outline{"kind": text(4, "Pod"), "metadata": {Pos: at(5)}}}
	service := &Outline{Pos: at(6), Fields: map[string]*Outline{"kind": text(7, "Service"), "metadata": {Pos: at(8)}, "spec": {Pos: at(9)}}}
	answer := &Outline{Pos: at(1), Fields: map[string]*Outline{
		"children": {Pos: at(2), Items: []*Outline{pod, service}, Each: pod.Or(service)},
		"status":   {Fields: map[string]*Outline{"ready": text(10, "yes")}},
	}}
	service3 := map[string]any{"children": []any{1, 2, map[string]any{"kind": "Service"}}}
	for _, c := range []struct {
		path   Path
		answer map[string]any
		line   int
	}{
		{nil, nil, 1},
		{Path{"children"}, nil, 2},
		{Path{"children", 0}, nil, 3},
		{Path{"children", 0, "metadata", "name"}, nil, 5},
		{Path{"children", 1, "spec"}, nil, 9},
		{Path{"children", 2}, nil, 2},                           // of two places
		{Path{"children", 2, "metadata", "name"}, nil, 2},       // of two places
		{Path{"children", 2, "metadata", "name"}, service3, 8},  // only one writes a Service
		{Path{"children", 0, "metadata", "name"}, service3, 5},  // the value is another one
		{Path{"children", 2, "spec", "image"}, nil, 9},          // only one has it
		{Path{"children", -1}, nil, 2},                          // no index
		{Path{"children", "a"}, nil, 2},                         // no key
		{Path{"status"}, nil, 1}, {Path{"status", 1.5}, nil, 1}, // no place of its own
		{Path{"status", "ready"}, nil, 10},
		{Path{"status", "ready"}, map[string]any{"status": map[string]any{"ready": "no"}}, 10}, // the only place
		{Path{"status", Key("ready")}, nil, 110},
		{Path{"status", Key("other")}, nil, 1},
		{Path{"unknown", 1, "x"}, nil, 1},
	} {
		if got := answer.Find(c.path, c.answer); got.Line != c.line {
			t.Errorf("%v: got line %d, want %d", c.path, got.Line, c.line)
		}
	}
	if got := (*Outline)(nil).Find(Path{"a"}, nil); got != (Pos{}) {
		t.Errorf("without an outline: got %v", got)
	}
}

func TestOutlineOr(t *testing.T) {
	a := &Outline{Pos: Pos{"f", 1, 1}}
	if a.Or(nil) != a || (*Outline)(nil).Or(a) != a || a.Or(a) != a || (*Outline)(nil).Or(nil) != nil {
		t.Error("an outline or none, or itself, is not the outline")
	}
}
