package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A part is one of the five parts of the schedule of a CronJob.
type part struct {
	least, most int
	names       []string // of the values from least
}

var (
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	parts    = []part{{0, 59, nil}, {0, 23, nil}, {1, 31, nil}, {1, 12, months}, {0, 6, weekdays}}
	// shortcuts stand for schedules.
	shortcuts = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)

// checkSchedule returns an error if the schedule of a CronJob is not valid, in the words of the library of the API server.
func checkSchedule(schedule string) error {
	if strings.HasPrefix(schedule, "@") {
		if slices.Contains(shortcuts, schedule) || strings.HasPrefix(schedule, "@every ") {
			return nil
		}
		return fmt.Errorf("unrecognized descriptor: %s", schedule)
	}
	fields := strings.Fields(schedule)
	if len(fields) != len(parts) {
		return fmt.Errorf("expected exactly 5 fields, found %d: %v", len(fields), fields)
	}
	for i, text := range fields {
		for item := range strings.SplitSeq(text, ",") {
			if err := parts[i].check(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// check returns an error if an item, such as */5 or 1-7, is not valid.
func (p part) check(item string) error {
	span, step, hasStep := strings.Cut(item, "/")
	from, to, hasEnd := strings.Cut(span, "-")
	if from != "*" && from != "?" {
		start, err := p.number(from)
		if err != nil {
			return err
		}
		end := start
		if hasEnd {
			if end, err = p.number(to); err != nil {
				return err
			}
		}
		switch {
		case start < p.least:
			return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", start, p.least, item)
		case end > p.most:
			return fmt.Errorf("end of range (%d) above maximum (%d): %s", end, p.most, item)
		case start > end:
			return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", start, end, item)
		}
	}
	if hasStep {
		n, err := p.number(step)
		if err == nil && n == 0 {
			err = fmt.Errorf("step of range should be a positive number: %s", item)
		}
		return err
	}
	return nil
}

// number returns the number of a name, or of a text with digits.
func (p part) number(text string) (int, error) {
	if i := slices.Index(p.names, strings.ToLower(text)); i >= 0 {
		return p.least + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", text, err)
	}
	return n, nil
}
