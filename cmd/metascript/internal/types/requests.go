package types

import (
	"fmt"
	"slices"
	"strings"
)

// controller writes the types of the requests and answers of a controller. If there are several controllers, they are in a namespace
// for each.
func (w *typescript) controller(c *Controller, prefix string) {
	var body lines
	body.add("/** The parent that the functions of %s get. */", c.ID)
	body.add("export type Parent = %s;", union(c.Parents, w.observed))
	body.add("")
	body.add("/** The observed children, by group and name. For a cluster-scoped parent the name is namespace/name. */")
	body.add("export type %s = %s;", c.childrenType(), w.groups(c.Children, false))
	body.add("")
	body.add("/** The objects that customize requests, by group and name. */")
	body.add("export type Related = %s;", w.groups(c.Related, c.AnyRelated))
	body.add("")
	body.add("/** An object that should exist. */")
	body.add("export type %s = %s;", c.childType(), strings.Join(append(w.desired(c), "NoKind"), " | "))
	body.add("")
	w.request(&body, c)
	w.response(&body, c)
	body.add("/** The request of customize. */")
	body.add("export interface CustomizeRequest {")
	body.add("  readonly controller: KubernetesObject;")
	body.add("  readonly parent: Parent;")
	body.add("  readonly now: string;")
	body.add("}")
	body.add("")
	body.add("export type %s = (request: %s) => %s;", c.named("Sync"), c.named("SyncRequest"), c.named("SyncResponse"))
	body.add("export type %s = %s;", c.named("Finalize"), c.named("Sync"))
	body.add("export type Customize = (request: CustomizeRequest) => CustomizeResponse;")
	if len(w.controllers) == 1 {
		w.out.WriteString("\n" + strings.Join(body, "\n") + "\n")
		return
	}
	w.out.WriteString("\n")
	w.comment("", fmt.Sprintf("The types of %s.", c.ID))
	fmt.Fprintf(&w.out, "export namespace %s {\n", prefix)
	for line := range strings.SplitSeq(strings.Join(body, "\n"), "\n") {
		w.out.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	w.out.WriteString("}\n")
}

// lines are lines of text.
type lines []string

func (l *lines) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// named returns the name that a type of a CompositeController has for this controller.
func (c *Controller) named(composite string) string {
	if c.decorator() {
		return "Decorator" + composite
	}
	return composite
}

func (c *Controller) childType() string {
	if c.decorator() {
		return "Attachment"
	}
	return "Child"
}

func (c *Controller) childrenType() string {
	if c.decorator() {
		return "Attachments"
	}
	return "Children"
}

// parentField and childrenField are the names of fields of the request.
func (c *Controller) parentField() string {
	if c.decorator() {
		return "object"
	}
	return "parent"
}

func (c *Controller) childrenField() string {
	if c.decorator() {
		return "attachments"
	}
	return "children"
}

func (w *typescript) request(body *lines, c *Controller) {
	body.add("/** The request of sync and finalize. It is read-only. */")
	body.add("export interface %s {", c.named("SyncRequest"))
	body.add("  /** The controller object, without its status. */")
	body.add("  readonly controller: KubernetesObject;")
	body.add("  readonly %s: Parent;", c.parentField())
	body.add("  readonly %s: %s;", c.childrenField(), c.childrenType())
	body.add("  readonly related: Related;")
	body.add("  /** True in a call of finalize. */")
	body.add("  readonly finalizing: boolean;")
	body.add("  /** The time of the call, such as 2026-01-02T15:04:05Z. */")
	body.add("  readonly now: string;")
	body.add("}")
	body.add("")
}

func (w *typescript) response(body *lines, c *Controller) {
	body.add("/** The answer of sync and finalize. */")
	body.add("export interface %s {", c.named("SyncResponse"))
	body.add("  /** The objects that should exist. [] deletes all. */")
	body.add("  %s?: readonly %s[] | null;", c.childrenField(), c.childType())
	if c.decorator() {
		body.add("  /** Labels to set on the object; null removes one. */")
		body.add("  labels?: {[key: string]: string | null};")
		body.add("  /** Annotations to set on the object; null removes one. */")
		body.add("  annotations?: {[key: string]: string | null};")
	}
	if status := w.status(c); status != "" {
		body.add("  /** The new status of the parent. Without it the status does not change. */")
		body.add("  status?: %s | null;", status)
	}
	body.add("  /** Call the function again after this number of seconds, once. */")
	body.add("  resyncAfterSeconds?: number;")
	body.add("  /** From finalize: finalization is complete, and the finalizer can be removed. */")
	body.add("  finalized?: boolean;")
	body.add("  events?: readonly Event[];")
	body.add("}")
	body.add("")
}

// status returns the type of the status that the controller returns, or "" if no parent has a status.
func (w *typescript) status(c *Controller) string {
	var all []string
	for _, k := range c.Parents {
		if !k.known() {
			return anyType
		}
		short, s := w.definition(k)
		if status := w.statusOf(k); status != nil {
			at := place{name: short, origin: k.group(), custom: w.custom[k.gvk()]}
			all = append(all, w.typeOf(status, at.field("status")))
		} else if isOpen(s) {
			return anyType
		}
	}
	if slices.Contains(all, anyType) {
		return anyType
	}
	return strings.Join(all, " | ")
}

// desired returns the types of desired children.
func (w *typescript) desired(c *Controller) []string {
	var all []string
	for _, k := range c.Children {
		all = append(all, w.kind(k))
	}
	return all
}

// union returns the union of types of kinds.
func union(kinds []Kind, of func(Kind) string) string {
	var all []string
	for _, k := range kinds {
		if t := of(k); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return "never"
	}
	return strings.Join(all, " | ")
}

// groups returns the type of groups of objects. If there may be other groups than those of kinds, their objects have any fields. In
// JavaScript the value of any other key may be undefined; in TypeScript another key is an error, which names the key.
func (w *typescript) groups(kinds []Kind, others bool) string {
	var body lines
	for _, k := range kinds {
		if !k.known() {
			others = true
			continue
		}
		body.add("  readonly %q: {readonly [name: string]: %s};", k.group(), w.observed(k))
	}
	known := "{}"
	if len(body) > 0 {
		known = "{\n" + strings.Join(body, "\n") + "\n}"
	}
	switch {
	case others:
		return known + " & {readonly [group: string]: {readonly [name: string]: any}}"
	case w.strict:
		return known
	case len(body) == 0:
		return "{readonly [group: string]: undefined}"
	}
	return known + " & {readonly [group: string]: {readonly [name: string]: " + union(kinds, w.observed) + "} | undefined}"
}
