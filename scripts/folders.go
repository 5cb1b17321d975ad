package scripts

import (
	"context"
	"log/slog"
)

// Folders follows directories with scripts.
type Folders struct {
	dirs []string
	log  *slog.Logger
}

// NewFolders follows dirs, of which the first that has a file counts. They need not exist yet.
func NewFolders(dirs []string, log *slog.Logger) *Folders { return &Folders{dirs: dirs, log: log} }

// Run follows the directories until ctx is done.
func (f *Folders) Run(ctx context.Context) { <-ctx.Done() }

// Follow lets changed be called after anything in the directories changed. It must not block.
func (f *Folders) Follow(changed func()) (stop func()) { return func() {} }

// Problems says what is in the way of following the directories.
func (f *Folders) Problems() []string { return nil }
