// Package scripts finds the scripts of controllers, wherever they are kept, and gives each as an [engine.Script]: an
// entry file and an fs.FS of all that it may load. Text inside the controller's own object is [Inline].
package scripts
