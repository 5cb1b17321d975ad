package replay

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"metascript/controller/hook"
	"metascript/controller/recording"
	"metascript/engine"
)

// controllerFile is the name of the file with the controller of a case.
const controllerFile = "controller.yaml"

// scriptKeys are the keys of the scripts of a controller: that of all hooks, and the hooks that may have their own.
var scriptKeys = []string{"", hook.Sync, hook.Finalize, hook.Customize}

// checkName returns an error if no object in Kubernetes can have the name and the namespace of a recorded reference.
func checkName(r recording.Ref) error {
	wrong := content.IsPathSegmentName(r.Name)
	if r.Name == "" || len(r.Name) > validation.DNS1123SubdomainMaxLength || strings.ContainsFunc(r.Name, notPrinted) {
		wrong = append(wrong, "a name has 1 to 253 characters that can be printed")
	}
	if r.Namespace != "" {
		wrong = append(wrong, validation.IsDNS1123Label(r.Namespace)...)
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("no parent can have the name %q and the namespace %q: %s", engine.Clip(r.Name, 200), engine.Clip(r.Namespace, 200), wrong[0])
}

func notPrinted(r rune) bool { return !unicode.IsPrint(r) }

// notInFileName matches what a name of a file on another system may not have, or what has a meaning there.
var notInFileName = regexp.MustCompile(`[^a-z0-9-]+`)

// fileNameOf returns the part of the name of a file that shows which parent a case is about. On all systems it is a name: without letters
// in upper case, and without dots, since "con.x" is a device in Windows.
func fileNameOf(r recording.Ref) string {
	const most = 200 // a file may have 255 characters
	name := strings.Trim(notInFileName.ReplaceAllString(strings.ToLower(r.Name), "-"), "-")
	return name[:min(len(name), most)]
}

// fileName matches an element of a path that is a name on all systems, and not that of a hidden file, which programs read without being told.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_. +@-]{0,98}[A-Za-z0-9_+@-])?$`)

// device matches the names that are devices in Windows, with any ending.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])( *\.|$)`)

// meaningful are files that have a meaning beside a controller, for this program or for kubectl.
var meaningful = []string{controllerFile, "crd.yaml", "parent.yaml", "simulate.yaml", "kustomization.yaml", "kustomization.yml", "kustomization"}

// checkScriptFile returns an error if a file of a recorded script must not be written beside the controller.
func checkScriptFile(name string) error {
	valid := fs.ValidPath(name) && !slices.Contains(meaningful, strings.ToLower(name))
	for element := range strings.SplitSeq(name, "/") {
		valid = valid && fileName.MatchString(element) && !device.MatchString(element)
	}
	if first, _, below := strings.Cut(strings.ToLower(name), "/"); below && slices.Contains([]string{"cases", "simulate"}, first) {
		valid = false
	}
	if !valid {
		return fmt.Errorf("the recorded script has a file %q, which cannot be written beside the controller", engine.Clip(name, 200))
	}
	return nil
}
