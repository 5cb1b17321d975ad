package changeplan

import "metascript/controller/restarts"

// RestartOf returns how a write restarts Pods, and how many; nil if their number is not known.
func RestartOf(w *Write) (restarts.How, *int) {
	switch {
	case w.NoRestart || w.Before == nil:
	case w.Action == Recreate:
		return restarts.OfRecreate(w.Before)
	case w.Action == Update && w.After != nil:
		return restarts.OfUpdate(w.Before, w.After)
	}
	return "", nil
}
