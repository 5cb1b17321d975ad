// Package controller runs controllers that are described by objects.
//
// A [Server] follows the controller objects of a cluster. For each it makes a [Binding], which says what the object
// means: which objects are its parents, whom to ask what their children should be, how to know and update the
// children, and as whom to write. For each Binding a loop runs, on its own: its queue, its records, its failures. Watches
// and workers are shared by all loops: package dispatch finds out which of them an event concerns, and package work gives
// their queues workers, so that a controller with nothing to do costs neither a goroutine nor a look at an event. Where
// scripts run, and how much they may ask for, is the [Sandbox]'s, which is one for all; what webhooks have open, the
// Secrets they refer to among it, is the Binding's (packages build and references).
//
// # The life of one reconcile
//
// An informer sees a change. events.go turns the object that changed into the keys of the parents it concerns, and
// adds them to the queue; the event is forgotten, and the key goes on with the reasons why. In loop.go a worker
// takes the key, waits until the caches show what the parent's last reconcile wrote, and calls reconcile, which
// reads like this:
//
//   - the parent, from the cache; gone, or none of ours: done
//   - our finalizer, put on while there is a finalize hook
//   - the children, claimed by the Owner, which adopts and releases
//   - the related objects, for which the customize hook asks: customize.go remembers its answers, and related.go has the
//     caches and an index, by package selection, of who looks for what, so that a change concerns nobody else
//   - the question, put to the hook: a script or a webhook; no script that the breaker holds, since it hit a limit for
//     this parent again and again
//   - where kinds of children roll: the question once for each revision of the parent, and the next step by package
//     rollout, stored in ControllerRevisions before anything else is done
//   - the plan: what to write, as data, by package plan
//   - the writes, each through the Writer; one that fails does not stop the others
//   - the status, written if it differs; then our finalizer off, if the hook is done
//
// # Versions of scripts
//
// Scripts come from package scripts (build). An edit is read and compiled in the queue of controller
// objects, beside the loop that runs, and takes the place of the hooks there in one step (version.go): a reconcile is a
// turn of one version from its beginning to its end. What each choice covers:
//
//   - a source that is broken, half-written, emptied or gone: nothing changes, since a version is used as a whole or not
//     at all; the one before is in memory
//   - a server that is restarted meanwhile: good.go keeps the last good version, spec and scripts together, in a ConfigMap
//     named by its content, to which the controller's status points. It is compiled and checked like any other
//   - a version that compiles and fails: trial.go counts for whom, and gives it up if that is asked for
//   - a rollout that is under way: scriptstore.go keeps each version that a revision refers to
//   - a script that is broken for good, and a webhook that does the same: hook.Fallback
//
// What is stored is swept when nothing refers to it.
//
// Whatever goes wrong before the plan leaves everything as it is: on an error nothing is deleted.
// Afterwards the loop alone decides: forget the key, come again after a while, or back off.
//
// Of servers that run side by side one leads, as leader.go says: in the others everything is there, caches, loops and
// queues, and no worker works. health.go says when a server is ready, and metrics.go what is counted.
//
// Objects in caches are shared and never changed; hooks see them through read-only views.
package controller
