// SPDX-License-Identifier: MIT

package credfresh

import (
	"os"
	"syscall"
)

// The directory is watched, not a file in it: a publisher renames a new link over ..data.
const changes = syscall.IN_MOVED_TO | syscall.IN_CREATE | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR

// events reports that something happened in a directory. What it was does not matter: each report is followed by a check, also one
// of lost events (IN_Q_OVERFLOW) or of a directory that was removed (IN_IGNORED).
type events struct {
	file     *os.File // nil if there is no inotify
	fd       int
	happened chan struct{}
}

func newEvents() *events {
	e := &events{happened: make(chan struct{}, 1)}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return e
	}
	e.fd, e.file = fd, os.NewFile(uintptr(fd), "inotify")
	go e.forward()
	return e
}

func (e *events) forward() {
	buffer := make([]byte, 4096)
	for {
		if _, err := e.file.Read(buffer); err != nil {
			return // closed
		}
		select {
		case e.happened <- struct{}{}:
		default: // one is pending
		}
	}
}

// watch reports whether changes in dir cause events. Watching the same directory again has no effect.
func (e *events) watch(dir string) bool {
	if e.file == nil {
		return false
	}
	_, err := syscall.InotifyAddWatch(e.fd, dir, changes)
	return err == nil
}

func (e *events) close() {
	if e.file != nil {
		e.file.Close()
	}
}
