package recordfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"metascript/controller/recording"
)

func TestFileIsNotReplacedWithoutForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.gz")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, false); err == nil || err.Error() != path+" exists: name another file, or set --force to replace it" {
		t.Errorf("the error is %v", err)
	}
	f, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("although nothing was recorded, the file has %q: %v", text, err)
	}
	if f, err = Create(path, true); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Error(err)
	}
	summary, err := f.Finish(recording.Progress{End: recording.End{Reconciles: 3, Calls: 4, Objects: 5, Redacted: 1, Dropped: 2, Why: recording.WhyTime}, Bytes: 20 << 10}, nil)
	const want = ": 3 reconciles, 4 calls, 5 objects, 20 KiB, 1 objects with values of Secrets, which were replaced; 2 reconciles were dropped, since they could not be written fast enough; it ended because the time is over"
	if err != nil || summary != "recorded in "+path+want {
		t.Errorf("%s, error %v", summary, err)
	}
	text, err := os.ReadFile(path)
	info, also := os.Stat(path)
	if err != nil || also != nil || string(text) != "new" || info.Mode() != 0o600 {
		t.Errorf("the file has %q and mode %v, errors %v and %v", text, info.Mode(), err, also)
	}
}

func TestFileAfterAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.gz")
	f, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	if _, err := f.Finish(recording.Progress{}, full); !errors.Is(err, full) || !strings.Contains(err.Error(), "what is in it can be used (0 reconciles") {
		t.Errorf("the error is %v", err)
	}
	if f, err = Create(path, true); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Finish(recording.Progress{}, recording.ErrKnownTooLate); !errors.Is(err, recording.ErrKnownTooLate) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if f, err = Create(path, false); err != nil {
		t.Fatal(err)
	}
	if f.Discard(); f.regular {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the file is still there: %v", err)
		}
	}
	if _, err := Create(filepath.Join(path, "nowhere"), false); err == nil {
		t.Error("a file was made in a folder that does not exist")
	}
}

func TestEmptyFileGetsItsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.gz")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the mode is %v: %v", info.Mode(), err)
	}
}
