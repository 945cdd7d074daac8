// SPDX-License-Identifier: MIT

package credfresh

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"
)

var ( // the tests have others
	checkEvery = 60 * time.Second // for changes that caused no event, such as those on a network file system
	pollEvery  = 5 * time.Second  // without events, and while the directory cannot be read
)

// ErrClosed is the error of a Watcher after Close.
var ErrClosed = errors.New("credfresh: the watcher is closed")

// Watcher follows one directory. Its methods may be called from several goroutines.
type Watcher struct {
	dir   string
	names []string

	events  *events
	closing sync.Once
	done    chan struct{} // closed by Close
	ended   chan struct{} // closed when follow has returned

	mu      sync.Mutex
	current *Snapshot
	err     error
	changed chan struct{} // closed when current changes
}

// Watch starts to follow dir and takes a first snapshot. With names a snapshot holds exactly these files, and is not taken while
// one is missing; without names it holds all files. A directory that is missing or incomplete is not an error: [Watcher.Snapshot]
// returns nil until it is complete, and [Watcher.Err] says why.
//
// The directory must have the link ..data, as those of credfresh and the kubelet do. A volume that is mounted with subPath has
// none, and never changes.
func Watch(dir string, names ...string) (*Watcher, error) {
	if dir == "" {
		return nil, errors.New("credfresh: the directory is empty")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w := &Watcher{dir: dir, names: names, events: newEvents(), done: make(chan struct{}), ended: make(chan struct{}),
		changed: make(chan struct{})}
	next := w.check()
	go w.follow(next)
	return w, nil
}

// Close ends the watcher, after a check that is in progress. Snapshots stay valid.
func (w *Watcher) Close() error {
	w.closing.Do(func() { close(w.done) })
	<-w.ended
	return nil
}

// Snapshot returns the current snapshot, or nil while there is none. It does not wait and makes no system call.
func (w *Watcher) Snapshot() *Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// Next waits for a snapshot other than seen, which may be nil, and returns it. It returns the error of ctx when ctx is done, and
// ErrClosed after Close.
func (w *Watcher) Next(ctx context.Context, seen *Snapshot) (*Snapshot, error) {
	for {
		w.mu.Lock()
		current, changed := w.current, w.changed
		w.mu.Unlock()
		if current != nil && current != seen {
			return current, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.done:
			return nil, ErrClosed
		}
	}
}

// Err returns why the last check found no complete directory, or nil if it did. The last snapshot remains the current one.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// follow checks at each event and at least once a minute.
func (w *Watcher) follow(next time.Duration) {
	defer close(w.ended)
	defer w.events.close()
	for {
		timer := time.NewTimer(next)
		select {
		case <-w.events.happened:
		case <-timer.C:
		case <-w.done:
			timer.Stop()
			return
		}
		timer.Stop()
		next = w.check()
	}
}

// check watches the directory again, which may be another one now, and reads it. It returns the time until the next check. The
// watch comes first: a change after the read causes an event.
func (w *Watcher) check() time.Duration {
	next := checkEvery
	if !w.events.watch(w.dir) {
		next = pollEvery
	}
	fresh, err := read(w.dir, w.names, w.Snapshot())
	if err != nil {
		next = pollEvery
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if fresh != nil && fresh != w.current {
		w.current = fresh
		close(w.changed)
		w.changed = make(chan struct{})
	}
	return next
}
