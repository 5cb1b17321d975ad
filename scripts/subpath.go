package scripts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mountinfo is the file in which Linux lists the mounts of a process; see proc(5).
const mountinfo = "/proc/self/mountinfo"

// neverUpdated lists the mount points at or below dir that the kubelet made for a subPath. Such a mount shows one file or
// folder of one version of a volume, and is never updated.
func neverUpdated(mounts, dir string) []string {
	var points []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		root, point := unescape.Replace(fields[3]), unescape.Replace(fields[4])
		if below(point, dir) && (isSubPath(root) || isFile(point)) {
			points = append(points, point)
		}
	}
	return points
}

// unescape decodes spaces and similar characters in mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// isSubPath reports whether the root of a mount is in the folder of one version of a volume, or in the folder in which the kubelet
// mounts subPaths.
func isSubPath(root string) bool {
	return slices.ContainsFunc(strings.Split(root, "/"), func(part string) bool {
		return strings.HasPrefix(part, "..") || part == "volume-subpaths"
	})
}

func isFile(point string) bool {
	info, err := os.Lstat(point)
	return err == nil && info.Mode().IsRegular()
}

// below reports whether a path is dir, or below it.
func below(file, dir string) bool {
	return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// neverUpdated reports whether the file called name is mounted by subPath.
func (v *view) neverUpdated(name, mounts string) bool {
	dir, err := filepath.EvalSymlinks(v.dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return false // it no longer exists
	}
	file := filepath.Join(dir, filepath.FromSlash(v.place(name)))
	return slices.ContainsFunc(neverUpdated(mounts, dir), func(point string) bool { return below(file, point) })
}
