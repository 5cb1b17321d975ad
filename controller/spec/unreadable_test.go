package spec

import (
	"strings"
	"testing"

	"metascript/controller/object/objecttest"
)

func TestReadNamesTheFieldThatCannotBeRead(t *testing.T) {
	for spec, want := range map[string]string{
		"hooks: {sync: {webhook: {timeout: 5 seconds}}}":              `spec.hooks.sync.webhook.timeout: "5 seconds" is not a duration; write 5s`,
		"hooks: {sync: {webhook: {timeout: 5}}}":                      `spec.hooks.sync.webhook.timeout: 5 is not a duration; write it with a unit, such as 5s`,
		"script: {configMapRef: {name: true}}":                        `spec.script.configMapRef.name: want a string, got true: put it in quotes`,
		"script: {limits: {memory: 64MB}}":                            `spec.script.limits.memory: "64MB" is not a quantity; write 64M or 64Mi`,
		"script: {inline: x, limits: {steps: 1M}, timeout: 1s}":       `spec.script.limits.steps: want a whole number, got "1M"`,
		"parentResource: {apiVersion: v1, resource: 5}":               `spec.parentResource.resource: want a string, got 5: put it in quotes`,
		"childResources: {resource: pods}":                            `spec.childResources: want a list, got an object`,
		"childResources: [{resource: pods}, {resource: [a]}]":         `spec.childResources[1].resource: want a string, got a list: put it in quotes`,
		"childResources: [{resource: pods, updateStrategy: InPlace}]": `spec.childResources[0].updateStrategy: want an object, got "InPlace"`,
		"paused: \"yes\"": `spec.paused: want true or false, got "yes"`,
		"parentResource: {labelSelector: {matchLabels: {a: 1}}}": `spec.parentResource.labelSelector.matchLabels.a: want a string, got 1: put it in quotes`,
		"resyncPeriodSeconds: soon\nscript: {timeout: later}":    `spec.resyncPeriodSeconds: want a whole number, got "soon"`,
		"hooks: {sync: {webhook: {timeout: 1d}}}":                `spec.hooks.sync.webhook.timeout: "1d" is not a duration; there is no unit for days: write hours, such as 24h`,
	} {
		text := "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: c}\nspec:\n"
		for line := range strings.SplitSeq(spec, "\n") {
			text += "  " + line + "\n"
		}
		_, err := Read(objecttest.ParseObject(t, text))
		if full := "CompositeController c: the spec cannot be read: " + want; err == nil || err.Error() != full {
			t.Errorf("%s:\ngot  %v\nwant %s", spec, err, full)
		}
	}
}
