// SPDX-License-Identifier: MIT

package credfresh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// volume is a directory as credfresh and the kubelet write it.
type volume struct {
	t      *testing.T
	dir    string
	number int
}

func newVolume(t *testing.T) *volume {
	v := &volume{t: t, dir: filepath.Join(t.TempDir(), "volume")}
	v.must(os.Mkdir(v.dir, 0o700))
	return v
}

func (v *volume) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// update publishes a version with these files and removes the one before.
func (v *volume) update(files map[string]string) {
	v.t.Helper()
	v.number++
	name := fmt.Sprintf("..2026_01_02_03_04_05.%09d", v.number)
	for file, text := range files {
		path := filepath.Join(v.dir, name, file)
		v.must(os.MkdirAll(filepath.Dir(path), 0o700))
		v.must(os.WriteFile(path, []byte(text), 0o600))
	}
	data := filepath.Join(v.dir, "..data")
	old, _ := os.Readlink(data)
	v.must(os.Symlink(name, data+"_tmp"))
	v.must(os.Rename(data+"_tmp", data))
	if old != "" {
		v.must(os.RemoveAll(filepath.Join(v.dir, old)))
	}
}

func (v *volume) watch(names ...string) *Watcher {
	v.t.Helper()
	w, err := Watch(v.dir, names...)
	v.must(err)
	v.t.Cleanup(func() { w.Close() })
	return w
}

// intervals sets the times between two checks until the test ends. Call it before Watch.
func intervals(t *testing.T, check, poll time.Duration) {
	checkBefore, pollBefore := checkEvery, pollEvery
	t.Cleanup(func() { checkEvery, pollEvery = checkBefore, pollBefore })
	checkEvery, pollEvery = check, poll
}

// next is Next, which fails after a minute.
func next(t *testing.T, w *Watcher, seen *Snapshot) *Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := w.Next(ctx, seen)
	if err != nil {
		t.Fatalf("%v; the last check: %v", err, w.Err())
	}
	return s
}

func TestUpdates(t *testing.T) {
	intervals(t, time.Hour, time.Hour) // only events
	v := newVolume(t)
	v.update(map[string]string{"token": "1", "more/token": "1"})
	w := v.watch()
	s := w.Snapshot()
	if s == nil || s.Generation != 1 || string(s.Files["more/token"]) != "1" || len(s.Files) != 2 || s.Time.IsZero() {
		t.Fatalf("unexpected first snapshot: %+v, %v", s, w.Err())
	}
	for i := 2; i <= 20; i++ {
		v.update(map[string]string{"token": fmt.Sprint(i)})
		if s = next(t, w, s); string(s.Files["token"]) != fmt.Sprint(i) || s.Generation != uint64(i) {
			t.Fatalf("unexpected snapshot %d: %+v", i, s)
		}
	}
}

func TestComplete(t *testing.T) {
	v := newVolume(t)
	w := v.watch("tls.crt", "tls.key")
	if w.Snapshot() != nil || w.Err() == nil || !strings.Contains(w.Err().Error(), "..data") {
		t.Fatalf("an empty directory: %v, %v", w.Snapshot(), w.Err())
	}
	v.update(map[string]string{"tls.crt": "1"})
	v.update(map[string]string{"tls.crt": "2", "tls.key": "2", "other": "2"})
	s := next(t, w, nil)
	if len(s.Files) != 2 || string(s.Files["tls.key"]) != "2" || w.Err() != nil {
		t.Fatalf("unexpected snapshot: %+v, %v", s, w.Err())
	}
	v.update(map[string]string{"tls.crt": "3"})
	for w.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if w.Snapshot() != s || !strings.Contains(w.Err().Error(), "tls.key") {
		t.Errorf("the last good snapshot is replaced: %+v, %v", w.Snapshot(), w.Err())
	}
}

// A reader sees all files of one version, also while versions come and go.
func TestConsistent(t *testing.T) {
	v := newVolume(t)
	v.update(map[string]string{"a": "0", "b": "0"})
	w := v.watch()
	var readers sync.WaitGroup
	for i := 0; i < 4; i++ {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for s := w.Snapshot(); string(s.Files["a"]) != "200"; s = next(t, w, s) {
				if string(s.Files["a"]) != string(s.Files["b"]) {
					t.Errorf("mixed: %s and %s", s.Files["a"], s.Files["b"])
					return
				}
			}
		}()
	}
	for i := 1; i <= 200; i++ {
		v.update(map[string]string{"a": fmt.Sprint(i), "b": fmt.Sprint(i)})
	}
	readers.Wait()
}

func TestWithoutEvents(t *testing.T) {
	intervals(t, 10*time.Millisecond, 10*time.Millisecond)
	v := newVolume(t)
	v.update(map[string]string{"token": "1"})
	w := &Watcher{dir: v.dir, events: &events{}, done: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{})}
	go w.follow(10 * time.Millisecond)
	defer w.Close()
	s := next(t, w, nil)
	v.update(map[string]string{"token": "2"})
	next(t, w, s)
}

// A directory that is removed and made again is watched again.
func TestAnotherDirectory(t *testing.T) {
	intervals(t, time.Hour, 10*time.Millisecond)
	v := newVolume(t)
	v.update(map[string]string{"token": "old"})
	w := v.watch()
	s := w.Snapshot()
	v.must(os.RemoveAll(v.dir))
	v.must(os.Mkdir(v.dir, 0o700))
	v.number = 0 // of the same name as before
	v.update(map[string]string{"token": "new"})
	s = next(t, w, s)
	v.update(map[string]string{"token": "newer"})
	if s = next(t, w, s); string(s.Files["token"]) != "newer" {
		t.Errorf("unexpected token: %s", s.Files["token"])
	}
}

func TestTooLarge(t *testing.T) {
	v := newVolume(t)
	v.update(map[string]string{"token": "1", "large": strings.Repeat("x", bytesMax)})
	if w := v.watch(); w.Snapshot() != nil || w.Err() == nil || !strings.Contains(w.Err().Error(), "name those") {
		t.Errorf("unexpected result: %v", w.Err())
	}
	if w := v.watch("token"); w.Snapshot() == nil {
		t.Errorf("the named file is not read: %v", w.Err())
	}
}

func TestClose(t *testing.T) {
	v := newVolume(t)
	w := v.watch()
	ended := make(chan error)
	go func() {
		_, err := w.Next(context.Background(), nil)
		ended <- err
	}()
	w.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("unexpected error: %v", err)
	}
	w.Close()
	if _, err := Watch(""); err == nil {
		t.Error("an empty path is taken")
	}
}

func TestAcknowledge(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in-use")
	for _, generation := range []uint64{7, 8} {
		if err := Acknowledge(generation, path); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(path); string(text) != fmt.Sprintln(generation) {
			t.Errorf("unexpected text: %q", text)
		}
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o644 {
		t.Errorf("the agent cannot read it: %v", info.Mode())
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
	if Acknowledge(0, path) == nil || Acknowledge(1, filepath.Join(dir, "none", "in-use")) == nil {
		t.Error("no error")
	}
}
