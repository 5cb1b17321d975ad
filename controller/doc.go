// Package controller runs controllers that are described by objects: CompositeControllers and DecoratorControllers.
//
// A [Server] watches the controller objects of a cluster. For each it runs a reconcile.Reconciler, which has its own queue,
// its own state and its own failures. Watches and workers are shared by all Reconcilers, so that a controller with nothing to
// do costs neither a goroutine nor a look at an event.
//
// # Packages
//
// Each can be read on its own. From the top down:
//
//   - controller, this package: watches controller objects, loads them, replaces and rolls back versions, writes their status
//   - reconcile: reconciles the parents of one controller
//   - call: calls the hooks about a parent; binding: what a controller object means; transition: times of conditions
//   - build: makes the hooks that a controller object declares, from scripts and webhooks
//   - spec: reads controller objects of both kinds into one form; status: writes what came of them into conditions
//   - references: watches the Secrets and ConfigMaps that controller objects refer to
//   - claim, related, revisions: which children and which related objects a parent has, and its ControllerRevisions
//   - store: keeps versions of scripts in ConfigMaps
//   - offline: one sync without a cluster
//   - throttle: decides when what went wrong is tried again, and whether a new version is good
//   - queue, work, dispatch: keys with their reasons, workers, and which controllers an event concerns
//   - hook: the requests and responses of hooks; plan and rollout: what to write, computed without a client
//   - finalizers, lease, static: deleted controllers, leader election, controller objects that are not in a cluster
//   - informer, kube, object: the API server
//
// # The life of a controller object
//
// The watches (watch.go) see a change and add the name of the object to one queue. The event is forgotten. A worker takes
// the name (server.go) and loads the object (load.go), which reads like this:
//
//   - the record of the object (managed.go), which has all that the server knows of it. It belongs to the UID: another
//     object of the same name has another record
//   - no object: what runs is stopped, the record is dropped, and after a while the finalizers of the controller are removed
//     from its parents (deletion.go)
//   - paused: what runs is stopped
//   - the spec, and the resources that it names, from discovery
//   - the scripts, from the object, files or ConfigMaps (sources.go). From now on a change of a source queues the object
//   - a version that was given up is not tried again before it is edited (rollback.go)
//   - the hooks, by package build: as a whole or not at all
//   - the version is activated (activate.go): if no more than the scripts are others, the Reconciler gets new hooks in one
//     step; or else another Reconciler takes the place of the one that runs. A record has one pointer to what runs
//   - if the version cannot be built, what runs stays as a whole, spec and scripts together. If nothing runs, or what runs
//     was given up, the version that was good last is activated (lastgood.go, rollback.go)
//   - the result is written to the object's status, as conditions, and reported in the log and by events (status.go)
//
// The queue gives a name to one worker at a time, so that most of a record needs no lock. An error is for trying again,
// with a delay that grows.
//
// # The life of a parent
//
// An informer sees a change. Package dispatch finds the Reconcilers that it concerns, and each adds the keys of the parents to
// its queue, with the reason why. A worker takes a key, waits until the caches show what the last reconcile of this parent
// wrote, and reconciles, with one version of the hooks from the beginning to the end:
//
//   - the parent is read from the cache. A parent that is gone, or does not match, is done
//   - the finalizer keeper adds our finalizer while there is a finalize hook
//   - package claim lists the children, and adopts and releases
//   - the caller calls the customize hook, selects the related objects, and calls the sync or finalize hook: a script or a
//     webhook. A script that exceeded a limit for this parent again and again is not called
//   - the roller, where kinds of children roll, has the hook called for each revision of the parent, and stores the next step
//     in ControllerRevisions before any child is written
//   - the applier plans the writes with package plan, and does them one by one; one that fails does not stop the others
//   - the status writer writes the status of the parent if it differs. Then our finalizer is removed, if the hook has finalized
//
// On an error before the plan nothing is deleted. Afterwards the Reconciler decides, in one place, whether the key is
// forgotten, comes again after a while, or backs off.
//
// # Servers side by side
//
// One server leads (package lease). In the others everything is there, caches, Reconcilers and queues, and no worker works;
// they write nothing. health.go says when a server is ready and healthy, metrics.go what is counted, and sweep.go removes
// what is stored and nothing refers to.
//
// Objects in caches are shared and never changed; hooks see them through read-only views.
package controller
