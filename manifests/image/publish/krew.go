package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// archive is an archive for a platform, as the template of the manifest sees it.
type archive struct{ OS, Arch, URL, SHA256 string }

// release matches the versions that krew accepts.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// krewManifest returns the manifest of the plugin of kubectl for krew.
func krewManifest(o options, files []file) ([]byte, error) {
	parsed, err := template.ParseFiles(o.krew)
	if err != nil {
		return nil, err
	}
	data := struct {
		Version, Source string
		Archives        []archive
	}{Version: o.version, Source: o.source}
	if !release.MatchString(o.version) {
		data.Version = "v0.0.0-g" + o.version // of a commit without a tag
	}
	for _, f := range files {
		platform, found := strings.CutPrefix(f.name, "metascript_"+o.version+"_")
		if !found {
			if strings.HasPrefix(f.name, "metascript-") {
				continue // the chart
			}
			return nil, fmt.Errorf("%s: %s is not of version %s: run make release", checksums, f.name, o.version)
		}
		platform, isTar := strings.CutSuffix(platform, ".tar.gz")
		platform, isZip := strings.CutSuffix(platform, ".zip")
		if os, arch, ok := strings.Cut(platform, "_"); ok && (isTar || isZip) {
			data.Archives = append(data.Archives, archive{OS: os, Arch: arch, URL: o.downloads + "/" + f.name, SHA256: f.sha256})
		}
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
