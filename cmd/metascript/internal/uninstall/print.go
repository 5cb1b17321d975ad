package uninstall

import (
	"fmt"
	"io"
	"strings"
)

// most is how many objects of a list are printed.
const most = 20

// Print prints what is to be removed, for people.
func (l *Left) Print(w io.Writer) {
	if l.Empty() {
		fmt.Fprintln(w, "nothing is left")
		return
	}
	list(w, "controllers", "", l.Controllers)
	list(w, "finalizers on parents", "; their finalize functions are not called", l.Finalizers)
	list(w, "ConfigMaps with stored versions of scripts", "", l.StoredScripts)
	with := ""
	if l.Revisions > 0 {
		with = fmt.Sprintf(", with %d ControllerRevisions", l.Revisions)
	}
	list(w, "CustomResourceDefinitions", with, l.Definitions)
}

// PrintStays prints what is not removed. flags are those with which kubectl finds the cluster.
func (l *Left) PrintStays(w io.Writer, flags string) {
	list(w, "objects that stay, and that no parent owns any more", "; delete those that you do not need", l.WithoutOwner)
	if len(l.ByHand) > 0 {
		fmt.Fprintln(w, "these commands delete the server:")
	}
	for _, command := range l.ByHand {
		if rest, ok := strings.CutPrefix(command, "kubectl "); ok {
			command = "kubectl" + flags + " " + rest
		}
		fmt.Fprintf(w, "  %s\n", command)
	}
}

// list prints a list with its length, if it has any elements.
func list[T fmt.Stringer](w io.Writer, what, more string, all []T) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "%s: %d%s\n", what, len(all), more)
	for _, one := range all[:min(most, len(all))] {
		fmt.Fprintf(w, "  %s\n", one)
	}
	if len(all) > most {
		fmt.Fprintf(w, "  and %d more; --output json prints all\n", len(all)-most)
	}
}
