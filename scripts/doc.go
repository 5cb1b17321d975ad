// Package scripts finds the scripts of controllers, wherever they are kept, and gives each as an [engine.Script]: an
// entry file and an fs.FS of all that it may load.
//
// [Sources] is where to start. Its Assemble reads what a [Wanted] names, which is spec.script in other words: text
// inside the controller's own object, a file below a scripts directory, or a key of a ConfigMap, each with libraries
// from files and ConfigMaps. [Folders] tells when something below the scripts directories changed, and in which folders:
// [Changes] say whether that concerns a Wanted. Whether it makes another script is seen by assembling it again, which is
// cheap, and by the digest of what comes out.
//
// # What belongs to a script
//
// A script is its entry and what that loads, directly or not. Nothing else is read, so that other files may change,
// or be of any size and kind, without any effect. What is loaded is found by looking for literals in the text (see
// mentions), which finds too much rather than too little. A JavaScript file that computes the names it requires
// gets all there is.
//
// Files may be loaded from the folder of the entry and below, and from libraries. A script's own file wins over
// a library's of the same name. Names are paths below the scripts directory, or keys.
//
// # One version
//
// What Assemble returns was all there at one moment, as follows from how it reads (see view):
//
//   - It notes what it saw of every file and link that it relied on, also where it found nothing, and looks again when
//     it is done. If anything differs, it starts again. This covers editors that truncate and write, files that are
//     replaced one by one, links that are replaced as git-sync does, and scripts with libraries in other directories.
//   - Where the kubelet has mounted a ConfigMap, it looks once where the link ..data leads, and reads that folder and
//     no other. This covers names that the kubelet shows too late or too long.
//   - What still changes after some attempts is an [Error] that says [Unsettled]. It can be tried again, and will be:
//     each change is told.
//
// A version that is complete and wrong, such as one that was saved half-finished, is for the engine to refuse: the
// last version that compiled keeps running.
//
// # No change is missed
//
// Folders watches all folders below the scripts directories, and tells once for a burst of changes. A change is told
// after it can be read, and one that comes while those who are told are reading is told again. Each remaining gap has
// its remedy:
//
//   - A folder that is new may get files before it is watched: after each change, and after adding watches, the folders
//     are listed again.
//   - A directory may be missing, or be replaced with all above it: every folder and link on the way is watched.
//   - Events may be lost since there are too many: those who follow are told at once.
//   - There may be no watch, since the system has no more or it died: the directories are polled, and Problems says so.
//   - A file system may tell nothing (a network's, or a mount over a folder): beside every watch there is a slow poll.
//   - A volume that is mounted by subPath is never updated by the kubelet. Nothing helps, and a doubt says so.
//
// # Bad files
//
// No link leads out of a scripts directory: it is opened as an [os.Root]. A pipe, a device, or what is too large is not
// read. Whatever cannot be a script is an [Error] about that script alone, with the file's name and what to do.
package scripts
