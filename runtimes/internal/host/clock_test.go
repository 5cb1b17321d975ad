package host

import "testing"

func TestClock(t *testing.T) {
	for _, c := range []struct {
		names, texts []string
		want         bool
	}{
		{nil, nil, false},
		{[]string{"parent", "nowhere", "Now"}, []string{"unknown", "now_", "nowhere", "snow now4", "ünow", "$now"}, false},
		{[]string{"now"}, nil, true},
		{nil, []string{"now"}, true},
		{nil, []string{" now\n"}, true},
		{nil, []string{"%(now)s is the time"}, true},
		{nil, []string{"it is {now}"}, true},
		{nil, []string{"a.now"}, true},
		{nil, []string{"now.a"}, true},
		{nil, []string{"/now"}, true},
		{nil, []string{"now=%s"}, true},
		{nil, []string{"the key 'now' is the time"}, true},
		{nil, []string{"not ready now", "Not now, but later.", "now: later", "until now."}, false},
		{nil, []string{"later now", "now"}, true},
		{nil, []string{"not now, a.now"}, true},
		{[]string{"split"}, []string{"parent children now"}, true},
		{[]string{"splitlines"}, []string{"parent\nnow\n"}, true},
		{[]string{"split"}, []string{"parent children"}, false},
		{[]string{"Date"}, nil, true},
	} {
		clock := NewClock("now", "Date")
		for _, name := range c.names {
			clock.Name(name)
		}
		for _, text := range c.texts {
			clock.Text(text)
		}
		if clock.MayRead() != c.want {
			t.Errorf("the names %q and the texts %q may read the time: %t", c.names, c.texts, !c.want)
		}
	}
}
