// Package scripts reads the scripts of controllers from their sources, and returns each as an [engine.Script]: an entry file and an
// fs.FS of all files that it may load.
//
// Start with [Sources]. Its Assemble reads what a [Wanted] names, which has the same fields as spec.script: text inside the controller
// object, a file below a scripts directory, or a key of a ConfigMap, each with libraries from files and ConfigMaps. [Folders]
// reports changes below the scripts directories, and in which folders they are: [Changes] says whether they concern a Wanted.
// To find out whether the script itself changed, assemble it again, which is cheap, and compare the digests.
//
// # What belongs to a script
//
// A script is its entry and the files that it loads, directly or indirectly. Nothing else is read: other files may change, or be
// of any size and kind, without effect. To find out what is loaded, Assemble looks for literals in the text (see mentions). It
// finds too many rather than too few. A JavaScript file that computes the names that it requires gets all files.
//
// Files may be loaded from the folder of the entry and below, and from libraries. The script's own file is used if a library has
// a file of the same name. Names are paths below the scripts directory, or keys.
//
// # One version
//
// All files that Assemble returns existed at the same time, because of how it reads them (see view):
//
//   - It records the state of every file and link that it reads, also of those that do not exist, and compares when it has
//     finished. If anything differs, it starts again. This covers editors that truncate and write, files that are replaced one
//     by one, links that are replaced as git-sync does, and scripts with libraries in other directories.
//   - Where the kubelet has mounted a ConfigMap, it reads the link ..data once, and then only the folder that it leads to. This
//     covers names that the kubelet adds late or removes late.
//   - If files still change after some attempts, Assemble returns an [Error] that is [Unsettled]. The caller may try again, and
//     every later change is reported.
//
// A version that is complete but wrong, such as a file that was saved half-finished, is refused by the engine: the last version
// that compiled stays in use.
//
// # No change is missed
//
// Folders watches all folders below the scripts directories, and reports once for a burst of changes. A change is reported after
// it can be read. One that happens during such a call is reported again. These are cases in which a change could be missed, and what prevents it:
//
//   - A new folder may get files before it is watched: after each change, and after adding watches, the folders are listed again.
//   - A directory may be missing, or be replaced together with its parents: every folder and link on the path is watched.
//   - Events may be lost because there are too many: then a change of everything is reported at once.
//   - A watch may be impossible or fail: then the directories are polled, and Problems says so.
//   - A file system may send no events (a network file system, or a mount over a folder): watched directories are also polled, with a
//     long interval.
//   - The kubelet never updates a volume that is mounted by subPath. Nothing prevents this; Assembled.Warnings has a warning.
//
// # Bad files
//
// No link leads out of a scripts directory, since each is opened as an [os.Root]. Pipes, devices and files that are too large are
// not read. Whatever cannot be a script is an [Error] about that script alone, with the name of the file and what to do.
package scripts
