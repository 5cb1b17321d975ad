// Package recordfile makes the files of recordings.
package recordfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"metascript/controller/recording"
)

// A File is the file of a recording that is being made. It implements io.Writer.
type File struct {
	file    *os.File
	path    string
	regular bool // it is a file, and not a device or a pipe
	old     bool // it has what was in it before Create
}

// Create makes a file that only its owner may read. An existing file is an error, unless force is set: then it keeps its content until
// the first Write.
func Create(path string, force bool) (*File, error) {
	flags := os.O_WRONLY | os.O_CREATE
	if !force {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists: name another file, or set --force to replace it", path)
	}
	if err != nil {
		return nil, err
	}
	f := &File{file: file, path: path}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		f.regular, f.old = true, info.Size() > 0
	}
	if f.regular && !f.old {
		if err := file.Chmod(0o600); err != nil { // an empty file may have been there
			return nil, errors.Join(err, file.Close())
		}
	}
	return f, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	if f.old {
		f.old = false
		if err := errors.Join(f.file.Chmod(0o600), f.file.Truncate(0)); err != nil { // it may have another mode
			return 0, err
		}
	}
	return f.file.Write(p)
}

// Discard removes the file, since nothing was recorded. A file that was there before stays as it was.
func (f *File) Discard() { _ = f.remove() }

// remove closes and removes the file.
func (f *File) remove() error {
	err := f.file.Close()
	if f.regular && !f.old {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}

// Finish closes the file of a recording that has ended, with the result of [recording.Recorder.Run]. It returns the summary for the user.
// A file that may have the value of a Secret is removed.
func (f *File) Finish(done recording.Progress, err error) (summary string, failed error) {
	if errors.Is(err, recording.ErrKnownTooLate) {
		if err := f.remove(); err != nil {
			return "", fmt.Errorf("%w; it could not be deleted: %w", recording.ErrKnownTooLate, err)
		}
		return "", fmt.Errorf("%s was deleted: %w", f.path, err)
	}
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("the recording in %s ended early, and what is in it can be used (%s): %w", f.path, done, err)
	}
	return fmt.Sprintf("recorded in %s: %s; it ended because %s", f.path, done, done.Why), nil
}
